"""What is alive when: peak memory per device of a choice of strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcg.layout import Mesh
from pcg.search.graph import Graph


@dataclass(frozen=True)
class _Shards:
    """Into how many shards values are split: value v by choice k of its node in `counts[at[v] + k]`."""

    graph: Graph
    axes: tuple[tuple[str, int], ...]
    at: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, graph: Graph, mesh: Mesh, values: Sequence[tuple[int, int, float, int, int]]) -> _Shards:
        parts: list[np.ndarray] = []
        starts: dict[int, int] = {}
        at, end = [], 0
        for node, slot, *_ in values:
            port = graph.nodes[node].table.outs[slot]
            if (start := starts.get(id(port))) is None:
                start = starts[id(port)] = end
                parts.append(port.shards(mesh))
                end += len(parts[-1])
            at.append(start)
        return cls(graph, mesh.axes, np.array(at), np.concatenate(parts))


@dataclass
class Lifetimes:
    """Values as (node, result slot, global bytes, first, last): alive from `first` to `last` in program order.

    `constants` are bytes that every device holds from beginning to end, whatever is chosen.
    """

    values: Sequence[tuple[int, int, float, int, int]]
    constants: float = 0.0
    _known: _Shards | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, global bytes, first positions, and those behind the last, of all values."""
        nodes, _, sizes, first, last = zip(*self.values, strict=True)
        return np.array(nodes), np.array(sizes, dtype=float), np.array(first), np.array(last) + 1

    def _local(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> np.ndarray:
        if self._known is None or self._known.graph is not graph or self._known.axes != mesh.axes:
            self._known = _Shards.of(graph, mesh, self.values)
        nodes, sizes, _, _ = self._columns
        return sizes / self._known.counts[self._known.at + np.asarray(choice)[nodes]]  # type: ignore[no-any-return]

    def peak(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> tuple[float, int]:
        """(bytes, position in program order) of the peak."""
        if not self.values:
            return self.constants, 0
        local = self._local(graph, choice, mesh)
        _, _, first, behind = self._columns
        change = np.zeros(int(behind.max()) + 2)
        np.add.at(change, first, local)
        np.add.at(change, behind, -local)
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
