"""What is alive when: peak memory per device of a choice of strategies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcg.layout import Mesh, ShardSpec
from pcg.search.graph import Graph
from pcg.search.port import Port


@dataclass(frozen=True)
class _Shards:
    """Into how many shards tensors are split: tensor t by choice k of the node of its port in `counts[at[t] + k]`."""

    at: np.ndarray
    counts: np.ndarray
    layouts: np.ndarray
    """Numbers of the layouts, as `counts`."""

    @classmethod
    def of(cls, ports: Iterable[Port], mesh: Mesh, numbers: dict[ShardSpec, int]) -> _Shards:
        """`numbers` are those of the layouts that are known; others join them."""
        parts: list[np.ndarray] = [np.zeros(0)]
        layouts: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
        starts: dict[int, int] = {}
        at, end = [], 0
        for port in ports:
            if (start := starts.get(id(port))) is None:
                start = starts[id(port)] = end
                parts.append(port.shards(mesh))
                known = [numbers.setdefault(spec, len(numbers)) for spec in port.specs]
                layouts.append(np.array(known, dtype=np.int64)[port.ids])
                end += len(parts[-1])
            at.append(start)
        return cls(np.array(at, dtype=np.int64), np.concatenate(parts), np.concatenate(layouts))

    def __call__(self, choices: np.ndarray) -> np.ndarray:
        """Those of all tensors, by the choices of their nodes."""
        return self.counts[self.at + choices]  # type: ignore[no-any-return]

    def layout(self, choices: np.ndarray) -> np.ndarray:
        """The layouts of all tensors, by the choices of their nodes."""
        return self.layouts[self.at + choices]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Known:
    """The shards of all tensors of a graph on a mesh: of values, of operands and what they are made of, and of what is
    written over others and of these."""

    graph: Graph
    axes: tuple[tuple[str, int], ...]
    values: _Shards
    operands: _Shards
    sources: _Shards
    over: _Shards
    under: _Shards


@dataclass
class Lifetimes:
    """Values as (node, result slot, global bytes, first, last): alive from `first` to `last` in program order.

    `constants` are bytes that every device holds from beginning to end, whatever is chosen.

    `operands` are those of ops, as (node, operand, global bytes, first, last, node and result slot of the value): where
    an op reads larger shards than the value is kept in, they have memory of their own beside it.

    `over` are values that are written over another, as (node, slot, global bytes, first, node and slot of the other),
    if both have one layout; else they are alive one position earlier.
    """

    values: Sequence[tuple[int, int, float, int, int]]
    constants: float = 0.0
    operands: Sequence[tuple[int, int, float, int, int, int, int]] = ()
    over: Sequence[tuple[int, int, float, int, int, int]] = ()
    _known: _Known | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, global bytes, first positions, and those behind the last, of all values."""
        nodes, _, sizes, first, last = zip(*self.values, strict=True)
        return np.array(nodes), np.array(sizes, dtype=float), np.array(first), np.array(last) + 1

    @cached_property
    def _operands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, global bytes, first positions, those behind the last, and nodes of the values, of all operands."""
        nodes, _, sizes, first, last, sources, _ = zip(*self.operands, strict=True) if self.operands else ((),) * 7
        columns = [np.array(column, dtype=np.int64) for column in (nodes, first, last, sources)]
        return columns[0], np.array(sizes, dtype=float), columns[1], columns[2] + 1, columns[3]

    @cached_property
    def _over(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, global bytes, positions before the first, and nodes of the others, of all `over`."""
        nodes, _, sizes, first, others, _ = zip(*self.over, strict=True) if self.over else ((),) * 6
        columns = [np.array(column, dtype=np.int64) for column in (nodes, first, others)]
        return columns[0], np.array(sizes, dtype=float), columns[1] - 1, columns[2]

    def _shards(self, graph: Graph, mesh: Mesh) -> _Known:
        if self._known is None or self._known.graph is not graph or self._known.axes != mesh.axes:
            tables = [n.table for n in graph.nodes]
            numbers: dict[ShardSpec, int] = {}
            self._known = _Known(
                graph, mesh.axes, _Shards.of((tables[n].outs[slot] for n, slot, *_ in self.values), mesh, numbers),
                _Shards.of((tables[n].ins[i] for n, i, *_ in self.operands), mesh, numbers),
                _Shards.of((tables[n].outs[slot] for *_, n, slot in self.operands), mesh, numbers),
                _Shards.of((tables[n].outs[slot] for n, slot, *_ in self.over), mesh, numbers),
                _Shards.of((tables[n].outs[slot] for *_, n, slot in self.over), mesh, numbers),
            )  # fmt: skip
        return self._known

    def _gathered(self, graph: Graph, choice: np.ndarray, mesh: Mesh) -> np.ndarray:
        """Bytes per device of each operand that is alive beside the value that it is made of."""
        known, (nodes, sizes, _, _, sources) = self._shards(graph, mesh), self._operands
        shards = known.operands(choice[nodes])
        return np.where(shards < known.sources(choice[sources]), sizes / shards, 0.0)

    def _beside(self, graph: Graph, choice: np.ndarray, mesh: Mesh) -> np.ndarray:
        """Bytes per device of each of `over` that is not written over the other value."""
        known, (nodes, sizes, _, others) = self._shards(graph, mesh), self._over
        other = known.over.layout(choice[nodes]) != known.under.layout(choice[others])
        return np.where(other, sizes / known.over(choice[nodes]), 0.0)

    def peak(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> tuple[float, int]:
        """(bytes, position in program order) of the peak."""
        if not self.values:
            return self.constants, 0
        chosen = np.asarray(choice)
        nodes, sizes, first, behind = self._columns
        local = sizes / self._shards(graph, mesh).values(chosen[nodes])
        gathered, (_, _, begin, end, _) = self._gathered(graph, chosen, mesh), self._operands
        change = np.zeros(int(max(behind.max(), end.max(initial=0))) + 2)
        np.add.at(change, first, local)
        np.add.at(change, behind, -local)
        np.add.at(change, begin, gathered)
        np.add.at(change, end, -gathered)
        alive = np.cumsum(change)
        np.add.at(alive, self._over[2], self._beside(graph, chosen, mesh))
        at = int(np.argmax(alive))
        return float(alive[at]) + self.constants, at

    def weights(self, graph: Graph, choice: Sequence[int], mesh: Mesh) -> dict[tuple[int, int], float]:
        """Global bytes of what is alive at the peak, by (node, slot); operand i has slot ~i."""
        position, chosen = self.peak(graph, choice, mesh)[1], np.asarray(choice)
        out = self.alive(position)
        _, _, begin, end, _ = self._operands
        gathered = (begin <= position) & (position < end) & (self._gathered(graph, chosen, mesh) > 0)
        beside = (self._over[2] == position) & (self._beside(graph, chosen, mesh) > 0)
        more = [(node, ~operand, size) for node, operand, size, *_ in itertools.compress(self.operands, gathered)]
        more += [(node, slot, size) for node, slot, size, *_ in itertools.compress(self.over, beside)]
        for node, slot, size in more:
            out[node, slot] = out.get((node, slot), 0.0) + size
        return out

    def alive(self, position: int) -> dict[tuple[int, int], float]:
        """Global bytes of the values alive at a position, by (node, slot)."""
        out: dict[tuple[int, int], float] = {}
        for node, slot, size, first, last in self.values:
            if first <= position <= last:
                out[(node, slot)] = out.get((node, slot), 0.0) + size
        return out
