"""Schedules found by search: many that rules make, the best of them improved."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.blocks import Block, Shape, blocks, equal_times, offsets, period, published, shapes, smaller
from pcg.pipeline.candidates import Candidates
from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.list_kernels import keyed_schedule, list_schedule, search_keys
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.rounds import Rounds
from pcg.pipeline.schedule import Schedule

OBJECTIVES = ("span", "makespan")
#: More W than ever wait.
_ANY = 1 << 40
#: From how many tasks on less is tried.  Measured: 49,152 tasks (a V on 32 devices, 256 microbatches) take 0.05 to
#: 0.95 s.
_LARGE = 8_000
#: Up to how many tasks the effort is as it says; for twice as many there are four times as many rules, and three times
#: as many steps over orders.  Measured: with less, V-shaped references of 6,144 tasks were shorter than what was found.
_GROWS = 3_072


@dataclass(frozen=True)
class Effort:
    """How much is tried, in tasks that are put in order or timed: as many for a small pipeline as for a larger one,
    more for some thousand tasks, but fewer beyond, where little of a schedule is beginning and end."""

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
        more = min(max(p.tasks / _GROWS - 1.0, 0.0), 1.0)
        self.p, self.objective = p, objective
        self.effort = replace(
            effort, rules=int(effort.rules * (1 + 3 * more)), orders=int(effort.orders * (1 + 2 * more))
        )  # fmt: skip
        self.found = Candidates(p, objective, effort.starts)
        self.last: Ints = np.empty(p.devices, np.int64)
        self.no_reserve: Floats = np.zeros(p.stages)
        self.equal = equal_times(p)
        self.keys: dict[Shape, Floats] = {}
        #: How many schedules a task of the effort is.
        self.share = min(1.0, _LARGE / p.tasks) ** 2.25 / p.tasks

    def run(self) -> Schedule:
        """The best of what the steps find; of what there is when one meets the bound."""
        if not any(self.found.optimal for _ in self._steps()) and not self.found.best:
            limits = ", ".join(f"{limit:g}" for limit in self.p.limit)
            raise MemoryLimitError(f"no schedule found within memory limits {limits}")
        return self.found.schedule()

    def _steps(self) -> Iterator[None]:
        """From time to time, so that the search can end."""
        found, rounds = self.found, Rounds(self.found)
        warm_ups = rounds.warm_ups()
        yield
        for _ in self._values(list(_all_rules())[: self._count(0.1)]):
            yield
        rounds.others(warm_ups, self._count(0.1))
        yield
        chosen = self._blocks()
        different: dict[float, int] = {}
        for n, length in self._values(chosen):
            length = round(length / found.bound, 9)
            if length not in different:
                different[length] = n
                found.squeeze()
            yield
        ranked = sorted(different.items())[: self.effort.starts]
        steps = int(self.effort.keys * self.share / max(len(ranked), 1))
        for seed, (_, n) in enumerate(ranked if steps else ()):
            self._search_keys(chosen[n], steps, seed)
            yield
        # In a large pipeline more of it is what repeats, which changes of single tasks hardly improve.
        found.improve(int(self.effort.orders * self.share * min(self.p.tasks, _LARGE)))

    def _values(self, choices: Sequence[_Rules | Block]) -> Iterator[tuple[int, float]]:
        """The value of the schedule of each choice that makes one, by its number; the best are kept."""
        for n, choice in enumerate(choices):
            if self._listed(choice) if isinstance(choice, _Rules) else self._keyed(self._keys(choice)):
                yield n, self.found.add()

    def _count(self, part: float) -> int:
        """How many schedules a part of the effort for rules allows."""
        return max(int(self.effort.rules * self.share * part), 6)

    def _blocks(self) -> list[Block]:
        """Published ones, and of the shapes that are best for a smaller pipeline as many as the effort allows."""
        every = [b for shape in shapes(self.p) for b in blocks(self.p, shape, ranking=True)]
        budget = self.effort.rules * self.share * self.p.tasks
        small = _Search(smaller(self.p, 0.75 * budget / len(every)), self.objective, self.effort)
        found: dict[Shape, float] = {}
        for n, length in small._values(every):
            shape = every[n].shape
            found[shape] = min(length, found.get(shape, length))
        best = sorted(found, key=lambda shape: found[shape])
        return [*published(self.p), *[b for shape in best for b in blocks(self.p, shape)][: self._count(0.15)]]

    def _listed(self, r: _Rules) -> bool:
        p, a = self.p, self.p.arrays
        n = list_schedule(
            a.device, a.own, a.first, a.duration, a.change, a.reserve, a.limit, p.transfer, p.microbatches, r.alternate,
            r.later_first, r.patience, r.fill, r.squeeze, r.backlog, self.found.order, a.offset, *self.found.space,
            self.last,
        )  # fmt: skip
        return n == p.tasks

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
            self.found.order, a.offset, *self.found.space,
        )  # fmt: skip

    def _keyed(self, k: _Keys) -> bool:
        return keyed_schedule(*self._arguments(k)) == self.p.tasks

    def _search_keys(self, block: Block, steps: int, seed: int) -> None:
        c, a, k = self.found, self.p.arrays, self._keys(block)
        k = replace(k, key=k.key.copy())
        search_keys(
            *self._arguments(k), a.duration, self.p.transfer, c.barrier, steps, seed + 1, c.start, c.end, c.at,
            np.empty_like(k.key),
        )  # fmt: skip
        if self._keyed(k):
            c.add()
            c.squeeze()


def _all_rules() -> Iterator[_Rules]:
    for squeeze, fill, patience, later, alternate in itertools.product(
        (0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 0.5, 1.0), (0, 1), (0, 1)
    ):
        yield _Rules(alternate, later, patience, fill, squeeze)
        yield _Rules(alternate, later, patience, fill, squeeze, 2)
