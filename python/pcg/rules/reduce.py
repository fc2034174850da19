"""Rule of reduce: reduced dimensions are contracted when the reducer is one that devices can finish."""

from __future__ import annotations

import math
from functools import lru_cache

from torch_mlir import ir

from pcg.ir.identities import neutral_element
from pcg.rules.build import Factors, Shape, linear
from pcg.rules.factor import Exchange, FactorRule
from pcg.rules.regions import is_neutral, reductions
from pcg.rules.registry import rule, shape
from pcg.rules.scalars import idempotent_on
from pcg.rules.traits import Trait

_ORDER = "its reducer is not one that collectives know, and shards of it would not follow each other in order"
_COUNTS = "its reducer is not one that collectives know, and how often it takes the initial values may count"


@rule("stablehlo.reduce", traits=Trait.NONLOCAL | Trait.SCALAR_BODY)
def reduce(op: ir.Operation) -> FactorRule:
    """`(i,k),() -> (i)`; splitting k makes the results partial by the reducer.

    An initial value that is not neutral is combined by one device only.  A reducer that no collective knows (argmax)
    runs on every shard, then once more on the gathered results of the shards; for that the shards must follow each
    other in the order in which elements are reduced, which those of the first reduced dimension do, and the reducer
    must be idempotent on the initial values.
    """
    n = len(op.operands) // 2
    dims = tuple(op.attributes["dimensions"])
    kinds = reducer_kinds(op)
    if kinds is None or len(set(kinds)) > 1:
        if kinds is not None and not all(_may_repeat(op, k, n + i) for i, k in enumerate(kinds)):
            reason = f"its operands are reduced in different ways ({', '.join(kinds)}), from values that count"
            return reduce_rule(shape(op.operands[0]), n, dims, "", reason)
        if kinds is None and not idempotent_on(op.regions[0], list(op.operands)[n:]):
            return reduce_rule(shape(op.operands[0]), n, dims, "", _COUNTS)
        return reduce_rule(shape(op.operands[0]), n, dims, "", _ORDER, gathered=True)
    kind = kinds[0]
    passes = all(_may_repeat(op, kind, n + i) for i in range(n))
    return reduce_rule(shape(op.operands[0]), n, dims, kind, "", passes)


def _may_repeat(op: ir.Operation, kind: str, i: int) -> bool:
    """Whether initial value `i` may be combined repeatedly."""
    return idempotent(kind) or is_neutral(op.operands[i], kind)


def idempotent(kind: str) -> bool:
    """Whether a reduction of a value with itself is that value, so that it does not matter how often it is combined."""
    return kind not in ("sum", "prod")


def reducer_kinds(op: ir.Operation) -> tuple[str, ...] | None:
    """The reduction of each operand of a `reduce`; None where one is no plain op, or has no neutral element."""
    kinds = reductions(op.regions[0], len(op.results))
    if kinds is None:
        return None
    known = (neutral_element(r.type.element_type, k) is not None for r, k in zip(op.results, kinds, strict=True))
    return kinds if all(known) else None


@lru_cache(maxsize=4096)
def reduce_rule(
    operand: Shape, n: int, dims: Shape, kind: str, reason: str, passes: bool = False, gathered: bool = False
) -> FactorRule:
    """Rule of reducing `n` operands of one shape over `dims`.

    `kind` is what splitting them makes the results partial by, "" if they cannot be split because of `reason`; then
    `gathered` lets the first of them be split all the same.  `passes`: partial operands give partial results.
    """
    f = Factors()
    first = next((d for d in sorted(dims) if operand[d] > 1), -1) if gathered else -1
    row = tuple(
        f.new(s) if d not in dims or d == first else f.new(s, kind) if not reason else f.replicated(s, reason)
        for d, s in enumerate(operand)
    )
    kept = tuple(row[d] for d in range(len(operand)) if d not in dims)
    flops = math.prod(operand, start=float(n))
    linears = [linear(kind, *range(n))] if passes and kind != "prod" else []
    elements = float(n * math.prod(s for d, s in enumerate(operand) if d not in dims))
    exchanges = [Exchange(row[first][0], "all_gather", elements)] if first >= 0 else []
    return f.rule([row] * n + [()] * n, [kept] * n, linears, max(flops, 1.0), exchanges)
