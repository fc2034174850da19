"""Costs of all redistributions between two sets of layouts of one tensor.

The same shortest paths as `pcg.reshard.planner.cost` over the same graph of layouts, but from all sources at once and
as arrays: a search needs millions of pairs.  No MLIR here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from pcg.kernels.paths import shortest
from pcg.layout import Mesh, ShardSpec
from pcg.reshard import planner
from pcg.reshard.layout_graph import SLICE_SECONDS, UNEVEN, LayoutGraph, LinkCost, Partial, graph_of, layouts_count
from pcg.reshard.steps import ReshardError

#: What layouts of one kind share: their uneven dimensions, and what padding multiplies their bytes by.
_Kind = tuple[frozenset[int], float]
_Key = TypeVar("_Key", bound=Hashable)


class _Arrays:
    """A graph of layouts, grown to everything that can be reached from the nodes included, as arrays."""

    def __init__(self, graph: LayoutGraph) -> None:
        self.graph = graph
        self.nodes = 0
        self._grown: set[int] = set()

    def include(self, nodes: Sequence[int]) -> None:
        """Make sure that these nodes and all behind them are there."""
        waiting = [n for n in nodes if n not in self._grown]
        if not waiting:
            return
        while waiting:
            n = waiting.pop()
            if n not in self._grown:
                self._grown.add(n)
                waiting.extend(after for after, _ in self.graph.edges(n) if after not in self._grown)
        edges = np.array(
            [(n, after, hop) for n in sorted(self._grown) for after, hop in self.graph.edges(n)], np.int64
        ).reshape(-1, 3)
        edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        self.nodes = len(self.graph.states)
        #: Hops of all edges; those from `starts[e]` on join the same two layouts.
        self.hops = edges[:, 2]
        fresh = np.any(np.diff(edges[:, :2], axis=0, prepend=-1) != 0, axis=1)
        self.starts = np.flatnonzero(fresh)
        self.columns = edges[self.starts, 1]
        self.rows = np.searchsorted(edges[self.starts, 0], np.arange(self.nodes + 1))

    def distances(self, source: Sequence[int], hop_costs: np.ndarray) -> np.ndarray:
        """Seconds from each source to every node, given those of each hop."""
        weights = np.minimum.reduceat(hop_costs[self.hops], self.starts) if len(self.starts) else np.zeros(0)
        return shortest(np.array(source, np.int64), self.rows, self.columns, weights)


_arrays_of = lru_cache(maxsize=256)(_Arrays)


@dataclass
class _Distances:
    """Distances on one graph for one size in bytes: a row per source asked for."""

    arrays: _Arrays
    size: float
    keep: tuple[int, ...]
    hop_costs: np.ndarray
    rows: dict[int, np.ndarray]
    nodes: dict[int, int]
    """The node of each layout, by number."""


class TensorCosts:
    """Seconds of redistributions of a tensor of global `shape`, `itemsize` bytes an element, on `mesh`.

    Layouts are numbered, as they are keys of what is known about them.
    """

    def __init__(self, shape: tuple[int, ...], itemsize: float, mesh: Mesh, link_cost: LinkCost) -> None:
        self.shape, self.itemsize, self.mesh, self.link = shape, itemsize, mesh, link_cost
        elements, self.limits, _ = planner._divisors(shape, mesh)
        self.size = elements * itemsize
        self._specs: list[ShardSpec] = []
        self._numbers: dict[ShardSpec, int] = {}
        self._kinds: dict[int, _Kind] = {}
        self._masks: dict[tuple[int, Partial], tuple[int, int]] = {}
        self._distances: dict[tuple[frozenset[int], float], _Distances | None] = {}

    def matrix(self, src: Sequence[ShardSpec], dst: Sequence[ShardSpec]) -> np.ndarray:
        """Seconds of each of `src` (rows) to each of `dst` (columns); infinite where there is no way.

        Raises:
          ReshardError: a spec names an axis that the mesh lacks, or one twice.
        """
        return self.between([self.number(s) for s in src], [self.number(s) for s in dst])

    def number(self, spec: ShardSpec) -> int:
        """The number of a layout."""
        found = self._numbers.setdefault(spec, len(self._specs))
        if found == len(self._specs):
            self._specs.append(spec)
        return found

    def forget(self) -> None:
        """Drop distances that are known; they take more memory than what is made of them."""
        for known in self._distances.values():
            if known is not None:
                known.rows.clear()

    def between(self, src: Sequence[int], dst: Sequence[int]) -> np.ndarray:
        """`matrix` of layouts given by their numbers."""
        specs, out = self._specs, np.empty((len(src), len(dst)))
        groups = _grouped(specs[n].partial for n in src)
        # Whatever is not partial over an axis becomes so by a mask, behind the rest.
        into = np.tile(np.array(dst, np.intp), (len(groups), 1))
        masks = np.zeros(into.shape)
        for j in [j for j, n in enumerate(dst) if specs[n].partial]:
            for row, partial in enumerate(groups):
                into[row, j], masks[row, j] = self._masked(dst[j], partial)
        ends, back = np.unique(into, return_inverse=True)
        reduced = self._reduced_matrix(src, ends.tolist())
        for i, columns, count in zip(groups.values(), back.reshape(into.shape), masks, strict=True):
            out[i] = reduced[i][:, columns] + count * planner.MASK_SECONDS
        return out

    def _masked(self, number: int, partial: Partial) -> tuple[int, int]:
        """What a tensor that is `partial` becomes before it gets masks on the way to a layout, and how many masks."""
        found = self._masks.get((number, partial))
        if found is None:
            spec, found = self._specs[number], (number, 0)
            if spec.partial and spec.partial != partial:
                steps = planner._masks(partial, spec)
                found = self.number(planner._unmasked(spec, steps)), len(steps)
            self._masks[number, partial] = found
        return found

    def _reduced_matrix(self, src: Sequence[int], dst: Sequence[int]) -> np.ndarray:
        """The matrix where no masks are needed."""
        rows, columns = _grouped(map(self._kind, src)), _grouped(map(self._kind, dst))
        if len(rows) == len(columns) == 1:
            return self._block(src, dst, *self._both(*rows, *columns))
        out = np.empty((len(src), len(dst)))
        for a, i in rows.items():
            for b, j in columns.items():
                out[np.array(i)[:, None], j] = self._block(
                    [src[n] for n in i], [dst[n] for n in j], *self._both(a, b)
                )
        return out

    @staticmethod
    def _both(a: _Kind, b: _Kind) -> _Kind:
        uneven = a[0] | b[0]
        return uneven, max(a[1], b[1]) if uneven else 1.0

    def _block(
        self, src: Sequence[int], dst: Sequence[int], uneven: frozenset[int], padding: float
    ) -> np.ndarray:
        """The matrix of layouts of one kind on each side."""
        known, specs, rank = self._distances_on(uneven, padding), self._specs, len(self.shape)
        if known is None or any([len(specs[n].dims) != rank for n in (*src, *dst)]):
            return np.array([[self._alone(specs[a], specs[b]) for b in dst] for a in src])
        arrays, nodes = known.arrays, known.nodes
        if fresh := [n for n in (*src, *dst) if n not in nodes]:
            nodes.update((n, self._node(specs[n], known)) for n in fresh)
            arrays.include([nodes[n] for n in fresh])
        starts, ends = [nodes[n] for n in src], [nodes[n] for n in dst]
        if new := sorted({n for n in starts if n not in known.rows or len(known.rows[n]) < arrays.nodes}):
            known.rows.update(zip(new, arrays.distances(new, self._hop_costs(known)), strict=True))
        return np.array([known.rows[n] for n in starts])[:, ends]

    def _hop_costs(self, known: _Distances) -> np.ndarray:
        """Seconds of each hop of the graph."""
        hops = known.arrays.graph.hops
        if len(known.hop_costs) < len(hops):
            more = []
            for name, axes, share in hops[len(known.hop_costs) :]:
                sent = share * known.size
                more.append(self.link(axes, sent, name) if sent else SLICE_SECONDS)
            known.hop_costs = np.concatenate([known.hop_costs, more])
        return known.hop_costs

    def _alone(self, src: ShardSpec, dst: ShardSpec) -> float:
        """A pair for which not all layouts can be searched, or that cannot be."""
        if not set(dst.partial) <= set(src.partial):
            return float("inf")  # it would need masks
        try:
            return planner.cost(src, dst, self.shape, self.itemsize, self.mesh, self.link)[0]
        except ReshardError:
            return float("inf")

    def _kind(self, number: int) -> _Kind:
        kind = self._kinds.get(number)
        if kind is None:
            spec = self._specs[number]
            planner.check_spec(spec, self.mesh)
            uneven = spec.uneven_dims(self.shape, self.mesh) if spec.rank == len(self.shape) else ()
            padding = planner._padding(spec, self.shape, self.mesh) if uneven else 1.0
            kind = self._kinds[number] = frozenset(uneven), padding
        return kind

    def _distances_on(self, uneven: frozenset[int], padding: float) -> _Distances | None:
        """What is searched where the dimensions `uneven` are; None if not all layouts can be."""
        key = uneven, padding
        if key not in self._distances:
            limits = tuple(UNEVEN if d in uneven else n for d, n in enumerate(self.limits))
            keep = tuple(d for d, n in enumerate(limits) if n != 1)
            # An axis of one device may split a dimension that nothing else can: such meshes take the long way.
            odd = 1 in self.mesh.sizes or layouts_count(len(keep), len(self.mesh.axes)) > planner.EXACT_LAYOUTS
            self._distances[key] = None
            if not odd:
                graph = graph_of(tuple(limits[d] for d in keep), Mesh(self.mesh.axes))
                self._distances[key] = _Distances(_arrays_of(graph), self.size * padding, keep, np.zeros(0), {}, {})
        return self._distances[key]

    @staticmethod
    def _node(spec: ShardSpec, known: _Distances) -> int:
        dims = spec.dims if len(known.keep) == spec.rank else tuple(spec.dims[d] for d in known.keep)
        return known.arrays.graph.node((dims, spec.partial))


def _grouped(keys: Iterable[_Key]) -> dict[_Key, list[int]]:
    """Where each of the keys is."""
    out: dict[_Key, list[int]] = {}
    for n, key in enumerate(keys):
        out.setdefault(key, []).append(n)
    return out
