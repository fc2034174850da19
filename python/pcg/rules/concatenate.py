"""Rule of concatenate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from torch_mlir import ir

from pcg.rules.blocks import FEW, PieceExchange, concatenate_spans, other_dims
from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import Exchange, FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.values import is_zero


@rule("stablehlo.concatenate", traits=Trait.ANCHOR | Trait.NONLOCAL | Trait.KEEPS_INTEGERS)
def concatenate(op: ir.Operation) -> FactorRule:
    """Dimensions are shared.  Along the concatenated one devices exchange the pieces that change owners.

    Sums pass when every operand is partial; operands that are zero need not be.
    """
    values = list(op.operands)
    partial = tuple(i for i, v in enumerate(values) if not is_zero(v))
    return _concatenate(
        tuple(shape(v) for v in values), shape(op.results[0]), op.attributes["dimension"].value, partial
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _concatenate(operands: tuple[Shape, ...], result: Shape, dim: int, partial: Shape) -> FactorRule:
    """Operands that are short beside the others are replicated; each device takes its part of them."""
    f = Factors()
    sizes = tuple(s[dim] for s in operands)
    split = split_operands(sizes)
    long = tuple(s for s, x in zip(sizes, split, strict=True) if x)
    out = tuple(f.own(*long, s) if d == dim and long else f.new(s) for d, s in enumerate(result))
    reason = "it is short beside the other operands, or they all are"
    rows = [
        (*out[:dim], out[dim] if x else f.replicated(s[dim], reason), *out[dim + 1 :])
        for s, x in zip(operands, split, strict=True)
    ]
    exchanges: list[Exchange] = []
    if long and len(operands) > 1:
        spans, others = concatenate_spans(sizes, split), other_dims(out, result, dim)
        exchanges.append(PieceExchange(out[dim][0], "permute", 0.0, 0, False, spans, result[dim], others))
    return f.rule(rows, [out], [linear("sum", *partial)] if partial else [], FREE, exchanges)


def split_operands(sizes: Sequence[int]) -> tuple[bool, ...]:
    """Which of the operands of these sizes share the factor of the result along the concatenated dimension.

    It has no more parts than the smallest of them has elements, so short ones beside long ones do not.
    """
    some = tuple(s for s in sizes if s)
    few = math.gcd(*some) < FEW
    return tuple(s > 1 and not (few and s < 2 * FEW and 4 * s <= max(sizes)) for s in sizes)
