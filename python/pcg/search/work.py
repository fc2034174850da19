"""What one op takes on one device: the one place where the work and the exchanges of an op become seconds.

The search takes all strategies of an op at once, as arrays; the measure of a placed program, the planner of
recomputation and the reports the one that an op has.  The costs of all of them come from here, so what a report says
of a strategy is what the search weighed.  Work is the op's own FLOPs, and the bytes of those operands and results that
reach memory once a compiler has fused the program; `CostModel.seconds` makes a time of both.  The cost of
redistributions between ops is in `pcg.reshard`, that of entire kernels of a lowered program in `CostModel.kernel`.
No MLIR here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pcg.cost import CostModel
from pcg.rules.factor import Assignment, Exchange, FactorRule
from pcg.search.table import Table, Tables


@dataclass(frozen=True)
class Work:
    """What one execution of an op does, before it is split: all that its costs depend on."""

    name: str
    rule: FactorRule
    element: str
    """Type of the elements."""
    through: tuple[float, ...]
    """Bytes of each operand and result, as often as they go through memory."""
    itemsizes: tuple[float, ...]
    """Bytes per element of each operand."""
    patches: tuple[float, int | None] | None = None
    """Of a convolution the patches of its operand (`pcg.rules.convolution.patches`)."""


@dataclass
class WorkCosts:
    """Seconds of ops, per execution, on a machine and mesh."""

    model: CostModel
    _known: dict[tuple, np.ndarray] = field(default_factory=dict)

    def compute(self, work: Work, table: Table) -> np.ndarray:
        """Seconds of computing, per strategy of `table`."""
        mesh = self.model.mesh
        key = (work.name, table.index, work.element, *work.through)
        found = self._known.get(key)
        if found is not None:
            return found
        total = np.zeros(len(table))
        for size, port in zip(work.through, (*table.ins, *table.outs), strict=True):
            if size:
                total += size / port.shards(mesh)
        flops = work.rule.flops / table.parts
        assignments = table.assignments
        if assignments is not None:
            for exchange in work.rule.exchanges:
                flops = flops + [exchange.extra_flops(a, mesh) for a in assignments]
        expanded = 0.0 if work.patches is None else self._patches(work, table)
        found = self._known[key] = self.model.seconds(work.name, work.element, flops, total, expanded=expanded)
        return found

    def _patches(self, work: Work, table: Table) -> np.ndarray:
        """Bytes of the patches of its operand that a device reads in a convolution, per strategy."""
        assert work.patches is not None
        elements, features = work.patches
        parts = table.parts
        if features is not None and table.counts is not None:
            parts = parts / table.counts[:, features]
        return elements / parts * work.itemsizes[0]

    def exchanges(self, work: Work, table: Table) -> np.ndarray:
        """Seconds of what the local form sends, per strategy of `table`."""
        seconds = np.zeros(len(table))
        for exchange in work.rule.exchanges:
            key = exchange, table.index, work.itemsizes[exchange.operand]
            if key not in self._known:
                assert table.assignments is not None and table.counts is not None
                self._known[key] = np.zeros(len(table))
                for k in np.flatnonzero(table.counts[:, exchange.factor] > 1).tolist():
                    self._known[key][k] = self.exchange(work, exchange, table.assignments[k])[0]
            seconds += self._known[key]
        return seconds

    def exchange(self, work: Work, exchange: Exchange, a: Assignment) -> tuple[float, float]:
        """(seconds, bytes that one device sends) of one exchange of the local form under `a`."""
        axes = a.axes[exchange.factor]
        if not axes:
            return 0.0, 0.0
        wire = exchange.wire_elements(a, self.model.mesh) * work.itemsizes[exchange.operand]
        if not wire:
            return 0.0, 0.0
        more = exchange.launches(a, self.model.mesh) - 1
        link = self.model.link
        return link(axes, wire, exchange.kind) + more * link(axes, 0.0, exchange.kind), wire

    def wire_bytes(self, work: Work, a: Assignment) -> float:
        """Bytes that one device sends in the local form under `a`."""
        exchanges = work.rule.exchanges
        return sum(x.wire_elements(a, self.model.mesh) * work.itemsizes[x.operand] for x in exchanges)

    def seconds(self, work: Work, a: Assignment) -> float:
        """Seconds under `a`, exchanges included."""
        table = Tables.on(self.model.mesh).only(work.rule, a)
        return float(self.compute(work, table)[0] + self.exchanges(work, table)[0])
