"""What one op takes on one device: the one place where the work and the exchanges of an op become seconds.

The search takes all strategies of an op at once, as arrays; the measure of a placed program, the planner of
recomputation and the reports the one that an op has.  The costs of all of them come from here, so what a report says
of a strategy is what the search weighed.  Work is the op's own FLOPs, and the bytes of those operands and results that
reach memory once a compiler has fused the program; `CostModel.seconds` makes a time of both.  The cost of
redistributions between ops is in `pcg.reshard`, that of entire kernels of a lowered program in `CostModel.kernel`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.types import element_bytes
from pcg.rules import traits
from pcg.rules.convolution import patches
from pcg.rules.factor import Assignment, Exchange, FactorRule
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.search.table import Table, Tables


@dataclass
class OpCost:
    """Seconds of ops of one function, per execution, on a machine and mesh; `fusion` is that of the function."""

    model: CostModel
    fusion: Fusion
    _types: dict[ir.Type, tuple[tuple[int, ...], float, str]] = field(default_factory=dict)
    _known: dict[tuple, np.ndarray] = field(default_factory=dict)

    def compute(self, op: ir.Operation, rule: FactorRule, table: Table) -> np.ndarray:
        """Seconds of computing, per strategy of `table`."""
        mesh = self.model.mesh
        element = "f32"
        through = []  # bytes of each tensor, as often as they go through memory
        for touched, value in zip(self._touched(op), (*op.operands, *op.results), strict=True):
            shape, itemsize, element_ = self.describe(value)
            through.append(touched * math.prod(shape) * itemsize)
            element = element_ or element
        key = (op.name, table.index, element, *through)
        found = self._known.get(key)
        if found is not None:
            return found
        total = np.zeros(len(table))
        for size, port in zip(through, (*table.ins, *table.outs), strict=True):
            if size:
                total += size / port.shards(mesh)
        flops = rule.flops / table.parts
        assignments = table.assignments
        if assignments is not None:
            for exchange in rule.exchanges:
                flops = flops + [exchange.extra_flops(a, mesh) for a in assignments]
        expanded = self._patches(op, rule, table) if op.name == "stablehlo.convolution" else 0.0
        found = self._known[key] = self.model.seconds(op.name, element, flops, total, expanded=expanded)
        return found

    def _patches(self, op: ir.Operation, rule: FactorRule, table: Table) -> np.ndarray:
        """Bytes of the patches of its operand that a device reads in a convolution, per strategy."""
        elements, features = patches(op, rule)
        parts = table.parts
        if features is not None and table.counts is not None:
            parts = parts / table.counts[:, features]
        return elements / parts * self.describe(op.operands[0])[1]

    def exchanges(self, op: ir.Operation, rule: FactorRule, table: Table) -> np.ndarray:
        """Seconds of what the local form sends, per strategy of `table`."""
        seconds = np.zeros(len(table))
        for exchange in rule.exchanges:
            key = exchange, table.index, self.describe(op.operands[exchange.operand])[1]
            if key not in self._known:
                assert table.assignments is not None and table.counts is not None
                self._known[key] = np.zeros(len(table))
                for k in np.flatnonzero(table.counts[:, exchange.factor] > 1).tolist():
                    self._known[key][k] = self.exchange(op, exchange, table.assignments[k])[0]
            seconds += self._known[key]
        return seconds

    def exchange(self, op: ir.Operation, exchange: Exchange, a: Assignment) -> tuple[float, float]:
        """(seconds, bytes that one device sends) of one exchange of the local form under `a`."""
        axes = a.axes[exchange.factor]
        if not axes:
            return 0.0, 0.0
        wire = exchange.wire_elements(a, self.model.mesh) * self.describe(op.operands[exchange.operand])[1]
        if not wire:
            return 0.0, 0.0
        more = exchange.launches(a, self.model.mesh) - 1
        link = self.model.link
        return link(axes, wire, exchange.kind) + more * link(axes, 0.0, exchange.kind), wire

    def seconds(self, op: ir.Operation, rule: FactorRule, a: Assignment) -> float:
        """Seconds of `op` under `a`, exchanges included."""
        table = Tables.on(self.model.mesh).only(rule, a)
        return float(self.compute(op, rule, table)[0] + self.exchanges(op, rule, table)[0])

    def describe(self, value: ir.Value) -> tuple[tuple[int, ...], float, str]:
        """What `describe` says of a value; types are read once."""
        t = value.type
        found = self._types.get(t)
        if found is None:
            found = self._types[t] = describe(value)
        return found

    def _touched(self, op: ir.Operation) -> list[int]:
        """How often each operand and result goes through memory; windows of an operand are counted at the result."""
        touches, fusion, name = self.model.touches, self.fusion, op.name
        operands, results = range(len(op.operands)), range(len(op.results))
        if not traits.has(name, Trait.READS_WINDOW | Trait.UPDATE):
            return [*fusion.all_reads(op), *(fusion.writes(op, i) for i in results)]
        window = fusion.reads(op, 0) if operands and not touches(name, "operand", 0) else 0
        return [
            *(fusion.reads(op, i) if touches(name, "operand", i) else 0 for i in operands),
            *(fusion.writes(op, i) + window if touches(name, "result", i) else 0 for i in results),
        ]


def describe(value: ir.Value) -> tuple[tuple[int, ...], float, str]:
    """(shape, bytes per element, element type name) of a value; tokens are empty scalars."""
    t = value.type
    if not isinstance(t, ir.RankedTensorType):
        return (), 0.0, ""
    element = t.element_type
    return tuple(t.shape), element_bytes(element), str(element)
