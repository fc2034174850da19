"""Rules of reshape, transpose and broadcast_in_dim: the same elements under other indices."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from torch_mlir import ir

from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import DimFactors, FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait


@rule(
    "stablehlo.reshape",
    traits=Trait.VIEW | Trait.CHEAP | Trait.SPREADS | Trait.FORWARDS | Trait.PROPAGATES_GENERATOR
    | Trait.SAME_ELEMENTS | Trait.KEEPS_INTEGERS,
)  # fmt: skip
def reshape(op: ir.Operation) -> FactorRule:
    """Dimensions as products of shared factors, major to minor: `(8,64) -> (8,4,16)` is `(i,j*k) -> (i,j,k)`."""
    return reshape_rule(shape(op.operands[0]), shape(op.results[0]))


@lru_cache(maxsize=4096)
def reshape_rule(operand: Shape, result: Shape) -> FactorRule:
    """Rule between two shapes of equally many elements.

    Walks both shapes from the major end and takes the greatest common divisor of what is left of
    the two current dimensions as the next shared factor.  Where that is 1 (as in 3x4 -> 2x6 after
    nothing could be shared) the rest of the group, up to the next common boundary, is not split.
    """
    f = Factors()
    if 0 in operand:
        return f.rule([((),) * len(operand)], [((),) * len(result)])
    rows: tuple[list[list[int]], list[list[int]]] = ([[] for _ in operand], [[] for _ in result])
    shapes = (operand, result)
    left = [list(operand), list(result)]
    at = [0, 0]

    def skip_ones() -> None:
        for side in (0, 1):
            while at[side] < len(shapes[side]) and left[side][at[side]] == 1:
                at[side] += 1

    skip_ones()
    while at[0] < len(operand) and at[1] < len(result):
        i, j = at
        common = gcd(left[0][i], left[1][j])
        if common > 1:
            (factor,) = f.new(common)
            rows[0][i].append(factor)
            rows[1][j].append(factor)
            left[0][i] //= common
            left[1][j] //= common
        else:
            _entangled(f, rows, left, at)
        skip_ones()
    dims: list[DimFactors] = [tuple(map(tuple, side)) for side in rows]
    return f.rule([dims[0]], [dims[1]], [linear("sum", 0)], FREE)


def _entangled(f: Factors, rows: tuple[list[list[int]], list[list[int]]], left: list[list[int]], at: list[int]) -> None:
    """Replicate everything up to the next common boundary of the two shapes, and move there."""
    start = tuple(at)
    products = [left[0][at[0]], left[1][at[1]]]
    while products[0] != products[1]:
        side = 0 if products[0] < products[1] else 1
        at[side] += 1
        products[side] *= left[side][at[side]]
    for side in (0, 1):
        for d in range(start[side], at[side] + 1):
            rows[side][d] += f.replicated(left[side][d], "the reshape does not keep its boundaries")
            left[side][d] = 1


@rule(
    "stablehlo.transpose",
    traits=Trait.CHEAP | Trait.NONLOCAL | Trait.FORWARDS | Trait.PROPAGATES_GENERATOR | Trait.SAME_ELEMENTS
    | Trait.KEEPS_INTEGERS,
)  # fmt: skip
def transpose(op: ir.Operation) -> FactorRule:
    return _transpose(shape(op.operands[0]), tuple(op.attributes["permutation"]))


@lru_cache(maxsize=4096)
def _transpose(operand: Shape, permutation: Shape) -> FactorRule:
    f = Factors()
    dims = f.dims(operand)
    return f.rule([dims], [tuple(dims[d] for d in permutation)], [linear("sum", 0)], FREE)


@rule(
    "stablehlo.broadcast_in_dim",
    traits=Trait.CHEAP | Trait.SPREADS | Trait.PROPAGATES_GENERATOR | Trait.SAME_ELEMENTS | Trait.KEEPS_INTEGERS,
)
def broadcast_in_dim(op: ir.Operation) -> FactorRule:
    """A copied dimension is shared; new ones, and those stretched from size 1, belong to the result only."""
    return _broadcast(shape(op.operands[0]), tuple(op.attributes["broadcast_dimensions"]), shape(op.results[0]))


@lru_cache(maxsize=4096)
def _broadcast(operand: Shape, where: Shape, result: Shape) -> FactorRule:
    f = Factors()
    dims = f.dims(result)
    small = tuple(dims[d] if s == result[d] else () for s, d in zip(operand, where, strict=True))
    return f.rule([small], [dims], [linear("sum", 0)], FREE)
