"""Facts about MLIR types."""

from __future__ import annotations

from torch_mlir import ir


def element_bytes(element: ir.Type) -> float:
    """Bytes of one element: half a byte for i4, a whole one for i1 and for what has no width."""
    if isinstance(element, ir.ComplexType):
        return 2 * element_bytes(element.element_type)
    width = getattr(element, "width", 8)
    return 1.0 if width == 1 else width / 8
