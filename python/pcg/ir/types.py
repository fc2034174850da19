"""Facts about MLIR types."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir import ir


def element_bytes(element: ir.Type) -> float:
    """Bytes of one element: half a byte for i4, a whole one for i1 and for what has no width."""
    if isinstance(element, ir.ComplexType):
        return 2 * element_bytes(element.element_type)
    width = getattr(element, "width", 8)
    return 1.0 if width == 1 else width / 8


def tensor_bytes(type_: ir.Type, shape: Sequence[int] | None = None) -> float:
    """Bytes of a tensor of a type, or of a part of it that has `shape`; 0 for what is no tensor, such as a token."""
    if not isinstance(type_, ir.RankedTensorType):
        return 0.0
    return math.prod(type_.shape if shape is None else shape) * element_bytes(type_.element_type)


def is_bool(type_: ir.Type) -> bool:
    """Whether a type is that of tensors of booleans, `i1`."""
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else None
    return isinstance(element, ir.IntegerType) and element.width == 1


def number_attr(number: float | int, element: ir.Type) -> ir.Attribute:
    """`number` as an attribute of a real element type."""
    if isinstance(element, ir.IntegerType):
        value = int(number)
        # The bindings take the bits of an unsigned number as those of a signed one.
        return ir.IntegerAttr.get(element, value - 2**64 if value >= 2**63 else value)
    return ir.FloatAttr.get(element, float(number))
