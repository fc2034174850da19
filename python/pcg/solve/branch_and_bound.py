"""Best-first branch and bound over what choices take of memory, to raise the bound of the Lagrangian relaxation.

With a cost per byte and step (multipliers) the relaxation may mix choices that take much with choices that take
little: where one tensor of 10 MB and a limit of 8 MB meet, it takes 0.8 of it.  A branch allows only the choices of one
node that take at most the average of the mix, the other only the rest; each mixes less, so its bound is higher.  The
bound on all solutions is the least of the open branches.

In every branch
- the multipliers go on from those of its parent by subgradient steps, each bounded by a few sweeps of message passing
  (`pcg.solve.trws`), which go on from the parent's messages;
- choices that take more than what is left if all other nodes take the least are closed, and those that lift the bound
  over the cost of the best known solution (reduced-cost fixing).

The node that is split is the one whose choices, as often as the last steps took each, vary most in the cost of their
memory (as the most fractional variable of a linear relaxation, from the average of subgradient steps: Barahona & Anbil
2000).
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field

import numpy as np

from pcg.solve import memory_kernels
from pcg.solve.local import LocalSearch
from pcg.solve.trws import TreeReweighted

#: Subgradient steps in the root and in a branch, and sweeps of message passing in each.  Chosen, not tuned.
_ROOT_STEPS, _STEPS, _SWEEPS = 100, 12, 3
#: Weight of a step in the average of assignments.  Chosen: the last ten or so count.
_WEIGHT = 0.15
#: Bytes that open branches may take together; no further ones are made then.
_MEMORY = 1 << 28


@dataclass(order=True)
class _Branch:
    """Solutions that make open choices only; none of them costs less than `bound`."""

    bound: float
    number: int
    open: np.ndarray = field(compare=False)
    """Per choice of all nodes."""
    multipliers: np.ndarray = field(compare=False)
    messages: tuple[np.ndarray, np.ndarray] = field(compare=False)
    taken: np.ndarray = field(compare=False)
    """How often each choice was taken, on average over the last steps."""

    @property
    def bytes(self) -> int:
        arrays = (self.open, self.multipliers, *self.messages, self.taken)
        return sum(a.nbytes for a in arrays)


class BranchAndBound:
    """A search that begins with the multipliers and the best assignment of `search`, whose bound it raises."""

    def __init__(self, search: LocalSearch) -> None:
        self.search, self.model = search, search.model
        self.node = np.repeat(np.arange(self.model.n), self.model.size)
        self.messages = TreeReweighted(self.model)
        self.numbers = itertools.count()
        self.branches: list[_Branch] = []
        """A heap of those not split yet."""
        self.bytes = 0
        self.until = 0.0

    def run(self, until: float) -> None:
        """Until `until` (of time.monotonic), or until no branch is left, which proves the best assignment."""
        s, m = self.search, self.model
        self.until = until
        s.take_shared()
        if m.n == 0 or s.best is None or self._out_of_time():
            return
        if not self.branches:
            start = self.messages.to_i.copy(), self.messages.to_j.copy()
            taken = np.full(len(m.unary), 1.0)
            everything = _Branch(s.bound, 0, np.ones(len(m.unary), np.bool_), s.multipliers, start, taken)
            self._add(everything, _ROOT_STEPS)
        while self.branches and self.bytes < _MEMORY and not self._out_of_time():
            s.take_shared()
            best = heapq.heappop(self.branches)
            self.bytes -= best.bytes
            if best.bound < self._cutoff:
                for part in self._split(best):
                    self._add(part, _STEPS)
            self._raise_bound()
        self._raise_bound()

    def _out_of_time(self) -> bool:
        return time.monotonic() >= self.until or self.search.out_of_time()

    @property
    def _cutoff(self) -> float:
        """The bound from which on a branch has nothing better than the best: costs are whole."""
        return self.search.cost - 0.5

    def _raise_bound(self) -> None:
        least = min(self.branches[0].bound, self.search.cost) if self.branches else self.search.cost
        self.search.raise_bound(least, self.search.multipliers)

    def _add(self, branch: _Branch, steps: int) -> None:
        """Keep a branch with its bound, unless there is nothing better in it than what is known."""
        if self._closes(branch.open) and self._ascend(branch, steps):
            heapq.heappush(self.branches, branch)
            self.bytes += branch.bytes

    def _closes(self, open_: np.ndarray) -> bool:
        """Close choices that cannot fit; False if no assignment is left."""
        m = self.model
        return bool(np.logical_or.reduceat(open_, m.offset).all()) and bool(
            memory_kernels.close_overfull(
                open_, m.size, m.offset, m.item_offset, m.item_start, m.item_end, m.item_usage, m.usage, m.capacity,
                *(np.empty(n, dtype=np.int64) for n in (len(m.item_start), len(m.capacity), len(m.capacity) + 1)),
            )  # fmt: skip
        )

    # -- the bound of a branch -----------------------------------------------------------------

    def _ascend(self, branch: _Branch, steps: int) -> bool:
        """Raise the bound of a branch, and close choices in it; False if nothing in it is better than the best."""
        m, s = self.model, self.search
        self.messages.to_i[:], self.messages.to_j[:] = branch.messages
        multipliers, direction = branch.multipliers, np.zeros(len(m.capacity))
        best, step, stalled = -np.inf, 1.0, 0
        for _ in range(steps):
            if self._out_of_time():
                break
            unary = m.penalised(multipliers)
            paid = float(multipliers @ m.capacity)
            # Whatever closed choices cost, the bound holds; beyond the cutoff none is taken.
            unary[~branch.open] += 4 * (abs(s.cost) + paid)
            bound, x = self.messages.run(unary, _SWEEPS)
            bound -= paid
            if bound >= self._cutoff:
                return False
            if bound > best:
                best, stalled, branch.multipliers = bound, 0, multipliers
                branch.messages = self.messages.to_i.copy(), self.messages.to_j.copy()
                lifts = self.messages.level - paid + self.messages.rise >= self._cutoff
                if (lifts & branch.open).any():
                    branch.open &= ~lifts
                    if not self._closes(branch.open):
                        return False
            else:
                stalled += 1
                if stalled > 4:
                    step, stalled, multipliers, direction = 0.6 * step, 0, branch.multipliers, 0 * direction
            branch.taken *= 1 - _WEIGHT
            branch.taken[m.offset + x] += _WEIGHT
            excess = (m.load(x) - m.capacity).astype(float)
            if excess.max(initial=0.0) <= 0:
                s.offer(x)
            excess[(multipliers <= 0) & (excess < 0)] = 0.0
            norm = float(excess @ excess)
            if norm == 0.0:
                break
            gap = max(1e-3 * abs(best), min(s.cost - best, 0.3 * abs(best)))
            direction = 0.7 * direction + 0.3 * excess
            multipliers = np.maximum(0.0, multipliers + step * gap / norm * direction)
        branch.bound = max(branch.bound, best)
        return branch.bound < self._cutoff

    # -- branching -----------------------------------------------------------------------------

    def _split(self, branch: _Branch) -> list[_Branch]:
        """Two branches with all solutions of `branch`; none if it has one only, which was offered."""
        m = self.model
        count = np.add.reduceat(branch.open.astype(np.int64), m.offset)
        if count.max() == 1:
            x = np.flatnonzero(branch.open) - m.offset
            self.search.offer(x)
            return []
        cost = m.penalised(branch.multipliers) - m.unary
        share = np.where(branch.open, branch.taken, 0.0)
        share /= np.maximum(np.add.reduceat(share, m.offset), 1e-300)[self.node]
        mean = np.add.reduceat(share * cost, m.offset)
        spread = np.add.reduceat(share * (cost - mean[self.node]) ** 2, m.offset)
        i = int(np.argmax(np.where(count > 1, spread, -1.0)))
        own = slice(m.offset[i], m.offset[i] + m.size[i])
        first = branch.open[own] & (cost[own] <= mean[i])
        if not first.any() or (first == branch.open[own]).all():
            # Memory is not mixed: one choice, the one taken most in the node where choices are mixed most, or not.
            mixed = 1.0 - np.add.reduceat(share**2, m.offset)
            i = int(np.argmax(np.where(count > 1, mixed, -1.0)))
            own = slice(m.offset[i], m.offset[i] + m.size[i])
            first = np.zeros(m.size[i], np.bool_)
            first[int(np.argmax(np.where(branch.open[own], share[own], -1.0)))] = True
        out = []
        for part in (first, branch.open[own] & ~first):
            open_ = branch.open.copy()
            open_[own] = part
            kept = branch.multipliers, branch.messages, branch.taken.copy()
            out.append(_Branch(branch.bound, next(self.numbers), open_, *kept))
        return out
