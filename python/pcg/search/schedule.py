"""The schedule of a placed program: what is alive when, before and after rematerialisation.  No MLIR here.

One block of a program, in order.  Values are numbers.  Some take no memory of their own: names for the bytes of
another (reshape), and what a kernel computes from its inputs as it needs it (fused).  The values that *back* them must
be alive for them to be read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class ScheduledOp:
    """One op: `reads` and `defines` are values.

    `seconds` is its time; `repeatable`: it may run twice (no region, no side effect); `backed_by`: values that must be
    alive for its results to be read, which then have no memory of their own; `region_bytes`: the most bytes that its
    regions need beyond what is alive around it.
    """

    reads: tuple[int, ...]
    defines: tuple[int, ...]
    seconds: float = 0.0
    repeatable: bool = True
    backed_by: tuple[int, ...] = ()
    region_bytes: float = 0.0


@dataclass
class Schedule:
    """Ops in program order; `size[v]` are the bytes of value `v` on one device.

    `resident` values are live from beginning to end (arguments), `donated` ones from the beginning to their last use
    (donated arguments), `results` from their op to the end.
    """

    ops: list[ScheduledOp]
    size: list[float]
    resident: Collection[int] = ()
    donated: Collection[int] = ()
    results: Collection[int] = ()
    full: list[float] = field(default_factory=list)
    """What each value would take if it were stored; default: its size."""
    constants: float = 0.0
    """Bytes of constants, which are live from beginning to end."""
    definition: dict[int, int] = field(init=False)
    """Value -> the number of its defining op."""
    _backing: dict[int, frozenset[int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.full = self.full or list(self.size)
        self.definition = {v: i for i, s in enumerate(self.ops) for v in s.defines}

    def backing(self, value: int) -> frozenset[int]:
        """The values that must be alive for `value` to be read: itself, and what backs it."""
        found = self._backing.get(value)
        if found is None:
            out, work = set(), [value]
            while work:
                v = work.pop()
                if v not in out:
                    out.add(v)
                    if v in self._backing:
                        out |= self._backing[v]
                    elif (at := self.definition.get(v)) is not None:
                        work += self.ops[at].backed_by
            found = self._backing[value] = frozenset(out)
        return found

    def live_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """(first, last) position at which each value is alive; one that is never defined or read has last < first."""
        n, end = len(self.size), len(self.ops)
        first, last = np.full(n, 0), np.full(n, -1)
        for i, step in enumerate(self.ops):
            for v in step.defines:
                first[v] = last[v] = i
            for v in step.reads:
                for w in self.backing(v):
                    last[w] = i
        for v in self.results:
            for w in self.backing(v):
                last[w] = end
        for v in self.resident:
            last[v] = end
        return first, last

    def alive(self) -> np.ndarray:
        """Bytes alive at each position, and one more for the end."""
        first, last = self.live_ranges()
        size = np.asarray(self.size)
        change = np.zeros(len(self.ops) + 2)
        real = last >= first
        np.add.at(change, first[real], size[real])
        np.add.at(change, last[real] + 1, -size[real])
        out = np.cumsum(change)[:-1] + self.constants
        for i, step in enumerate(self.ops):
            out[i] += step.region_bytes
        return out

    def peak(self) -> float:
        """Most bytes alive at once."""
        return float(self.alive().max())

    @property
    def seconds(self) -> float:
        return sum(s.seconds for s in self.ops)


@dataclass(frozen=True, slots=True)
class ReplayedOp:
    """One op of a schedule with rematerialisation.

    `op` is its number in the original; `is_copy`: it is rematerialised.  `reads[i]` is True where operand i is the copy
    of the value instead of the value.  `before` is the op that the copy is computed for.
    """

    op: int
    is_copy: bool
    reads: tuple[bool, ...]
    before: int


@dataclass
class Replay:
    """`schedule` with the ops `recomputed` run once more for what reads them behind `split`, as late as possible."""

    schedule: Schedule
    split: int
    recomputed: frozenset[int]
    items: list[ReplayedOp] = field(init=False)
    barriers: dict[int, list[int]] = field(init=False)
    """Op that copies are computed for -> values that are read through a barrier there, which delays the copies."""

    def __post_init__(self) -> None:
        ops, definition = self.schedule.ops, self.schedule.definition
        self.items, self.barriers = [], {}
        self.recomputed = self._needed()
        done: set[int] = set()
        read_through: set[int] = set()

        def copied(v: int) -> bool:
            return definition.get(v, self.split + 1) <= self.split and definition[v] in self.recomputed

        def emit(i: int, before: int) -> None:
            """Emit a copy of op `i`, and before it of what it needs."""
            stack: list[tuple[int, bool]] = [(i, False)]
            while stack:
                s, ready = stack.pop()
                if s in done:
                    continue
                if ready:
                    done.add(s)
                    reads = tuple(copied(v) for v in ops[s].reads)
                    if not any(reads) and ops[s].reads:
                        # One operand behind a barrier is enough to keep the copy apart and where it is.
                        v = min(ops[s].reads, key=self._barrier_cost)
                        if v not in read_through:
                            read_through.add(v)
                            self.barriers.setdefault(before, []).append(v)
                    self.items.append(ReplayedOp(s, True, reads, before))
                else:
                    stack.append((s, True))
                    stack += [(definition[v], False) for v in ops[s].reads if copied(v)]

        for i, step in enumerate(ops):
            behind_split = i > self.split
            if behind_split:
                for v in step.reads:
                    if copied(v):
                        emit(definition[v], i)
            self.items.append(ReplayedOp(i, False, tuple(behind_split and copied(v) for v in step.reads), i))

    def _needed(self) -> frozenset[int]:
        """`recomputed` without what is backed by kept values only and is no larger than they are.

        A compiler may store what this program takes for fused, if it is the same in the forward and the backward part:
        a large value is copied, so that it cannot.
        """
        schedule = self.schedule
        out: set[int] = set()
        for i in sorted(self.recomputed):
            step = schedule.ops[i]
            if i > self.split:
                continue
            if step.backed_by and not any(schedule.definition.get(v) in out for v in step.reads):
                backing = (w for v in step.backed_by for w in schedule.backing(v))
                kept = sum(schedule.size[w] for w in backing if w not in schedule.resident)
                if not step.reads or sum(schedule.full[v] for v in step.defines) <= kept:
                    continue
            out.add(i)
        return frozenset(out)

    def _barrier_cost(self, value: int) -> tuple[float, int]:
        """A small stored value is best to hand through a barrier; one that is no tensor of its own is worst."""
        size = self.schedule.full[value]
        return (size if size else float("inf"), value)

    def result(self) -> Schedule:
        """The schedule with copies; values through barriers count as copies of their own."""
        schedule = self.schedule
        size, full = list(schedule.size), list(schedule.full)
        copy: dict[int, int] = {}
        behind: dict[int, int] = {}

        def new(v: int, table: dict[int, int]) -> int:
            table[v] = len(size)
            size.append(schedule.size[v])
            full.append(schedule.full[v])
            return table[v]

        ops: list[ScheduledOp] = []
        opened: set[int] = set()
        for item in self.items:
            step = schedule.ops[item.op]
            if item.before not in opened:
                opened.add(item.before)
                for v in self.barriers.get(item.before, ()):
                    ops.append(ScheduledOp((v,), (new(v, behind),), repeatable=False))
            fresh = item.is_copy and not any(item.reads)
            now: dict[int, int] = {}
            for v, is_copy in zip(step.reads, item.reads, strict=True):
                now[v] = copy[v] if is_copy else behind[v] if fresh and v in behind else v
            defines = tuple(new(v, copy) for v in step.defines) if item.is_copy else step.defines
            reads, backed_by = (tuple(now[v] for v in some) for some in (step.reads, step.backed_by))
            ops.append(ScheduledOp(reads, defines, step.seconds, step.repeatable, backed_by, step.region_bytes))
        return Schedule(ops, size, schedule.resident, schedule.donated, schedule.results, full, schedule.constants)
