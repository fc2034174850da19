"""What is alive when: peak memory per device of a choice of strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcg.layout import Mesh
from pcg.search.graph import Graph


@dataclass
class Lifetimes:
    """Values as (node, result slot, global bytes, first, last): alive from `first` to `last` in program order.

    `constants` are bytes that every device holds from beginning to end, whatever is chosen.
    """

    values: Sequence[tuple[int, int, float, int, int]]
    constants: float = 0.0

    def _local(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> np.ndarray:
        out = np.empty(len(self.values))
        for i, (node, slot, size, _, _) in enumerate(self.values):
            port = graph.nodes[node].table.outs[slot]
            out[i] = size / port.shards(mesh)[choice[node]]
        return out

    def peak(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> tuple[float, int]:
        """(bytes, position in program order) of the peak."""
        if not self.values:
            return self.constants, 0
        local = self._local(graph, choice, mesh)
        end = max(v[4] for v in self.values) + 2
        change = np.zeros(end + 1)
        np.add.at(change, [v[3] for v in self.values], local)
        np.add.at(change, [v[4] + 1 for v in self.values], -local)
        alive = np.cumsum(change)
        at = int(np.argmax(alive))
        return float(alive[at]) + self.constants, at

    def weights(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> dict[tuple[int, int], float]:
        """Global bytes of the values alive at the peak, by (node, slot)."""
        return self.alive(self.peak(graph, choice, mesh)[1])

    def alive(self, position: int) -> dict[tuple[int, int], float]:
        """Global bytes of the values alive at a position, by (node, slot)."""
        out: dict[tuple[int, int], float] = {}
        for node, slot, size, first, last in self.values:
            if first <= position <= last:
                out[(node, slot)] = out.get((node, slot), 0.0) + size
        return out
