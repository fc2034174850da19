"""Which values of a training step to rematerialise instead of keeping them, under a memory limit.  No MLIR here.

A step of training keeps what its forward part computes for its backward part.  Any such value may be dropped after its
last forward use and recomputed right before its first backward use, from values that are kept or recomputed
themselves.  For a fixed order of the backward part and a forward part in segments, with what crosses a boundary kept,
the best choice is an integer program over values, as in Checkmate (Jain et al., MLSys 2020); without the memory rows
its matrix is that of a minimum cut, as in the partitioner of PyTorch's AOTAutograd, so the relaxation is nearly
integral and chains of repeated layers are solved to the gap given.  Fewer, longer segments keep less and
need more at once while one is recomputed (Chen et al., 2016, "Training deep nets with sublinear memory cost"); several
numbers of segments are tried.  Every answer is checked by replaying the program, and the row of a position where more
is alive than the program thought is added until there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcg.search.schedule import Replay, Schedule
from pcg.solve.mip import Rows

#: Numbers of segments that are tried.  Chosen: from more than the layers of usual models down to one, about halving.
_SEGMENTS = (64, 24, 12, 6, 3, 1)
#: Recomputed ops times ops up to which leaving single ones out is tried.  Chosen: a budget of time, each costs a
#: replay.
_TRIM = 20_000
#: Rounds of adding the position where a replayed program needs the most.  Chosen: a budget of integer programs.
_ROUNDS = 8
#: By how much more than the limit the rows may allow, where nothing is found otherwise.  Chosen: rows are an estimate,
#: and a replay has the last word.
_SLACK = (1.0, 1.05, 1.15)
#: Branch-and-bound nodes and relative gap of one integer program.  Chosen: a budget; the best found is used.
_NODES, _GAP = 200, 2e-3


@dataclass(frozen=True)
class Recomputation:
    """Ops to recompute behind `split`; `seconds` is what that adds, `peak` what is then alive at most."""

    split: int
    recomputed: frozenset[int]
    seconds: float
    peak: float


class Recomputer:
    """What may be recomputed in one program, for several limits."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.alive = schedule.alive()
        self._least: Recomputation | None = None
        self._fits: dict[float, Recomputation | None] = {}

    @cached_property
    def regions(self) -> list[list[_Region]]:
        """Per position where the backward part may begin, the segmentations of the forward part."""
        return [_regions(self.schedule, split) for split in _splits(self.schedule, self.alive)]

    def floor(self) -> float:
        """Bytes that no recomputation gets below: what is alive when all that may be dropped is."""
        low = min((float(regions[-1].base.max()) for regions in self.regions), default=np.inf)
        return min(float(self.alive.max()), low)

    def fit(self, limit: float) -> Recomputation | None:
        """The recomputation found that adds the least time and keeps the program within `limit` bytes, if any.

        Nothing is recomputed where the program fits as it is.
        """
        if limit not in self._fits:
            self._fits[limit] = self._fit(limit)
        return self._fits[limit]

    def _fit(self, limit: float) -> Recomputation | None:
        if self.alive.max() <= limit:
            return Recomputation(0, frozenset(), 0.0, float(self.alive.max()))
        # Copies may be shorter lived than the program assumes: a solution for a larger limit may fit.
        for slack in _SLACK:
            for regions in self.regions:
                found = [x for r in regions if (x := r.fit(limit, limit * slack)) is not None]
                if found:
                    return self._trim(min(found, key=lambda x: x.seconds), limit)
        least = self.least()
        return self._trim(least, limit) if least.peak <= limit else None

    def _trim(self, found: Recomputation, limit: float) -> Recomputation:
        """Local improvement: keep what is most expensive to recompute as long as the program fits."""
        ops = self.schedule.ops
        if len(found.recomputed) * len(ops) > _TRIM:
            return found
        for i in sorted(found.recomputed, key=lambda i: (-ops[i].seconds, i)):
            if i not in found.recomputed or not ops[i].seconds:
                continue
            replay = Replay(self.schedule, found.split, found.recomputed - {i})
            result = replay.result()
            peak, seconds = result.peak(), result.seconds - self.schedule.seconds
            if peak <= limit and seconds < found.seconds:
                found = Recomputation(found.split, replay.recomputed, seconds, peak)
        return found

    def least(self) -> Recomputation:
        """The recomputation found that needs the least memory."""
        if self._least is None:
            best = Recomputation(0, frozenset(), 0.0, float(self.alive.max()))
            for regions in self.regions:
                for region in regions:
                    found = region.fit(None, None)
                    if found is not None and found.peak < best.peak:
                        best = found
            self._least = best
        return self._least


