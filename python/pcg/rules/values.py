"""Compile-time knowledge about values: is this operand a splat constant, and of what."""

from __future__ import annotations

from torch_mlir import ir

# Ops whose result holds only elements of their first operand.
_SAME_ELEMENTS = frozenset({
    "stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice", "stablehlo.reverse",
    "stablehlo.dynamic_slice", "dist.constraint", "dist.reshard", "pcg.partition", "pcg.combine", "pcg.replicate",
    "pcg.reduce", "dist.all_gather", "dist.all_reduce", "dist.reduce_scatter", "dist.all_to_all", "dist.permute",
    "dist.regroup", "dist.slice",
})  # fmt: skip


def splat(value: ir.Value) -> bool | int | float | None:
    """The number that every element of `value` is, when the program text says so; else None.

    Looks through broadcasts and through PCG operators, which are the identity on values.
    """
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        owner = owner.operation
        name = owner.name
        if name == "stablehlo.constant":
            if isinstance(value.type.element_type, ir.ComplexType):
                return _complex(owner)
            return _splat(owner.attributes["value"])
        if name not in _SAME_ELEMENTS:
            return None
        value = owner.operands[0]


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
