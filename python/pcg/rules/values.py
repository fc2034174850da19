"""Compile-time knowledge about values: is this operand a splat constant, and of what."""

from __future__ import annotations

import math

from torch_mlir import ir

#: Floats with infinities, of those that programs convert to.
_INFINITE = frozenset({"f64", "f32", "f16", "bf16"})
# Ops whose result holds only elements of their first operand.
_SAME_ELEMENTS = frozenset({
    "stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice", "stablehlo.reverse",
    "stablehlo.dynamic_slice", "dist.constraint", "dist.reshard", "pcg.partition", "pcg.combine", "pcg.replicate",
    "pcg.reduce", "dist.all_gather", "dist.all_reduce", "dist.reduce_scatter", "dist.all_to_all", "dist.permute",
    "dist.regroup", "dist.slice",
})  # fmt: skip


def splat(value: ir.Value) -> bool | int | float | None:
    """The number that every element of `value` is, when the program text says so; else None.

    Looks through broadcasts, through PCG operators, which are the identity on values, and through conversions that
    keep the number: of 0 and 1, and of infinities to other floats.
    """
    converted: list[ir.Type] = []
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        owner = owner.operation
        name = owner.name
        if name == "stablehlo.constant":
            complex_ = isinstance(value.type.element_type, ir.ComplexType)
            number = _complex(owner) if complex_ else _splat(owner.attributes["value"])
            return number if number is not None and all(_keeps(number, t) for t in converted) else None
        if name == "stablehlo.convert":
            converted.append(value.type.element_type)
        elif name not in _SAME_ELEMENTS:
            return None
        value = owner.operands[0]


def _keeps(number: float, element: ir.Type) -> bool:
    """Whether a conversion to `element` surely keeps a number."""
    if number in (0, 1):
        return str(element) != "f8E8M0FNU"  # it has no zero
    return math.isinf(number) and str(element) in _INFINITE


def _complex(constant: ir.Operation) -> float | None:
    """0 or 1 when that is what a complex constant holds: the bindings have no attribute to read it from."""
    text = constant.get_asm(large_elements_limit=1, assume_verified=True)
    known = {0.0: "dense<(0.000000e+00,0.000000e+00)>", 1.0: "dense<(1.000000e+00,0.000000e+00)>"}
    return next((number for number, shown in known.items() if shown in text), None)


def is_zero(value: ir.Value) -> bool:
    """Whether `value` is known to be all zeros (or all false)."""
    return splat(value) == 0


def _splat(attr: ir.Attribute) -> bool | int | float | None:
    if not isinstance(attr, ir.DenseElementsAttr) or not attr.is_splat:
        return None
    number = attr.get_splat_value()
    return number.value if isinstance(number, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr) else None
