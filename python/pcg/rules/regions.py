"""Reading the small regions of ops: which reduction a computation is, and which constants an operand is."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.identities import identity, limits
from pcg.rules.values import splat

#: The op of each reduction.
REDUCERS = {
    "sum": "stablehlo.add", "prod": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
    "and": "stablehlo.and", "or": "stablehlo.or",
}  # fmt: skip
#: The reduction of each of those ops.
KINDS = {op: kind for kind, op in REDUCERS.items()}
#: What each reduction is on booleans, where `add` is `or` and `multiply` is `and`.
ON_BOOLEANS = {"sum": "or", "max": "or", "or": "or", "prod": "and", "min": "and", "and": "and"}


def is_bool(type_: ir.Type) -> bool:
    """Whether a tensor type has elements `i1`."""
    return isinstance(type_, ir.RankedTensorType) and str(type_.element_type) == "i1"


def reductions(region: ir.Region, count: int) -> tuple[str, ...] | None:
    """What a reducer over `count` values does to each: `("sum",)`, `("max", "min")`, ...

    The region takes `count` accumulators, then `count` elements, and must return, per value, one
    commutative op of its accumulator and its element.  None if it is anything else.
    """
    block = region.blocks[0]
    ops = [op.operation for op in block.operations]
    if len(ops) != count + 1 or len(block.arguments) != 2 * count:
        return None
    kinds = []
    for i, value in enumerate(ops[-1].operands):
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner
        kind = KINDS.get(op.name)
        if kind is None or {_argument(v) for v in op.operands} != {i, i + count}:
            return None
        kinds.append(ON_BOOLEANS[kind] if is_bool(value.type) else kind)
    return tuple(kinds)


def reduction(region: ir.Region, count: int) -> str | None:
    """The one reduction that a reducer over `count` values applies to all of them, else None."""
    kinds = reductions(region, count)
    return kinds[0] if kinds and len(set(kinds)) == 1 else None


def returns_element(region: ir.Region, count: int) -> bool:
    """Whether the computation overwrites: it returns its elements as they are."""
    ops = [op.operation for op in region.blocks[0].operations]
    return len(ops) == 1 and [_argument(v) for v in ops[0].operands] == list(range(count, 2 * count))


def _argument(value: ir.Value) -> int:
    return value.arg_number if isinstance(value, ir.BlockArgument) else -1


def is_identity(value: ir.Value, kind: str) -> bool:
    """Whether `value` is known to be the neutral element of reduction `kind` everywhere."""
    number = splat(value)
    if number is None:
        return False
    if kind in ("sum", "or"):
        return number == 0.0
    if kind == "prod":
        return number == 1.0
    element = value.type.element_type
    if kind == "and":
        return number == (1.0 if is_bool(value.type) else -1.0)
    if isinstance(element, ir.IntegerType):
        return number == float(limits(element)[0 if kind == "max" else 1])
    return number == identity(element, kind)
