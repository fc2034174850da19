"""Schedules in rounds: with different warm-ups, and more W where devices were idle for less long."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from pcg.kernels.native import Floats
from pcg.pipeline.blocks import equal_times
from pcg.pipeline.bounds import Chain
from pcg.pipeline.candidates import Candidates
from pcg.pipeline.placement import placement
from pcg.pipeline.round_kernels import round_schedule

#: How often schedules in rounds are improved by how long devices were idle.
_ROUNDS = 4
#: How much longer than the best schedule so far one in rounds may be for others like it to be tried.
_NEAR = 1.05


@dataclass(frozen=True, eq=False)
class WarmUp:
    """How many F of each stage must have room before the first B of its device, and a schedule in rounds with it."""

    length: float
    wanted: Floats
    columns: int
    """Whether it begins as ZB-V does."""
    idle: Floats
    """By device: by how much less idle than another one."""


class Rounds:
    """Those of one pipeline, for the candidates of a search."""

    def __init__(self, found: Candidates) -> None:
        self.found, p = found, found.p
        #: When the first B can come to each device.
        self.begin: Floats = np.empty(p.devices)

    def warm_ups(self) -> list[WarmUp]:
        """Those whose schedules have different lengths, where a W is done before an F and a B."""
        p = self.found.p
        wanted = []
        for q in (p, equal_times(p)):
            chain = Chain(q)
            begin = np.array([chain.backward[max(p.stages_of(d))] for d in range(p.devices)])
            forward = [sum(q.forward[s] for s in p.stages_of(d)) for d in range(p.devices)]
            # So many F come to a stage before the first B comes to its device.
            counts = [(begin[d] - chain.forward[s]) / forward[d] for s, d in enumerate(p.device)]
            wanted.append(np.ceil(np.array(counts) - 1e-9))
            self.begin = begin if q is p else self.begin
        rooms = [(room, 0) for room in (*wanted, np.ones(p.stages))]
        if p.device == placement("v", p.devices, 2):
            rooms.append((np.ones(p.stages), 1))
        found: dict[float, WarmUp] = {}
        for room, columns in rooms:
            length = self._round(room, columns, 1, 1, np.zeros(p.devices))
            found.setdefault(length, WarmUp(length, room, columns, self._idle()))
        return list(found.values())

    def _round(self, room: Floats, columns: int, fill_b: int, fill_f: int, allowed: Floats) -> float:
        """The value of a schedule in rounds; infinite if there is none."""
        c, p, a = self.found, self.found.p, self.found.p.arrays
        _, _, done, pending, place, free, idle, used = c.space
        n = round_schedule(
            a.device, a.own, a.first, a.duration, a.change, room, a.limit, p.transfer, p.microbatches, self.begin,
            columns, fill_b, fill_f, allowed, c.order, a.offset, done, pending, place, free, idle, used, c.end, c.at,
        )  # fmt: skip
        return c.add() if n == p.tasks else math.inf

    def _idle(self) -> Floats:
        """By how much less each device was idle in the schedule in rounds that was made last than the one that was
        idle the longest."""
        idle = self.found.space[6]
        return idle.max() - idle

    def others(self, warm_ups: list[WarmUp], most: int) -> None:
        """Other schedules in rounds where they are nearly the best so far; again with what each device is idle less
        than others as long as that is better."""
        best = self.found.best[0][1] if self.found.best else 0.0
        near = [w for w in sorted(warm_ups, key=lambda w: w.length) if w.length <= _NEAR * best]
        choices = itertools.product(near, (1, 0), (1, 0))
        for w, fill_b, fill_f in itertools.islice(choices, most):
            least, allowed = math.inf, np.zeros(self.found.p.devices)
            if fill_b and fill_f:
                least, allowed = w.length, w.idle
            for _ in range(_ROUNDS):
                found = self._round(w.wanted, w.columns, fill_b, fill_f, allowed)
                if found >= least:
                    break
                least, allowed = found, self._idle()
