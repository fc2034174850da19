"""Schedules found by search: many that rules make, the best of them improved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.blocks import Block, Shape, blocks, equal_times, offsets, period, shapes, smaller
from pcg.pipeline.bounds import Chain, bounds
from pcg.pipeline.change_kernels import FLOATS, INTEGERS
from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.improve_kernels import improve
from pcg.pipeline.list_kernels import keyed_schedule, list_schedule, search_keys
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.round_kernels import round_schedule
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.timing_kernels import OTHERS, fits, time_orders, value

OBJECTIVES = ("span", "makespan")
#: More W than ever wait.
_ANY = 1 << 40
#: How often schedules in rounds are improved by how long devices were idle.
_ROUNDS = 4
#: By which share of its length the first steps of the local search may make a schedule longer.
_TEMPERATURE = 0.003
#: From how many tasks on less is tried.  Measured: 24,576 tasks (32 stages, 256 microbatches) take 0.2 to 1 s.
_LARGE = 8_000


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
    "quick": Effort(400_000, 150_000, 6_000_000, 2),
    "default": Effort(3_000_000, 1_500_000, 90_000_000, 4),
    "thorough": Effort(20_000_000, 20_000_000, 1_500_000_000, 8),
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


@dataclass(frozen=True, eq=False)
class _Keys:
    """A building block as `keyed_schedule` reads it, for the times of the pipeline `like`."""

    block: Block
    like: Pipeline
    key: Floats
    group: int
    period: float
    spacing: float


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
        self.equal = equal_times(p)
        self.keys: dict[Shape, Floats] = {}
        #: (objective, value, order): the best of different values.
        self.best: list[tuple[float, float, Ints]] = []
        #: How many schedules a task of the effort is.
        self.share = min(1.0, _LARGE / n) ** 1.5 / n

    def run(self) -> Schedule:
        p = self.p
        self._rounds()
        if self.best and self._optimal:
            return self._result()
        for _ in self._values(list(_all_rules())[: self._count(0.1)]):
            if self._optimal:
                return self._result()
        chosen = self._blocks()
        different: dict[float, int] = {}
        for n, found in self._values(chosen):
            if self._optimal:
                return self._result()
            different.setdefault(round(found / self.bound, 9), n)
        if not self.best:
            raise MemoryLimitError(f"no schedule found within memory limits {', '.join(f'{l:g}' for l in p.limit)}")
        ranked = sorted(different.items())[: self.effort.starts]
        for seed, (_, n) in enumerate(ranked):
            self._search_keys(chosen[n], int(self.effort.keys * self.share / len(ranked)), seed)
            if self._optimal:
                return self._result()
        self._improve()
        return self._result()

    def _values(self, choices: Sequence[_Rules | Block]) -> Iterator[tuple[int, float]]:
        """The value of the schedule of each choice that makes one, by its number; the best are kept."""
        for n, choice in enumerate(choices):
            if self._listed(choice) if isinstance(choice, _Rules) else self._keyed(self._keys(choice)):
                yield n, self._add()

    def _count(self, part: float) -> int:
        """How many schedules a part of the effort for rules allows."""
        return max(int(self.effort.rules * self.share * part), 6)

    def _blocks(self) -> list[Block]:
        """Of the shapes that are best for a smaller pipeline, as many blocks as the effort allows."""
        every = [b for shape in shapes(self.p) for b in blocks(self.p, shape, ranking=True)]
        budget = self.effort.rules * self.share * self.p.tasks
        small = _Search(smaller(self.p, 0.75 * budget / len(every)), OBJECTIVES[self.barrier], self.effort)
        found: dict[Shape, float] = {}
        for n, length in small._values(every):
            shape = every[n].shape
            found[shape] = min(length, found.get(shape, length))
        best = sorted(found, key=lambda shape: found[shape])
        return [b for shape in best for b in blocks(self.p, shape)][: self._count(0.15)]

    @property
    def _optimal(self) -> bool:
        return self.best[0][0] <= self.bound * (1 + 1e-9)

    def _result(self) -> Schedule:
        return Schedule.from_flat(self.p, self.best[0][2], "automatic")

    def _listed(self, r: _Rules) -> bool:
        p, a = self.p, self.p.arrays
        n = list_schedule(
            a.device, a.own, a.first, a.duration, a.change, a.reserve, a.limit, p.transfer, p.microbatches, r.alternate,
            r.later_first, r.patience, r.fill, r.squeeze, r.backlog, self.order, a.offset, *self.space, self.last,
        )  # fmt: skip
        return n == p.tasks

    def _rounds(self) -> None:
        """Schedules in rounds; again with what each device is idle less than others as long as that is better."""
        p, a = self.p, self.p.arrays
        begin, rooms = np.empty(p.devices), []
        for q in (p, self.equal):
            chain = Chain(q)
            first = np.array([chain.backward[max(p.stages_of(d))] for d in range(p.devices)])
            begin = first if q is p else begin
            forward = [sum(q.forward[s] for s in p.stages_of(d)) for d in range(p.devices)]
            # So many F come to a stage before the first B comes to its device.
            wanted = [(first[d] - chain.forward[s]) / forward[d] for s, d in enumerate(p.device)]
            rooms.append(np.ceil(np.array(wanted) - 1e-9))
        rooms.append(np.ones(p.stages))
        _, _, done, pending, place, free, idle, used = self.space
        for room, fill_b, fill_f in itertools.product(rooms, (1, 0), (1, 0)):
            least, allowed = math.inf, np.zeros(p.devices)
            for _ in range(_ROUNDS):
                n = round_schedule(
                    a.device, a.own, a.first, a.duration, a.change, room, a.limit, p.transfer, p.microbatches, begin,
                    fill_b, fill_f, allowed, self.order, a.offset, done, pending, place, free, idle, used,
                    self.end, self.at,
                )  # fmt: skip
                if n < p.tasks or (found := self._add()) >= least:
                    break
                least, allowed = found, idle.max() - idle

    def _keys(self, block: Block) -> _Keys:
        shape = block.shape
        p = self.equal if shape.equal else self.p
        key = self.keys.get(shape)
        if key is None:
            key = self.keys[shape] = offsets(p, shape)
        group = p.devices if block.grouped else 1
        spacing = (0.0, max(p.forward), max(p.work) / p.microbatches)[block.grouped]
        return _Keys(block, p, key, group, period(p, shape), spacing)

    def _arguments(self, k: _Keys) -> tuple:
        a, b = k.like.arrays, k.block
        return (
            a.device, a.own, a.first, a.duration, a.change, a.reserve if b.reserved else self.no_reserve, a.limit,
            k.like.transfer, self.p.microbatches, k.key, k.group, k.period, k.spacing, b.backfill, b.fill, b.squeeze,
            self.order, a.offset, *self.space,
        )  # fmt: skip

    def _keyed(self, k: _Keys) -> bool:
        return keyed_schedule(*self._arguments(k)) == self.p.tasks

    def _search_keys(self, block: Block, steps: int, seed: int) -> None:
        a, k = self.p.arrays, self._keys(block)
        k = replace(k, key=k.key.copy())
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
        memory, ints, floats = np.empty(p.tasks), np.empty((INTEGERS, p.tasks), np.int64), np.empty((FLOATS, p.tasks))
        starts = [order for _, _, order in self.best]
        # In a large pipeline more of it is what repeats, which changes of single tasks hardly improve.
        budget = int(self.effort.orders * self.share * min(p.tasks, _LARGE) / (2 * len(starts)))
        for n in range(2 * len(starts)):
            self.order = (starts[n] if n < len(starts) else self.best[0][2]).copy()
            improve(
                self.order, a.offset, a.device, a.duration, a.change, a.limit, p.transfer, p.microbatches, self.barrier,
                budget, _TEMPERATURE if n % 2 == 0 else _TEMPERATURE / 4, n + 1, self.at, memory, ints, floats,
                np.empty(1, np.int64),
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
