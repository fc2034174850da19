"""Cost networks (weighted constraint networks): discrete variables with unary and pairwise costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcg.solve.edge_list import EdgeList
from pcg.solve.edges import Edges, memory, offsets, split
from pcg.solve.pairwise import Pairwise

#: Cost of what is not allowed, wherever costs are given to a network.
FORBIDDEN = np.inf
#: What a network puts in its place, and the noise in its costs, as shares of `Network.unit`.  Chosen: powers of two, so
#: that scaling is exact.
_BEYOND, _NOISE = 2.0**13, 2.0**-46


@dataclass
class Network:
    """Variables 0..n-1; `unary[i][k]` costs choice k of i; `pair[i][j][k, l]` costs k of i with l of j (both ways).

    Edges may share a matrix, so none is changed in place.

    `FORBIDDEN` (infinity) may be among the costs that are added.  The first question turns it into `forbidden`, a
    number beyond what all that is allowed costs together, whatever that is: so differences stay numbers, two of them
    are worse than one, and no real cost is taken for one.
    """

    unary: list[np.ndarray] = field(default_factory=list)
    pair: list[dict[int, np.ndarray]] = field(default_factory=list)
    unit: float = 0.0
    """A power of two that no allowed solution costs more than; 0: not computed yet.

    Thresholds are shares of it, so networks whose costs differ by a factor have the same solutions.
    """
    _flat: Pairwise | None = field(default=None, repr=False, compare=False)
    _edges: Edges | None = field(default=None, repr=False, compare=False)
    _own: np.ndarray | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_edges(cls, unary: list[np.ndarray], edges: Edges, unit: float) -> Network:
        """That with `edges`, whose rows are made when they are looked at."""
        return _OfEdges(unary, edges, unit)

    @classmethod
    def of_choices(cls, own: np.ndarray, edges: Edges, unit: float, flat: Pairwise | None = None) -> Network:
        """The same, of costs per choice, one node's behind the other's."""
        return _OfEdges(split(own, edges.size), edges, unit, flat, own)

    @classmethod
    def joined(cls, unary: Sequence[np.ndarray], edges: EdgeList) -> Network:
        """That with `edges`; costs that are infinite are forbidden."""
        most, infinite = _most_of_each(unary)
        unit = _unit(sum(most) + edges.most())
        forbidden = _BEYOND * unit
        finite = list(unary)
        for n in infinite:
            finite[n] = _finite(unary[n], forbidden)
        return cls.of_edges(finite, edges.edges(forbidden), unit)

    def add(self, unary: np.ndarray) -> int:
        """Add a variable with one cost per choice; return its index."""
        self.pair.append({})
        self.unit, self._flat, self._edges, self._own = 0.0, None, None, None
        self.unary.append(np.asarray(unary, dtype=float).copy())
        return len(self.unary) - 1

    def connect(self, i: int, j: int, cost: np.ndarray) -> None:
        """Add `cost[k, l]` between choices of `i` and `j`; a self-edge adds its diagonal to the unary cost."""
        row = self.pair[i]
        self.unit, self._flat, self._edges, self._own = 0.0, None, None, None
        if i == j:
            self.unary[i] = self.unary[i] + np.diagonal(cost)
            return
        if j in row:
            cost = row[j] + cost
        row[j] = cost
        self.pair[j][i] = cost.T

    # -- scale ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Compute `unit`, and put a number where infinity is."""
        if self.unit:
            return
        self._edges = self._own = None
        where: dict[tuple[object, ...], list[tuple[int, int]]] = {}
        known: dict[int, list[tuple[int, int]]] = {}  # the same by `id`, which takes less time
        for i, row in enumerate(self.pair):
            for j, m in row.items():
                if i < j:
                    edges = known.get(id(m))
                    if edges is None:
                        edges = known[id(m)] = where.setdefault(memory(m), [])
                    edges.append((i, j))
        most = sum(len(edges) * _most(self.pair[edges[0][0]][edges[0][1]]) for edges in where.values())
        self.unit = _unit(sum(map(_most, self.unary)) + most)
        self.unary = [_finite(u, self.forbidden) for u in self.unary]
        for (i, j), *others in where.values():  # one by one, so that those with infinity can go
            m = _finite(self.pair[i][j], self.forbidden)
            for a, b in ((i, j), *others):
                self.pair[a][b] = m
                self.pair[b][a] = m.T

    @property
    def forbidden(self) -> float:
        """What a forbidden choice or pair costs."""
        self.settle()
        return _BEYOND * self.unit

    @property
    def limit(self) -> float:
        """From here on costs are of solutions with something forbidden, and those of choices are not real."""
        return self.forbidden / 2

    @property
    def noise(self) -> float:
        """Costs that differ by no more are the same."""
        self.settle()
        return _NOISE * self.unit

    def seconds(self, x: Sequence[int]) -> float:
        """What the assignment `x` costs; infinity if something in it is forbidden."""
        total = self.cost(x)
        return total if total < self.limit else math.inf

    @property
    def flat(self) -> Pairwise:
        """The same as flat arrays, which are kept: for cores, on which several loops run."""
        self.settle()
        if self._flat is None:
            self._flat = Pairwise.of(self.unary, self.edges)
        return self._flat

    @property
    def edges(self) -> Edges:
        """What edges cost as flat arrays, which are kept."""
        self.settle()
        if self._edges is None:
            self._edges = Edges.of(self.unary, self.pair)
        return self._edges

    @property
    def own(self) -> np.ndarray:
        """`unary`, one node's behind the other's, which is kept."""
        self.settle()
        if self._own is None:
            self._own = np.concatenate([np.zeros(0), *self.unary])
        return self._own

    # -- assignments ---------------------------------------------------------------------------

    def cost(self, x: Sequence[int]) -> float:
        """Total cost of the assignment `x`, with `forbidden` for each forbidden choice or pair in it."""
        self.settle()
        at = self.edges.first + np.array(x, dtype=np.int64)
        return self.edges.cost(x, float(np.cumsum(self.own[at])[-1]) if len(at) else 0.0)

    def difference(self, x: Sequence[int], change: Sequence[tuple[int, int]]) -> float:
        """By how much the assignment `x` costs more with other choices of some variables."""
        self.settle()
        new, total, edges = dict(change), 0.0, self.edges
        for i, k in change:
            total += self.unary[i].item(k) - self.unary[i].item(x[i])
            for j, e in edges.around(i):
                if i < j:
                    total += edges.between(e, k, new.get(j, x[j])) - edges.between(e, x[i], x[j])
                elif j not in new:
                    total += edges.between(e, x[j], k) - edges.between(e, x[j], x[i])
        return total

    def restrict(self, masks: Sequence[np.ndarray]) -> Network:
        """This network with only the choices that `masks` leave open."""
        edges = self.edges
        at = np.flatnonzero(np.concatenate([np.zeros(0, dtype=np.bool_), *masks]))
        node = np.repeat(np.arange(len(masks)), edges.size)[at]
        size, own = np.bincount(node, minlength=len(masks)), self.own[at]
        return Network.of_choices(own, edges.restrict(size, at - edges.first[node]), self.unit)

    def conditioned(self, x: Sequence[int], free: Sequence[int]) -> Network:
        """The network of the variables `free`, in ascending order, with what edges to others cost for their choices in
        `x`.

        What the others cost without these is left out.
        """
        edges, nodes = self.edges, np.array(free, dtype=np.int64)
        own = edges.conditioned(self.own, np.array(x, dtype=np.int64), nodes)
        # `unit` stays: a part of what costs no more than that.
        return Network.of_choices(own, edges.among(nodes), self.unit)

    def penalised(self, extra: Mapping[int, np.ndarray]) -> Network:
        """This network with `extra[i]` added to the unary cost of `i`; it may forbid choices."""
        limit = self.limit
        unit = _unit(self.unit + sum(map(_most, extra.values())))
        forbidden, edges, unary = self.forbidden, self.edges, list(self.unary)
        if unit > 2 * self.unit:  # `forbidden` must stay beyond all that is allowed
            forbidden = _BEYOND * unit
            edges = edges.limited(limit, forbidden)
            unary = [np.where(u < limit, u, FORBIDDEN) for u in unary]
        else:
            unit = self.unit
        for i, e in extra.items():
            unary[i] = unary[i] + e
        return Network.of_edges([_finite(u, forbidden) for u in unary], edges, unit)

    def raised(self, constant: float) -> Network:
        """This network with `constant` added to what any assignment costs; `self` where it has no variables."""
        if not self.unary or not constant:
            return self
        unary = self.unary[0] + constant
        own = np.concatenate([unary, *self.unary[1:]])
        return Network.of_choices(own, self.edges, self.unit)

    def icm(self, x: Sequence[int], fixed: Collection[int] = ()) -> list[int]:
        """Iterated conditional modes (Besag 1986): improve `x` node by node until none helps, in a fixed order.

        Nodes that are `fixed` keep their choices.
        """
        free = self.edges.size > 1
        free[list(fixed)] = False
        return self.edges.icm(self.own, x, self.noise, free)


