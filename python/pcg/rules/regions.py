"""Reading the small regions of ops: which reduction a computation is, and which constants an operand is."""

from __future__ import annotations

from torch_mlir import ir

#: Reduction of a binary op, and its value on booleans (where `add` is `or` and `multiply` is `and`).
KINDS = {
    "stablehlo.add": ("sum", "or"),
    "stablehlo.maximum": ("max", "or"),
    "stablehlo.minimum": ("min", "and"),
    "stablehlo.multiply": ("prod", "and"),
    "stablehlo.and": ("and", "and"),
    "stablehlo.or": ("or", "or"),
}
#: The op of each reduction.
REDUCERS = {
    "sum": "stablehlo.add", "prod": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
    "and": "stablehlo.and", "or": "stablehlo.or",
}  # fmt: skip
_SPLAT_THROUGH = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert"})


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
        kinds.append(kind[is_bool(value.type)])
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


def splat(value: ir.Value) -> float | None:
    """The number every element of `value` is, if it is a real constant (or a broadcast of one)."""
    for _ in range(4):
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner
        if op.name == "stablehlo.constant":
            return _number(op)
        if op.name not in _SPLAT_THROUGH:
            return None
        value = op.operands[0]
    return None


def _number(constant: ir.Operation) -> float | None:
    try:
        attr = constant.attributes["value"]
    except TypeError:  # the bindings have no class for complex elements
        zero = "dense<(0.000000e+00,0.000000e+00)>"
        return 0.0 if zero in constant.get_asm(assume_verified=True) else None
    if not isinstance(attr, ir.DenseElementsAttr) or not attr.is_splat:
        return None
    element = attr.get_splat_value()
    if isinstance(element, (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)):
        return float(element.value)
    return None


def is_zero(value: ir.Value) -> bool:
    """Whether `value` is known to be zero everywhere."""
    return splat(value) == 0.0


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


def limits(element: ir.IntegerType) -> tuple[int, int]:
    """Smallest and largest value of an integer element type."""
    if element.is_unsigned:
        return 0, 2**element.width - 1
    if element.width == 1:
        return 0, 1
    return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1


def identity(element: ir.Type, kind: str) -> float | int | None:
    """Neutral element of reduction `kind` on `element`; None where there is none (max of complex numbers)."""
    if isinstance(element, ir.IntegerType):
        low, high = limits(element)
        neutral = {"sum": 0, "or": 0, "prod": 1, "max": low, "min": high, "and": high if low == 0 else -1}
        return neutral[kind]
    if kind in ("sum", "prod"):
        if kind == "sum" and str(element) == "f8E8M0FNU":
            return None  # it has no zero
        return 0.0 if kind == "sum" else 1.0
    if kind in ("max", "min") and isinstance(element, ir.FloatType):
        largest = _LARGEST.get(str(element), float("inf"))
        if str(element) == "f8E8M0FNU":
            return 1 / largest if kind == "max" else largest
        return -largest if kind == "max" else largest
    return None


#: The largest number of float types without an infinity.
_LARGEST = {
    "f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E4M3B11FNUZ": 30.0, "f8E5M2FNUZ": 57344.0,
    "f8E8M0FNU": 2.0**127, "f6E2M3FN": 7.5, "f6E3M2FN": 28.0, "f4E2M1FN": 6.0,
}  # fmt: skip
