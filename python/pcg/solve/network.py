"""Cost networks: discrete variables with unary and pairwise costs, and exact simplification.

Choosing a strategy per op is a partitioned boolean quadratic problem.  Most of it dissolves without
search: a variable with at most two neighbours can be folded into them exactly (min-plus product;
Scholz & Eckstein, "Register allocation for irregular architectures", LCTES'02), and a choice that another beats
whatever the neighbours do can be dropped (dead-end elimination; Goldstein, Biophys. J. 66, 1994).
What is left, the core, is for `solve.ilp`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

#: Cost of what is not allowed, wherever costs are given to a network.
FORBIDDEN = np.inf
#: What a network puts in its place, and the noise in its costs, as shares of `Network.unit`.  Chosen: powers of two, so
#: that scaling is exact.
_BEYOND, _NOISE = 2.0**13, 2.0**-46
#: Comparisons of choices from which compiled loops pay: loading them takes a third of a second (decision 18).
_MUCH = 1 << 22
_NO_MEMORY = np.zeros((0, 1 << 20), dtype=np.int64)


@dataclass
class Network:
    """Variables 0..n-1; `unary[i][k]` costs choice k of i; `pair[i][j][k, l]` costs k of i with l of j (both ways).

    `FORBIDDEN` (infinity) may be among the costs that are added.  The first question turns it into `forbidden`, a
    number beyond what all that is allowed costs together, whatever that is: so differences stay numbers, two of them
    are worse than one, and no real cost is taken for one.
    """

    unary: list[np.ndarray] = field(default_factory=list)
    pair: list[dict[int, np.ndarray]] = field(default_factory=list)
    unit: float = 0.0
    """A power of two that no allowed solution costs more than; 0: not reckoned yet.

    Thresholds are shares of it, so networks whose costs differ by a factor have the same solutions.
    """

    def add(self, unary: np.ndarray) -> int:
        """Add a variable with one cost per choice; return its index."""
        self.unit = 0.0
        self.unary.append(np.asarray(unary, dtype=float).copy())
        self.pair.append({})
        return len(self.unary) - 1

    def connect(self, i: int, j: int, cost: np.ndarray) -> None:
        """Add `cost[k, l]` between choices of `i` and `j`; a self-edge adds its diagonal to the unary cost."""
        self.unit = 0.0
        if i == j:
            self.unary[i] += np.diagonal(cost)
            return
        if j in self.pair[i]:
            cost = self.pair[i][j] + cost
        self.pair[i][j] = cost
        self.pair[j][i] = cost.T

    # -- scale ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Reckon `unit`, and put a number where infinity is."""
        if self.unit:
            return
        edges = [(i, j, m) for i, row in enumerate(self.pair) for j, m in row.items() if i < j]
        self.unit = _unit(sum(_most(u) for u in self.unary) + sum(_most(m) for _, _, m in edges))
        self.unary = [_finite(u, self.forbidden) for u in self.unary]
        for i, j, m in edges:
            self.pair[i][j] = m = _finite(m, self.forbidden)
            self.pair[j][i] = m.T

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

    # -- assignments ---------------------------------------------------------------------------

    def cost(self, x: Sequence[int]) -> float:
        """Total cost of the assignment `x`, with `forbidden` for each forbidden choice or pair in it."""
        self.settle()
        total = float(sum(u[k] for u, k in zip(self.unary, x, strict=True)))
        for i, row in enumerate(self.pair):
            total += float(sum(m[x[i], x[j]] for j, m in row.items() if i < j))
        return total

    def copy(self) -> Network:
        return Network([u.copy() for u in self.unary], [dict(p) for p in self.pair], self.unit)

    def restrict(self, masks: Sequence[np.ndarray]) -> Network:
        """This network with only the choices that `masks` leave open."""
        self.settle()
        unary = [u[k] for u, k in zip(self.unary, masks, strict=True)]
        pair = [{j: m[masks[i]][:, masks[j]] for j, m in row.items()} for i, row in enumerate(self.pair)]
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

    def descend(self, x: Sequence[int]) -> list[int]:
        """Improve `x` one variable at a time until none helps (deterministic order)."""
        noise = self.noise
        best = list(x)
        work = set(range(len(self.unary)))
        while work:
            changed: set[int] = set()
            for i in sorted(work):
                c = self.unary[i].copy()
                for j, m in self.pair[i].items():
                    c += m[:, best[j]]
                k = int(np.argmin(c))
                if c[k] < c[best[i]] - noise:
                    best[i] = k
                    changed |= self.pair[i].keys()
            work = changed
        return best


