"""Integers of one element that the text of a program fixes: counters, indices, and what is computed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.types import number_attr
from pcg.ir.walk import defining_op
from pcg.rules.values import splat

#: Ops between a number and the constants that it is computed of, at most.  A choice: index arithmetic has a few.
_DEPTH = 16


@dataclass(frozen=True)
class Number:
    """The value of a tensor of one integer."""

    number: int
    type: ir.RankedTensorType

    def emit(self) -> ir.Value:
        """As a constant at the insertion point."""
        value = ir.DenseElementsAttr.get_splat(self.type, number_attr(self.number, self.type.element_type))
        return emit.create("stablehlo.constant", [], self.type, value=value)


def is_one_integer(type_: ir.Type) -> bool:
    """Whether a type is that of tensors of one integer."""
    if not isinstance(type_, ir.RankedTensorType) or not isinstance(type_.element_type, ir.IntegerType):
        return False
    return type_.has_static_shape and math.prod(type_.shape) == 1


def _quotient(a: int, b: int) -> int | None:
    """Rounded towards zero."""
    return None if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    """With the sign of `a`."""
    quotient = _quotient(a, b)
    return None if quotient is None else a - b * quotient


_OPS: dict[str, Callable[..., int | None]] = {
    "stablehlo.add": lambda a, b: a + b,
    "stablehlo.subtract": lambda a, b: a - b,
    "stablehlo.multiply": lambda a, b: a * b,
    "stablehlo.divide": _quotient,
    "stablehlo.remainder": _remainder,
    "stablehlo.minimum": min,
    "stablehlo.maximum": max,
    "stablehlo.and": lambda a, b: a & b,
    "stablehlo.or": lambda a, b: a | b,
    "stablehlo.xor": lambda a, b: a ^ b,
    "stablehlo.negate": lambda a: -a,
    "stablehlo.select": lambda p, a, b: a if p else b,
    "stablehlo.clamp": lambda low, x, high: min(max(low, x), high),
    "stablehlo.reshape": lambda a: a,
    "stablehlo.broadcast_in_dim": lambda a: a,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
}  # fmt: skip


def computed(op: ir.Operation, operands: Sequence[int | None]) -> int | None:
    """The one integer that an op yields for these operands; None if that is not known."""
    if len(op.results) != 1 or None in operands or not is_one_integer(op.results[0].type):
        return None
    known = [n for n in operands if n is not None]
    element = op.results[0].type.element_type
    name = op.name
    if name == "stablehlo.compare":
        text = str(op.attributes["comparison_direction"])
        return int(next(f for n, f in _COMPARE.items() if n in text)(*known))
    if name == "stablehlo.convert":
        return int(known[0] != 0) if element.width == 1 else _wrapped(known[0], element)
    if name in _OPS and known:
        if element.width == 1 and name in ("stablehlo.add", "stablehlo.multiply"):
            return int(any(known) if name == "stablehlo.add" else all(known))
        found = _OPS[name](*known)
        return None if found is None else _wrapped(found, element)
    return None


def _wrapped(number: int, element: ir.IntegerType) -> int:
    """A number as one of an integer type, which wraps around."""
    if element.width == 1:
        return number & 1
    number &= (1 << element.width) - 1
    signed = not element.is_unsigned and number >= 1 << (element.width - 1)
    return number - (1 << element.width) if signed else number


def number_of(value: ir.Value, depth: int = _DEPTH) -> int | None:
    """The one integer that a value always is, by the constants that it is computed of."""
    if not is_one_integer(value.type) or not depth:
        return None
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "stablehlo.constant":
        number = splat(value)
        return None if number is None else int(number)
    return computed(op, [number_of(v, depth - 1) for v in op.operands]) if op.operands else None


def element_of(value: ir.Value, index: Sequence[int]) -> int | None:
    """An element of a tensor of integers that is an iota or a constant."""
    op = defining_op(value)
    if op is None or not isinstance(value.type.element_type, ir.IntegerType):
        return None
    if op.name == "stablehlo.iota":
        return index[ir.IntegerAttr(op.attributes["iota_dimension"]).value]
    if op.name != "stablehlo.constant" or value.type.element_type.width == 1:
        return None
    numbers = np.array(op.attributes["value"])
    return int(numbers.reshape(-1)[0] if numbers.size == 1 else numbers.reshape(value.type.shape)[tuple(index)])
