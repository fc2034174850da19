"""Reading the small regions of ops: which reduction a computation is, and which constants an operand is."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.identities import integer_range, neutral_element
from pcg.ir.types import is_bool
from pcg.rules.values import splat

#: The op of each reduction.
REDUCERS = {
    "sum": "stablehlo.add", "prod": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
    "and": "stablehlo.and", "or": "stablehlo.or",
}  # fmt: skip
_KIND_OF = {op: kind for kind, op in REDUCERS.items()}
#: What each reduction is on booleans, where `add` is `or` and `multiply` is `and`.
ON_BOOLEANS = {"sum": "or", "max": "or", "or": "or", "prod": "and", "min": "and", "and": "and"}


def reductions(region: ir.Region, count: int) -> tuple[str, ...] | None:
    """What a reducer over `count` values does to each: `("sum",)`, `("max", "min")`, ...

    The region takes `count` accumulators, then `count` elements, and must return, per value, one
    commutative op of its accumulator and its element.  None if it is anything else.
    """
    block = region.blocks[0]
    ops, arguments = [op.operation for op in block.operations], list(block.arguments)
    if len(ops) != count + 1 or len(arguments) != 2 * count:
        return None
    kinds = []
    for i, value in enumerate(ops[-1].operands):
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner
        kind = _KIND_OF.get(op.name)
        if kind is None or set(op.operands) != {arguments[i], arguments[i + count]}:
            return None
        kinds.append(ON_BOOLEANS[kind] if is_bool(value.type) else kind)
    return tuple(kinds)


def reduction(region: ir.Region, count: int) -> str | None:
    """The one reduction that a reducer over `count` values applies to all of them, else None."""
    kinds = reductions(region, count)
    return kinds[0] if kinds and len(set(kinds)) == 1 else None


def returns_element(region: ir.Region, count: int) -> bool:
    """Whether the computation overwrites: it returns its elements as they are."""
    block = region.blocks[0]
    ops = [op.operation for op in block.operations]
    return len(ops) == 1 and list(ops[0].operands) == list(block.arguments)[count:]


def is_neutral(value: ir.Value, kind: str) -> bool:
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
        return number == float(integer_range(element)[0 if kind == "max" else 1])
    return number == neutral_element(element, kind)