def _unit(most: float) -> float:
    return 2.0 ** math.ceil(math.log2(most)) if most > 0 else 1.0


def _most(costs: np.ndarray) -> float:
    """The largest of them that is a number; 0 if none is."""
    most = float(costs.max(initial=0.0))
    return most if most < FORBIDDEN else float(costs[np.isfinite(costs)].max(initial=0.0))


def _finite(costs: np.ndarray, forbidden: float) -> np.ndarray:
    """With `forbidden` where there is infinity."""
    return costs if costs.max(initial=0.0) < FORBIDDEN else np.where(np.isfinite(costs), costs, forbidden)


@dataclass
class Reduction:
    """A network after exact simplification.

    `core` is what is left, over variables `kept` whose choices are `choices[i]` of the original's.
    """

    core: Network
    constant: float
    """What the folded variables cost whatever the core chooses."""
    kept: list[int]
    choices: list[np.ndarray]
    _folded: list[tuple[int, np.ndarray, np.ndarray, list[tuple[int, np.ndarray, np.ndarray]]]]

    def expand(self, core_solution: Sequence[int]) -> list[int]:
        """The best solution of the original network, given one of the core."""
        x = [0] * len(self.choices)
        for i, k in zip(self.kept, core_solution, strict=True):
            x[i] = int(self.choices[i][k])
        for i, own, unary, neighbours in reversed(self._folded):
            c = unary.copy()
            for j, theirs, m in neighbours:
                c += m[:, np.searchsorted(theirs, x[j])]
            x[i] = int(own[np.argmin(c)])
        return x


    def project(self, x: Sequence[int]) -> list[int]:
        """A solution of the core near the solution `x` of the original; where its choice was dropped, a good one."""
        out = []
        for p, i in enumerate(self.kept):
            at = np.flatnonzero(self.choices[i] == x[i])
            out.append(int(at[0]) if len(at) else int(np.argmin(self.core.unary[p])))
        return self.core.descend(out)


def reduce(network: Network, keep: Iterable[int] = ()) -> Reduction:
    """Simplify exactly: an optimum of the core expands to an optimum of `network`.

    Variables in `keep` stay in the core with all their choices, so that what those cost may still change.
    """
    network.settle()
    limit, noise, n = network.limit, network.noise, len(network.unary)
    work = sum(len(u) * m.size for u, row in zip(network.unary, network.pair, strict=True) for m in row.values())
    undominated = _Compiled.undominated if work > _MUCH else _undominated
    min_plus = _Compiled.min_plus if work > _MUCH else _min_plus
    unary = [u.copy() for u in network.unary]
    pair = [dict(p) for p in network.pair]
    choices = [np.arange(len(u)) for u in unary]
    alive = [True] * n
    pinned = set(keep)
    folded: list[tuple[int, np.ndarray, np.ndarray, list[tuple[int, np.ndarray, np.ndarray]]]] = []
    constant = [0.0]

    def shrink(i: int) -> bool:
        good = undominated(unary[i], list(pair[i].values()), limit, noise)
        if good.all():
            return False
        unary[i] = unary[i][good]
        choices[i] = choices[i][good]
        for j in list(pair[i]):
            pair[i][j] = pair[i][j][good]
            pair[j][i] = pair[i][j].T
        return True

    def fold(i: int) -> tuple[int, ...]:
        neighbours = tuple(sorted(pair[i]))
        # Neighbours may lose choices later: keep which ones they had.
        folded.append((i, choices[i], unary[i], [(j, choices[j], pair[i][j]) for j in neighbours]))
        alive[i] = False
        if not neighbours:
            constant[0] += float(unary[i].min())
        elif len(neighbours) == 1:
            (j,) = neighbours
            unary[j] = unary[j] + (unary[i][:, None] + pair[i][j]).min(axis=0)
        elif len(neighbours) == 2:
            j, k = neighbours
            best = min_plus(unary[i], pair[i][j], pair[i][k])
            new = pair[j][k] + best if k in pair[j] else best
            pair[j][k] = new
            pair[k][j] = new.T
        for j in neighbours:
            del pair[j][i]
        return neighbours

    dirty = set(range(n))
    while dirty:
        # Fold whatever can be folded, smallest index first; prune where something changed.
        for i in sorted(dirty):
            if alive[i] and i not in pinned and len(unary[i]) > 1:
                shrink(i)
        touched: set[int] = set()
        queue = sorted(i for i in range(n) if alive[i] and i not in pinned and _foldable(i, pair))
        while queue:
            i = queue.pop(0)
            if not alive[i] or not _foldable(i, pair):
                continue
            for j in fold(i):
                touched.add(j)
                if alive[j] and j not in pinned and _foldable(j, pair):
                    queue.append(j)
        dirty = {i for i in touched if alive[i]}
    kept = [i for i in range(n) if alive[i]]
    index = {i: p for p, i in enumerate(kept)}
    core = Network([unary[i] for i in kept], [{index[j]: m for j, m in pair[i].items()} for i in kept], network.unit)
    return Reduction(core, constant[0], kept, choices, folded)


