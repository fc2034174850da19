"""Plans of one program, from the fastest to the one that needs the least memory, for any number of limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from pcg.search.outcome import Outcome
from pcg.search.quotient import Quotient
from pcg.search.relink import Change, changed, different_parts
from pcg.solve.ilp import first_guess
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.reduce import Reduction, reduce
from pcg.solve.trws import ascend

#: What all bytes at the peak cost at first, over the time of a step; and by how much more from step to step, where the
#: last step saved memory and where it did not.  Chosen: coarse steps are refined between the two that a limit lies
#: between, so they only say how many plans are looked at.
_FIRST, _FASTER, _MUCH_FASTER = 1e-2, 8.0, 64.0
#: The cost of all memory over the time of a step from which on memory alone decides.  Chosen: differences of time are
#: then a millionth of those of memory.
_DOMINANT = 1e6
#: The cost of all memory where only the least that there can be is wanted; most plans that are then tried, and by
#: how much (relative) one has to need less.  Chosen: below `_DOMINANT`, so that time still breaks ties.
_MEMORY, _PLAYS, _IMPROVES = 1e5, 8, 2e-3
#: How much more than the least a plan may need that is as good as it (relative).  Chosen, not tuned.
NEAR = 0.1
#: Relative difference of seconds up to which plans are as fast.  A choice, below what simulations tell apart.
_SAME = 1e-6
#: Relative difference of seconds and of bytes up to which one of two plans is enough.  A choice: simulations are few.
_NEARLY = 1e-2
#: The bound at a cost of memory is of no use: it is only raised as far as better plans are found on the way, in
#: so many sweeps: as many as look at so many entries, within limits.  Measured on a U-Net of 7e6 entries: 50 find plans
#: that are as good as those of 100 but for 0.06% on one of three meshes, at 0.01 s a sweep.
_SWEEPS, _ENTRIES, _PATIENCE = (40, 100), 3.5e8, 1e-2
#: Steps of a sweep, and costs of memory tried between the two steps that a limit lies between.  Chosen: a budget
#: of solutions.
_STEPS, _BETWEEN = 16, 3
#: How much slower than the fastest plan (relative) one that fits may be to be as good.  A choice: simulations tell
#: plans apart that the search takes for that close.
_CLOSE = 5e-3
#: Faster plans whose parts are tried in one that fits, and parts of each.  A choice: each part is estimated alone.
_RELINKED, _PARTS = 8, 64


@dataclass(frozen=True)
class Point:
    """A plan: the choice of every class, seconds per step, and peak bytes per device as the search counts them."""

    choice: tuple[int, ...]
    seconds: float
    peak: float


@dataclass(frozen=True)
class _Step:
    """One step of the sweep: seconds per byte on global bytes `weights` (by node and slot), and the plan that gives."""

    rate: float
    weights: Mapping[tuple[int, int], float]
    point: Point


@dataclass
class Frontier:
    """What the search finds for one program as memory gets more expensive.

    A cost of the bytes that are alive at the peak (a Lagrange multiplier) gives plans that need ever less memory.  This
    sweep does not depend on a limit, so several limits share it: each takes it as far as it needs, then tries costs
    between the first step that fits and the one before.  `fastest` is the plan that ignores memory, by class.
    """

    quotient: Quotient
    fastest: Point
    network: Network | None = None
    """The costs of all choices, if they are at hand."""
    progress: Callable[[str], None] = lambda _: None
    points: list[Point] = field(init=False)
    """All plans found so far."""

    def __post_init__(self) -> None:
        self.points = [self.fastest]
        self._sweep: list[_Step] = []
        self._over = False
        self._least: Point | None = None
        self._between: dict[tuple[int, float], Point] = {}
        self._reduced: tuple[Set[int], Reduction] | None = None

    @classmethod
    def of(cls, quotient: Quotient, outcome: Outcome, progress: Callable[[str], None] = lambda _: None) -> Frontier:
        """Beginning with what a search found without a limit; memory as `quotient` counts it."""
        choice = quotient.per_class(outcome.choice)
        return cls(quotient, Point(tuple(choice), outcome.seconds, quotient.peak(choice)), progress=progress)

    def fit(self, limit: float, fine: bool = True) -> Point | None:
        """The fastest plan found within `limit` bytes, None if none was; not `fine`: the first of the sweep."""
        if not any(p.peak <= limit for p in self.points) and self.floor() > limit:
            return None
        if self.fastest.peak > limit:
            while not any(s.point.peak <= limit for s in self._sweep) and self._go_on():
                pass
            at = next((i for i, s in enumerate(self._sweep) if s.point.peak <= limit), None)
            if at is not None and fine:
                self._look_between(at, limit)
        fitting = [p for p in self.points if p.peak <= limit]
        return min(fitting, key=lambda p: p.seconds, default=None)

    def faster(self, point: Point) -> list[Point]:
        """The plans found that are faster than `point`, slowest first; of those that are as fast, one."""
        found: list[Point] = []
        for p in sorted(self.points, key=lambda p: (-p.seconds, p.peak, p.choice)):
            if p.seconds < (found[-1] if found else point).seconds * (1 - _SAME):
                found.append(p)
        return found

    def changes(self, point: Point) -> list[Change]:
        """What makes `point` faster: single choices, and then the parts of faster plans, best first.

        How much memory they need is not considered, but for what the search counts at the peak: parts that save most
        per byte of that come first.
        """
        if self.network is None:
            return []
        x = self.network.icm(point.choice)
        near = Point(tuple(x), self.network.seconds(x), self.quotient.peak(x))
        return list(dict.fromkeys([*self._parts(point, near), *self._parts(point, *self._guiding(point))]))

    def steps(self, point: Point, changes: Sequence[Change]) -> list[tuple[Change, Point]]:
        """The plans that `changes`, one after the other, make of `point`; without those that save nothing then."""
        found: list[tuple[Change, Point]] = []
        for change in changes:
            more = self._changed(point, change)
            if more.seconds < point.seconds * (1 - _SAME):
                found.append((change, point := more))
        return found

    def least(self) -> Point:
        """The plan found that needs the least memory.

        Time counts for next to nothing.  The peak of each plan on the way says where else to look: what is alive there
        joins what is to be small, on average over all peaks found (fictitious play, Brown 1951: the average of best
        answers tends to the best mixture of positions, whose plan has the least peak).
        """
        if self._least is None:
            weights: dict[tuple[int, int], float] = {}
            best = last = min(self.points, key=lambda p: (p.peak, p.seconds))
            # The first answers to the peak of one plan may need more elsewhere than that plan: that is no end.
            lowest, idle = math.inf, 0
            for k in range(1, _PLAYS + 1):
                self.progress(f"least memory: {k - 1} plans so far")
                for key, w in self.quotient.alive(last.choice).items():
                    weights[key] = weights.get(key, 0.0) + w
                rate = _MEMORY * self.fastest.seconds / max(1.0, self.fastest.peak)
                last = self._best_at(rate / k, weights, last)
                idle = 0 if last.peak < lowest * (1 - _IMPROVES) else idle + 1
                lowest = min(lowest, last.peak)
                best = min(best, last, key=lambda p: (p.peak, p.seconds))
                if idle == 2:
                    break
            self._least = best
        return self._least

    def low(self, count: int) -> list[Point]:
        """Plans found that need little memory, least first, each unlike those before: the search counts it its way."""
        least = self.least().peak
        found: list[Point] = []
        for p in sorted(self.points, key=lambda p: (p.peak, p.seconds)):
            if p.peak > least * (1 + NEAR) or len(found) == count:
                break
            if not any(_is_near(p.peak, q.peak) and _is_near(p.seconds, q.seconds) for q in found):
                found.append(p)
        return found

    def resident(self) -> float:
        """Bytes of arguments in the plan that ignores memory, and of constants: needed whatever is recomputed."""
        q = self.quotient
        arguments, choice = set(q.arguments), q.per_node(self.fastest.choice)
        return q.lifetimes.constants + sum(
            size / float(q.graph.nodes[node].table.outs[slot].shards(q.model.mesh)[choice[node]])
            for node, slot, size, first, _ in q.lifetimes.values
            if node in arguments and not first
        )

    def floor(self) -> float:
        """Bytes per device below which no plan is: constants, and arguments in as many shards as they can be."""
        q = self.quotient
        arguments = set(q.arguments)
        total = q.lifetimes.constants
        for node, slot, size, first, _ in q.lifetimes.values:
            if node in arguments and not first:
                n = q.graph.nodes[node]
                shards = n.table.outs[slot].shards(q.model.mesh)
                allowed = n.seconds < FORBIDDEN
                total += size / float(shards[allowed].max() if allowed.any() else shards.max())
        return total

    # -- the sweep -----------------------------------------------------------------------------

    def _go_on(self) -> bool:
        """Take the sweep a step further; False if it has come to its end."""
        if not self._over and self._sweep:
            last = self._sweep[-1]
            before = min(p.peak for p in (self.fastest, *(s.point for s in self._sweep[:-1])))
            rate = last.rate * (_FASTER if last.point.peak < before else _MUCH_FASTER)
            # The peak may have moved: weigh what is alive at the new one as well.
            weights = dict(last.weights)
            for key, w in self.quotient.alive(last.point.choice).items():
                weights[key] = max(weights.get(key, 0.0), w)
            start = last.point
        else:
            rate = _FIRST * self.fastest.seconds / max(1.0, self.fastest.peak)
            weights, start = self.quotient.alive(self.fastest.choice), self.fastest
        dominant = rate * self.fastest.peak > _DOMINANT * self.fastest.seconds
        if self._over or dominant or len(self._sweep) >= _STEPS:
            self._over = True
            return False
        self.progress(f"plans that need less memory: {len(self._sweep)} so far")
        self._sweep.append(_Step(rate, weights, self._best_at(rate, weights, start)))
        return True

    def _look_between(self, at: int, limit: float) -> None:
        """Try costs of memory between those of step `at`, whose plan fits, and of the step before.

        Stops where a plan that fits, with parts of faster ones, is about as fast as the fastest.
        """
        step = self._sweep[at]
        low, high = self._sweep[at - 1].rate if at else 0.0, step.rate
        for _ in range(_BETWEEN):
            if self._relink(limit).seconds <= self.fastest.seconds * (1 + _CLOSE):
                return
            rate = (low * high) ** 0.5 if low else high / _FASTER
            point = self._between.get((at, rate))
            if point is None:
                point = self._between[at, rate] = self._best_at(rate, step.weights, step.point)
            if point.peak <= limit:
                high = rate
            else:
                low = rate
        self._relink(limit)

    def _relink(self, limit: float) -> Point:
        """The fastest plan within `limit` with parts of faster plans, those first that save most per byte.

        A small difference of the cost of memory may separate two plans that differ in many places: then no cost of
        memory gives what lies between them, and much of the limit is left over.
        """
        assert self.network is not None
        best = min((p for p in self.points if p.peak <= limit), key=lambda p: p.seconds)
        for other in self._guiding(best):
            for change in self._parts(best, other):
                found = self._changed(best, change)
                if found.peak <= limit and found.seconds < best.seconds:
                    best = found
            if best not in self.points:
                self.points.append(best)
        return best

    def _guiding(self, best: Point) -> list[Point]:
        """The plans whose parts are tried in `best`: some that are faster, those first that need the least memory."""
        return sorted((p for p in self.points if p.seconds < best.seconds), key=lambda p: p.peak)[:_RELINKED]

    def _parts(self, best: Point, *others: Point) -> list[Change]:
        """The parts of faster plans that save time in `best`, those first that save most per byte."""
        assert self.network is not None
        near = self.network.edges.neighbours
        worth: dict[Change, float] = {}
        for other in others:
            for part in different_parts(near, best.choice, other.choice)[:_PARTS]:
                found = self._changed(best, change := tuple((n, other.choice[n]) for n in part))
                if found.seconds < best.seconds:
                    worth[change] = (found.seconds - best.seconds) / max(found.peak - best.peak, 1.0)
        return sorted(worth, key=lambda change: (worth[change], change))

    def _changed(self, point: Point, change: Change) -> Point:
        """The plan with other choices of some classes."""
        assert self.network is not None
        x = changed(point.choice, change)
        return Point(tuple(x), self.network.seconds(x), self.quotient.peak(x))

    def _best_at(self, rate: float, weights: Mapping[tuple[int, int], float], start: Point) -> Point:
        """The best plan where a byte of `weights` costs `rate` seconds."""
        extra = self.quotient.local_bytes(weights, rate)
        above = self._without_others(extra.keys())
        penalised = above.core.penalised({p: extra[c] for p, c in enumerate(above.kept) if c in extra})
        before = above.restricted(start.choice)
        small = reduce(penalised)
        inner: list[int] = []
        if small.core.unary:
            guess = min((first_guess(small.core), small.project(before)), key=small.core.cost)
            sweeps = int(np.clip(_ENTRIES / max(small.core.flat.entries, 1), *_SWEEPS))
            inner = ascend(small.core, guess, sweeps=sweeps, patience=_PATIENCE).x
        best = min((penalised.icm(found) for found in (small.expand(inner), before)), key=penalised.cost)
        x = above.expand(best)
        assert self.network is not None
        point = Point(tuple(x), self.network.seconds(x), self.quotient.peak(x))
        if point not in self.points:
            self.points.append(point)
        return point

    def _without_others(self, weighted: Set[int]) -> Reduction:
        """The costs simplified but for the classes `weighted` by a cost of memory, which several steps have in common.
        """
        if self.network is None:
            self.network = self.quotient.network()
        if self._reduced is None or not self._reduced[0] >= weighted:
            self._reduced = weighted, reduce(self.network, weighted)
        return self._reduced[1]


def _is_near(a: float, b: float) -> bool:
    return abs(a - b) <= _NEARLY * min(abs(a), abs(b))
