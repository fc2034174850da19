"""Rule of reduce: reduced dimensions are contracted when the reducer is one that devices can finish."""

from __future__ import annotations

from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import Factors, Shape, linear
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.values import splat

_KINDS = {
    "stablehlo.add": "sum", "stablehlo.maximum": "max", "stablehlo.minimum": "min", "stablehlo.multiply": "prod",
    "stablehlo.and": "and", "stablehlo.or": "or",
}  # fmt: skip
_BOOLEAN_KINDS = {"sum": "or", "max": "or", "prod": "and", "min": "and", "and": "and", "or": "or"}
#: Initial values that change nothing.  The other kinds are idempotent: there any value may be combined repeatedly.
_IDENTITY = {"sum": 0, "prod": 1}


@rule("stablehlo.reduce")
def reduce(op: ir.Operation) -> FactorRule:
    """`(i,k),() -> (i)`; splitting k makes the results partial by the reducer."""
    n = len(op.operands) // 2
    kind, reason = "", ""
    kinds = reducer_kinds(op)
    if kinds is None:
        reason = "its reducer is not one of add, multiply, maximum, minimum, and, or"
        if n > 1:
            reason = f"its reducer combines {n} operands with each other"
    elif len(set(kinds)) > 1:
        reason = f"its operands are reduced in different ways: {', '.join(kinds)}"
    else:
        kind = kinds[0]
        identity = _IDENTITY.get(kind)
        if identity is not None and any(splat(v) != identity for v in list(op.operands)[n:]):
            kind, reason = "", f"its initial value is not known to be {identity}, so every shard would add it again"
    return reduce_rule(shape(op.operands[0]), n, tuple(op.attributes["dimensions"]), kind, reason)


def reducer_kinds(op: ir.Operation, region: int = 0) -> tuple[str, ...] | None:
    """Reduction kind per operand of a reducer region; None when it is anything but one plain op each.

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
        kind = _KINDS.get(owner.name)
        pair = [arguments[i], arguments[n + i]]
        if kind is None or (list(owner.operands) != pair and list(owner.operands) != pair[::-1]):
            return None
        element = value.type.element_type
        boolean = isinstance(element, ir.IntegerType) and element.width == 1
        kinds.append(_BOOLEAN_KINDS[kind] if boolean else kind)
    return tuple(kinds)


@lru_cache(maxsize=4096)
def reduce_rule(operand: Shape, n: int, dims: Shape, kind: str, reason: str) -> FactorRule:
    """Rule of reducing `n` operands of one shape over `dims`; `reason` when those must stay whole."""
    f = Factors()
    row = tuple(
        f.new(s) if d not in dims else f.new(s, kind) if not reason else f.whole(s, reason)
        for d, s in enumerate(operand)
    )
    kept = tuple(row[d] for d in range(len(operand)) if d not in dims)
    flops = float(n)
    for s in operand:
        flops *= s
    passes = [linear(kind, *range(n))] if kind and kind != "prod" else []
    return f.rule([row] * n + [()] * n, [kept] * n, passes, max(flops, 1.0))
