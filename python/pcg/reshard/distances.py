"""Shortest paths between layouts as arrays: from many layouts at once, or back to them.  No MLIR here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pcg.kernels.paths import shortest
from pcg.reshard.layout_arrays import LayoutArrays
from pcg.reshard.layout_graph import SLICE_SECONDS, LinkCost, uneven_dims
from pcg.reshard.layouts import UNKNOWN, Layouts, Numbers


@dataclass(frozen=True)
class _Edges:
    """Edges in compressed sparse rows; those of hops `hops[starts[e] : starts[e + 1]]` join the same two layouts."""

    hops: np.ndarray
    used: np.ndarray
    """Each of the hops once."""
    starts: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    @cached_property
    def backward(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges reversed: their order, and rows and columns in that."""
        order = np.argsort(self.columns, kind="stable")
        ends = np.repeat(np.arange(len(self.rows) - 1), np.diff(self.rows))
        return order, np.searchsorted(self.columns[order], np.arange(len(self.rows))), ends[order]


class _Rows:
    """Distances from some nodes to all: a row each."""

    def __init__(self, count: int = 0) -> None:
        self.place = np.full(count, UNKNOWN, np.intp)
        self.values = np.zeros((0, count))

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        """Those of `nodes` that have none yet."""
        return np.unique(nodes[self.place[nodes] == UNKNOWN])

    def add(self, nodes: np.ndarray, values: np.ndarray) -> None:
        self.place[nodes] = len(self.values) + np.arange(len(nodes))
        self.values = np.concatenate([self.values, values])

    def of(self, nodes: np.ndarray, others: np.ndarray) -> np.ndarray:
        return self.values[self.place[nodes][:, None], others]


class _Graph:
    """The graph of layouts whose dimensions can be split into any number, as arrays, for the layouts of a mesh."""

    def __init__(self, rank: int, layouts: Layouts) -> None:
        self.arrays = LayoutArrays(rank, layouts.mesh)
        self.layouts = layouts
        self._nodes: dict[tuple[int, ...], Numbers] = {}
        self._within: dict[tuple[int, ...], _Edges] = {}

    def nodes(self, numbers: np.ndarray, keep: tuple[int, ...]) -> np.ndarray:
        """The node of each layout of a tensor of which the dimensions `keep` are in the graph."""
        known, before = self._nodes.setdefault(keep, Numbers()), self.arrays.count
        if missing := known.missing(numbers):
            specs = [self.layouts.specs[n] for n in missing]
            found = self.arrays.nodes([([spec.dims[d] for d in keep], spec.partial) for spec in specs])
            known.set_all(missing, found)
        if self.arrays.count > before:
            self._within.clear()
        return known.of(numbers)

    def within(self, limits: tuple[int, ...]) -> _Edges:
        """The edges between layouts that split each dimension into a divisor of its limit."""
        found = self._within.get(limits)
        if found is None:
            arrays = self.arrays
            can = ((np.array(limits, np.int64) % arrays.parts) == 0).all(axis=1)
            # Blocks of uneven dimensions stay as they are.
            stays = (arrays.uneven & uneven_dims(limits)) == 0
            kept = np.flatnonzero(can[arrays.before] & can[arrays.after] & stays[arrays.hop])
            before, after, hops = arrays.before[kept], arrays.after[kept], arrays.hop[kept]
            starts = np.flatnonzero((np.diff(before, prepend=-1) != 0) | (np.diff(after, prepend=-1) != 0))
            rows = np.searchsorted(before[starts], np.arange(arrays.count + 1))
            found = self._within[limits] = _Edges(hops, np.unique(hops), starts, rows, after[starts])
        return found


#: Eight meshes, as of `Layouts`, with tensors of four ranks.
_graph_on = lru_cache(maxsize=32)(_Graph)


class Distances:
    """Distances between layouts whose dimension `keep[d]` can be split into a divisor of `limits[d]`."""

    def __init__(
        self, limits: tuple[int, ...], keep: tuple[int, ...], layouts: Layouts, size: float, link: LinkCost
    ) -> None:
        self._graph = _graph_on(len(limits), layouts)
        self._limits, self._keep, self._size, self._link = limits, keep, size, link
        self._hop_costs = np.zeros(0)
        self.forget()

    def forget(self) -> None:
        """Drop the distances that are known."""
        self._forward, self._backward = _Rows(), _Rows()

    def between(self, src: np.ndarray, dst: np.ndarray, backward: bool) -> np.ndarray:
        """Seconds from each of `src` to each of `dst`, layouts by number; if `backward`, searched from the latter."""
        graph = self._graph
        numbers = graph.nodes(np.concatenate([src, dst]), self._keep)
        starts, ends = numbers[: len(src)], numbers[len(src) :]
        if len(self._forward.place) < graph.arrays.count:
            self._forward, self._backward = _Rows(graph.arrays.count), _Rows(graph.arrays.count)
        rows, near, far = (self._backward, ends, starts) if backward else (self._forward, starts, ends)
        if len(new := rows.missing(near)):
            rows.add(new, self._from(new, backward))
        return rows.of(near, far).T if backward else rows.of(near, far)

    def _from(self, nodes: np.ndarray, backward: bool) -> np.ndarray:
        """Seconds from each of `nodes` to every node, or back."""
        edges = self._graph.within(self._limits)
        every = self._graph.arrays.hops
        if len(self._hop_costs) < len(every):
            more = np.full(len(every) - len(self._hop_costs), np.nan)
            self._hop_costs = np.concatenate([self._hop_costs, more])
        costs = self._hop_costs
        for h in edges.used[np.isnan(costs[edges.used])].tolist():
            name, axes, share, _ = every[h]
            sent = share * self._size
            costs[h] = self._link(axes, sent, name) if sent else SLICE_SECONDS
        weights = np.minimum.reduceat(costs[edges.hops], edges.starts) if len(edges.starts) else np.zeros(0)
        if not backward:
            return shortest(nodes, edges.rows, edges.columns, weights)
        order, rows, columns = edges.backward
        return shortest(nodes, rows, columns, weights[order])
