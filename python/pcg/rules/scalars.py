"""Evaluating the bodies of reducers on constants of the program, without a backend.

Numbers are Python's: integers wrap around in the width of their type, floats are not rounded to theirs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch_mlir import ir

from pcg.ir.types import is_bool
from pcg.rules.values import splat

Number = bool | int | float
_OPS: dict[str, Callable[..., Number]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "negate": operator.neg, "abs": abs,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
    "maximum": lambda a, b: a if a != a or a > b else b, "minimum": lambda a, b: a if a != a or a < b else b,
    "select": lambda p, a, b: a if p else b, "shift_left": lambda a, n: a << n if 0 <= n < 64 else 0,
    **{
        name: lambda *x, f=f: float(f(*map(float, x)))
        for name, f in (
            ("exponential", np.exp), ("exponential_minus_one", np.expm1), ("log", np.log), ("log_plus_one", np.log1p),
            ("sqrt", np.sqrt),
        )
    },
}  # fmt: skip
#: The same ops on booleans.
_BOOLEAN: dict[str, Callable[..., Number]] = {
    "add": operator.or_, "multiply": operator.and_, "maximum": operator.or_, "minimum": operator.and_,
    "not": operator.not_,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge
}  # fmt: skip


def idempotent_on(region: ir.Region, initial: Sequence[ir.Value]) -> bool:
    """Whether a reducer yields its initial values when it combines them with themselves.

    If so, it does not matter how often a reducer that is associative (and commutative, or with neutral initial values)
    takes them.  False where the initial values are not constants, or the reducer has an op that is not known here.
    """
    numbers: list[Number] = []
    for value in initial:
        number = None if isinstance(value.type.element_type, ir.ComplexType) else splat(value)
        if number is None:
            return False
        numbers.append(_as(number, value.type))
    with np.errstate(all="ignore"):
        found = _evaluate(region.blocks[0], [*numbers, *numbers])
    return found is not None and all(a == b or (a != a and b != b) for a, b in zip(numbers, found, strict=True))


def _evaluate(block: ir.Block, arguments: Sequence[Number]) -> list[Number] | None:
    """What a computation of 0-d tensors returns; None if it has an op that is not known."""
    values: dict[ir.Value, Number] = dict(zip(block.arguments, arguments, strict=True))
    for view in block.operations:
        op = view.operation
        if op.name != "stablehlo.constant" and any(v not in values for v in op.operands):
            return None
        operands = [values[v] for v in op.operands]
        if op.name == "stablehlo.return":
            return operands
        number = _result(op, operands) if len(op.results) == 1 else None
        if number is None:
            return None
        values[op.results[0]] = _as(number, op.results[0].type)
    return None


def _as(number: Number, type_: ir.RankedTensorType) -> Number:
    """A number as one of the element type."""
    element = type_.element_type
    if not isinstance(element, ir.IntegerType):
        return float(number)
    if element.width == 1:
        return bool(number)
    bits = int(number) % 2**element.width
    return bits - 2**element.width if not element.is_unsigned and bits >= 2 ** (element.width - 1) else bits


def _result(op: ir.Operation, operands: list[Number]) -> Number | None:
    name, result = op.name.removeprefix("stablehlo."), op.results[0]
    if isinstance(result.type.element_type, ir.ComplexType):
        return None
    if name == "constant":
        return splat(result)
    if name == "convert":
        finite = operands[0] - operands[0] == 0
        return operands[0] if finite or not isinstance(result.type.element_type, ir.IntegerType) else None
    if name == "compare":
        kind = str(op.attributes["compare_type"]) if "compare_type" in op.attributes else ""
        text = str(op.attributes["comparison_direction"])
        if "TOTAL" in kind:
            return None
        return next(f(*operands) for word, f in _COMPARISONS.items() if f" {word}>" in text)
    function = (_BOOLEAN.get(name) if is_bool(result.type) else None) or _OPS.get(name)
    return None if function is None else function(*operands)
