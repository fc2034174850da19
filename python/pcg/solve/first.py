"""A first answer, before anything is loaded or compiled: for tiny problems the best one, for others a start.

What a node takes it takes at every step at which it is live, so the assignment in which every node takes the least
fits if any does: whether there is an answer is known at once.  From there descent by one node at a time, within memory,
and for tiny problems depth-first branch and bound with the bounds of mini-buckets of one node each (Dechter & Rish,
"Mini-buckets", J. ACM 50, 2003), in whole numbers of Python: costs of any size are added exactly.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pcg.solve.problem import Infeasible, Problem

#: Nodes with a choice, and entries of edge tables, up to which the best answer is looked for; partial assignments seen.
_NODES, _ENTRIES, _TRIED = 48, 1 << 16, 60_000
#: Looks at the clock: every so many nodes or partial assignments.
_LOOK = 64


@dataclass
class First:
    """An assignment that fits, and whether none that fits costs less."""

    strategies: list[int]
    cost: int
    proven: bool


def first(p: Problem, deadline: float) -> First:
    """A first answer; after `deadline` (of time.monotonic) it is not improved any more.

    Raises:
      Infeasible: nothing fits.
    """
    x = _least(p)
    if p.limit is not None and (peak := p.peak(x)) > p.limit:
        at = p.times[int(p.usage(x).argmax())]
        text = f"at time step {at} even the smallest choices exceed the limit"
        raise Infeasible(f"{text}: limit {p.limit}, needed {peak} or more", peak)
    x = _icm(p, x, deadline)
    proven = False
    if int((p.sizes > 1).sum()) <= _NODES and sum(t.size for t in p.tables) <= _ENTRIES:
        x, proven = _Tree(p).best(x, deadline)
    return First(x, p.cost(x), proven)


def _least(p: Problem) -> list[int]:
    """The strategy of each node that takes the least memory, the cheapest of them; where that matters."""
    if not len(p.costs):
        return []
    cost, usage = np.concatenate(p.costs), np.concatenate(p.usages)
    start = np.concatenate([[0], np.cumsum(p.sizes)])[:-1]
    if p.limit is None:
        usage = np.zeros_like(usage)
    usage = np.where(np.repeat(p.intervals[:, 1] > p.intervals[:, 0], p.sizes), usage, 0)
    open_ = usage == np.repeat(np.minimum.reduceat(usage, start), p.sizes)
    cost = np.where(open_, cost, np.iinfo(np.int64).max)
    found = np.flatnonzero(open_ & (cost == np.repeat(np.minimum.reduceat(cost, start), p.sizes)))
    return (found[np.searchsorted(found, start)] - start).tolist()  # type: ignore[no-any-return]


def _icm(p: Problem, x: list[int], deadline: float) -> list[int]:
    """`x`, which fits, improved by changes of one node until none helps or time is up."""
    x = list(x)
    near: list[list[tuple[int, np.ndarray]]] = [[] for _ in p.costs]
    for (i, j), t in zip(p.edges.tolist(), p.tables, strict=True):
        if i != j:
            near[i].append((j, t))
            near[j].append((i, t.T))
    own = [c.astype(float) for c in p.costs]
    for (i, j), t in zip(p.edges.tolist(), p.tables, strict=True):
        if i == j:
            own[i] += np.diagonal(t)
    limit, spans = p.limit, p.spans.tolist()
    load = p.usage(x)
    changed = True
    while changed:
        changed = False
        for i, mine in enumerate(near):
            if i % _LOOK == 0 and time.monotonic() > deadline:
                return x
            if len(own[i]) < 2:
                continue
            c = own[i].copy()
            for j, t in mine:
                c += t[:, x[j]]
            s, e = spans[i]
            if limit is not None and s < e:
                room = min(limit, 2**62) - int(load[s:e].max())
                c[p.usages[i] - p.usages[i][x[i]] > room] = np.inf
            k = int(c.argmin())
            if c[k] < c[x[i]]:
                load[s:e] += p.usages[i][k] - p.usages[i][x[i]]
                x[i] = k
                changed = True
    return x


class _Tree:
    """Depth first over the nodes, neighbours after each other."""

    def __init__(self, p: Problem) -> None:
        self.p = p
        self.order = _order(p)
        place = {v: d for d, v in enumerate(self.order)}
        self.own = [[int(c) for c in p.costs[v]] for v in self.order]
        self.back: list[dict[int, list[list[int]]]] = [{} for _ in self.order]
        """Per node the tables with earlier ones, by its own strategy first."""
        for (i, j), t in zip(p.edges.tolist(), p.tables, strict=True):
            a, b = place[i], place[j]
            if a == b:
                self.own[a] = [u + int(t[k, k]) for k, u in enumerate(self.own[a])]
                continue
            rows = (t if a > b else t.T).tolist()
            after, before = max(a, b), min(a, b)
            if before in self.back[after]:
                have = self.back[after][before]
                rows = [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(rows, have, strict=True)]
            self.back[after][before] = rows
        self.taken = [[int(u) for u in p.usages[v]] for v in self.order]
        self.spans = [p.spans[v].tolist() for v in self.order]
        self._bounds()

    def _bounds(self) -> None:
        """Messages of mini-buckets, last node first: what it and those after it add at least, by earlier choices."""
        n = len(self.order)
        self.into: list[list[int]] = [[0] * len(u) for u in self.own]
        """Per node and strategy: the least that later nodes add on account of it."""
        self.messages: list[dict[int, list[int]]] = [{} for _ in range(n)]
        """Per node: what it and its followers are counted with, by strategy of an earlier one."""
        self.alone = [0] * n
        """The same of a node without earlier neighbours."""
        for d in reversed(range(n)):
            own = [u + m for u, m in zip(self.own[d], self.into[d], strict=True)]
            if not self.back[d]:
                self.alone[d] = min(own)
            for count, (e, rows) in enumerate(sorted(self.back[d].items(), reverse=True)):
                mine = own if count == 0 else [0] * len(own)
                message = [
                    min(u + r[k] for u, r in zip(mine, rows, strict=True)) for k in range(len(self.own[e]))
                ]
                self.messages[d][e] = message
                self.into[e] = [a + b for a, b in zip(self.into[e], message, strict=True)]

    def best(self, x: list[int], deadline: float) -> tuple[list[int], bool]:
        """The best assignment met, `x` to begin with, and whether all others were ruled out."""
        p, n = self.p, len(self.order)
        best, cost = [x[v] for v in self.order], p.cost(x)
        least = [min(t) for t in self.taken]
        free = None
        if p.limit is not None:  # what is left where every node takes the least
            free = np.full(max(len(p.times) - 1, 0), min(p.limit, 2**62), dtype=np.int64)
            for (s, e), u in zip(self.spans, least, strict=True):
                free[s:e] -= u
        now = [0] * n
        # Per depth: strategies still to try, costliest first, as (bound, strategy), and memory beyond the least.
        stack: list[list[tuple[int, int]]] = []
        taken_more = [0] * n
        tried, bound = 0, sum(self.alone)

        def children(d: int, bound: int) -> list[tuple[int, int]]:
            before = self.alone[d] + sum(m[now[e]] for e, m in self.messages[d].items())
            out = []
            for k, u in enumerate(self.own[d]):
                f = bound - before + u + self.into[d][k] + sum(rows[k][now[e]] for e, rows in self.back[d].items())
                out.append((f, k))
            return sorted(out, reverse=True)

        if n:
            stack.append(children(0, bound))
        while stack:
            d = len(stack) - 1
            (s, e) = self.spans[d]
            if taken_more[d] and free is not None:
                free[s:e] += taken_more[d]
                taken_more[d] = 0
            if not stack[-1] or stack[-1][-1][0] >= cost:
                stack.pop()
                continue
            tried += 1
            if tried > _TRIED or (tried % _LOOK == 0 and time.monotonic() > deadline):
                return self._spread(best), False
            f, k = stack[-1].pop()
            more = self.taken[d][k] - least[d]
            if more and free is not None and s < e:
                if int(free[s:e].min()) < more:
                    continue
                free[s:e] -= more
                taken_more[d] = more
            now[d] = k
            if d + 1 == n:
                best, cost = list(now), f
            else:
                stack.append(children(d + 1, f))
        return self._spread(best), True

    def _spread(self, by_place: list[int]) -> list[int]:
        out = [0] * len(self.order)
        for v, k in zip(self.order, by_place, strict=True):
            out[v] = k
        return out


def _order(p: Problem) -> list[int]:
    """The nodes, each beside as many of those before it as can be; the smallest number first."""
    near: list[set[int]] = [set() for _ in p.costs]
    for i, j in p.edges.tolist():
        near[i].add(j)
        near[j].add(i)
    ties = dict.fromkeys(range(len(p.costs)), 0)
    out = []
    while ties:
        v = max(ties, key=lambda i: (ties[i], -i))
        del ties[v]
        out.append(v)
        for u in near[v]:
            if u in ties:
                ties[u] += 1
    return out
