"""Costs of all redistributions between two sets of layouts of one tensor.

The same shortest paths as `pcg.reshard.planner.cost` over the same graphs of layouts, but from all sources at once and
as arrays: a search needs millions of pairs.  No MLIR here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pcg.kernels.paths import shortest
from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import is_even, padded_size
from pcg.reshard import planner
from pcg.reshard.layout_graph import (
    SLICE_SECONDS,
    UNEVEN,
    Axes,
    LinkCost,
    graph_of,
    layouts_count,
    unlimited,
)
from pcg.reshard.layouts import UNKNOWN, Layouts, Numbers, groups_of
from pcg.reshard.steps import ReshardError

#: What layouts of one kind share: their uneven dimensions, and what padding multiplies their bytes by.
_Kind = tuple[frozenset[int], float]
_EVEN: _Kind = frozenset(), 1.0
class _Graph:
    """The graph of layouts whose dimensions can be split into any number, as arrays.

    It is grown to everything that can be reached from what is in it.
    """

    def __init__(self, limits: tuple[int, ...], mesh: Mesh, _thread: int) -> None:
        self.graph = graph_of(limits, mesh)
        self.layouts = Layouts.on(mesh)
        self.count = 0
        """Of layouts."""
        self._grown: set[int] = set()
        self._nodes: dict[tuple[int, ...], Numbers] = {}

    def nodes(self, numbers: np.ndarray, keep: tuple[int, ...]) -> np.ndarray:
        """The node of each layout of a tensor of which the dimensions `keep` are in the graph."""
        known = self._nodes.setdefault(keep, Numbers())
        if missing := known.missing(numbers):
            for n in missing:
                spec = self.layouts.specs[n]
                known.set(n, self.graph.node((tuple([spec.dims[d] for d in keep]), spec.partial)))
            self._include(known.of(np.array(missing)).tolist())
        return known.of(numbers)

    def _include(self, nodes: Sequence[int]) -> None:
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
        self.count = len(self.graph.states)
        #: Hops of all edges; those from `starts[e]` on join the same two layouts, `before[e]` and `after[e]`.
        self.hops = edges[:, 2]
        fresh = np.any(np.diff(edges[:, :2], axis=0, prepend=-1) != 0, axis=1)
        self.starts = np.flatnonzero(fresh)
        self.before, self.after = edges[self.starts, 0], edges[self.starts, 1]
        count = self.graph.count
        #: Into how many parts each layout splits each dimension.
        self.parts = np.array([[count(axes) for axes in dims] for dims, _ in self.graph.states], np.int64)
        self.parts = self.parts.reshape(self.count, len(self.graph.limits))


_graph_on = lru_cache(maxsize=256)(_Graph)


class _Distances:
    """Distances between layouts whose dimension `keep[d]` can be split into a divisor of `limits[d]`."""

    def __init__(self, limits: tuple[int, ...], keep: tuple[int, ...], mesh: Mesh, size: float, link: LinkCost) -> None:
        axes = Mesh(mesh.axes)
        self._graph = _graph_on(unlimited(limits, axes), axes, threading.get_ident())
        self._limits, self._keep, self._size, self._link = limits, keep, size, link
        self._hop_costs = np.zeros(0)
        self.forget()

    def forget(self) -> None:
        """Drop the distances that are known."""
        self._row = np.zeros(0, np.intp)
        self._rows = np.zeros((0, 0))

    def between(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Seconds from each of `src` to each of `dst`, layouts by number."""
        graph = self._graph
        numbers = graph.nodes(np.concatenate([src, dst]), self._keep)
        starts, ends = numbers[: len(src)], numbers[len(src) :]
        if len(self._row) < graph.count:
            self._row, self._rows = np.full(graph.count, UNKNOWN, np.intp), np.zeros((0, graph.count))
        new = np.unique(starts[self._row[starts] == UNKNOWN])
        if len(new):
            self._row[new] = len(self._rows) + np.arange(len(new))
            self._rows = np.concatenate([self._rows, self._from(new)])
        return self._rows[self._row[starts][:, None], ends]

    def _from(self, sources: np.ndarray) -> np.ndarray:
        """Seconds from each source to every node."""
        graph, limits = self._graph, np.array(self._limits, np.int64)
        can = ((limits % graph.parts) == 0).all(axis=1)
        edges = np.flatnonzero(can[graph.before] & can[graph.after])
        if not len(edges):
            weights = np.zeros(0)
        elif len(edges) == len(graph.starts):
            weights = np.minimum.reduceat(self._seconds(graph.hops), graph.starts)
        else:
            ends = np.append(graph.starts[1:], len(graph.hops))
            counts = (ends - graph.starts)[edges]
            first = np.cumsum(counts) - counts
            at = np.repeat(graph.starts[edges] - first, counts) + np.arange(counts.sum())
            weights = np.minimum.reduceat(self._seconds(graph.hops[at]), first)
        rows = np.searchsorted(graph.before[edges], np.arange(graph.count + 1))
        return shortest(sources.astype(np.int64), rows, graph.after[edges], weights)

    def _seconds(self, hops: np.ndarray) -> np.ndarray:
        """Seconds of each of `hops`."""
        every = self._graph.graph.hops
        if len(self._hop_costs) < len(every):
            more = np.full(len(every) - len(self._hop_costs), np.nan)
            self._hop_costs = np.concatenate([self._hop_costs, more])
        costs = self._hop_costs
        used = np.unique(hops)
        for h in used[np.isnan(costs[used])].tolist():
            name, axes, share = every[h]
            sent = share * self._size
            costs[h] = self._link(axes, sent, name) if sent else SLICE_SECONDS
        return costs[hops]


