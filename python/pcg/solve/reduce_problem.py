"""Exact simplification of a problem with memory: a smaller one whose optimum expands to one of the original.

- A strategy that no neighbour's strategy admits is dropped (arc consistency; Mackworth's AC-3).
- A node whose strategy follows from a neighbour's, as across an edge that is finite only where both agree, is merged
  into it together with its memory.
- Dominated strategies are dropped (`dominance`), if the better one takes no more memory at any step.
- A node without a say in memory and with at most two neighbours is eliminated (`elimination`).
- Time steps that cannot matter are dropped (`timeline`).

All this assumes that nothing forbidden is taken; the caller falls back to the unreduced problem if that cannot be.

The order differs from that of `reduce`: each node is compared and eliminated in turn, those with few neighbours first,
and edges are looked at for nodes to merge as they change.  Decision 23 has what that costs and saves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pcg.solve.dominance import undominated
from pcg.solve.elimination import Elimination
from pcg.solve.problem import Infeasible, Problem
from pcg.solve.timeline import Item, Timeline, compress, thin

#: Eliminating a node joins its neighbours by a table of at most this many entries.
_LARGEST_TABLE = 1 << 16
#: Elementary operations per second that comparing time steps surely does.
_THIN_RATE = 2e8
#: Bytes that all nodes together stay below (see `Problem`).
_UNLIMITED = 2**62
#: Multiply-adds that comparing one node's strategies may take.
_DOMINANCE_WORK = 2e8


class Contradiction(ValueError):
    """No assignment avoids forbidden costs."""


@dataclass
class Reduced:
    """The core: variables 0..len(kept)-1 are the nodes `kept`."""

    kept: list[int]
    unary: list[np.ndarray]
    pair: list[dict[int, np.ndarray]]
    timeline: Timeline
    _elimination: Elimination

    @property
    def constant(self) -> float:
        """What the nodes that are not in the core cost whatever it chooses."""
        return self._elimination.constant

    def expand(self, x: np.ndarray) -> list[int]:
        """The original problem's assignment for the core's."""
        return self._elimination.expand(zip(self.kept, x.tolist(), strict=True))


class _Work:
    def __init__(self, p: Problem, forbidden: float, deadline: float) -> None:
        self.forbidden = forbidden
        self.deadline = deadline
        n = len(p.costs)
        self.net = Elimination([c.astype(float) for c in p.costs], [{} for _ in range(n)], forbidden)
        self.dirty: set[int] = set(range(n))
        #: Edges whose table changed since they were looked at.
        self.fresh: list[tuple[int, int]] = []
        # Between two of the problem's times nothing changes: one step each.
        size = max(len(p.times) - 1, 0)
        spans = p.spans.tolist()
        live = (p.spans[:, 1] > p.spans[:, 0]) if p.limit is not None else np.zeros(n, dtype=bool)
        self.items: list[list[Item]] = [
            [(spans[i][0], spans[i][1], u)] if live[i] and u.any() else [] for i, u in enumerate(p.usages)
        ]
        self.capacity = np.full(size, min(p.limit or 0, _UNLIMITED), dtype=np.int64)
        self.time = p.times[:-1]
        floats: dict[int, np.ndarray] = {}
        for (i, j), t in zip(p.edges.tolist(), p.tables, strict=True):
            if not t.any():
                continue
            if id(t) not in floats:
                floats[id(t)] = t.astype(float)
            self.connect(i, j, floats[id(t)])

    def connect(self, i: int, j: int, table: np.ndarray) -> None:
        if i == j:
            self.net.unary[i] = self.net.unary[i] + np.diagonal(table)
            return
        self.net.connect(i, j, table)
        self.changed(i, (j,))

    def changed(self, i: int, others: Iterable[int]) -> None:
        """The costs between `i` and its neighbours `others` are not what they were."""
        self.fresh.extend((i, j) for j in others)
        self.dirty.update((i, *others))

    def restrict(self, i: int, keep: np.ndarray) -> None:
        """Keep the strategies of `i` that the mask marks."""
        if keep.all():
            return
        if not keep.any():
            raise Contradiction(f"node {i} has no strategy that every neighbour admits")
        self.net.restrict(i, keep)
        self.items[i] = [(s, e, u[keep]) for s, e, u in self.items[i]]
        self.changed(i, self.net.pair[i])

    def consistent(self) -> None:
        """Arc consistency."""
        net = self.net
        queue = {i for i, alive in enumerate(net.alive) if alive}
        while queue:
            i = queue.pop()
            keep = net.unary[i] < self.forbidden
            for t in net.pair[i].values():
                if t.max() >= self.forbidden:
                    keep &= t.min(axis=1) < self.forbidden
            if not keep.all():
                self.restrict(i, keep)
                queue.update(net.pair[i])

    def look(self, i: int, j: int) -> None:
        """Drop the edge if it ties nothing; merge one of its ends into the other if that determines it."""
        net = self.net
        t = net.pair[i].get(j)
        if t is None:
            return
        if 1 in t.shape or (t.max() < self.forbidden and (t + t[0, 0] == t[:, :1] + t[:1]).all()):
            # What is forbidden is never subtracted: nothing would be left of the costs beside it.
            if t.shape[0] == 1:
                net.unary[j] = net.unary[j] + t[0]
            else:
                net.unary[i] = net.unary[i] + t[:, 0]
                net.unary[j] = net.unary[j] + (t[0] - t[0, 0] if t.shape[1] > 1 else 0.0)
            net.disconnect(i, j)
            self.dirty.update((i, j))
            return
        free = t < self.forbidden
        if free.all():
            return
        to_j = (free.sum(axis=0) <= 1).all()  # i follows from j
        to_i = (free.sum(axis=1) <= 1).all()
        if to_i and (not to_j or len(net.pair[j]) < len(net.pair[i])):
            self.merge(j, i)
        elif to_j:
            self.merge(i, j)

    def merge(self, i: int, j: int) -> None:
        """Merge `i` into `j`, which determines it."""
        response = (self.net.pair[i][j] < self.forbidden).argmax(axis=0)
        others = [k for k in self.net.follow(i, j, response) if k != j]
        self.dirty.update(others)
        self.changed(j, [k for k in others if k in self.net.pair[j]])
        self.items[j].extend((s, e, u[response]) for s, e, u in self.items[i])
        self.items[i] = []
        if self.net.unary[j].max() >= self.forbidden:
            self.restrict(j, self.net.unary[j] < self.forbidden)

    def drop_dominated(self, i: int) -> None:
        """Drop strategies that another one beats."""
        unary, tables = self.net.unary[i], list(self.net.pair[i].values())
        k, width = len(unary), sum(t.shape[1] for t in tables)
        if k < 2 or k * k * width > _DOMINANCE_WORK:
            return
        usage = np.array([u for _, _, u in self.items[i]], dtype=np.int64).reshape(-1, k)
        self.restrict(i, undominated(unary, tables, usage, self.forbidden, 0.0))

    def eliminate(self, i: int) -> None:
        """Eliminate `i` if it has no say in memory and at most two neighbours, which fit into a table."""
        around = self.net.pair[i]
        if self.items[i] or len(around) > 2:
            return
        if len(around) == 2 and math.prod(len(self.net.unary[j]) for j in around) > _LARGEST_TABLE:
            return
        others = self.net.eliminate(i)
        self.dirty.update(others)
        if len(others) == 2:
            self.changed(others[0], others[1:])

    def compress(self) -> None:
        line = compress(self.items, self.capacity, self.time)
        if not self.out_of_time():
            left = min(self.deadline - time.monotonic(), 10.0)
            line = thin(line, int(_THIN_RATE * left))
        for i, (old, new) in enumerate(zip(self.items, line.items, strict=True)):
            if old and not new:
                self.dirty.add(i)
        self.items, self.capacity, self.time = line.items, line.capacity, line.steps

    def out_of_time(self) -> bool:
        return time.monotonic() > self.deadline

    def settle(self) -> None:
        """Look at every edge that changed."""
        while self.fresh and not self.out_of_time():
            self.look(*self.fresh.pop())

    def simplify(self) -> None:
        """Drop and eliminate until nothing more can be; nodes with many neighbours last, as they change most often."""
        while self.dirty:
            todo = sorted((i for i in self.dirty if self.net.alive[i]), key=lambda i: (len(self.net.pair[i]), i))
            self.dirty = set()
            for i in todo:
                if self.out_of_time():
                    return
                if self.net.alive[i]:
                    self.drop_dominated(i)
                    self.eliminate(i)
                    self.settle()


def reduce(p: Problem, forbid: bool = True, deadline: float = np.inf) -> Reduced:
    """Simplify exactly; raises Infeasible (memory) or Contradiction (forbidden costs).

    With `forbid` False forbidden costs are costs like others.  Past `deadline` (time.monotonic) it stops simplifying.
    """
    w = _Work(p, float(p.forbidden) if forbid and p.forbidden is not None else np.inf, deadline)
    w.consistent()
    w.settle()
    for _ in range(8):
        before = len(w.time), sum(w.net.alive)
        try:
            w.compress()
        except Infeasible as error:
            needed = (p.limit or 0) + error.needed
            raise Infeasible(f"{error}: limit {p.limit}, needed {needed} or more", needed) from None
        w.dirty = {i for i, alive in enumerate(w.net.alive) if alive}
        w.simplify()
        if w.out_of_time():
            break
        w.consistent()
        w.settle()
        if before == (len(w.time), sum(w.net.alive)):
            break
    if not w.out_of_time():
        w.compress()
    kept, unary, pair = w.net.left()
    return Reduced(kept, unary, pair, Timeline(w.time, w.capacity, [w.items[i] for i in kept]), w.net)
