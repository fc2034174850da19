"""A placed program as a line of steps: what is alive when, before and after steps are done again.  No MLIR here.

One block of a program, in order.  Values are numbers.  Some take no memory of their own: names for the bytes of
another (reshape), and what a kernel computes from its inputs as it needs it (fused).  What they *show* must be alive
for them to be read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class Step:
    """One op: `reads` and `makes` are values.

    `seconds` is its time; `again`: it may be done twice (no region, no side effect); `shows`: values that must be alive
    for its results to be read, which then have no memory of their own; `inside`: the most bytes that its regions need
    beyond what is alive around it.
    """

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    seconds: float = 0.0
    again: bool = True
    shows: tuple[int, ...] = ()
    inside: float = 0.0


@dataclass
class Line:
    """Steps in program order; `size[v]` are the bytes of value `v` on one device.

    `held` values are there from beginning to end (arguments), `owned` ones from the beginning to their last use
    (donated arguments), `results` from their step to the end.
    """

    steps: list[Step]
    size: list[float]
    held: Collection[int] = ()
    owned: Collection[int] = ()
    results: Collection[int] = ()
    full: list[float] = field(default_factory=list)
    """What each value would take if it were stored; default: its size."""
    constants: float = 0.0
    """Bytes that are held from beginning to end besides."""
    maker: dict[int, int] = field(init=False)
    _shown: dict[int, frozenset[int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.full = self.full or list(self.size)
        self.maker = {v: i for i, s in enumerate(self.steps) for v in s.makes}

    def shown(self, value: int) -> frozenset[int]:
        """The values that must be alive for `value` to be read: itself, and what it shows."""
        found = self._shown.get(value)
        if found is None:
            out, work = set(), [value]
            while work:
                v = work.pop()
                if v not in out:
                    out.add(v)
                    if v in self._shown:
                        out |= self._shown[v]
                    elif (step := self.maker.get(v)) is not None:
                        work += self.steps[step].shows
            found = self._shown[value] = frozenset(out)
        return found

    def lives(self) -> tuple[np.ndarray, np.ndarray]:
        """(first, last) position at which each value is alive; a value that is never made or read has last < first."""
        n, end = len(self.size), len(self.steps)
        first, last = np.full(n, 0), np.full(n, -1)
        for i, step in enumerate(self.steps):
            for v in step.makes:
                first[v] = last[v] = i
            for v in step.reads:
                for w in self.shown(v):
                    last[w] = i
        for v in self.results:
            for w in self.shown(v):
                last[w] = end
        for v in self.held:
            last[v] = end
        return first, last

    def alive(self) -> np.ndarray:
        """Bytes alive at each position, and one more for the end."""
        first, last = self.lives()
        size = np.asarray(self.size)
        change = np.zeros(len(self.steps) + 2)
        real = last >= first
        np.add.at(change, first[real], size[real])
        np.add.at(change, last[real] + 1, -size[real])
        out = np.cumsum(change)[:-1] + self.constants
        for i, step in enumerate(self.steps):
            out[i] += step.inside
        return out

    def peak(self) -> float:
        """Most bytes alive at once."""
        return float(self.alive().max())

    @property
    def seconds(self) -> float:
        return sum(s.seconds for s in self.steps)


@dataclass(frozen=True, slots=True)
class Item:
    """One step of a replayed program.

    `step` is its number in the original; `copies` says that it is done again.  `reads[i]` is True where operand i is
    the copy of the value instead of the value.  `before` is the step that the copy is made for.
    """

    step: int
    copies: bool
    reads: tuple[bool, ...]
    before: int


@dataclass
class Replay:
    """`line` with the steps in `redo` done again for what reads them behind `split`, as late as possible."""

    line: Line
    split: int
    redo: frozenset[int]
    items: list[Item] = field(init=False)
    guarded: dict[int, list[int]] = field(init=False)
    """Step that copies are made for -> values that are read through a barrier there: they hold the copies back."""

    def __post_init__(self) -> None:
        steps, maker = self.line.steps, self.line.maker
        self.items, self.guarded = [], {}
        self.redo = self._needed()
        done: set[int] = set()
        read_through: set[int] = set()

        def copied(v: int) -> bool:
            return maker.get(v, self.split + 1) <= self.split and maker[v] in self.redo

        def make(i: int, before: int) -> None:
            """Emit step `i` again, what it needs first."""
            stack: list[tuple[int, bool]] = [(i, False)]
            while stack:
                s, ready = stack.pop()
                if s in done:
                    continue
                if ready:
                    done.add(s)
                    reads = tuple(copied(v) for v in steps[s].reads)
                    if not any(reads) and steps[s].reads:
                        # One operand behind a barrier is enough to keep the copy apart and where it is.
                        v = min(steps[s].reads, key=self._hold_cost)
                        if v not in read_through:
                            read_through.add(v)
                            self.guarded.setdefault(before, []).append(v)
                    self.items.append(Item(s, True, reads, before))
                else:
                    stack.append((s, True))
                    stack += [(maker[v], False) for v in steps[s].reads if copied(v)]

        for i, step in enumerate(steps):
            late = i > self.split
            if late:
                for v in step.reads:
                    if copied(v):
                        make(maker[v], i)
            self.items.append(Item(i, False, tuple(late and copied(v) for v in step.reads), i))

    def _needed(self) -> frozenset[int]:
        """`redo` without what shows kept values only and is no larger than they are.

        A compiler may store what this program takes for fused, if it is the same in the forward and the backward part:
        a large value is copied, so that it cannot.
        """
        line = self.line
        out: set[int] = set()
        for i in sorted(self.redo):
            step = line.steps[i]
            if i > self.split:
                continue
            if step.shows and not any(line.maker.get(v) in out for v in step.reads):
                kept = sum(line.size[w] for v in step.shows for w in line.shown(v) if w not in line.held)
                if not step.reads or sum(line.full[v] for v in step.makes) <= kept:
                    continue
            out.add(i)
        return frozenset(out)

    def _hold_cost(self, value: int) -> tuple[float, int]:
        """A small stored value is best to hand through a barrier; one that is no tensor of its own is worst."""
        size = self.line.full[value]
        return (size if size else float("inf"), value)

    def result(self) -> Line:
        """The program with copies, as a line; values through barriers count as copies of their own."""
        line = self.line
        size, full = list(line.size), list(line.full)
        copy: dict[int, int] = {}
        behind: dict[int, int] = {}

        def new(v: int, table: dict[int, int]) -> int:
            table[v] = len(size)
            size.append(line.size[v])
            full.append(line.full[v])
            return table[v]

        steps: list[Step] = []
        opened: set[int] = set()
        for item in self.items:
            step = line.steps[item.step]
            if item.before not in opened:
                opened.add(item.before)
                for v in self.guarded.get(item.before, ()):
                    steps.append(Step((v,), (new(v, behind),), again=False))
            fresh = item.copies and not any(item.reads)
            now: dict[int, int] = {}
            for v, again in zip(step.reads, item.reads, strict=True):
                now[v] = copy[v] if again else behind[v] if fresh and v in behind else v
            makes = tuple(new(v, copy) for v in step.makes) if item.copies else step.makes
            reads, shows = (tuple(now[v] for v in some) for some in (step.reads, step.shows))
            steps.append(Step(reads, makes, step.seconds, step.again, shows, step.inside))
        return Line(steps, size, line.held, line.owned, line.results, full, line.constants)
