"""Neutral elements of reductions as constants, for every element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from torch_mlir import ir

from pcg.rules.regions import limits

_NUMBERS = {"sum": 0, "or": 0, "prod": 1}


def neutral(element: ir.Type, kind: str, loc: ir.Location) -> ir.Value:
    """0-d constant that changes nothing when `kind` combines it with a value of type `element`."""
    scalar = ir.RankedTensorType.get([], element)
    if isinstance(element, ir.ComplexType):  # the bindings have no attribute of complex numbers
        part = neutral(element.element_type, kind, loc)
        return ir.Operation.create("stablehlo.convert", results=[scalar], operands=[part], loc=loc).result
    value: ir.Attribute
    if isinstance(element, ir.IntegerType):
        value = ir.DenseElementsAttr.get_splat(scalar, ir.IntegerAttr.get(element, _integer(element, kind)))
    else:
        number = _NUMBERS[kind] if kind in _NUMBERS else (1 if kind == "min" else -1) * _largest(element)
        value = ir.DenseElementsAttr.get_splat(scalar, ir.FloatAttr.get(element, float(number)))
    return ir.Operation.create("stablehlo.constant", results=[scalar], attributes={"value": value}, loc=loc).result


def _integer(element: ir.IntegerType, kind: str) -> int:
    low, high = limits(element)
    if kind in ("max", "min"):
        return low if kind == "max" else high
    if kind == "and":
        return high if low == 0 else -1
    return _NUMBERS[kind]


def _largest(element: ir.Type) -> float:
    """Infinity, or the largest number of a type that has none."""
    if element.width >= 16:
        return float("inf")
    dtype = np.dtype(getattr(ml_dtypes, "float" + str(element)[1:].lower()))
    infinity = np.asarray(float("inf")).astype(dtype).astype(np.float64)
    return float(infinity) if np.isinf(infinity) else float(ml_dtypes.finfo(dtype).max)
