"""The least span or makespan of a small pipeline, or how close a schedule is proved to be, by OR-tools' CP-SAT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pcg.pipeline.bounds import Chain, bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.timing_kernels import BW, SLACK, B, F, W

#: Of more tasks a model takes longer to build and to simplify than there is any hope to solve it.
MOST_TASKS = 3000
#: The largest time and memory as integers; both are rounded so that the solver's bound remains one.
_LARGEST = 10**9


@dataclass(frozen=True)
class Exact:
    """The best schedule found, and what no schedule of the same pipeline is below."""

    schedule: Schedule
    bound: float

    def proved(self, objective: str) -> bool:
        return self.schedule.objective(objective) <= self.bound * (1 + SLACK)


def exact(start: Schedule, objective: str, work: float) -> Exact:
    """Improve a schedule of the pipeline with CP-SAT until the best one is proved, or for so much work, in units of
    about a second: a number of steps of one thread, so the result is the same every time."""
    p = start.pipeline
    if p.tasks > MOST_TASKS:
        raise PipelineError(f"an exact schedule of {p.tasks} tasks; allowed: up to {MOST_TASKS}")
    least = bounds(p).objective(objective)
    known = Exact(start, least)
    if known.proved(objective):
        return known
    model = _Model(start, objective, least)
    bound, order = model.solve(work)
    best = start
    if order is not None:
        found = Schedule(p, tuple(order), "exact")
        if found.exceeded() is None and found.objective(objective) < start.objective(objective) * (1 - SLACK):
            best = found
    return Exact(best, min(max(least, bound), best.objective(objective)))


def _solver() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise PipelineError("an exact schedule needs OR-tools: pip install 'pcg[exact]'") from None
    return cp_model


def _scale(values: list[float], largest: float) -> int:
    """A factor that makes integers of all values, if they are fractions of few digits; else one as large as may be."""
    fractions = [Fraction(v).limit_denominator(10**6) for v in values]
    found = math.lcm(*(f.denominator for f in fractions))
    if found * largest <= _LARGEST and all(abs(f - v) <= 1e-12 * v for f, v in zip(fractions, values, strict=True)):
        return found
    return max(int(_LARGEST / largest), 1)


class _Model:
    """Start times of F, B and W as variables; microbatches pass every stage in order, which excludes nothing better.

    Times are rounded down, memory too and its limits up, so that the solver's bound holds for what they stand for.
    """

    def __init__(self, start: Schedule, objective: str, least: float) -> None:
        self.p, self.start, self.objective = start.pipeline, start, objective
        self.cp = _solver()
        self.model = self.cp.CpModel()
        p = self.p
        times = [t for t in (*p.forward, *p.backward, *p.weight, p.transfer) if t > 0]
        self.scale = _scale(times, start.makespan)
        self.chain = Chain(p)
        most = start.objective(objective)
        self.span = self.model.new_int_var(
            self._below(least), math.ceil(most * self.scale * (1 + SLACK)), objective
        )  # fmt: skip
        self.at: dict[tuple[int, int, int], Any] = {}
        self.intervals: dict[tuple[int, int, int], Any] = {}
        for d in range(p.devices):
            self._tasks(d)
        for s in range(p.stages):
            self._tied(s)
        for d in range(p.devices):
            self._memory(d)
        for key, variable in self.at.items():
            self.model.add_hint(variable, self._time(*key))
        self.model.minimize(self.span)

    def _below(self, time: float) -> int:
        return math.floor(time * self.scale * (1 + 1e-12))

    def _length(self, kind: int, stage: int) -> int:
        return self._below((self.p.forward, self.p.backward, self.p.weight)[kind][stage])

    def _time(self, kind: int, stage: int, microbatch: int) -> int:
        """When a task starts in the schedule that is improved; a W of a backward pass that is not split in the end."""
        p, start = self.p, self.start.start
        found = float(start[(kind * p.stages + stage) * p.microbatches + microbatch])
        if found < 0:
            found = float(start[(BW * p.stages + stage) * p.microbatches + microbatch])
            found += p.backward[stage] if kind == W else 0.0
        return self._below(found)

    def _tasks(self, d: int) -> None:
        """The tasks of a device, one after another, and what is minimised behind all of them."""
        p, model, horizon = self.p, self.model, math.ceil(self.start.makespan * self.scale * (1 + SLACK))
        stages = p.stages_of(d)
        first = stages[0]
        for s in stages:
            for kind in (F, B, W):
                for i in range(p.microbatches):
                    at = model.new_int_var(0, horizon, f"{kind}.{s}.{i}")
                    self.at[kind, s, i] = at
                    length = self._length(kind, s)
                    self.intervals[kind, s, i] = model.new_fixed_size_interval_var(at, length, f"on {kind}.{s}.{i}")
        model.add_no_overlap([self.intervals[key] for key in self.intervals if p.device[key[1]] == d])
        begin: Any = 0
        if self.objective == "span":
            begin = self.at[F, first, 0]
            # The first task of all devices starts as soon as it can: an F that was put off would shorten a span.
            if all(p.device.index(p.device[s]) == s for s in range(first)):
                model.add(begin == sum(self._length(F, s) + self._below(p.hop(s)) for s in range(first)))
        for s in stages:
            last = p.microbatches - 1
            model.add(self.at[W, s, last] + self._length(W, s) - begin <= self.span)

    def _tied(self, s: int) -> None:
        """What tasks of a stage wait for."""
        p, model, at = self.p, self.model, self.at
        for i in range(p.microbatches):
            if s > 0:
                hop = self._below(p.hop(s - 1))
                model.add(at[F, s, i] >= at[F, s - 1, i] + self._length(F, s - 1) + hop)
                model.add(at[B, s - 1, i] >= at[B, s, i] + self._length(B, s) + hop)
            if s == p.stages - 1:
                model.add(at[B, s, i] >= at[F, s, i] + self._length(F, s))
            model.add(at[W, s, i] >= at[B, s, i] + self._length(B, s))
            for kind in (F, B, W) if i > 0 else ():
                model.add(at[kind, s, i] >= at[kind, s, i - 1] + self._length(kind, s))

    def _memory(self, d: int) -> None:
        """Activations from F to B, and what remains of them to W, within the limit of a device."""
        p, model = self.p, self.model
        stages = p.stages_of(d)
        if not p.limit[d] < p.microbatches * sum(p.activation[s] for s in stages):
            return
        parts = [(s, a) for s in stages for a in (p.activation[s] - p.residual[s], p.residual[s])]
        scale = _scale([a for _, a in parts if a > 0], p.limit[d])
        occupied, demands = [], []
        for n, (s, amount) in enumerate(parts):
            demand = math.floor(amount * scale * (1 + 1e-12))
            for i in range(p.microbatches) if demand > 0 else ():
                begin, end = self.at[F, s, i], self.at[(B, W)[n % 2], s, i]
                length = model.new_int_var(0, _LARGEST * 4, "")
                occupied.append(model.new_interval_var(begin, length, end, ""))
                demands.append(demand)
        model.add_cumulative(occupied, demands, math.floor(p.limit[d] * scale * (1 + 2 * SLACK)))

    def solve(self, work: float) -> tuple[float, list[tuple[int, ...]] | None]:
        """A lower bound, and the order of every device if there is a solution."""
        p, solver = self.p, self.cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = work
        status = solver.solve(self.model)
        bound = solver.best_objective_bound / self.scale if status != self.cp.UNKNOWN else 0.0
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return bound, None
        orders = []
        for d in range(p.devices):
            keys = [key for key in self.at if p.device[key[1]] == d]
            # What takes no time goes before what starts with it.
            keys.sort(key=lambda key: (solver.value(self.at[key]), self._length(*key[:2])))
            orders.append(tuple((kind * p.stages + s) * p.microbatches + i for kind, s, i in keys))
        return bound, orders
