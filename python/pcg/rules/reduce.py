"""Rule of reduce: reduced dimensions are contracted when the reducer is one that devices can finish."""

from __future__ import annotations

import math
from functools import lru_cache

from torch_mlir import ir

from pcg.ir.identities import identity
from pcg.rules.build import Factors, Shape, linear
from pcg.rules.factor import Exchange, FactorRule
from pcg.rules.regions import KINDS, ON_BOOLEANS, is_bool, is_identity
from pcg.rules.registry import rule, shape
from pcg.rules.scalars import repeatable
from pcg.rules.traits import Trait

_ORDER = "its reducer is not one that collectives know, and shards of it would not follow each other in order"
_COUNTS = "its reducer is not one that collectives know, and how often it meets the initial values may count"


@rule("stablehlo.reduce", traits=Trait.NONLOCAL | Trait.SCALAR_BODY)
def reduce(op: ir.Operation) -> FactorRule:
    """`(i,k),() -> (i)`; splitting k makes the results partial by the reducer.

    An initial value that is not neutral is put in by one device only.  A reducer that no collective knows (argmax)
    runs on every shard, then once more on what the shards made, gathered; for that the shards must follow each other
    in the order in which elements are reduced, which those of the first reduced dimension do, and initial values must
    be such that it does not matter how often they are met.
    """
    n = len(op.operands) // 2
    dims = tuple(op.attributes["dimensions"])
    kinds = reducer_kinds(op)
    if kinds is None or len(set(kinds)) > 1:
        if kinds is not None and not all(_repeatable(op, k, n + i) for i, k in enumerate(kinds)):
            reason = f"its operands are reduced in different ways ({', '.join(kinds)}), from values that count"
            return reduce_rule(shape(op.operands[0]), n, dims, "", reason)
        if kinds is None and not repeatable(op.regions[0], list(op.operands)[n:]):
            return reduce_rule(shape(op.operands[0]), n, dims, "", _COUNTS)
        return reduce_rule(shape(op.operands[0]), n, dims, "", _ORDER, gathered=True)
    kind = kinds[0]
    if all(_repeatable(op, kind, n + i) for i in range(n)):
        return reduce_rule(shape(op.operands[0]), n, dims, kind, "", passes=True)
    return reduce_rule(shape(op.operands[0]), n, dims, kind, "")


def _repeatable(op: ir.Operation, kind: str, i: int) -> bool:
    """Whether initial value `i` may be combined repeatedly."""
    return not once(kind) or is_identity(op.operands[i], kind)


def once(kind: str) -> bool:
    """Whether a value may be combined only once; the other reductions are idempotent."""
    return kind in ("sum", "prod")


def reducer_kinds(op: ir.Operation, region: int = 0) -> tuple[str, ...] | None:
    """Reduction kind per operand of a reducer region; None when it is anything but one plain op with a neutral element.

    The region is `(a1, ..., an, b1, ..., bn)` and must return `op1(a1,b1), ..., opn(an,bn)`.
    """
    block = op.regions[region].blocks[0]
    arguments = list(block.arguments)
    n = len(arguments) // 2
    inner = [o.operation for o in block.operations]
    if len(inner) != n + 1:
        return None
    kinds = []
    for i, value in enumerate(inner[-1].operands):
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        owner = owner.operation
        kind = KINDS.get(owner.name)
        pair = [arguments[i], arguments[n + i]]
        if kind is None or (list(owner.operands) != pair and list(owner.operands) != pair[::-1]):
            return None
        kind = ON_BOOLEANS[kind] if is_bool(value.type) else kind
        if identity(value.type.element_type, kind) is None:
            return None
        kinds.append(kind)
    return tuple(kinds)


@lru_cache(maxsize=4096)
def reduce_rule(
    operand: Shape, n: int, dims: Shape, kind: str, reason: str, passes: bool = False, gathered: bool = False
) -> FactorRule:
    """Rule of reducing `n` operands of one shape over `dims`.

    `kind` is what splitting them makes the results partial by, "" if they must stay whole because of `reason`; then
    `gathered` lets the first of them be split all the same.  `passes`: partial operands give partial results.
    """
    f = Factors()
    first = next((d for d in sorted(dims) if operand[d] > 1), -1) if gathered else -1
    row = tuple(
        f.new(s) if d not in dims or d == first else f.new(s, kind) if not reason else f.whole(s, reason)
        for d, s in enumerate(operand)
    )
    kept = tuple(row[d] for d in range(len(operand)) if d not in dims)
    flops = float(n)
    for s in operand:
        flops *= s
    linears = [linear(kind, *range(n))] if passes and kind != "prod" else []
    made = float(n * math.prod(s for d, s in enumerate(operand) if d not in dims))
    exchanges = [Exchange(row[first][0], "all_gather", made)] if first >= 0 else []
    return f.rule([row] * n + [()] * n, [kept] * n, linears, max(flops, 1.0), exchanges)
