"""From the IR to what an op does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.types import element_bytes
from pcg.rules import traits
from pcg.rules.convolution import patches
from pcg.rules.factor import FactorRule
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.search.work import Work

_WINDOWED = Trait.READS_WINDOW | Trait.UPDATE


@dataclass
class WorkReader:
    """Reads what the ops of one function do, of which `fusion` is."""

    fusion: Fusion
    _types: dict[ir.Type, tuple[tuple[int, ...], float, str]] = field(default_factory=dict)
    _values: dict[ir.Value, tuple[tuple[int, ...], float, str]] = field(default_factory=dict)

    def work(self, op: ir.Operation, rule: FactorRule) -> Work:
        """What an op with `rule` does."""
        name, operands, results = op.name, list(op.operands), list(op.results)
        values = operands + results
        element = "f32"
        through, itemsizes = [], []
        for touched, value in zip(self._touched(op, name, len(operands), results), values, strict=True):
            shape, itemsize, element_ = self.describe(value)
            through.append(touched * math.prod(shape) * itemsize if touched else 0.0)
            itemsizes.append(itemsize)
            element = element_ or element
        expanded = patches(op, rule) if name == "stablehlo.convolution" else None
        return Work(name, rule, element, tuple(through), tuple(itemsizes[: len(operands)]), expanded)

    def describe(self, value: ir.Value) -> tuple[tuple[int, ...], float, str]:
        """What `describe` says of a value; values and types are read once."""
        found = self._values.get(value)
        if found is None:
            t = value.type
            found = self._types.get(t)
            if found is None:
                found = self._types[t] = describe(value)
            self._values[value] = found
        return found

    def _touched(self, op: ir.Operation, name: str, operands: int, results: Sequence[ir.Value]) -> list[int]:
        """How often each operand and result goes through memory; windows of an operand are counted at the result."""
        touches, fusion = CostModel.touches, self.fusion
        written = [int(fusion.is_written(r)) for r in results]
        if not traits.has(name, _WINDOWED):
            return fusion.all_reads(op) + written
        window = fusion.reads(op, 0) if operands and not touches(name, "operand", 0) else 0
        return [
            *(fusion.reads(op, i) if touches(name, "operand", i) else 0 for i in range(operands)),
            *(w + window if touches(name, "result", i) else 0 for i, w in enumerate(written)),
        ]


def describe(value: ir.Value) -> tuple[tuple[int, ...], float, str]:
    """(shape, bytes per element, element type name) of a value; tokens are empty scalars."""
    t = value.type
    if not isinstance(t, ir.RankedTensorType):
        return (), 0.0, ""
    element = t.element_type
    return tuple(t.shape), element_bytes(element), str(element)
