"""From a training step to the graph that Unity searches: one decision per forward op, backward and update with it.

Unity's graph has forward ops only, each priced together with its backward pass and the synchronisation of its weights.
Here a step is one graph in which the backward half hangs on every forward value. `contract` keeps the *principals* (the
forward decisions) and removes every other node: exactly where it has at most two neighbours (min-plus), else by tying
it to a principal: for each choice of that one it takes its best response, its other neighbours being in what goes best
with that choice. Where the choice of the principal occurs in a known plan of the step, what follows does as in that
plan, so that known plans are priced as what they cost. Every choice of the principals thus stands for a plan of the
whole step, and the contracted costs are the costs of that plan. No MLIR here.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.search.unity.algebra import min_plus
from pcg.solve.network import Network

#: What a new pair of principals that are not near weighs against the share of a neighbour in what binds a node.
#: Chosen: the paper has no such step (decision 13).
_FILL = 0.2
#: Of how many principals, the strongest, a node may follow one.  Chosen: a budget of time.
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class _Folded:
    node: int
    unary: np.ndarray
    neighbours: list[tuple[int, np.ndarray]]


@dataclass(frozen=True, slots=True)
class _Tied:
    node: int
    to: int
    response: np.ndarray


@dataclass
class Contraction:
    """`network` is over `principals`, in their order; `constant` is what no choice changes."""

    network: Network
    principals: list[int]
    constant: float
    tied: int
    """How many nodes follow a principal by best response; the others were removed exactly."""
    _size: int
    _trail: list[_Folded | _Tied]

    def expand(self, x: Sequence[int]) -> list[int]:
        """The plan of the whole graph that the choices `x` of the principals stand for."""
        full = [0] * self._size
        for i, k in zip(self.principals, x, strict=True):
            full[i] = int(k)
        for step in reversed(self._trail):
            if isinstance(step, _Tied):
                full[step.node] = int(step.response[full[step.to]])
            else:
                c = step.unary.copy()
                for j, m in step.neighbours:
                    c += m[:, full[j]]
                full[step.node] = int(np.argmin(c))
        return full


def contract(
    network: Network, principals: Sequence[int], near: Collection[tuple[int, int]] = (), first: Collection[int] = (),
    plans: Sequence[Sequence[int]] = (),
) -> Contraction:
    """Remove all nodes but `principals`.

    Args:
      near: pairs (i < j) of principals that are neighbours in the forward graph: what is tied should add costs
        between such pairs only, so that the graph keeps its structure.
      first: nodes to remove before all others (the rest of the forward half), so that the costs between near
        principals are there when others are tied.
      plans: known choices of all nodes, the best last.
    """
    network.settle()
    work = _Work(network, set(principals), set(near), plans)
    work.run(set(first) - work.keep)
    work.run(set(range(len(network.unary))) - work.keep)
    order = sorted(work.keep)
    index = {i: p for p, i in enumerate(order)}
    inner = Network(
        [work.unary[i] for i in order], [{index[j]: m for j, m in work.pair[i].items()} for i in order], network.unit
    )
    return Contraction(inner, order, work.constant, work.tied, len(network.unary), work.trail)


@dataclass
class _Work:
    source: Network
    keep: set[int]
    near: set[tuple[int, int]]
    plans: Sequence[Sequence[int]]
    unary: list[np.ndarray] = field(init=False)
    pair: list[dict[int, np.ndarray]] = field(init=False)
    trail: list[_Folded | _Tied] = field(default_factory=list)
    constant: float = 0.0
    tied: int = 0
    _strengths: dict[tuple[int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.unary = list(self.source.unary)
        self.pair = [dict(p) for p in self.source.pair]

    def run(self, out: set[int]) -> None:
        """Remove the nodes `out`."""
        out = {i for i in out if i not in self.keep and self.unary[i] is not None}
        removed = {step.node for step in self.trail}
        out -= removed
        queue = sorted(i for i in out if len(self.pair[i]) <= 2)
        heap: list[tuple[float, int, int, int, int]] = []
        stamp = dict.fromkeys(out, 0)
        dirty = set(out)
        while out:
            while queue:
                i = heapq.heappop(queue)
                if i not in out or len(self.pair[i]) > 2:
                    continue
                touched = self.fold(i)
                out.discard(i)
                self._touched(touched, out, queue, stamp, dirty)
            if not out:
                break
            for i in sorted(dirty & out):
                if (best := self._best_tie(i)) is not None:
                    heapq.heappush(heap, (*best[:2], i, best[2], stamp[i]))
            dirty.clear()
            found = None
            while heap and found is None:
                fill, share, i, p, when = heapq.heappop(heap)
                if i in out and stamp[i] == when:
                    found = (i, p)
            if found is None:
                # Nothing left touches a principal: follow the strongest neighbour, whatever it is.
                i = min(out)
                found = (i, max(sorted(self.pair[i]), key=lambda j: self._strength(i, j)))
            i, p = found
            touched = self.tie(i, p)
            out.discard(i)
            self._touched(touched, out, queue, stamp, dirty)

    def _touched(
        self, nodes: Collection[int], out: set[int], queue: list[int], stamp: dict[int, int], dirty: set[int]
    ) -> None:
        for j in nodes:
            if j in out:
                stamp[j] += 1
                dirty.add(j)
                if len(self.pair[j]) <= 2:
                    heapq.heappush(queue, j)

    # -- exactly -------------------------------------------------------------------------------

    def fold(self, i: int) -> list[int]:
        """Remove a node with at most two neighbours; return them."""
        neighbours = sorted(self.pair[i])
        u = self.unary[i]
        self.trail.append(_Folded(i, u, [(j, self.pair[i][j]) for j in neighbours]))
        if not neighbours:
            self.constant += float(u.min())
        elif len(neighbours) == 1:
            (j,) = neighbours
            self.unary[j] = self.unary[j] + (u[:, None] + self.pair[i][j]).min(axis=0)
        else:
            j, k = neighbours
            self._add(j, k, min_plus((self.pair[i][j] + u[:, None]).T, self.pair[i][k]))
        self._drop(i)
        return neighbours

    def _add(self, i: int, j: int, m: np.ndarray) -> None:
        if j in self.pair[i]:
            m = self.pair[i][j] + m
        self.pair[i][j] = m
        self.pair[j][i] = m.T
        self._strengths.pop((i, j), None)
        self._strengths.pop((j, i), None)

    def _drop(self, i: int) -> None:
        for j in self.pair[i]:
            del self.pair[j][i]
        self.pair[i] = {}

    # -- by best response ----------------------------------------------------------------------

    def tie(self, i: int, p: int) -> list[int]:
        """Let `i` follow `p`; return what was around `i`."""
        neighbours = sorted(self.pair[i])
        r = self._response(i, p)
        self.trail.append(_Tied(i, p, r))
        self.tied += 1
        self.unary[p] = self.unary[p] + self.unary[i][r] + self.pair[p][i][np.arange(len(r)), r]
        moved = [(q, self.pair[i][q][r]) for q in neighbours if q != p]
        self._drop(i)
        for q, m in moved:
            if m.any():
                self._add(p, q, m)
        return neighbours

    def _response(self, i: int, p: int) -> np.ndarray:
        """The best choice of `i` for every choice of `p`, the others in what goes best with `p`."""
        cost = self.unary[i][None, :] + self.pair[p][i]
        for q, m in self.pair[i].items():
            if q == p:
                continue
            if q in self.pair[p]:
                aligned = (self.pair[p][q] + self.unary[q][None, :]).argmin(axis=1)
                cost = cost + m[:, aligned].T
            else:
                cost = cost + (m + self.unary[q][None, :]).min(axis=1)[None, :]
        response = cost.argmin(axis=1)
        for plan in self.plans:
            if cost[plan[p], plan[i]] < self.source.limit:
                response[plan[p]] = plan[i]
        return response

    def _best_tie(self, i: int) -> tuple[float, int, int] | None:
        """The principal to tie `i` to: the one that binds it most, with few new costs between others that are not near.

        Returns (rank, new pairs, principal); the least is best.
        """
        around = sorted(self.pair[i])
        principals = [p for p in around if p in self.keep]
        if not principals:
            return None
        strength = {q: self._strength(i, q) for q in around}
        total = sum(strength.values()) or 1.0
        found = []
        for p in sorted(principals, key=lambda q: (-strength[q], q))[:_CANDIDATES]:
            fill = sum(q != p and q not in self.pair[p] and (min(p, q), max(p, q)) not in self.near for q in principals)
            found.append((fill * _FILL - strength[p] / total, fill, p))
        return min(found)

    def _strength(self, i: int, j: int) -> float:
        """How much the choice of `j` says about that of `i`: what a random one costs more than the best, on average."""
        key = (i, j)
        if key not in self._strengths:
            self._strengths[key] = spread(self.pair[j][i], self.source.limit)
        return self._strengths[key]


def spread(m: np.ndarray, limit: float) -> float:
    """Mean cost above the row's least; what is forbidden (from `limit` on) counts as the dearest that is allowed."""
    allowed = m < limit
    if not allowed.any():
        return 0.0
    m = np.where(allowed, m, m[allowed].max())
    return float((m - m.min(axis=1)[:, None]).mean())
