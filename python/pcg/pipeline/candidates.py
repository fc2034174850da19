"""Orders that a search has found: the best of them, and steps that make an order better."""

from __future__ import annotations

import math

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.bounds import bounds
from pcg.pipeline.change_kernels import FLOATS, INTEGERS
from pcg.pipeline.gap_kernels import into_gaps
from pcg.pipeline.improve_kernels import improve
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.timing_kernels import OTHERS, fits, time_orders, value

#: How often the tasks of a schedule are moved into gaps, to the end and back.
_SQUEEZES = 3
#: In how many legs orders are improved; after each the better half of them goes on.
_LEGS = 4
#: By which share of its length the first steps of the local search may make a schedule longer.
_TEMPERATURE = 0.003
#: And by which share of what a microbatch takes of it: the smaller one counts, from 34 microbatches on this one.
#: Measured for V-Half's memory on 16 devices, 48 and 64 microbatches: with a temperature of 0.0015 schedules are 0.05%
#: shorter than with 0.003, with 0.0008 as short, with 0.006 0.2% longer.
_OF_MICROBATCH = 0.1


class Candidates:
    """The best orders of different values, at most so many, and the arrays in which the next one is made."""

    def __init__(self, p: Pipeline, objective: str, most: int) -> None:
        self.p, self.most, self.barrier = p, most, int(objective == "makespan")
        self.bound = bounds(p).objective(objective)
        n, s, m, d = p.tasks, p.stages, p.microbatches, p.devices
        #: The one that was made last.
        self.order: Ints = np.empty(n, np.int64)
        self.start, self.end = np.empty(4 * s * m), np.empty(4 * s * m)
        self.at, self.free = np.empty(d, np.int64), np.empty(d)
        #: Work space of the list schedules, from `arrival` to `used`.
        self.space = (
            np.empty(2 * s * m), np.empty(3 * s, np.int64), np.empty(3 * s + d, np.int64), np.empty(n, np.int64),
            np.empty(2 * d, np.int64), np.empty(d), np.empty(d), np.empty(d),
        )  # fmt: skip
        self.memory: Floats = np.empty(n)
        #: Objective, value, order.
        self.best: list[tuple[float, float, Ints]] = []

    @property
    def optimal(self) -> bool:
        return bool(self.best) and self.best[0][0] <= self.bound * (1 + 1e-9)

    def schedule(self) -> Schedule:
        return Schedule.from_flat(self.p, self.best[0][2], "automatic")

    def add(self) -> float:
        """The value of the order that was made last; it is kept if it is one of the best."""
        p, a = self.p, self.p.arrays
        time_orders(
            self.order, a.offset, a.device, a.duration, p.transfer, p.microbatches, self.start, self.end, self.at,
            self.free,
        )  # fmt: skip
        objective, found = (
            value(self.order, a.offset, self.start, self.end, self.barrier, others) for others in (0.0, OTHERS)
        )
        if len(self.best) < self.most or found < self.best[-1][1]:
            within = (
                fits(self.order, begin, until, a.change, p.microbatches, limit)
                for begin, until, limit in zip(a.offset[:-1].tolist(), a.offset[1:].tolist(), p.limit, strict=True)
            )
            if all(abs(found - f) > 1e-9 * f for _, f, _ in self.best) and all(within):
                self.best.append((objective, found, self.order.copy()))
                self.best.sort(key=lambda b: b[1])
                del self.best[self.most :]
        return float(found)

    def squeeze(self) -> float:
        """Move the tasks of the order that was made last into gaps, to the end and back, as long as that makes it
        better; the value of the best, which the order is then."""
        p, a = self.p, self.p.arrays
        least, order = math.inf, self.order
        for n in range(_SQUEEZES):
            for backward in (1, 0) if n else (0,):
                into_gaps(
                    self.order, a.offset, a.device, a.duration, a.change, a.limit, p.transfer, p.microbatches, backward,
                    self.start, self.end, self.at, self.memory,
                )  # fmt: skip
            if (found := self.add()) >= least * (1 - 1e-9):
                break
            least, order = found, self.order.copy()
        self.order = order
        return least

    def improve(self, budget: int) -> None:
        """Local search from each of the best, and longer from those that become the best of these: so many tasks are
        looked at."""
        p, a = self.p, self.p.arrays
        ints, floats = np.empty((INTEGERS, p.tasks), np.int64), np.empty((FLOATS, p.tasks))
        pool = [order for _, _, order in self.best]
        temperature = min(_TEMPERATURE, _OF_MICROBATCH / p.microbatches)
        seed = 0
        for leg in range(_LEGS):
            found = []
            for order in pool:
                self.order, seed = order.copy(), seed + 1
                length = improve(
                    self.order, a.offset, a.device, a.duration, a.change, a.limit, p.transfer, p.microbatches,
                    self.barrier, budget // _LEGS // len(pool), temperature / 2**leg, seed, self.at, self.memory,
                    ints, floats, np.empty(1, np.int64),
                )  # fmt: skip
                self.add()
                found.append((length, seed, self.order))
                if leg == _LEGS - 1:
                    self.squeeze()
                if self.optimal:
                    return
            pool = [order for *_, order in sorted(found)[: (len(found) + 1) // 2]]
