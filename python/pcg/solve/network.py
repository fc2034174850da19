"""Cost networks (weighted constraint networks): discrete variables with unary and pairwise costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

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

    def add(self, unary: np.ndarray) -> int:
        """Add a variable with one cost per choice; return its index."""
        self.unit, self._flat = 0.0, None
        self.unary.append(np.asarray(unary, dtype=float).copy())
        self.pair.append({})
        return len(self.unary) - 1

    def connect(self, i: int, j: int, cost: np.ndarray) -> None:
        """Add `cost[k, l]` between choices of `i` and `j`; a self-edge adds its diagonal to the unary cost."""
        self.unit, self._flat = 0.0, None
        if i == j:
            self.unary[i] += np.diagonal(cost)
            return
        if j in self.pair[i]:
            cost = self.pair[i][j] + cost
        self.pair[i][j] = cost
        self.pair[j][i] = cost.T

    # -- scale ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Compute `unit`, and put a number where infinity is."""
        if self.unit:
            return
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
            self._flat = Pairwise.of(self.unary, self.pair)
        return self._flat

    # -- assignments ---------------------------------------------------------------------------

    def cost(self, x: Sequence[int]) -> float:
        """Total cost of the assignment `x`, with `forbidden` for each forbidden choice or pair in it."""
        self.settle()
        total = 0.0
        for u, k in zip(self.unary, x, strict=True):
            total += u.item(k)
        for i, row in enumerate(self.pair):
            k, own = x[i], 0.0
            for j, m in row.items():
                if i < j:
                    own += m.item(k, x[j])
            total += own
        return total

    def difference(self, x: Sequence[int], change: Sequence[tuple[int, int]]) -> float:
        """By how much the assignment `x` costs more with other choices of some variables."""
        self.settle()
        new, total = dict(change), 0.0
        for i, k in change:
            total += self.unary[i].item(k) - self.unary[i].item(x[i])
            for j, m in self.pair[i].items():
                if j not in new or i < j:
                    total += m.item(k, new.get(j, x[j])) - m.item(x[i], x[j])
        return total

    def copy(self) -> Network:
        return Network([u.copy() for u in self.unary], [dict(p) for p in self.pair], self.unit)

    def restrict(self, masks: Sequence[np.ndarray]) -> Network:
        """This network with only the choices that `masks` leave open."""
        self.settle()
        at = [np.flatnonzero(mask) for mask in masks]
        unary = [u[k] for u, k in zip(self.unary, at, strict=True)]
        part = [len(u) < len(mask) for u, mask in zip(unary, masks, strict=True)]
        pair = [dict(row) for row in self.pair]
        for i, row in enumerate(pair):
            for j, m in row.items():
                if i < j and (part[i] or part[j]):
                    row[j] = m = m[at[i]][:, at[j]]
                    pair[j][i] = m.T
        return Network(unary, pair, self.unit)

    def penalised(self, extra: Mapping[int, np.ndarray]) -> Network:
        """This network with `extra[i]` added to the unary cost of `i`; it may forbid choices."""
        limit = self.limit
        other = self.copy()
        unit = _unit(self.unit + sum(map(_most, extra.values())))
        if unit > 2 * self.unit:  # `forbidden` must stay beyond all that is allowed
            other.unary = [np.where(u < limit, u, FORBIDDEN) for u in other.unary]
            other.unit = unit
            for i, row in enumerate(other.pair):
                for j, m in row.items():
                    if i < j and m.max() >= limit:
                        row[j] = m = np.where(m < limit, m, other.forbidden)
                        other.pair[j][i] = m.T
        for i, e in extra.items():
            other.unary[i] = other.unary[i] + e
        other.unary = [_finite(u, other.forbidden) for u in other.unary]
        return other

    def icm(self, x: Sequence[int], fixed: Collection[int] = ()) -> list[int]:
        """Iterated conditional modes (Besag 1986): improve `x` node by node until none helps, in a fixed order.

        Nodes that are `fixed` keep their choices.
        """
        noise, unary, pair = self.noise, self.unary, self.pair
        best = list(x)
        free = {i for i, u in enumerate(unary) if len(u) > 1}.difference(fixed)
        work = free
        while work:
            changed: set[int] = set()
            for i in sorted(work):
                c = unary[i]
                for j, m in pair[i].items():
                    c = c + m[:, best[j]]
                k = int(c.argmin())
                if k != best[i] and c[k] < c[best[i]] - noise:
                    best[i] = k
                    changed |= pair[i].keys()
            work = changed & free
        return best


def narrowed(masks: Sequence[np.ndarray], x: Sequence[int]) -> list[int]:
    """A solution of a network, all of whose choices masks leave open, as one of `Network.restrict` to these."""
    return [int(np.count_nonzero(m[:k])) for m, k in zip(masks, x, strict=True)]


def widened(masks: Sequence[np.ndarray], x: Sequence[int]) -> list[int]:
    """A solution of a network that was restricted to what masks leave open, as one of the network."""
    return [int(np.flatnonzero(m)[k]) for m, k in zip(masks, x, strict=True)]


def _unit(most: float) -> float:
    return 2.0 ** math.ceil(math.log2(most)) if most > 0 else 1.0


def memory(m: np.ndarray) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The same for arrays and views that are one matrix in memory."""
    return m.__array_interface__["data"][0], m.shape, m.strides


def _most(costs: np.ndarray) -> float:
    """The largest of them that is a number; 0 if none is."""
    most = float(costs.max(initial=0.0))
    return most if most < FORBIDDEN else float(costs[np.isfinite(costs)].max(initial=0.0))


def _finite(costs: np.ndarray, forbidden: float) -> np.ndarray:
    """With `forbidden` where there is infinity."""
    return costs if costs.max(initial=0.0) < FORBIDDEN else np.where(np.isfinite(costs), costs, forbidden)
