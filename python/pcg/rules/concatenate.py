"""Rule of concatenate."""

from __future__ import annotations

from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import FREE, Factors, Shape, linear
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.values import is_zero


@rule("stablehlo.concatenate")
def concatenate(op: ir.Operation) -> FactorRule:
    """Dimensions are shared, but the concatenated one is whole on every device.

    Sums pass when every operand is partial; operands that are zero need not be.
    """
    values = list(op.operands)
    partial = tuple(i for i, v in enumerate(values) if not is_zero(v))
    return _concatenate(
        tuple(shape(v) for v in values), shape(op.results[0]), op.attributes["dimension"].value, partial
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _concatenate(operands: tuple[Shape, ...], result: Shape, dim: int, partial: Shape) -> FactorRule:
    f = Factors()
    reason = "pieces of different operands would share a shard of the concatenated dimension"
    out = tuple(f.whole(s, reason) if d == dim else f.new(s) for d, s in enumerate(result))
    rows = [(*out[:dim], f.whole(s[dim], reason), *out[dim + 1 :]) for s in operands]
    return f.rule(rows, [out], [linear("sum", *partial)] if partial else [], FREE)
