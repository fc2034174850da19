"""Schedules found by search: many that rules make, the best of them improved."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.improve_kernels import improve
from pcg.pipeline.list_kernels import keyed_schedule, list_schedule, search_keys
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.timing_kernels import OTHERS, fits, time_orders, value

OBJECTIVES = ("span", "makespan")
_ANY = 1 << 40
#: By which share of its length the first steps of the local search may make a schedule longer.
_TEMPERATURE = 0.003
#: From how many tasks on less is tried.  Measured: 24,576 tasks (32 stages, 256 microbatches) take 0.7 s.
_LARGE = 8_000
#: Devices of the pipeline that rules and building blocks are ranked with where not all can be tried.
_FEW = 4
#: How many times its own time after the task before it a task of a building block begins, on another device.
_APART = (1.0, 2.0, 3.0)
_STRETCH = (1.0, 1.3, 1.6)
#: Of keyed schedules: backfill, fill, squeeze, whether room is reserved for later chunks, and how many W may wait.
_FILLING = (
    (0, 1.0, 1.0, False, _ANY), (1, 1.0, 0.0, False, _ANY), (0, 0.0, 0.0, False, 1), (0, 0.0, 0.0, False, _ANY),
    (0, 1.0, 1.0, True, _ANY), (1, 0.5, 0.0, True, _ANY), (1, 1.0, 0.0, True, _ANY), (0, 0.0, 0.0, True, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Effort:
    """How much is tried, in tasks that are put in order or timed: as many for a small pipeline as for a larger one, but
    fewer from thousands of tasks on, where little of a schedule is beginning and end."""

    rules: int
    """By rules and first keys."""
    keys: int
    """In the search over keys."""
    orders: int
    """In the search over orders."""
    starts: int
    """How many of the best are improved."""


EFFORTS = {
    "quick": Effort(400_000, 300_000, 2_000_000, 2),
    "default": Effort(4_000_000, 6_000_000, 30_000_000, 12),
    "thorough": Effort(30_000_000, 30_000_000, 400_000_000, 12),
}


@dataclass(frozen=True)
class _Rules:
    """Parameters of `list_schedule`."""

    alternate: int
    later_first: int
    patience: float
    fill: float
    squeeze: float
    backlog: int = _ANY


@dataclass(frozen=True)
class _Block:
    """A building block: how far apart the F and B of a microbatch are, and how schedules are made of it."""

    equal: bool
    """Made as if all F, B and W took the same time."""
    apart: tuple[float, float, float, float]
    """When F of the first chunk and of others, and B of others and of the first one, begin: how many times its own
    time after the task before, on another device."""
    stretch: float
    """How far apart microbatches are: times the work of a device; where memory is short it is idle in between."""
    grouped: int
    """Microbatches go through a chunk one by one (0), or as many as devices, close to each other (1) or not (2)."""
    backfill: int
    fill: float
    squeeze: float
    reserved: bool
    backlog: int


@dataclass(frozen=True, eq=False)
class _Keys:
    """A building block as `keyed_schedule` reads it, for the times of the pipeline `like`."""

    block: _Block
    like: Pipeline
    key: Floats
    group: int
    period: float
    spacing: float


_C = TypeVar("_C", _Rules, _Block)


def automatic(p: Pipeline, objective: str = "span", effort: str = "default") -> Schedule:
    """The best schedule that is found for an objective; the same one whenever it is called.

    Of as many as the effort allows of: list schedules, which differ in what goes first and where W are done; building
    blocks, one order of F and B that repeats for every microbatch; local search over the offsets of these, and over the
    orders of the best of all.  It ends early where the lower bound is met.
    """
    if objective not in OBJECTIVES:
        raise PipelineError(f"objective {objective!r}; allowed: {', '.join(OBJECTIVES)}")
    if effort not in EFFORTS:
        raise PipelineError(f"effort {effort!r}; allowed: {', '.join(EFFORTS)}")
    return _Search(p, objective, EFFORTS[effort]).run()


class _Search:
    def __init__(self, p: Pipeline, objective: str, effort: Effort) -> None:
        self.p, self.effort, self.barrier = p, effort, int(objective == "makespan")
        self.bound = bounds(p).objective(objective)
        n, s, m, d = p.tasks, p.stages, p.microbatches, p.devices
        self.order: Ints = np.empty(n, np.int64)
        self.start, self.end = np.empty(4 * s * m), np.empty(4 * s * m)
        self.at, self.free = np.empty(d, np.int64), np.empty(d)
        #: Work space of the list schedules, from `arrival` to `used`.
        self.space = (
            np.empty(2 * s * m), np.empty(3 * s, np.int64), np.empty(3 * s + d, np.int64), np.empty(n, np.int64),
            np.empty(2 * d, np.int64), np.empty(d), np.empty(d), np.empty(d),
        )  # fmt: skip
        self.last: Ints = np.empty(d, np.int64)
        self.no_reserve: Floats = np.zeros(s)
        self.equal = replace(p, forward=(1.0,) * s, backward=(1.0,) * s, weight=(1.0,) * s, transfer=0.0)
        #: (objective, value, order): the best of different values.
        self.best: list[tuple[float, float, Ints]] = []
        #: Of the effort, per schedule; a task is put in order after a look at all devices and stages.
        share = min(1.0, _LARGE / n) ** 0.75 / n
        self.timed, self.listed = share, share * 16 / (d + s)

    def run(self) -> Schedule:
        p = self.p
        count = max(int(self.effort.rules * self.listed), 6)
        for _ in self._values(self._some(list(_all_rules()), count)):
            if self._optimal:
                return self._result()
        blocks = self._some(list(_all_blocks(p)), count)
        ranked = []
        for n, found in self._values(blocks):
            if self._optimal:
                return self._result()
            ranked.append((found, n))
        if not self.best:
            raise PipelineError(f"no schedule found within memory limits {', '.join(f'{l:g}' for l in p.limit)}")
        ranked = sorted(ranked)[: self.effort.starts]
        for n, (_, number) in enumerate(ranked):
            self._search_keys(blocks[number], int(self.effort.keys * self.listed / len(ranked)), n)
            if self._optimal:
                return self._result()
        self._improve()
        return self._result()

    def _values(self, choices: Sequence[_Rules | _Block]) -> Iterator[tuple[int, float]]:
        """The value of the schedule of each choice that makes one, by its number; the best are kept."""
        for n, choice in enumerate(choices):
            if self._listed(choice) if isinstance(choice, _Rules) else self._keyed(self._keys(choice)):
                yield n, self._add()

    def _some(self, choices: list[_C], count: int) -> list[_C]:
        """As many choices as are tried: those that are best for a smaller pipeline, if not all."""
        if count >= len(choices):
            return choices
        small = _Search(_reduced(self.p), OBJECTIVES[self.barrier], self.effort)
        return [choices[n] for n, _ in sorted(small._values(choices), key=lambda v: v[::-1])][:count]

    @property
    def _optimal(self) -> bool:
        return self.best[0][0] <= self.bound * (1 + 1e-9)

    def _result(self) -> Schedule:
        return Schedule.from_flat(self.p, self.best[0][2], "automatic")

    def _listed(self, r: _Rules) -> bool:
        p, a = self.p, self.p.arrays
        n = list_schedule(
            a.device, a.duration, a.change, a.reserve, a.limit, p.transfer, p.microbatches, r.alternate, r.later_first,
            r.patience, r.fill, r.squeeze, r.backlog, self.order, a.offset, *self.space, self.last,
        )  # fmt: skip
        return n == p.tasks

    def _keys(self, block: _Block) -> _Keys:
        p = self.equal if block.equal else self.p
        work = max(p.work) / p.microbatches
        group = p.devices if block.grouped else 1
        spacing = (0.0, max(p.forward), work)[block.grouped]
        return _Keys(block, p, _offsets(p, block.apart), group, work * block.stretch, spacing)

    def _arguments(self, k: _Keys) -> tuple:
        a, b = k.like.arrays, k.block
        return (
            a.device, a.duration, a.change, a.reserve if b.reserved else self.no_reserve, a.limit, k.like.transfer,
            self.p.microbatches, k.key, k.group, k.period, k.spacing, b.backfill, b.fill, b.squeeze, b.backlog,
            self.order, a.offset, *self.space,
        )  # fmt: skip

    def _keyed(self, k: _Keys) -> bool:
        return keyed_schedule(*self._arguments(k)) == self.p.tasks

    def _search_keys(self, block: _Block, steps: int, seed: int) -> None:
        a, k = self.p.arrays, self._keys(block)
        search_keys(
            *self._arguments(k), a.duration, self.p.transfer, self.barrier, steps, seed + 1, self.start, self.end,
            self.at, np.empty_like(k.key),
        )  # fmt: skip
        if self._keyed(k):
            self._add()

    def _add(self) -> float:
        """The value of the order that was found; it is kept if it is one of the best."""
        p, a = self.p, self.p.arrays
        time_orders(
            self.order, a.offset, a.device, a.duration, p.transfer, p.microbatches, self.start, self.end, self.at,
            self.free,
        )  # fmt: skip
        objective, found = (
            value(self.order, a.offset, self.start, self.end, self.barrier, others) for others in (0.0, OTHERS)
        )
        if len(self.best) < self.effort.starts or found < self.best[-1][1]:
            within = (
                fits(self.order, begin, until, a.change, p.microbatches, limit)
                for begin, until, limit in zip(a.offset[:-1].tolist(), a.offset[1:].tolist(), p.limit, strict=True)
            )
            if all(abs(found - f) > 1e-9 * f for _, f, _ in self.best) and all(within):
                self.best.append((objective, found, self.order.copy()))
                self.best.sort(key=lambda b: b[1])
                del self.best[self.effort.starts :]
        return float(found)

    def _improve(self) -> None:
        """Local search from each of the best, then again from the best of all."""
        p, a = self.p, self.p.arrays
        where, (found, work) = np.empty(len(self.start), np.int64), np.empty((2, p.tasks), np.int64)
        starts = [order for _, _, order in self.best]
        steps = int(self.effort.orders * self.timed / (2 * len(starts)))
        for n in range(2 * len(starts)):
            self.order = (starts[n] if n < len(starts) else self.best[0][2]).copy()
            improve(
                self.order, a.offset, a.device, a.duration, a.change, a.limit, p.transfer, p.microbatches, self.barrier,
                steps, _TEMPERATURE if n % 2 == 0 else _TEMPERATURE / 4, n + 1, self.start, self.end, self.at,
                self.free, where, found, work,
            )  # fmt: skip
            self._add()
            if self._optimal:
                return


def _all_rules() -> Iterator[_Rules]:
    for squeeze, fill, patience, later, alternate in itertools.product(
        (0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 0.5, 1.0), (0, 1), (0, 1)
    ):
        yield _Rules(alternate, later, patience, fill, squeeze)
        yield _Rules(alternate, later, patience, fill, squeeze, 2)


def _all_blocks(p: Pipeline) -> Iterator[_Block]:
    """Those whose F and B go from device to device at once, or so much later that more memory is used."""
    several = p.stages > p.devices
    apart = _APART if several else (1.0, 1.5, 2.0, 3.0, 4.0)
    other = apart if several else (1.0,)
    grouped = range(3) if several and p.device[p.devices] == 0 else range(1)  # interleaved
    for equal, spread, stretch, group, filling in itertools.product(
        (True, False), itertools.product(apart, other, other, apart), _STRETCH, grouped, _FILLING
    ):
        yield _Block(equal, spread, stretch, group, *filling)


def _reduced(p: Pipeline) -> Pipeline:
    """A smaller pipeline to choose rules and building blocks with: few devices, at equal distances of this one's, with
    as much less memory and as many fewer microbatches, or fewer still."""
    devices = min(p.devices, _FEW)
    chosen = [d * p.devices // devices for d in range(devices)]
    of = {d: n for n, d in enumerate(chosen)}
    stages = [s for s, d in enumerate(p.device) if d in of]
    forward, backward, weight, activation, residual = (
        tuple(values[s] for s in stages) for values in (p.forward, p.backward, p.weight, p.activation, p.residual)
    )
    microbatches = min(max(p.microbatches * devices // p.devices, 2), 3 * devices)
    small = Pipeline(
        tuple(of[p.device[s]] for s in stages), microbatches, forward, backward, weight,
        p.transfer, activation, residual,
    )  # fmt: skip
    limits = zip(small.least_memory, (p.limit[d] for d in chosen), strict=True)
    return small.with_limit([max(least, limit * devices / p.devices) for least, limit in limits])


def _offsets(p: Pipeline, apart: tuple[float, float, float, float]) -> Floats:
    """When F and B of one microbatch begin, by kind and stage."""
    stages, key, now = p.stages, np.zeros(2 * p.stages), 0.0
    for s in range(1, stages):
        away = p.device[s] != p.device[s - 1]
        now += (apart[s >= p.devices] if away else 1.0) * (p.forward[s - 1] + p.hop(s - 1))
        key[s] = now
    now += p.forward[-1]
    key[2 * stages - 1] = now
    for s in reversed(range(stages - 1)):
        away = p.device[s] != p.device[s + 1]
        now += (apart[3 - (s >= p.devices)] if away else 1.0) * (p.backward[s + 1] + p.hop(s))
        key[stages + s] = now
    return key
