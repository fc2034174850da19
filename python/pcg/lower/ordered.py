"""Floats as integers of the same order, for collectives whose maximum or minimum would lose NaN.

On one device the maximum of numbers of which one is NaN is NaN.  Across devices it depends on who combines them: XLA's
collectives on CPU and NCCL's keep the number.  Integers have one maximum everywhere.  The bits of an IEEE float, all
but the sign inverted where that is set, are integers in the order of the floats, with -0.0 below +0.0; NaN becomes the
integer beyond the infinities at the end that wins.  They are as wide as the floats, so that nothing more is sent.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.lower.neutral import scalar

#: Types whose NaNs a collective may lose; narrower floats are reduced by the devices themselves.
_IEEE = frozenset({"f64", "f32", "f16", "bf16"})


def needs_order(kind: str, element: ir.Type) -> bool:
    """Whether a reduction by `kind` across devices goes through integers."""
    return kind in ("max", "min") and str(element) in _IEEE


def ordered(value: ir.Value, kind: str, loc: ir.Location) -> ir.Value:
    """`value` (floats) as signed integers of its order; NaN wins a reduction by `kind`."""
    type_ = value.type
    last = 2 ** (type_.element_type.width - 1)
    flags = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(1))
    nan = ir.Operation.create(
        "stablehlo.compare", results=[flags], operands=[value, value], loc=loc,
        attributes={
            "comparison_direction": ir.Attribute.parse("#stablehlo<comparison_direction NE>"),
            "compare_type": ir.Attribute.parse("#stablehlo<comparison_type FLOAT>"),
        },
    ).result
    integers = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(type_.element_type.width))
    bits = _op("stablehlo.bitcast_convert", [value], integers, loc)
    beyond = _everywhere(last - 1 if kind == "max" else -last, integers, loc)
    return _op("stablehlo.select", [nan, beyond, _flipped(bits, loc)], integers, loc)


def unordered(value: ir.Value, element: ir.Type, loc: ir.Location) -> ir.Value:
    """The floats of type `element` that `ordered` made `value` of."""
    type_ = ir.RankedTensorType.get(value.type.shape, element)
    return _op("stablehlo.bitcast_convert", [_flipped(value, loc)], type_, loc)


def _flipped(bits: ir.Value, loc: ir.Location) -> ir.Value:
    """All bits but the sign inverted where that is set; its own inverse."""
    width = bits.type.element_type.width
    places = _everywhere(width - 1, bits.type, loc)
    sign = _op("stablehlo.shift_right_arithmetic", [bits, places], bits.type, loc)
    lower = _op("stablehlo.and", [sign, _everywhere(2 ** (width - 1) - 1, bits.type, loc)], bits.type, loc)
    return _op("stablehlo.xor", [bits, lower], bits.type, loc)


def _everywhere(number: int, type_: ir.RankedTensorType, loc: ir.Location) -> ir.Value:
    made = scalar(number, type_.element_type, loc)
    return ir.Operation.create(
        "stablehlo.broadcast_in_dim", results=[type_], operands=[made], loc=loc,
        attributes={"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])},
    ).result


def _op(name: str, operands: list[ir.Value], type_: ir.Type, loc: ir.Location) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=operands, loc=loc).result
