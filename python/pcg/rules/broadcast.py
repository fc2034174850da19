"""Rule of broadcast_in_dim."""

from __future__ import annotations

from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait


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
