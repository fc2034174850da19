"""Exact preprocessing: a smaller problem whose optimum expands to one of the original.

- A strategy that no neighbour's strategy admits is dropped (arc consistency).
- A node whose strategy follows from a neighbour's, as across an edge that is finite only where both agree, is merged
  into it together with its memory.
- A strategy that another beats whatever the neighbours do, and that takes no less memory at any step, is dropped
  (dead-end elimination; Goldstein, Biophys. J. 66, 1994).
- A node without a say in memory and with at most two neighbours is folded into them (min-plus product; Scholz &
  Eckstein, LCTES'02).
- Time steps that cannot matter are dropped (`timeline`).

All this assumes that nothing forbidden is taken; the caller falls back to the unreduced problem if that cannot be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from pcg.solve.kernels import undominated
from pcg.solve.problem import Infeasible, Problem
from pcg.solve.timeline import Item, Timeline, compress, thin

#: Folding a node joins its neighbours by a table of at most this many entries.
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
class _Step:
    """How to find the strategy of `node` once those of `others` are known: `choice[k...]` by their strategies."""

    node: int
    others: tuple[int, ...]
    choice: np.ndarray


@dataclass
class Reduced:
    """The core: variables 0..len(kept)-1 are the nodes `kept` with their strategies `choices`."""

    kept: list[int]
    choices: list[np.ndarray]
    unary: list[np.ndarray]
    pair: list[dict[int, np.ndarray]]
    timeline: Timeline
    constant: float
    original: Problem
    _steps: list[_Step] = field(repr=False, default_factory=list)

    def expand(self, x: np.ndarray) -> list[int]:
        """The original problem's assignment for the core's."""
        out = np.zeros(len(self.original.costs), dtype=np.int64)
        for i, own, k in zip(self.kept, self.choices, x, strict=True):
            out[i] = own[k]
        for step in reversed(self._steps):
            out[step.node] = step.choice[tuple(out[j] for j in step.others)]
        return out.tolist()


class _Work:
    def __init__(self, p: Problem, forbidden: float, deadline: float) -> None:
        self.p = p
        self.forbidden = forbidden
        self.deadline = deadline
        n = len(p.costs)
        self.unary = [c.astype(float) for c in p.costs]
        self.choices = [np.arange(len(c)) for c in p.costs]
        self.pair: list[dict[int, np.ndarray]] = [{} for _ in range(n)]
        self.alive = [True] * n
        self.constant = 0.0
        self.steps: list[_Step] = []
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
            self.unary[i] = self.unary[i] + np.diagonal(table)
            return
        old = self.pair[i].get(j)
        if old is not None:
            table = old + table
        self.pair[i][j] = table
        self.pair[j][i] = table.T
        self.fresh.append((i, j))
        self.dirty.update((i, j))

    def disconnect(self, i: int) -> None:
        for j in self.pair[i]:
            del self.pair[j][i]
            self.dirty.add(j)
        self.pair[i] = {}

    def restrict(self, i: int, keep: np.ndarray) -> None:
        """Keep the strategies of `i` that the mask marks."""
        if keep.all():
            return
        if not keep.any():
            raise Contradiction(f"node {i} has no strategy that every neighbour admits")
        self.unary[i] = self.unary[i][keep]
        self.choices[i] = self.choices[i][keep]
        for j, t in self.pair[i].items():
            new = t[keep]
            self.pair[i][j] = new
            self.pair[j][i] = new.T
            self.fresh.append((i, j))
            self.dirty.add(j)
        self.items[i] = [(s, e, u[keep]) for s, e, u in self.items[i]]
        self.dirty.add(i)

    def consistent(self) -> None:
        """Arc consistency."""
        queue = {i for i in range(len(self.alive)) if self.alive[i]}
        while queue:
            i = queue.pop()
            keep = self.unary[i] < self.forbidden
            for t in self.pair[i].values():
                if t.max() >= self.forbidden:
                    keep &= t.min(axis=1) < self.forbidden
            if not keep.all():
                self.restrict(i, keep)
                queue.update(self.pair[i])

    def look(self, i: int, j: int) -> None:
        """Drop the edge if it ties nothing; merge one of its ends into the other if that determines it."""
        t = self.pair[i].get(j)
        if t is None:
            return
        if 1 in t.shape or (t.max() < self.forbidden and (t + t[0, 0] == t[:, :1] + t[:1]).all()):
            self.unary[i] = self.unary[i] + t[:, 0]
            self.unary[j] = self.unary[j] + (t[0] - t[0, 0])
            del self.pair[i][j]
            del self.pair[j][i]
            self.dirty.update((i, j))
            return
        free = t < self.forbidden
        if free.all():
            return
        to_j = (free.sum(axis=0) <= 1).all()  # i follows from j
        to_i = (free.sum(axis=1) <= 1).all()
        if to_i and (not to_j or len(self.pair[j]) < len(self.pair[i])):
            self.merge(j, i)
        elif to_j:
            self.merge(i, j)

    def merge(self, i: int, j: int) -> None:
        """Merge `i` into `j`, which determines it."""
        t = self.pair[i][j]
        follows = (t < self.forbidden).argmax(axis=0)
        choice = np.zeros(len(self.p.costs[j]), dtype=np.int64)
        choice[self.choices[j]] = self.choices[i][follows]
        self.steps.append(_Step(i, (j,), choice))
        self.unary[j] = self.unary[j] + self.unary[i][follows] + t[follows, np.arange(len(follows))]
        others = [(k, own) for k, own in self.pair[i].items() if k != j]
        self.retire(i)
        for k, own in others:
            self.connect(j, k, own[follows])
        self.items[j].extend((s, e, u[follows]) for s, e, u in self.items[i])
        self.items[i] = []
        self.dirty.add(j)
        if self.unary[j].max() >= self.forbidden:
            self.restrict(j, self.unary[j] < self.forbidden)

    def retire(self, i: int) -> None:
        self.disconnect(i)
        self.alive[i] = False
        self.dirty.discard(i)

    def drop_dominated(self, i: int) -> None:
        """Drop strategies that another one beats."""
        tables = list(self.pair[i].values())
        k, width = len(self.unary[i]), sum(t.shape[1] for t in tables)
        if k < 2 or k * k * width > _DOMINANCE_WORK:
            return
        # With a neighbour's other strategies free, only what differs matters; memory must not grow at any step.
        costs = np.ascontiguousarray(np.concatenate(tables, axis=1)) if tables else np.zeros((k, 0))
        ends = np.cumsum([0, *(t.shape[1] for t in tables)])
        usage = np.array([u for _, _, u in self.items[i]], dtype=np.int64).reshape(-1, k)
        self.restrict(i, undominated(self.unary[i], costs, ends, usage, self.forbidden, 0.0))

    def fold(self, i: int) -> bool:
        """Eliminate `i` if it has no say in memory and at most two neighbours."""
        if self.items[i] or len(self.pair[i]) > 2:
            return False
        others = tuple(self.pair[i])
        sizes = tuple(len(self.unary[j]) for j in others)
        if len(others) == 2 and sizes[0] * sizes[1] > _LARGEST_TABLE:
            return False
        total = self.unary[i]
        for axis, j in enumerate(others):
            t = self.pair[i][j]
            total = total[..., None] + t.reshape(len(t), *(1,) * axis, -1)
        pick = total.argmin(axis=0)
        best = np.take_along_axis(total, pick[None], axis=0)[0]
        choice = np.zeros(tuple(len(self.p.costs[j]) for j in others), dtype=np.int64)
        choice[np.ix_(*(self.choices[j] for j in others))] = self.choices[i][pick]
        self.steps.append(_Step(i, others, choice))
        self.retire(i)
        if not others:
            self.constant += float(best)
        elif len(others) == 1:
            self.unary[others[0]] = self.unary[others[0]] + best
        else:
            self.connect(others[0], others[1], np.minimum(best, 4e3 * self.forbidden))
        return True

    def compress(self) -> None:
        line = compress(self.items, self.capacity, self.time)
        if not self.late():
            left = min(self.deadline - time.monotonic(), 10.0)
            line = thin(line, int(_THIN_RATE * left))
        for i, (old, new) in enumerate(zip(self.items, line.items, strict=True)):
            if old and not new:
                self.dirty.add(i)
        self.items, self.capacity, self.time = line.items, line.capacity, line.steps

    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def settle(self) -> None:
        """Look at every edge that changed."""
        while self.fresh and not self.late():
            self.look(*self.fresh.pop())

    def simplify(self) -> None:
        """Drop and fold until nothing more can be; nodes with many neighbours last, as they change most often."""
        while self.dirty:
            todo = sorted((i for i in self.dirty if self.alive[i]), key=lambda i: (len(self.pair[i]), i))
            self.dirty = set()
            for i in todo:
                if self.late():
                    return
                if self.alive[i]:
                    self.drop_dominated(i)
                    self.fold(i)
                    self.settle()


def reduce(p: Problem, forbid: bool = True, deadline: float = np.inf) -> Reduced:
    """Simplify exactly; raises Infeasible (memory) or Contradiction (forbidden costs).

    With `forbid` False forbidden costs are costs like others.  Past `deadline` (time.monotonic) it stops simplifying.
    """
    w = _Work(p, float(p.forbidden) if forbid and p.forbidden is not None else np.inf, deadline)
    w.consistent()
    w.settle()
    for _ in range(8):
        before = len(w.time), sum(w.alive)
        try:
            w.compress()
        except Infeasible as error:
            needed = (p.limit or 0) + error.needed
            raise Infeasible(f"{error}: limit {p.limit}, needed {needed} or more", needed) from None
        w.dirty = {i for i in range(len(w.alive)) if w.alive[i]}
        w.simplify()
        if w.late():
            break
        w.consistent()
        w.settle()
        if before == (len(w.time), sum(w.alive)):
            break
    if not w.late():
        w.compress()
    kept = [i for i in range(len(w.alive)) if w.alive[i]]
    index = {i: q for q, i in enumerate(kept)}
    return Reduced(
        kept,
        [w.choices[i] for i in kept],
        [w.unary[i] for i in kept],
        [{index[j]: t for j, t in w.pair[i].items()} for i in kept],
        Timeline(w.time, w.capacity, [w.items[i] for i in kept]),
        w.constant,
        p,
        w.steps,
    )