@dataclass
class TensorCosts:
    """Seconds of redistributions of a tensor of global `shape`, `itemsize` bytes an element, on `mesh`."""

    shape: tuple[int, ...]
    itemsize: float
    mesh: Mesh
    link: LinkCost
    _kinds: dict[_Kind, int] = field(default_factory=lambda: {_EVEN: 0})
    _kind: Numbers = field(default_factory=Numbers)
    _known: dict[_Kind, _Distances | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._elements, self._limits, _ = planner._divisors(self.shape, self.mesh)
        self._size = self._elements * self.itemsize
        self._other_ranks: set[int] = set()
        self._layouts = Layouts.on(self.mesh)
        self._splits: list[dict[Axes, tuple[bool, int]]] = [{} for _ in self.shape]

    def matrix(self, src: Sequence[ShardSpec], dst: Sequence[ShardSpec]) -> np.ndarray:
        """Seconds of each of `src` (rows) to each of `dst` (columns); infinite where there is no way.

        Raises:
          ReshardError: a spec names an axis that the mesh lacks, or one twice.
        """
        return self.between(self._layouts.numbers(src), self._layouts.numbers(dst))

    def forget(self) -> None:
        """Drop distances that are known; they take more memory than what is made of them."""
        for known in self._known.values():
            if known is not None:
                known.forget()

    def between(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """`matrix` of layouts given by their numbers among `Layouts`."""
        out = np.empty((len(src), len(dst)))
        groups = [(rows, *self._layouts.unmasked(dst, p)) for p, rows in self._layouts.by_partial(src)]
        ends, back = np.unique([before for _, before, _ in groups], return_inverse=True)
        reduced = self._reduced_matrix(src, ends)
        back = back.reshape(len(groups), len(dst))
        for (rows, _, masks), columns in zip(groups, back, strict=True):
            out[rows] = reduced[rows][:, columns] + masks * planner.MASK_SECONDS
        return out

    def _reduced_matrix(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """The matrix where no masks are needed."""
        every = list(self._kinds_of(np.concatenate([src, dst])))
        numbers = self._kind.of(src), self._kind.of(dst)
        rows, columns = (list(groups_of(n)) for n in numbers)
        if len(rows) == len(columns) == 1:
            return self._block(src, dst, *_both(every[rows[0][0]], every[columns[0][0]]))
        out = np.empty((len(src), len(dst)))
        for a, i in rows:
            for b, j in columns:
                out[i[:, None], j] = self._block(src[i], dst[j], *_both(every[a], every[b]))
        return out

    def _block(self, src: np.ndarray, dst: np.ndarray, uneven: frozenset[int], padding: float) -> np.ndarray:
        """The matrix of layouts of one kind on each side."""
        known = self._distances_on(uneven, padding)
        if known is None or not self._other_ranks.isdisjoint((*src.tolist(), *dst.tolist())):
            starts, ends = ([self._layouts.specs[n] for n in numbers.tolist()] for numbers in (src, dst))
            return np.array([[self._alone(a, b) for b in ends] for a in starts])
        return known.between(src, dst)

    def _alone(self, src: ShardSpec, dst: ShardSpec) -> float:
        """A pair for which not all layouts can be searched, or that cannot be."""
        if not set(dst.partial) <= set(src.partial):
            return float("inf")  # it would need masks
        try:
            return planner.cost(src, dst, self.shape, self.itemsize, self.mesh, self.link)[0]
        except ReshardError:
            return float("inf")

    def _kinds_of(self, numbers: np.ndarray) -> Iterable[_Kind]:
        """All kinds, once those of `numbers` are known."""
        for n in self._kind.missing(numbers):
            spec = self._layouts.specs[n]
            if spec.rank != len(self.shape):
                self._other_ranks.add(n)
            kind = self._kind_of(spec)
            self._kind.set(n, self._kinds.setdefault(kind, len(self._kinds)))
        return self._kinds

    def _kind_of(self, spec: ShardSpec) -> _Kind:
        if spec.rank != len(self.shape):
            return _EVEN
        uneven, have = [], 1
        for d, (axes, size, known) in enumerate(zip(spec.dims, self.shape, self._splits, strict=True)):
            if axes not in known:
                sizes = [self.mesh.axis_size(a) for a in axes]
                known[axes] = is_even(size, sizes), padded_size(size, sizes) * self.mesh.axes_size(axes)
            even, held = known[axes]
            have *= held
            if not even:
                uneven.append(d)
        return (frozenset(uneven), have / max(self._elements, 1)) if uneven else _EVEN

    def _distances_on(self, uneven: frozenset[int], padding: float) -> _Distances | None:
        """What is searched where the dimensions `uneven` are; None if not all layouts can be."""
        key = uneven, padding
        if key not in self._known:
            limits = tuple(UNEVEN if d in uneven else n for d, n in enumerate(self._limits))
            keep = tuple(d for d, n in enumerate(limits) if n != 1)
            # An axis of one device may split a dimension that nothing else can: such meshes take the long way.
            odd = 1 in self.mesh.sizes or layouts_count(len(keep), len(self.mesh.axes)) > planner.EXACT_LAYOUTS
            kept = tuple(limits[d] for d in keep)
            self._known[key] = None if odd else _Distances(kept, keep, self.mesh, self._size * padding, self.link)
        return self._known[key]


def _both(a: _Kind, b: _Kind) -> _Kind:
    """What two layouts are searched with."""
    uneven = a[0] | b[0]
    return uneven, max(a[1], b[1]) if uneven else 1.0