class _OfEdges(Network):
    """A network that is given by its edges."""

    def __init__(
        self, unary: list[np.ndarray], edges: Edges, unit: float, flat: Pairwise | None = None,
        own: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.unary, self.unit, self._flat, self._edges, self._own = unary, unit, flat, edges, own

    @cached_property
    def pair(self) -> list[dict[int, np.ndarray]]:  # type: ignore[override]
        assert self._edges is not None
        return self._edges.rows()


def narrowed(masks: Sequence[np.ndarray], x: Sequence[int]) -> list[int]:
    """A solution of a network, all of whose choices masks leave open, as one of `Network.restrict` to these."""
    first, before = _counted(masks)
    found: list[int] = (before[first + np.array(x, dtype=np.int64)] - before[first]).tolist()
    return found


def widened(masks: Sequence[np.ndarray], x: Sequence[int]) -> list[int]:
    """A solution of a network that was restricted to what masks leave open, as one of the network."""
    first, before = _counted(masks)
    found: list[int] = (np.flatnonzero(np.diff(before))[before[first] + np.array(x, dtype=np.int64)] - first).tolist()
    return found


def _counted(masks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where the choices of each node start when they lie one behind the other, and how many are open before each."""
    first = offsets(np.fromiter(map(len, masks), np.int64, len(masks)))[:-1]
    return first, offsets(np.concatenate([np.zeros(0, dtype=np.bool_), *masks]))


def _unit(most: float) -> float:
    return 2.0 ** math.ceil(math.log2(most)) if most > 0 else 1.0


def _most(costs: np.ndarray) -> float:
    """The largest of them that is a number; 0 if none is."""
    most = float(costs.max(initial=0.0))
    return most if most < FORBIDDEN else float(costs[np.isfinite(costs)].max(initial=0.0))


def _most_of_each(costs: Sequence[np.ndarray]) -> tuple[list[float], list[int]]:
    """`_most` of each that has any, and which have infinite ones: for thousands of short arrays."""
    size = np.fromiter(map(len, costs), np.int64, len(costs))
    some = np.flatnonzero(size)
    if not len(some):
        return [], []
    every, ends = np.concatenate(costs), np.cumsum(size)
    infinite = every == FORBIDDEN
    most = np.maximum.reduceat(np.where(infinite, 0.0, every), (ends - size)[some])
    having = np.unique(np.searchsorted(ends, np.flatnonzero(infinite), side="right"))
    return np.maximum(most, 0.0).tolist(), having.tolist()


def _finite(costs: np.ndarray, forbidden: float) -> np.ndarray:
    """With `forbidden` where there is infinity."""
    return costs if costs.max(initial=0.0) < FORBIDDEN else np.where(np.isfinite(costs), costs, forbidden)