def fit(schedule: Schedule, limit: float) -> Recomputation | None:
    """See `Recomputer.fit`."""
    return Recomputer(schedule).fit(limit)


def least(schedule: Schedule) -> Recomputation:
    """See `Recomputer.least`."""
    return Recomputer(schedule).least()


def _splits(schedule: Schedule, alive: np.ndarray) -> list[int]:
    """Where the backward part may begin: where most is idle between two uses, and where most is alive."""
    if not schedule.ops:
        return []
    first, last = schedule.live_ranges()
    idle = np.zeros(len(schedule.ops) + 2)
    uses: dict[int, list[int]] = {}
    for i, step in enumerate(schedule.ops):
        for v in {w for r in step.reads for w in schedule.backing(r)}:
            uses.setdefault(v, []).append(i)
    resident = set(schedule.resident) | set(schedule.donated)
    for v, at in uses.items():
        if v in resident or v not in schedule.definition or not schedule.size[v]:
            continue
        points = [int(first[v]), *at]
        gap = max(range(len(points) - 1), key=lambda k: points[k + 1] - points[k])
        idle[points[gap]] += schedule.size[v]
        idle[points[gap + 1]] -= schedule.size[v]
    most_idle = int(np.argmax(np.cumsum(idle)))
    return list(dict.fromkeys((most_idle, min(int(np.argmax(alive)), len(schedule.ops) - 1))))


def _regions(schedule: Schedule, split: int) -> list[_Region]:
    """The forward part in ever fewer segments; the last region assumes that copies are short-lived."""
    seen: list[tuple[int, ...]] = []
    out = []
    for count in _SEGMENTS:
        boundaries = _boundaries(schedule, split, count)
        if boundaries not in seen:
            seen.append(boundaries)
            out.append(_Region(schedule, split, boundaries))
    return [*out, _Region(schedule, split, (), optimistic=True)]


def _boundaries(schedule: Schedule, split: int, count: int) -> tuple[int, ...]:
    """Positions behind which a new segment begins: about `count` of them, each where the least crosses."""
    crossing, defined = np.zeros(split + 2), np.zeros(split + 2)
    resident = set(schedule.resident) | set(schedule.donated)
    last: dict[int, int] = {}
    for i in range(split + 1):
        for v in {w for r in schedule.ops[i].reads for w in schedule.backing(r)}:
            last[v] = i
        defined[i] = sum(schedule.size[v] for v in schedule.ops[i].defines)
    for v, i in last.items():
        if v not in resident and v in schedule.definition:
            crossing[schedule.definition[v]] += schedule.size[v]
            crossing[i] -= schedule.size[v]
    crossing = np.cumsum(crossing)
    so_far = np.cumsum(defined[: split + 1])
    if not so_far[-1]:
        return ()
    boundaries: set[int] = set()
    for k in range(1, count):
        low, high = np.searchsorted(so_far, [so_far[-1] * (k - 0.5) / count, so_far[-1] * (k + 0.5) / count])
        if high > low:
            boundaries.add(int(low + np.argmin(crossing[low:high])))
    return tuple(sorted(boundaries))


