"""What the text of a program says at once: whether an operand is a splat constant, and of what; attributes."""

from __future__ import annotations

import math
from typing import TypeVar

from torch_mlir import ir

from pcg.rules import traits
from pcg.rules.traits import Trait

Value = TypeVar("Value", bool, int)
#: Floats with infinities, of those that programs convert to.
_INFINITE = frozenset({"f64", "f32", "f16", "bf16"})


def optional(op: ir.Operation, name: str, default: Value) -> Value:
    """The number or flag that an attribute holds; `default` if the op does not have it."""
    return op.attributes[name].value if name in op.attributes else default


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
        elif not traits.has(name, Trait.SAME_ELEMENTS) or name == "stablehlo.gather":
            return None  # gathers of one number are rare, and not looked through
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


def free_values(block: ir.Block) -> set[ir.Value]:
    """What depends on no argument and can be rematerialised wherever it is used: constants, iotas, and what follows."""
    found: set[ir.Value] = set()
    for op in block.operations:
        op = op.operation
        if len(op.regions) or not op.name.startswith(("stablehlo.", "chlo.")):
            continue
        if traits.has(op.name, Trait.UNREPEATABLE):
            continue
        if all(v in found for v in op.operands):
            found.update(op.results)
    return found


def _splat(attr: ir.Attribute) -> bool | int | float | None:
    if not isinstance(attr, ir.DenseElementsAttr) or not attr.is_splat:
        return None
    number = attr.get_splat_value()
    return number.value if isinstance(number, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr) else None
