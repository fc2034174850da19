"""Rules of slice, pad, reverse, dynamic_slice and dynamic_update_slice.

A dimension that the op takes as it is may be split; one that it cuts, pads, flips or updates in part
is whole on every device.
"""

from __future__ import annotations

from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import FactorRule, Linear
from pcg.rules.registry import rule, shape
from pcg.rules.values import is_zero

_SUM_0 = (linear("sum", 0),)


@rule("stablehlo.slice")
def slice_(op: ir.Operation) -> FactorRule:
    # A result dimension as large as the operand's can only be [0:size:1].
    return _kept(shape(op.operands[0]), shape(op.results[0]), 1, "the slice takes a part of it", _SUM_0)


@rule("stablehlo.dynamic_slice")
def dynamic_slice(op: ir.Operation) -> FactorRule:
    """Start indices are held by every device."""
    reason = "the slice takes a part of it, from a place known only at run time"
    return _kept(shape(op.operands[0]), shape(op.results[0]), len(op.operands), reason, _SUM_0)


@rule("stablehlo.pad")
def pad(op: ir.Operation) -> FactorRule:
    """Sums pass when the padding is zero: the sum of zeros."""
    a = op.attributes
    padding = zip(a["edge_padding_low"], a["edge_padding_high"], a["interior_padding"], strict=True)
    touched = tuple(any(p) for p in padding)
    passes = _SUM_0 if is_zero(op.operands[1]) else ()
    return _kept(shape(op.operands[0]), shape(op.results[0]), 2, "it is padded", passes, touched)


@lru_cache(maxsize=4096)
def _kept(
    operand: Shape, result: Shape, operands: int, reason: str, passes: tuple[Linear, ...],
    touched: tuple[bool, ...] | None = None,
) -> FactorRule:  # fmt: skip
    """Rule sharing the dimensions that are not touched (by default: whose size stays); other operands are scalars."""
    f = Factors()
    rows: list[list[tuple[int, ...]]] = [[], []]
    for d, (a, b) in enumerate(zip(operand, result, strict=True)):
        if a != b if touched is None else touched[d]:
            rows[0].append(f.whole(a, reason))
            rows[1].append(f.whole(b, reason))
        else:
            shared = f.new(a)
            rows[0].append(shared)
            rows[1].append(shared)
    return f.rule([tuple(rows[0]), *[()] * (operands - 1)], [tuple(rows[1])], passes, FREE)


@rule("stablehlo.reverse")
def reverse(op: ir.Operation) -> FactorRule:
    return _reverse(shape(op.operands[0]), tuple(op.attributes["dimensions"]))


@lru_cache(maxsize=4096)
def _reverse(operand: Shape, dims: Shape) -> FactorRule:
    f = Factors()
    row = tuple(f.whole(s, "it is reversed") if d in dims else f.new(s) for d, s in enumerate(operand))
    return f.rule([row], [row], _SUM_0, FREE)


@rule("stablehlo.dynamic_update_slice")
def dynamic_update_slice(op: ir.Operation) -> FactorRule:
    """Dimensions that the update covers are shared.  Sums pass when both are partial; zeros need not be."""
    operand, update = op.operands[0], op.operands[1]
    passes = linear("sum", 1) if is_zero(operand) else linear("sum", 0) if is_zero(update) else linear("sum", 0, 1)
    return _update(shape(operand), shape(update), len(op.operands), passes)


@lru_cache(maxsize=4096)
def _update(operand: Shape, update: Shape, operands: int, passes: Linear) -> FactorRule:
    f = Factors()
    reason = "the update covers a part of it, at a place known only at run time"
    big, small = [], []
    for a, b in zip(operand, update, strict=True):
        big.append(f.new(a) if a == b else f.whole(a, reason))
        small.append(big[-1] if a == b else f.whole(b, reason))
    elements = 1.0
    for b in update:
        elements *= b
    return f.rule([tuple(big), tuple(small), *[()] * (operands - 2)], [tuple(big)], [passes], max(elements, FREE))
