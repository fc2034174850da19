"""Shortest paths over all layouts of a tensor on a mesh.

Every legal step is an edge: detours over dimensions and axes that neither end of a redistribution
names can pay (an idle axis makes an all-reduce smaller; a fast one spares a slow one).  One search
from a source serves all goals.  No MLIR here.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from pcg.layout import Mesh, ShardSpec
from pcg.reshard.steps import AllGather, AllReduce, AllToAll, Permute, ReduceScatter, Regroup, ReshardStep, Slice

#: (axes, bytes one device sends, name of the collective) -> seconds.
LinkCost = Callable[[tuple[str, ...], float, str], float]
Axes = tuple[str, ...]
Dims = tuple[Axes, ...]
Partial = tuple[tuple[str, str], ...]
State = tuple[Dims, Partial]
#: What the cost of a step depends on: its name, its axes, bytes one device sends as a share of the global tensor.  And
#: the dimensions, as bits, whose blocks are others after it: only equal ones can change hands then.
Hop = tuple[str, Axes, float, int]

#: Cost of a local step, so that of two equal plans the shorter one wins.  A choice: far below any collective.
SLICE_SECONDS = 1e-9
#: The limit of a dimension that is split unevenly: into any number, and only equally split blocks can be permuted.
UNEVEN = 0
#: Paths this close (relative) cost the same; then the one with fewer steps wins.
SAME = 1e-9


class LayoutGraph:
    """Layouts on `mesh` of tensors whose dimension `d` can be split into any divisor of `limits[d]`.

    Nodes are numbered as they are reached; their edges are computed when first needed: of the graph of tensors whose
    dimensions can be split into any number, those to layouts that these can have.
    """

    def __init__(self, limits: tuple[int, ...], mesh: Mesh) -> None:
        self.limits, self.mesh = limits, mesh
        free = (mesh.size,) * len(limits)
        self._all = None if free == limits else graph_of(free, mesh)
        self._uneven = uneven_dims(limits)
        self._of_all: dict[int, int | None] = {}
        """The number here of a layout of that graph; None if these tensors cannot have it."""
        self.sizes = dict(mesh.axes)
        self._counts: dict[Axes, int] = {}
        self._splits_of: dict[frozenset[str], dict[int, list[Axes]]] = {}
        self.states: list[State] = []
        self.shares: list[float] = []  # of the tensor, that one device holds
        self.hops: list[Hop] = []
        self._numbers: dict[State, int] = {}
        self._hop_numbers: dict[Hop, int] = {}
        self._edges: dict[int, list[tuple[int, int]]] = {}

    def node(self, state: State) -> int:
        """Number of a layout."""
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self.states)
            self.states.append(state)
            self.shares.append(1 / math.prod(map(self.count, state[0])))
        return found

    def edges(self, node: int) -> list[tuple[int, int]]:
        """(node after, hop) of every legal step; the order depends on the layout alone."""
        found = self._edges.get(node)
        if found is None:
            if self._all is None:
                found = self._free_edges(node)
            else:
                steps = self._all.edges(self._all.node(self.states[node]))
                near = [(self._from_all(after), hop) for after, hop in steps]
                hops = self._all.hops
                found = [
                    (after, self._hop(hops[hop])) for after, hop in near
                    if after is not None and not hops[hop][3] & self._uneven
                ]
            self._edges[node] = found
        return found

    def _free_edges(self, node: int) -> list[tuple[int, int]]:
        """The edges where dimensions can be split into any number."""
        here, found = self.shares[node], []
        for name, axes, share, after, dims in self._steps(self.states[node]):
            number = self._hop((name, axes, share * here, dims))
            found.append((self.node(after), number))
        return found

    def _from_all(self, other: int) -> int | None:
        """The number here of a layout of the graph of all, None if there is none."""
        if other not in self._of_all:
            assert self._all is not None
            state = self._all.states[other]
            fits = all(limit % self.count(axes) == 0 for limit, axes in zip(self.limits, state[0], strict=True))
            self._of_all[other] = self.node(state) if fits else None
        return self._of_all[other]

    def _hop(self, hop: Hop) -> int:
        number = self._hop_numbers.setdefault(hop, len(self.hops))
        if number == len(self.hops):
            self.hops.append(hop)
        return number

    def _steps(self, state: State) -> Iterator[tuple[str, Axes, float, State, int]]:
        """(name, axes that talk, bytes sent as a share of the shard, layout after, dimensions with other blocks then).

        Whatever the dimensions can be split into.
        """
        dims, partial = state
        idle = tuple(a for a in self.sizes if a not in {a for d in dims for a in d} | {a for a, _ in partial})
        counts = [self.count(axes) for axes in dims]

        def put(d: int, axes: Axes, to: Dims) -> Dims:
            return to[:d] + (axes,) + to[d + 1 :]

        for kind in sorted({k for _, k in partial}):
            for axes in _arrangements(tuple(a for a, k in partial if k == kind)):
                n = self.count(axes)
                rest = tuple(p for p in partial if p[0] not in axes)
                if axes == tuple(sorted(axes)):
                    yield "all_reduce", axes, 2 * (n - 1) / n, (dims, rest), 0
                for d, have in enumerate(dims):
                    yield "reduce_scatter", axes, (n - 1) / n, (put(d, have + axes, dims), rest), 0
        for d, have in enumerate(dims):
            for axes in _arrangements(idle):
                yield "slice", (), 0.0, (put(d, have + axes, dims), partial), 0
            for left in range(len(have)):
                axes = have[left:]
                n = self.count(axes)
                less = put(d, have[:left], dims)
                yield "all_gather", axes, n - 1.0, (less, partial), 0
                for e, there in enumerate(dims):
                    if e != d:
                        yield "all_to_all", axes, (n - 1) / n, (put(e, there + axes, less), partial), 0
        for axes, after in regroups(dims):
            n = self.count(axes)
            yield "all_to_all", axes, (n - 1) / n, (after, partial), 0
        splits = self._splits(partial)
        for after in itertools.product(*[splits[n] for n in counts]):
            flat = list(itertools.chain.from_iterable(after))
            if len(flat) == len(set(flat)) and after != dims:
                changed = tuple(dict.fromkeys(a for x, y in zip(dims, after, strict=True) if x != y for a in (*x, *y)))
                share = permuted_share(dims, after, self.mesh)
                pairs = enumerate(zip(dims, after, strict=True))
                others = sum(1 << d for d, (x, y) in pairs if x != y and self._blocks(x) != self._blocks(y))
                yield "permute", changed, share, (after, partial), others

    def count(self, axes: Axes) -> int:
        """Devices along `axes`."""
        found = self._counts.get(axes)
        if found is None:
            found = self._counts[axes] = math.prod([self.sizes[a] for a in axes])
        return found

    def _splits(self, partial: Partial) -> dict[int, list[Axes]]:
        """Every split, by into how many, with axes over which values are not partial."""
        taken = frozenset(a for a, _ in partial)
        found = self._splits_of.get(taken)
        if found is None:
            found = self._splits_of[taken] = {}
            for axes in ((), *_arrangements(tuple(a for a in self.sizes if a not in taken))):
                found.setdefault(self.count(axes), []).append(axes)
        return found

    def _blocks(self, axes: Axes) -> list[int]:
        """What a dimension is split into, one after the other: the same gives the same blocks, uneven ones, too."""
        return [self.sizes[a] for a in axes]

    def step(self, before: int, after: int, hop: int) -> ReshardStep:
        """The step that an edge is."""
        (have, partial), (want, rest) = self.states[before], self.states[after]
        name = self.hops[hop][0]
        grown = [(d, y[len(x) :]) for d, (x, y) in enumerate(zip(have, want, strict=True)) if len(y) > len(x)]
        shrunk = [(d, x[len(y) :]) for d, (x, y) in enumerate(zip(have, want, strict=True)) if len(y) < len(x)]
        kinds = [k for a, k in partial if (a, k) not in rest]
        match name:
            case "all_reduce":
                return AllReduce(tuple(a for a, k in partial if (a, k) not in rest), kinds[0])
            case "reduce_scatter":
                return ReduceScatter(*grown[0], kinds[0])
            case "all_gather":
                return AllGather(*shrunk[0])
            case "all_to_all" if len(grown) == len(shrunk) == 1 and grown[0][1] == shrunk[0][1]:
                return AllToAll(grown[0][0], *shrunk[0])
            case "all_to_all":
                return Regroup(ShardSpec(want, rest))
            case "slice":
                return Slice(*grown[0])
        return Permute(ShardSpec(want, rest))

    def smallest_bound(self, src: int, dst: int) -> float:
        """Least share of the tensor that source and destination of a step together need on the way; inf if none."""
        best = {src: 0.0}
        heap = [(0.0, src)]
        while heap:
            bound, node = heapq.heappop(heap)
            if node == dst:
                return bound
            for after, _ in self.edges(node):
                reached = max(bound, self.shares[node] + self.shares[after])
                if reached < best.get(after, math.inf):
                    best[after] = reached
                    heapq.heappush(heap, (reached, after))
        return math.inf


class ShortestPaths:
    """Cheapest paths from one layout of a tensor of `size` bytes (Dijkstra, resumed for each new goal).

    Steps whose source and destination together exceed `memory` bytes on a device are not taken.
    """

    def __init__(self, graph: LayoutGraph, src: int, size: float, link_cost: LinkCost, memory: float) -> None:
        self.graph, self.size, self.link_cost = graph, size, link_cost
        self.memory = memory / size if size else math.inf
        self.found: dict[int, tuple[float, int, float]] = {src: (0.0, 0, 0.0)}  # seconds, steps, bytes sent
        self._from: dict[int, tuple[int, int]] = {}
        self._heap: list[tuple[float, int, int, int]] = [(0.0, 0, 0, src)]
        self._done: set[int] = set()
        self._hop_costs: dict[int, tuple[float, float]] = {}
        self._count = itertools.count(1)

    def reach(self, dst: int) -> tuple[float, float] | None:
        """(seconds, bytes one device sends) of the cheapest path to `dst`, None if there is none."""
        if dst in self._done:
            return self.found[dst][0], self.found[dst][2]
        graph, found, done, heap, hop_costs = self.graph, self.found, self._done, self._heap, self._hop_costs
        shares, memory = graph.shares, self.memory * (1 + SAME)
        while heap and dst not in done:
            seconds, steps, _, node = heapq.heappop(heap)
            if node in done:
                continue
            done.add(node)
            sent, room = found[node][2], memory - shares[node]
            for after, hop in graph.edges(node):
                if after in done or shares[after] > room:
                    continue
                hop_cost = hop_costs.get(hop)
                if hop_cost is None:
                    hop_cost = hop_costs[hop] = self._cost_of(hop)
                reached = seconds + hop_cost[0]
                old = found.get(after)
                if old is not None:
                    slack = old[0] * SAME
                    if reached > old[0] + slack or (reached >= old[0] - slack and steps + 1 >= old[1]):
                        continue
                found[after] = reached, steps + 1, sent + hop_cost[1]
                self._from[after] = node, hop
                heapq.heappush(heap, (reached, steps + 1, next(self._count), after))
        return (found[dst][0], found[dst][2]) if dst in done else None

    def _cost_of(self, hop: int) -> tuple[float, float]:
        name, axes, share, _ = self.graph.hops[hop]
        sent = share * self.size
        return (self.link_cost(axes, sent, name) if sent else SLICE_SECONDS), sent

    def path(self, dst: int) -> list[ReshardStep]:
        """The steps of the path that `reach` found."""
        steps = []
        while dst in self._from:
            node, hop = self._from[dst]
            steps.append(self.graph.step(node, dst, hop))
            dst = node
        return steps[::-1]


def uneven_dims(limits: Sequence[int]) -> int:
    """The dimensions, as bits, that are split unevenly."""
    return sum(1 << d for d, limit in enumerate(limits) if limit == UNEVEN)


graph_of = lru_cache(maxsize=256)(LayoutGraph)
paths_from = lru_cache(maxsize=4096)(ShortestPaths)


@cache
def layouts_count(rank: int, axes: int) -> int:
    """Number of layouts of `rank` dimensions over `axes` axes, partial ones left out."""
    return sum(
        math.comb(axes, k) * math.factorial(k) * (math.comb(k + rank - 1, k) if rank else not k)
        for k in range(axes + 1)
    )


@cache
def _arrangements(axes: Axes) -> tuple[Axes, ...]:
    """Non-empty subsets in every order, largest first."""
    return tuple(p for k in range(len(axes), 0, -1) for p in itertools.permutations(axes, k))


@cache
def regroups(dims: Dims) -> tuple[tuple[Axes, Dims], ...]:
    """(axes, layout after) of every all-to-all of several axes that is not one from one dimension to another."""
    found = []
    for lefts in itertools.product(*(range(len(have) + 1) for have in dims)):
        gone = [have[left:] for have, left in zip(dims, lefts, strict=True)]
        axes = tuple(a for x in gone for a in x)
        if len(axes) < 2:
            continue
        targets = [d for d, x in enumerate(gone) if not x]
        if not targets:
            continue
        one_source, talk = len(dims) - len(targets) == 1, tuple(sorted(axes))
        less = [have[:left] for have, left in zip(dims, lefts, strict=True)]
        parts = _parts(len(axes), len(targets))
        for order in itertools.permutations(axes):
            for ends in parts:
                if one_source and len(ends) == 1 and order == axes:
                    continue
                after = less.copy()
                for t, a, b in ends:
                    after[targets[t]] += order[a:b]
                found.append((talk, tuple(after)))
    return tuple(found)


@cache
def _parts(count: int, targets: int) -> list[list[tuple[int, int, int]]]:
    """Every split of so many axes, in order, over targets: which targets have some, from which to which."""
    inner = itertools.combinations_with_replacement(range(count + 1), targets - 1)
    splits = (enumerate(itertools.pairwise((0, *ends, count))) for ends in inner)
    return [[(t, a, b) for t, (a, b) in split if a < b] for split in splits]


@cache
def permuted_share(src: Dims, dst: Dims, mesh: Mesh) -> float:
    """Share of the devices that do not already hold the shard they need."""
    differs = np.zeros(mesh.size, bool)
    for have, want in zip(src, dst, strict=True):
        if have != want:
            differs |= _indices(have, mesh) != _indices(want, mesh)
    return float(differs.mean())


@cache
def _indices(axes: Axes, mesh: Mesh) -> np.ndarray:
    """Index along `axes` of every position."""
    grid = np.indices(mesh.sizes).reshape(len(mesh.sizes), -1)
    index = np.zeros(mesh.size, np.int64)
    for a in axes:
        index = index * mesh.axis_size(a) + grid[mesh.names.index(a)]
    return index
