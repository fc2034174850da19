"""Interval analysis: bounds of the integers in a value, as far as they are known at compile time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch_mlir import ir

from pcg.ir.identities import integer_range
from pcg.ir.loops import trip_count
from pcg.ir.types import is_bool
from pcg.rules import traits
from pcg.rules.traits import Trait

Interval = tuple[int, int]
#: How far back through a program it looks; a choice that keeps the recursion of Python shallow.
_DEPTH = 48
#: Ops whose result holds only elements of some of their operands.
_UNIONS = {"stablehlo.concatenate": None, "stablehlo.pad": 2, "stablehlo.dynamic_update_slice": 2}
_ARITHMETIC: dict[str, Callable[[Interval, Interval], Interval]] = {
    "stablehlo.add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "stablehlo.subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "stablehlo.multiply": lambda a, b: _hull([x * y for x in a for y in b]),
    "stablehlo.maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "stablehlo.minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
#: Direction of a comparison -> whether it always holds, and whether it never does.
_ALWAYS: dict[str, Callable[[Interval, Interval], bool]] = {
    "LT": lambda a, b: a[1] < b[0], "LE": lambda a, b: a[1] <= b[0],
    "GT": lambda a, b: a[0] > b[1], "GE": lambda a, b: a[0] >= b[1],
    "EQ": lambda a, b: a[0] == a[1] == b[0] == b[1], "NE": lambda a, b: a[1] < b[0] or a[0] > b[1],
}  # fmt: skip
_OPPOSITE = {"LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT", "EQ": "NE", "NE": "EQ"}


class Intervals:
    """Bounds of the integer values of one program: those of the type where nothing else is known.

    `devices` is how many run the program.
    """

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self._known: dict[ir.Value, Interval] = {}

    def of(self, value: ir.Value, depth: int = _DEPTH) -> Interval:
        """The bounds of a value of integers (those of its type if nothing else is known)."""
        if value in self._known:
            return self._known[value]
        low, high = integer_range(value.type.element_type)
        if not depth:
            return low, high
        find = self._argument if isinstance(value, ir.BlockArgument) else self._result
        found = find(value, depth - 1)
        # What wraps around may be anything.
        if found is None or not low <= found[0] <= found[1] <= high:
            found = low, high
        self._known[value] = found
        return found

    def _result(self, value: ir.Value, depth: int) -> Interval | None:
        op = value.owner.operation
        name, operands = op.name, list(op.operands)
        if name == "stablehlo.constant":
            return _constant(op)
        if name == "stablehlo.partition_id":
            return 0, self.devices - 1
        if name == "stablehlo.iota":
            return 0, max(0, value.type.shape[op.attributes["iota_dimension"].value] - 1)
        if name == "stablehlo.optimization_barrier":
            return self.of(operands[list(op.results).index(value)], depth)
        if not operands or not _integers(operands[0]):
            return None
        if traits.has(name, Trait.SAME_ELEMENTS) or name == "stablehlo.convert":
            return self.of(operands[0], depth)
        if name in _UNIONS:
            return _hull([x for v in operands[: _UNIONS[name]] for x in self.of(v, depth)])
        if name in _ARITHMETIC and not is_bool(value.type):
            return _ARITHMETIC[name](self.of(operands[0], depth), self.of(operands[1], depth))
        if name == "stablehlo.clamp":
            low, x, high = (self.of(v, depth) for v in operands)
            return min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])
        if name == "stablehlo.remainder":
            x, by = self.of(operands[0], depth), self.of(operands[1], depth)
            return (0 if x[0] >= 0 else 1 - by[1], by[1] - 1) if by[0] > 0 else None
        if name == "stablehlo.compare":
            return self._compared(op, depth)
        if name == "stablehlo.select":
            which = self.of(operands[0], depth)
            sides = [v for v, holds in ((operands[1], 1), (operands[2], 0)) if holds in which]
            return _hull([x for v in sides for x in self.of(v, depth)])
        return None

    def _compared(self, op: ir.Operation, depth: int) -> Interval:
        a, b = (self.of(v, depth) for v in op.operands)
        text = str(op.attributes["comparison_direction"])
        direction = next(d for d in _ALWAYS if f" {d}>" in text)
        if _ALWAYS[direction](a, b):
            return 1, 1
        return (0, 0) if _ALWAYS[_OPPOSITE[direction]](a, b) else (0, 1)

    def _argument(self, value: ir.Value, depth: int) -> Interval | None:
        """What a loop carries: a counter, or what it keeps."""
        block, i = value.owner, value.arg_number
        loop = block.owner.operation
        if loop.name != "stablehlo.while" or block != loop.regions[1].blocks[0]:
            return None
        start = self.of(loop.operands[i], depth)
        following = block.operations[-1].operation.operands[i]
        if following == value:
            return start
        if isinstance(following, ir.BlockArgument) or following.owner.operation.name != "stablehlo.add":
            return None
        terms = list(following.owner.operation.operands)
        if value not in terms:
            return None
        step = self.of(terms[1 - terms.index(value)], depth)
        iterations = trip_count(loop)
        if iterations is None or step[0] != step[1]:
            return None
        last = step[0] * max(0, iterations - 1)
        return start[0] + min(0, last), start[1] + max(0, last)


def _hull(numbers: list[int]) -> Interval:
    return min(numbers), max(numbers)


def _integers(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and isinstance(value.type.element_type, ir.IntegerType)


def _constant(op: ir.Operation) -> Interval | None:
    attr = op.attributes["value"]
    if not isinstance(attr, ir.DenseElementsAttr) or not _integers(op.results[0]):
        return None
    if attr.is_splat:
        number = attr.get_splat_value()
        if not isinstance(number, ir.IntegerAttr | ir.BoolAttr):
            return None
        low, high = integer_range(op.results[0].type.element_type)
        found = int(number.value)
        found += 2 ** op.results[0].type.element_type.width if found < low else 0  # bits of an unsigned one
        return (found, found) if low <= found <= high else None
    if op.results[0].type.element_type.width < 8:
        return None
    numbers = np.array(attr)
    return (int(numbers.min()), int(numbers.max())) if numbers.size else None