class _Region:
    """The integer program of one split and one segmentation.

    Per op x: it is recomputed; per value d: something behind the split reads it or a copy made of it.  A value is
    kept if d - x.  A copy that something in the backward part reads is taken to be alive from when the first copy of
    one of its readers might need it; `optimistic`: from when the backward part itself first reads it.
    """

    def __init__(self, schedule: Schedule, split: int, boundaries: Sequence[int], optimistic: bool = False) -> None:
        self.schedule, self.split = schedule, split
        ops, definition = schedule.ops, schedule.definition
        self.resident = set(schedule.resident) | set(schedule.donated)
        crossing = self._crossing(boundaries)
        self.demanded: set[int] = set()
        first_use: dict[int, int] = {}
        last_use: dict[int, int] = {}
        for i in range(split + 1, len(ops)):
            for v in ops[i].reads:
                if definition.get(v, split + 1) <= split:
                    self.demanded.add(v)
                    first_use.setdefault(v, i)
                    last_use[v] = i
        kept_to_end = {w for v in schedule.results for w in schedule.backing(v)}
        for v in kept_to_end:
            if definition.get(v, split + 1) <= split:
                self.demanded.add(v)
                first_use.setdefault(v, len(ops))
                last_use[v] = len(ops)
        # What backs the result of an op that runs once stays as it is, too.
        once = {w for s in ops[: split + 1] if not s.repeatable for v in s.backed_by for w in schedule.backing(v)}
        fixed = crossing | kept_to_end | once
        self.values: list[int] = []
        self.steps: list[int] = []
        work, seen = sorted(self.demanded), set(self.demanded)
        while work:
            v = work.pop()
            self.values.append(v)
            i = definition[v]
            if ops[i].repeatable and not any(w in fixed for w in ops[i].defines):
                self.steps.append(i)
                for w in ops[i].reads:
                    if w in definition and w not in seen:
                        seen.add(w)
                        work.append(w)
        self.values.sort()
        self.steps = sorted(set(self.steps))
        # From when a copy may be alive, and until when a kept value or a copy: a copy is computed at the latest where
        # the backward part first reads it, at the earliest for the first copy that may need it.
        self.earliest = dict(first_use)
        self.latest = dict(last_use)
        for i in reversed(self.steps):
            defined = [v for v in ops[i].defines if v in self.earliest]
            earliest = min(self.earliest[v] for v in defined)
            uses = [first_use[v] for v in defined if v in first_use]
            copied_at = min(uses, default=max(self.latest[v] for v in defined))
            for v in ops[i].reads:
                if v in seen:
                    if not (optimistic and v in first_use):
                        self.earliest[v] = min(self.earliest.get(v, earliest), earliest)
                    self.latest[v] = max(self.latest.get(v, copied_at), copied_at)
        self.start: list[int] = []
        alive = schedule.alive()
        self.base = alive.copy()
        _, last = schedule.live_ranges()
        # Last read by the forward part: from there on a value is alive only if it is kept.
        self.forward = {v: definition[v] for v in self.values}
        for i in range(split + 1):
            for v in {w for r in ops[i].reads for w in schedule.backing(r)}:
                if v in self.forward:
                    self.forward[v] = i
        for v in self.values:
            if v not in self.resident and schedule.size[v] and last[v] > self.forward[v]:
                self.base[self.forward[v] + 1 : last[v] + 1] -= schedule.size[v]
        self.start = sorted({min(split + 1, len(ops)), int(np.argmax(alive))})

    def _crossing(self, boundaries: Sequence[int]) -> set[int]:
        """Values read in a later segment than their own: they are kept, not recomputed."""
        schedule = self.schedule
        segment = np.searchsorted(np.asarray(boundaries, dtype=int), np.arange(self.split + 1), side="left")
        out: set[int] = set()
        for i in range(self.split + 1):
            for v in schedule.ops[i].reads:
                for w in schedule.backing(v):
                    at = schedule.definition.get(w)
                    if at is not None and not schedule.ops[at].backed_by and segment[at] != segment[i]:
                        out.add(w)
        return out

    def fit(self, limit: float | None, most: float | None) -> Recomputation | None:
        """The cheapest choice within `limit`, or with None the one that needs the least memory.

        `most` is what the rows allow to begin with.
        """
        if not self.steps or not self.start or (limit is not None and self.base.max() > limit):
            return None
        best = None
        self.positions = list(self.start)
        for _ in range(_ROUNDS):
            recomputed = self._solve(most)
            if recomputed is None:
                break
            replay = Replay(self.schedule, self.split, recomputed)
            result = replay.result()
            alive = result.alive()
            seconds = result.seconds - self.schedule.seconds
            found = Recomputation(self.split, replay.recomputed, seconds, float(alive.max()))
            if limit is None:
                best = found if best is None or found.peak < best.peak else best
            elif found.peak <= limit:
                return found
            at = int(np.argmax(alive))
            position = self._position(replay, at)
            if position not in self.positions:
                self.positions.append(position)
            elif most is not None and limit is not None:
                most -= (found.peak - limit) * 1.05  # what barriers keep alive is not in the rows
            else:
                break
        return best

    @staticmethod
    def _position(replay: Replay, at: int) -> int:
        """The original position of one in the replayed program."""
        here = -1
        opened: set[int] = set()
        for item in replay.items:
            if item.before not in opened:
                opened.add(item.before)
                here += len(replay.barriers.get(item.before, ()))
            here += 1
            if here >= at:
                return item.before
        return len(replay.schedule.ops)

    def _solve(self, limit: float | None) -> frozenset[int] | None:
        """Solve the integer program; without a limit the largest row is minimised."""
        schedule, definition = self.schedule, self.schedule.definition
        column_x = {i: k for k, i in enumerate(self.steps)}
        column_d = {v: len(self.steps) + k for k, v in enumerate(self.values)}
        count = len(self.steps) + len(self.values) + 1
        scale = 1e6 / max(1e-12, schedule.seconds)
        unit = 1.0 / max(1.0, max(self.base.max(), limit or 0.0))
        cost, lower, upper = np.zeros(count), np.zeros(count), np.ones(count)
        upper[-1] = np.inf
        if limit is None:
            cost[-1] = 1e6
            scale *= 1e-6
        else:
            lower[-1] = upper[-1] = limit * unit
        for i in self.steps:
            cost[column_x[i]] = scale * schedule.ops[i].seconds + 1e-9
        rows = Rows()
        for v in self.values:
            d, x = column_d[v], column_x.get(definition[v])
            if v in self.demanded:
                lower[d] = 1.0
            if x is not None:
                rows.add({d: 1.0, x: -1.0}, 0.0, 0.0 if schedule.ops[definition[v]].backed_by else np.inf)
        for i in self.steps:
            for v in schedule.ops[i].reads:
                if v in column_d:
                    rows.add({column_d[v]: 1.0, column_x[i]: -1.0}, 0.0, np.inf)
        for p in self.positions:
            row: dict[int, float] = {count - 1: -1.0}
            for v in self.values:
                size = 0.0 if v in self.resident else schedule.size[v] * unit
                if not size or not self.forward[v] < p <= self.latest[v]:
                    continue
                x = column_x.get(definition[v])
                row[column_d[v]] = row.get(column_d[v], 0.0) + size
                if x is not None and (p <= self.split or p < self.earliest[v]):
                    row[x] = row.get(x, 0.0) - size
            rows.add(row, -np.inf, -self.base[p] * unit)
        values = rows.minimise(cost, lower, upper, len(self.steps), gap=_GAP, nodes=_NODES).values
        return None if values is None else frozenset(i for i in self.steps if values[column_x[i]] > 0.5)
