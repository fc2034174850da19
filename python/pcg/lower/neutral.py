"""Zeros and neutral elements of reductions as 0-d constants, for every element type.

New ops go to the current insertion point and location.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.emit import create, tensor
from pcg.ir.identities import neutral_element
from pcg.ir.types import number_attr

#: Floats whose only zero is positive: the bits of -0.0 are their NaN.
_ONE_ZERO = frozenset({"f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E8M0FNU"})


def neutral(element: ir.Type, kind: str) -> ir.Value:
    """0-d constant that changes nothing when `kind` combines it with a value of type `element`.

    That of a sum of floats is -0.0: with +0.0 a -0.0 would become +0.0.

    Raises:
      ValueError: the type has none (a sum of f8E8M0FNU, which has no zero; a maximum of complex numbers).
    """
    number = neutral_element(element, kind)
    if number is None:
        raise ValueError(f"reduction {kind!r} has no neutral element of type {element}")
    if isinstance(element, ir.ComplexType):
        parts = [neutral(element.element_type, k) for k in (kind, "sum")]
        return create("stablehlo.complex", parts, tensor([], element))
    if kind == "sum" and isinstance(element, ir.FloatType) and str(element) not in _ONE_ZERO:
        number = -0.0
    return scalar(number, element)


def absent(element: ir.Type) -> ir.Value:
    """0-d constant that stands where another device has the value, and all are added up: -0.0 where there is one."""
    return zero(element) if neutral_element(element, "sum") is None else neutral(element, "sum")


def zero(element: ir.Type) -> ir.Value:
    """0-d zero (of f8E8M0FNU the smallest number)."""
    if isinstance(element, ir.ComplexType):
        return create("stablehlo.complex", [zero(element.element_type)] * 2, tensor([], element))
    return scalar(0, element)


def scalar(number: float | int, element: ir.Type) -> ir.Value:
    """0-d constant `number` of a real type."""
    type_ = tensor([], element)
    value = ir.DenseElementsAttr.get_splat(type_, number_attr(number, element))
    return create("stablehlo.constant", [], type_, value=value)
