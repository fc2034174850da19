"""Floats as integers of the same order, for collectives whose maximum or minimum would lose NaN.

On one device the maximum of numbers of which one is NaN is NaN.  Across devices it depends on who combines them: XLA's
collectives on CPU and NCCL's keep the number.  Integers have one maximum everywhere.  The bits of an IEEE float, all
but the sign inverted where that is set, are integers in the order of the floats, with -0.0 below +0.0; NaN becomes the
integer beyond the infinities at the end that wins.  They are as wide as the floats, so that nothing more is sent.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.emit import binary, broadcast, compare, create, select, tensor
from pcg.lower.neutral import scalar

#: Types whose NaNs a collective may lose; narrower floats are reduced by the devices themselves.
_IEEE = frozenset({"f64", "f32", "f16", "bf16"})


def needs_order(kind: str, element: ir.Type) -> bool:
    """Whether a reduction by `kind` across devices goes through integers."""
    return kind in ("max", "min") and str(element) in _IEEE


def ordered(value: ir.Value, kind: str) -> ir.Value:
    """`value` (floats) as signed integers of its order; NaN wins a reduction by `kind`."""
    width = value.type.element_type.width
    nan = compare(value, value, "NE", "FLOAT")
    bits = create("stablehlo.bitcast_convert", [value], tensor(value.type.shape, ir.IntegerType.get_signless(width)))
    beyond = _splat(2 ** (width - 1) - 1 if kind == "max" else -(2 ** (width - 1)), bits.type)
    return select(nan, beyond, _flipped(bits))


def unordered(value: ir.Value, element: ir.Type) -> ir.Value:
    """The inverse of `ordered`: integers `value` as floats of type `element`."""
    return create("stablehlo.bitcast_convert", [_flipped(value)], tensor(value.type.shape, element))


def _flipped(bits: ir.Value) -> ir.Value:
    """All bits but the sign inverted where that is set; its own inverse."""
    width = bits.type.element_type.width
    sign = binary("shift_right_arithmetic", bits, _splat(width - 1, bits.type))
    return binary("xor", bits, binary("and", sign, _splat(2 ** (width - 1) - 1, bits.type)))


def _splat(number: int, type_: ir.RankedTensorType) -> ir.Value:
    return broadcast(scalar(number, type_.element_type), type_)