def _foldable(i: int, pair: list[dict[int, np.ndarray]]) -> bool:
    return len(pair[i]) <= 2


def _min_plus(u: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`out[j, k] = min_i u[i] + a[i, j] + b[i, k]`, in slices that stay small."""
    left = (u[:, None] + a).T
    out = np.empty((a.shape[1], b.shape[1]))
    for j in range(len(left)):
        out[j] = (left[j][:, None] + b).min(axis=0)
    return out


def _undominated(unary: np.ndarray, edges: list[np.ndarray], limit: float, noise: float) -> np.ndarray:
    """Mask of choices that no other choice beats for every state of the neighbours.

    Those that cost `limit` or more are forbidden; costs that differ by `noise` or less are the same.
    """
    n = len(unary)
    good = np.ones(n, dtype=bool)
    good &= unary < limit
    if not good.any():
        good[:] = True
        return good
    # worst[k, q] = how much choosing k instead of q can cost at most.
    worst = unary[:, None] - unary[None, :]
    for m in edges:
        if n * m.size < 1 << 18:
            worst += (m[:, None, :] - m[None, :, :]).max(axis=2)
        else:
            for k in range(n):
                worst[k] += (m[k][None, :] - m).max(axis=1)
    # Of two choices that are as good as each other the first stays; that order makes one pass enough.
    beats = (worst < -noise) | ((worst <= noise) & (np.arange(n)[:, None] < np.arange(n)[None, :]))
    np.fill_diagonal(beats, False)
    beaten = beats[good].any(axis=0)
    left = good & ~beaten
    if not left.any():  # a cycle of differences below the noise: any of them will do
        left[np.flatnonzero(good)[0]] = True
    return left


class _Compiled:
    """The same two, compiled: worth their loading (a third of a second) where there is much to do."""

    @staticmethod
    def min_plus(u: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        from pcg.solve.kernels import min_plus

        return min_plus(u, np.ascontiguousarray(a), np.ascontiguousarray(b))  # type: ignore[no-any-return]

    @staticmethod
    def undominated(unary: np.ndarray, edges: list[np.ndarray], limit: float, noise: float) -> np.ndarray:
        from pcg.solve.kernels import undominated

        n = len(unary)
        good = unary < limit
        if not good.any():
            return np.ones(n, dtype=bool)
        costs = np.ascontiguousarray(np.concatenate([np.zeros((good.sum(), 0)), *(m[good] for m in edges)], axis=1))
        ends = np.cumsum([0, *(m.shape[1] for m in edges)])
        good[good] = undominated(unary[good], costs, ends, _NO_MEMORY[:, : len(costs)], 2 * limit, noise)
        return good
