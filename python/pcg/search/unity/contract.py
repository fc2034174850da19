"""From a training step to the graph that Unity searches: one decision per forward op, backward and update with it.

Unity's graph has forward ops only; the cost of each includes its backward pass and the synchronisation of its weights.
Here a step is one graph in which the backward half hangs on every forward value. `contract` keeps the *principals* (the
forward decisions) and removes every other node: exactly where it has at most two neighbours (min-plus), else by tying
it to a principal: for each choice of that one it takes its best response, its other neighbours being in what goes best
with that choice. Where the choice of the principal occurs in a known plan of the step, what follows does as in that
plan, so that known plans have their own cost. Every choice of the principals thus stands for a plan of the
whole step, and the contracted costs are the costs of that plan. No MLIR here.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.solve.elimination import Elimination
from pcg.solve.network import Network

#: What a new pair of principals that are not near weighs against the share of a neighbour in what binds a node.
#: Chosen: the paper has no such step (decision 13).
_FILL = 0.2
#: Of how many principals, the strongest, a node may follow one.  Chosen: a budget of time.
_CANDIDATES = 8


@dataclass
class Contraction:
    """`network` is over `principals`, in their order."""

    network: Network
    principals: list[int]
    tied: int
    """How many nodes follow a principal by best response; the others were removed exactly."""
    _elimination: Elimination

    @property
    def constant(self) -> float:
        """What no choice changes."""
        return self._elimination.constant

    def expand(self, x: Sequence[int]) -> list[int]:
        """The plan of the whole graph that the choices `x` of the principals stand for."""
        return self._elimination.expand(zip(self.principals, x, strict=True))


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
    order, unary, pair = work.net.left()
    return Contraction(Network(unary, pair, network.unit), order, work.tied, work.net)


class _Work:
    def __init__(
        self, source: Network, keep: set[int], near: set[tuple[int, int]], plans: Sequence[Sequence[int]]
    ) -> None:
        self.limit, self.keep, self.near, self.plans = source.limit, keep, near, plans
        self.net = Elimination(source.unary, source.pair, source.forbidden)
        self.tied = 0
        self._strengths: dict[tuple[int, int], float] = {}

    def run(self, out: set[int]) -> None:
        """Remove the nodes `out`."""
        out = {i for i in out if i not in self.keep and self.net.alive[i]}
        pair = self.net.pair
        queue = sorted(i for i in out if len(pair[i]) <= 2)
        heap: list[tuple[float, int, int, int, int]] = []
        stamp = dict.fromkeys(out, 0)
        dirty = set(out)

        def touched(nodes: tuple[int, ...]) -> None:
            for j in nodes:
                for k in nodes:
                    self._strengths.pop((j, k), None)
                if j in out:
                    stamp[j] += 1
                    dirty.add(j)
                    if len(pair[j]) <= 2:
                        heapq.heappush(queue, j)

        while out:
            while queue:
                i = heapq.heappop(queue)
                if i in out and len(pair[i]) <= 2:
                    out.discard(i)
                    touched(self.net.eliminate(i))
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
                found = (i, max(sorted(pair[i]), key=lambda j: self._strength(i, j)))
            i, p = found
            out.discard(i)
            self.tied += 1
            touched(self.net.follow(i, p, self._response(i, p)))

    # -- by best response ----------------------------------------------------------------------

    def _response(self, i: int, p: int) -> np.ndarray:
        """The best choice of `i` for every choice of `p`, the others in what goes best with `p`."""
        cost = self.net.unary[i][None, :] + self.net.pair[p][i]
        for q, m in self.net.pair[i].items():
            if q == p:
                continue
            if q in self.net.pair[p]:
                aligned = (self.net.pair[p][q] + self.net.unary[q][None, :]).argmin(axis=1)
                cost = cost + m[:, aligned].T
            else:
                cost = cost + (m + self.net.unary[q][None, :]).min(axis=1)[None, :]
        response = cost.argmin(axis=1)
        for plan in self.plans:
            if cost[plan[p], plan[i]] < self.limit:
                response[plan[p]] = plan[i]
        return response

    def _best_tie(self, i: int) -> tuple[float, int, int] | None:
        """The principal to tie `i` to: the one that binds it most, with few new costs between others that are not near.

        Returns (rank, new pairs, principal); the least is best.
        """
        around = sorted(self.net.pair[i])
        principals = [p for p in around if p in self.keep]
        if not principals:
            return None
        strength = {q: self._strength(i, q) for q in around}
        total = sum(strength.values()) or 1.0
        found = []
        for p in sorted(principals, key=lambda q: (-strength[q], q))[:_CANDIDATES]:
            apart = [q for q in principals if q != p and q not in self.net.pair[p]]
            fill = sum((min(p, q), max(p, q)) not in self.near for q in apart)
            found.append((fill * _FILL - strength[p] / total, fill, p))
        return min(found)

    def _strength(self, i: int, j: int) -> float:
        """How much the choice of `j` says about that of `i`: what a random one costs more than the best, on average."""
        key = (i, j)
        if key not in self._strengths:
            self._strengths[key] = spread(self.net.pair[j][i], self.limit)
        return self._strengths[key]


def spread(m: np.ndarray, limit: float) -> float:
    """Mean cost above the row's least; what is forbidden (from `limit` on) counts as the dearest that is allowed."""
    allowed = m < limit
    if not allowed.any():
        return 0.0
    m = np.where(allowed, m, m[allowed].max())
    return float((m - m.min(axis=1)[:, None]).mean())
