"""Rules of slice, pad, reverse, dynamic_slice and dynamic_update_slice.

A dimension that the op takes as it is may be split.  So may one that it slices, pads or reverses: devices then exchange
the pieces that change owners (`pcg.rules.blocks`); each of its sizes is split by itself.  A short slice is taken like a
row of a gather: every device contributes what it owns of it, and zeros for the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from torch_mlir import ir

from pcg.ir.types import is_bool
from pcg.rules.blocks import FEW, OtherDim, PieceExchange, Span, other_dims, pad_spans, reverse_spans, slice_spans
from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import Exchange, FactorRule, Linear
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.values import is_zero


@dataclass(frozen=True)
class Resized:
    """How a dimension whose size an op changes may be split.

    `kind`: "pieces", both sizes are split and pieces exchanged; "owners", devices that own a part of the slice
    contribute it, and `reason` says why the slice is replicated; "replicated", the operand is replicated, but each
    device computes its part of the result only.
    """

    kind: str
    spans: tuple[Span, ...] = ()
    reason: str = "every device contributes what it owns to all of it"


def _slice_resized(size: int, start: int, limit: int, stride: int) -> Resized | None:
    """How `slice` changes a dimension of `size`; None if it keeps it."""
    result = -(-(limit - start) // stride)
    if result == size:
        return None
    if not result or (2 * result <= size and math.gcd(size, result) < FEW):
        return Resized("owners")
    return Resized("pieces", slice_spans(size, start, limit, stride))


def _pad_resized(size: int, result: int, low: int, high: int, interior: int) -> Resized | None:
    """How `pad` changes a dimension of `size`; None if it keeps it."""
    if low == high == interior == 0:
        return None
    short = min(size, result) < 2 or (2 * size <= result and math.gcd(size, result) < FEW)
    spans = () if short else pad_spans(size, result, low, interior)
    return Resized("pieces", spans) if spans else Resized("replicated")


def slice_resizes(op: ir.Operation) -> list[Resized | None]:
    """How a slice changes each dimension."""
    a = op.attributes
    rows = zip(shape(op.operands[0]), a["start_indices"], a["limit_indices"], a["strides"], strict=True)
    return [_slice_resized(*row) for row in rows]


def pad_resizes(op: ir.Operation) -> list[Resized | None]:
    """How a pad changes each dimension."""
    a = op.attributes
    rows = zip(
        shape(op.operands[0]), shape(op.results[0]), a["edge_padding_low"], a["edge_padding_high"],
        a["interior_padding"], strict=True,
    )  # fmt: skip
    return [_pad_resized(*row) for row in rows]


def pads_with_zeros(op: ir.Operation) -> bool:
    """Whether the padding of a pad is known to be 0; jax writes it as a conversion of one."""
    return is_zero(op.operands[1])


#: Their start indices are too few to count among what they read.
_SLICE = Trait.SLICE | Trait.READS_WINDOW | Trait.NONLOCAL | Trait.SAME_ELEMENTS | Trait.KEEPS_INTEGERS


@rule("stablehlo.slice", traits=_SLICE, reads=())
def slice_(op: ir.Operation) -> FactorRule:
    kind = "or" if is_bool(op.operands[0].type) else "sum"
    dims = tuple(slice_resizes(op))
    return _resize(shape(op.operands[0]), shape(op.results[0]), dims, 1, kind, (linear("sum", 0),), False)


@rule("stablehlo.pad", traits=Trait.NONLOCAL | Trait.KEEPS_INTEGERS)
def pad(op: ir.Operation) -> FactorRule:
    """Sums pass when the padding is zero: the sum of zeros."""
    passes = (linear("sum", 0),) if pads_with_zeros(op) else ()
    return _resize(shape(op.operands[0]), shape(op.results[0]), tuple(pad_resizes(op)), 2, "sum", passes, True)


@lru_cache(maxsize=4096)
def _resize(
    operand: Shape, result: Shape, resizes: tuple[Resized | None, ...], operands: int, kind: str,
    passes: tuple[Linear, ...], grows: bool,
) -> FactorRule:  # fmt: skip
    """Rule of an op that changes the dimensions of its first operand as `resizes`; other operands are scalars.

    The local form treats replicated dimensions first (last if the op `grows` its operand), then those split, in order.
    """
    f = Factors()
    rows: list[list[tuple[int, ...]]] = [[], []]
    for a, b, how in zip(operand, result, resizes, strict=True):
        if how is None:
            big = small = f.new(a)
        elif how.kind == "pieces":
            big = small = f.own(a, b)
        elif how.kind == "owners":
            big, small = f.new(a, kind), f.replicated(b, how.reason)
        else:
            reason = f"its {a} elements are few beside the {b} of the result, or all of them are cut off"
            big, small = f.replicated(a, reason), f.new(b)
        rows[0].append(big)
        rows[1].append(small)
    exchanges: list[Exchange] = []
    for d, how in enumerate(resizes):
        if how is None or how.kind != "pieces":
            continue
        others = []
        for e, other in enumerate(resizes):
            a, b = operand[e], result[e]
            if e == d:
                continue
            if other is None:
                others.append(OtherDim(rows[0][e], a, a))
            elif other.kind == "pieces":
                others.append(OtherDim(rows[0][e], a if grows else b, b if e < d else a))
            elif grows:
                others.append(OtherDim((), a, a))
            else:
                others.append(OtherDim(rows[1][e] if other.kind == "replicated" else (), b, b))
        exchanges.append(PieceExchange(rows[0][d][0], "permute", 0.0, 0, False, how.spans, result[d], tuple(others)))
    return f.rule([tuple(rows[0]), *[()] * (operands - 1)], [tuple(rows[1])], passes, FREE, exchanges)


@rule("stablehlo.reverse", traits=Trait.NONLOCAL | Trait.SAME_ELEMENTS | Trait.KEEPS_INTEGERS)
def reverse(op: ir.Operation) -> FactorRule:
    return _reverse(shape(op.operands[0]), tuple(op.attributes["dimensions"]))


@lru_cache(maxsize=4096)
def _reverse(operand: Shape, dims: Shape) -> FactorRule:
    """A reversed dimension swaps blocks, or parts of them if the last one is short."""
    f = Factors()
    row = tuple(f.own(s) if d in dims else f.new(s) for d, s in enumerate(operand))
    exchanges = []
    for d in dims:
        if row[d]:
            spans, others = reverse_spans(operand[d]), other_dims(row, operand, d)
            exchanges.append(PieceExchange(row[d][0], "permute", 0.0, 0, False, spans, operand[d], others))
    return f.rule([row], [row], (linear("sum", 0),), FREE, exchanges)


@rule("stablehlo.dynamic_slice", traits=_SLICE, reads=())
def dynamic_slice(op: ir.Operation) -> FactorRule:
    """Start indices are held by every device, which contributes what it owns of the slice."""
    operand, result = shape(op.operands[0]), shape(op.results[0])
    owners = Resized("owners", reason="where it starts is known only at run time")
    dims = tuple(None if a == b else owners for a, b in zip(operand, result, strict=True))
    kind = "or" if is_bool(op.operands[0].type) else "sum"
    return _resize(operand, result, dims, len(op.operands), kind, (linear("sum", 0),), False)


@rule(
    "stablehlo.dynamic_update_slice",
    traits=Trait.UNFUSABLE | Trait.UPDATE | Trait.IN_PLACE | Trait.PINNED | Trait.KEEPS_INTEGERS,
    reads=(1,),
)
def dynamic_update_slice(op: ir.Operation) -> FactorRule:
    """Dimensions that the update covers are shared.  Sums pass when both are partial; zeros need not be."""
    operand, update = op.operands[0], op.operands[1]
    passes = linear("sum", 1) if is_zero(operand) else linear("sum", 0) if is_zero(update) else linear("sum", 0, 1)
    return _update(shape(operand), shape(update), len(op.operands), passes)


@lru_cache(maxsize=4096)
def _update(operand: Shape, update: Shape, operands: int, passes: Linear) -> FactorRule:
    """Of a dimension that the update covers in part, every device holds the full update and writes what it owns."""
    f = Factors()
    reason = "where it goes is known only at run time, so every device needs all of it"
    big, small = [], []
    for a, b in zip(operand, update, strict=True):
        big.append(f.new(a))
        small.append(big[-1] if a == b else f.replicated(b, reason))
    elements = math.prod(update, start=1.0)
    return f.rule([tuple(big), tuple(small), *[()] * (operands - 2)], [tuple(big)], [passes], max(elements, FREE))
