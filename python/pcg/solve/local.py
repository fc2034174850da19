"""The search for good assignments that fit: Lagrange multipliers first, then large neighbourhoods.

Memory enters as a multiplier (seconds, or whatever costs are in) per byte and step.
- `ascend` drives the multipliers towards those of the best lower bound (subgradient steps with heavy-ball momentum) and
  meets assignments that fit.
- `oscillate` minimises over all nodes but a few by bucket elimination, repeatedly, while multipliers rise at the
  steps that do not fit and fall at those that do (strategic oscillation; Glover 1989).
- `large_neighbourhoods` minimises over random regions of the best assignment likewise (Shaw 1998), with some of what is
  conditioned on changed at random.
- `local_search` changes one node, or two along an edge, within memory as it is.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np

from pcg.solve import memory_kernels
from pcg.solve.bucket_elimination import EliminationOrder, elimination_order
from pcg.solve.model import Model
from pcg.solve.trws import TreeReweighted

#: Seconds of one kind of search before choosing again.  Chosen: some tens of minimisations over everything.
_ROUND = 1.5
#: Elimination orders of all nodes that are kept.  Chosen: making one takes longer than minimising by it.
_ORDERS = 24


class LocalSearch:
    """One searcher; `best` is the cheapest assignment found that fits, None before there is one."""

    def __init__(
        self,
        model: Model,
        seed: int,
        deadline: float,
        give_up: float = np.inf,
        report: Callable[[float, np.ndarray | None, float], None] | None = None,
        others: Callable[[float], np.ndarray | None] | None = None,
    ) -> None:
        """Until `deadline` (of time.monotonic), or `give_up` if nothing fits.

        `report` gets what is found; `others` is asked for an assignment that is cheaper than so much.
        """
        self.model = model
        self.rng = random.Random(seed)
        self.deadline = deadline
        self.give_up = give_up
        self.report = report
        self.others = others
        self.best: np.ndarray | None = None
        self.cost = np.inf
        self.bound = -np.inf
        self.multipliers = np.zeros(len(model.capacity))
        self.messages = TreeReweighted(model)
        self.orders: list[EliminationOrder] = []
        self.oscillated: tuple[np.ndarray, np.ndarray] | None = None
        """Multipliers and assignment where `oscillate` left off."""
        self.incumbent: np.ndarray | None = None
        """Where `large_neighbourhoods` left off."""

    def out_of_time(self) -> bool:
        return time.monotonic() >= (self.deadline if self.best is not None else min(self.deadline, self.give_up))

    def offer(self, x: np.ndarray) -> bool:
        """Take `x` if it fits and is better than the best."""
        if not self.model.fits(x):
            return False
        cost = self.model.energy(x)
        if cost >= self.cost - 0.25:
            return False
        self.best, self.cost = x.copy(), cost
        self.bound = min(self.bound, cost)  # which a rounding error may have put above it
        if self.report is not None:
            self.report(cost, self.best, self.bound)
        return True

    def take_shared(self) -> None:
        """Take the best assignment of the other searchers, if it is better."""
        if self.others is not None and (found := self.others(self.cost)) is not None:
            self.offer(found)

    def local_search(self, x: np.ndarray) -> np.ndarray:
        """`x`, which fits, improved by changes of one node or of two along an edge."""
        m = self.model
        out = x.copy()
        order = list(range(m.n))
        self.rng.shuffle(order)
        memory_kernels.local_search(
            out, m.load(out), m.capacity, m.size, m.offset, m.unary, m.table, m.tables, m.ei, m.near_offset,
            m.near_node, m.near_edge, m.item_offset, m.item_start, m.item_end, m.item_usage, m.usage,
            np.array(order, dtype=np.int64), *m.rooms(2),
        )  # fmt: skip
        return out

    def relaxed(self, multipliers: np.ndarray, sweeps: int) -> tuple[float, np.ndarray]:
        """A lower bound (without the reduction's constant) by Lagrangian relaxation of memory, and a rounding.

        For any multipliers >= 0 per byte and step, the cheapest assignment under costs + multipliers x bytes, less
        multipliers x capacity, costs no more than the best one that fits; message passing bounds it from below.
        """
        bound, x = self.messages.run(self.model.penalised(multipliers), sweeps)
        return bound - float(multipliers @ self.model.capacity), x

    def ascend(self, until: float) -> None:
        """Raise the lower bound by subgradient steps on the multipliers; offer what is met on the way."""
        m = self.model
        multipliers = np.zeros(len(m.capacity))
        bound, x = self.relaxed(multipliers, 30)
        self.raise_bound(bound, multipliers)
        if not self.offer(x):
            high = self.repair(multipliers)
            for _ in range(8):
                bound, x = self.relaxed(high, 10)
                self.raise_bound(bound, high)
                self.offer(x)
                high = high * 0.5
            multipliers = self.multipliers.copy()
            bound, x = self.relaxed(multipliers, 10)
        step, stall, count = 1.0, 0, 0
        direction = np.zeros(len(multipliers))
        sample: EliminationOrder | None = None
        while time.monotonic() < until and step > 1e-4:
            count += 1
            if count % 5 == 0 and m.n:
                if sample is None or count % 100 == 0:
                    sample = elimination_order(m, self.region(400), self.rng, 1e4, 1e8)
                x = sample.run(m, m.penalised(multipliers), x)
            excess = (m.load(x) - m.capacity).astype(float)
            if excess.max(initial=0.0) <= 0:
                # Local search is for those that may become the best.
                self.offer(self.local_search(x) if m.energy(x) < self.cost * 1.05 + 1 else x)
            else:
                self.offer(x)
            excess[(multipliers <= 0) & (excess < 0)] = 0.0
            norm = float(excess @ excess)
            if norm == 0.0:
                break
            gap = 0.5 * abs(self.bound) + 1.0
            if np.isfinite(self.cost):
                gap = max(1e-4 * abs(self.bound), min(self.cost - self.bound, gap))
                if self.proven():
                    break
            direction = 0.7 * direction + 0.3 * excess
            multipliers = np.maximum(0.0, multipliers + step * gap / norm * direction)
            bound, x = self.relaxed(multipliers, 3)
            if bound > self.bound:
                stall = 0
                self.raise_bound(bound, multipliers)
            else:
                stall += 1
                if stall > 20:
                    step *= 0.7
                    stall = 0
                    multipliers = self.multipliers.copy()
                    direction[:] = 0.0
        if self.out_of_time():
            return
        bound, x = self.relaxed(self.multipliers, 50)
        self.raise_bound(bound, self.multipliers)
        self.offer(x)

    def raise_bound(self, bound: float, multipliers: np.ndarray) -> None:
        bound = min(bound, self.cost)
        if bound > self.bound:
            self.bound = bound
            self.multipliers = multipliers.copy()
            if self.report is not None:
                self.report(np.inf, None, bound)

    def region(self, most: int) -> list[int]:
        """All nodes, or `most` of them connected around a random one."""
        m = self.model
        if m.n <= most:
            return list(range(m.n))
        found: dict[int, None] = {}
        border = [self.rng.randrange(m.n)]
        while len(found) < most:
            if not border:
                border.append(self.rng.randrange(m.n))
            at = self.rng.randrange(len(border))
            border[at], border[-1] = border[-1], border[at]
            v = border.pop()
            if v in found:
                continue
            found[v] = None
            near = [u for u, _ in m.near[v] if u not in found]
            border.extend(near if len(near) < 30 else self.rng.sample(near, 30))
        return list(found)

    def improve(self) -> None:
        """Strategic oscillation and large neighbourhoods in turn until the deadline; what pays more gets more turns."""
        if self.model.n == 0:
            return
        moves = (self.oscillate, self.large_neighbourhoods)
        credit = [1.0, 1.0]
        while not self.out_of_time() and not self.proven():
            self.take_shared()
            if self.best is None:
                self.repair(self.multipliers)
                continue
            which = 0 if self.rng.random() * sum(credit) < credit[0] else 1
            before = self.cost
            moves[which](time.monotonic() + _ROUND)
            gain = (before - self.cost) / max(before - self.bound, 1.0)
            credit[which] = 0.7 * credit[which] + 0.3 * (0.3 + min(100.0 * gain, 3.0))

    def proven(self) -> bool:
        """Whether the best meets the bound."""
        return self.best is not None and self.cost - self.bound < 0.5

    def full_order(self) -> EliminationOrder:
        """An order of all nodes, from a pool: making one for a large model takes longer than minimising by it."""
        if len(self.orders) < _ORDERS or self.rng.random() < 0.05:
            largest = 10 ** self.rng.uniform(3.5, 5.5)
            if len(self.orders) >= _ORDERS:
                self.orders.pop(self.rng.randrange(_ORDERS))
            # One of three runs makes an order until there are enough.
            if not self.orders or self.rng.random() < 0.3:
                self.orders.append(elimination_order(self.model, range(self.model.n), self.rng, largest, 1e8))
        return self.rng.choice(self.orders)

    def oscillate(self, until: float) -> None:
        """Minimise over everything while the multipliers follow what fits and what does not."""
        m = self.model
        if self.oscillated is None:
            self.oscillated = self.multipliers.copy(), self.relaxed(self.multipliers, 5)[1]
        multipliers, x = self.oscillated
        rate = 10 ** self.rng.uniform(-2, -0.5)
        while time.monotonic() < min(until, self.deadline) and not self.proven():
            x = self.full_order().run(m, m.penalised(multipliers), x)
            excess = (m.load(x) - m.capacity).astype(float)
            if excess.max(initial=0.0) <= 0 and m.energy(x) < self.cost * 1.1 + 1:
                self.offer(self.local_search(x))
            excess[(multipliers <= 0) & (excess < 0)] = 0.0
            norm = float(excess @ excess)
            if norm == 0.0:
                multipliers = multipliers * 0.5
                if not multipliers.any():
                    break
                continue
            gap = max(self.cost - self.bound, 1e-3 * abs(self.cost))
            multipliers = np.maximum(0.0, multipliers + rate * gap / norm * excess)
        self.oscillated = multipliers, x

    def large_neighbourhoods(self, until: float) -> None:
        """Exact minimisation over random regions of the best assignment."""
        m = self.model
        assert self.best is not None
        if self.incumbent is None or self.rng.random() < 0.3:
            self.incumbent = self.best.copy()
        current = self.incumbent
        cost = m.energy(current)
        while time.monotonic() < min(until, self.deadline) and not self.proven():
            largest = 10 ** self.rng.uniform(3.0, 5.5)
            p = elimination_order(m, self.region(self.rng.choice((30, 100, 300, 1000))), self.rng, largest, 3e7)
            start = current.copy()
            if self.rng.random() < 0.5:
                for v in self.rng.sample(p.conditioned, min(len(p.conditioned), self.rng.randint(1, 3))):
                    start[v] = self.rng.randrange(m.size[v])
            found = self.fitting(p, start, cost)
            if found is None:
                continue
            energy = m.energy(found)
            slack = abs(self.cost) * 10 ** self.rng.uniform(-5, -2)
            if energy <= max(cost, self.cost + slack):
                self.offer(found)
                current, cost = found, energy
        self.incumbent = current

    def fitting(self, p: EliminationOrder, start: np.ndarray, goal: float) -> np.ndarray | None:
        """The best assignment that fits, over the free nodes of `p`, of a few at rising or falling multipliers."""
        m = self.model
        multipliers = self.multipliers * self.rng.choice((0.0, 0.3, 0.6, 1.0, 1.0, 1.0, 1.3))
        best, cost = None, np.inf
        rate = 0.02
        for _ in range(8):
            x = p.run(m, m.penalised(multipliers), start)
            excess = (m.load(x) - m.capacity).astype(float)
            if excess.max(initial=0.0) <= 0:
                x = self.local_search(x)
                energy = m.energy(x)
                if energy < cost:
                    best, cost = x, energy
                if not multipliers.any():
                    break
                multipliers = multipliers * 0.7
            else:
                if m.energy(x) > goal * 1.01 + 1 and best is not None:
                    break
                excess = np.maximum(excess, 0.0)
                multipliers = multipliers + rate * abs(goal) / float(excess @ excess) * excess
                rate *= 2.0
            if self.out_of_time():
                break
        return best

    def repair(self, multipliers: np.ndarray) -> np.ndarray:
        """Raise the multipliers where the choices do not fit until they do; return the multipliers."""
        m = self.model
        rate = 0.01
        x = np.zeros(m.n, dtype=np.int64)
        for count in range(1 << 30):
            _, x = self.relaxed(multipliers, 4)
            if count % 4 == 3 and m.n:
                x = elimination_order(m, self.region(1000), self.rng, 1e4, 3e7).run(m, m.penalised(multipliers), x)
            self.offer(x)
            excess = np.maximum(m.load(x) - m.capacity, 0).astype(float)
            norm = float(excess @ excess)
            if norm == 0 or self.out_of_time():
                return multipliers
            multipliers = multipliers + rate * (abs(self.bound) + 1.0) / norm * excess
            rate *= 1.3
            if rate > 1e4:  # multipliers so high that costs no longer count: start over from elsewhere
                rate = 0.01 * self.rng.uniform(0.5, 2)
                multipliers = multipliers * 0.0
        return multipliers
