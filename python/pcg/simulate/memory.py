"""Which memory every value is in, and how much is alive when.  No MLIR here.

Values become buffers by the rules of XLA's buffer assignment, after the order is fixed: an update in place takes over
the memory of what it updates where nothing reads that later and copies it first where something does; an elementwise
kernel may write over an operand after its last use; what a loop carries stays in one buffer over all iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.simulate.task_graph import TaskGraph

#: The number of constants, all together, among buffers and among values.
CONSTANTS = -1


@dataclass
class BufferAssignment:
    """The buffers of a program: `buffer[v]` is that of value `v`, -1 for memory that belongs to what is around it.

    `after[t]` are tasks that task `t` waits for because it writes over what they read; `copied[t]` are the bytes that
    it copies first; `final_copies` are bytes copied when all tasks are done, for results that are not in their buffer,
    and `copied_results` the bytes of memory that these copies take: none where they go into the memory of an argument.
    """

    buffer: list[int]
    after: dict[int, list[int]] = field(default_factory=dict)
    copied: dict[int, float] = field(default_factory=dict)
    final_copies: float = 0.0
    copied_results: float = 0.0


def assign_buffers(graph: TaskGraph) -> BufferAssignment:
    """Assign buffers to the values of `graph`, in program order."""
    return _BufferAssigner(graph).run()


class _BufferAssigner:
    def __init__(self, graph: TaskGraph) -> None:
        self.p = graph
        self.same: dict[int, int] = {}
        """A result of a loop that passes a value through unchanged -> that value."""
        self.readers: dict[int, list[int]] = {}
        for t, task in enumerate(graph.tasks):
            for v in task.reads:
                self.readers.setdefault(self.same.get(v, v), []).append(t)
            for w, v in task.passed.items():
                self.same[w] = self.same.get(v, v)
        self.returned = frozenset(self.same.get(r, r) for r in graph.results)
        self.argument = {v: i for i, v in enumerate(graph.arguments)}
        self.buffer = [-2] * len(graph.sizes)
        self.content: dict[int, int] = {}
        """Buffer -> the value in it; external buffers are numbered from -3 down."""
        self.size: dict[int, float] = {}
        self.out = BufferAssignment(self.buffer)
        self.targets: dict[int, int] = {}
        self.next = 0

    def run(self) -> BufferAssignment:
        p = self.p
        inner = bool(p.inner)
        for i, v in enumerate(p.arguments):
            b = -3 - i if inner else self._new(p.sizes[v])
            self.buffer[v], self.content[b], self.size[b] = b, v, p.sizes[v]
        for i, r in enumerate(p.results):
            target = self._target(i)
            if target is not None and r not in self.targets:
                self.targets[r] = target
        for t, task in enumerate(p.tasks):
            for w in task.writes:
                self._write(t, w, task.over.get(w, ()), task.must)
        seen: set[int] = set()
        for i, r in enumerate(self.same.get(r, r) for r in p.results):
            target = self._target(i)
            misplaced = self.buffer[r] != target if target is not None else r in self.argument
            if misplaced or r in seen:
                self.out.final_copies += p.sizes[r]
                self.out.copied_results += p.sizes[r] if target is None else 0.0
            seen.add(r)
        self.buffer[:] = [b if b >= 0 else -1 for b in self.buffer]
        return self.out

    def _new(self, size: float) -> int:
        self.next += 1
        self.size[self.next - 1] = size
        return self.next - 1

    def _target(self, i: int) -> int | None:
        """The buffer that result `i` must be in."""
        p = self.p
        if p.inner == "loop":
            return -3 - i
        if p.inner == "branch":
            return -3 - len(p.arguments) - i
        if i in p.aliases:
            return self.buffer[p.arguments[p.aliases[i]]]
        return None

    def _free(self, b: int, t: int, by: Sequence[int]) -> bool:
        """Whether task `t` may write over what is in buffer `b`; it may itself read the values `by` of it."""
        v = self.content.get(b)
        if v is None:
            return True
        if v in self.returned:
            return False
        if not self.p.inner and v in self.argument and self.argument[v] not in self.p.donated:
            return False
        last = max(self.readers.get(v, ()), default=-1)
        return last < t or (last == t and v in by)

    def _write(self, t: int, w: int, over: Sequence[int], must: bool) -> None:
        if w in self.same:
            v = self.same[w]
            b = self.buffer[w] = self.buffer[v]
            if self._free(b, t, over):
                self._wait(t, v)
            else:  # its time counts as that of a copy, though it takes no memory
                self.out.copied[t] = self.out.copied.get(t, 0.0) + self.p.sizes[w]
            return
        target = self.targets.get(w)
        candidates = [self.buffer[c] for c in over if self.buffer[c] != -2]
        if target is not None:
            candidates.insert(0, target)
        for b in candidates:
            if self.size.get(b, self.p.sizes[w]) == self.p.sizes[w] and self._free(b, t, over):
                self._take(t, w, b)
                return
        if must and candidates:
            self.out.copied[t] = self.out.copied.get(t, 0.0) + self.p.sizes[w]
        b = self._new(self.p.sizes[w])
        self.buffer[w], self.content[b] = b, w

    def _take(self, t: int, w: int, b: int) -> None:
        old = self.content.get(b)
        if old is not None:
            self._wait(t, old)
        self.buffer[w], self.content[b] = b, w

    def _wait(self, t: int, v: int) -> None:
        """Task `t` waits for those that read value `v`."""
        if earlier := [r for r in self.readers.get(v, ()) if r < t]:
            self.out.after.setdefault(t, []).extend(earlier)


@dataclass(frozen=True)
class Liveness:
    """Bytes alive after every event of a run, and at the peak.

    `spans` says of every buffer its size and the events from which to which its values are alive; `inside` are
    bytes that tasks need while they run, with the events of their start and end.
    """

    at: list[float]
    peak: float
    peak_event: int
    spans: dict[int, tuple[float, list[tuple[int, int, int]]]]
    inside: list[tuple[float, int, int]]

    def values(self, event: int) -> list[tuple[int, float]]:
        """What is in memory after an event: (value, bytes of its buffer), largest first."""
        found = []
        for size, spans in self.spans.values():
            here = [v for s, e, v in spans if s <= event < e]
            if here and size:
                found.append((here[-1], size))
        return sorted(found, key=lambda x: (-x[1], x[0]))


def liveness(
    graph: TaskGraph, buffers: BufferAssignment, started: Sequence[int], finished: Sequence[int], events: int,
    inside: Sequence[float],
) -> Liveness:  # fmt: skip
    """How much is alive from each event to the next.

    `started[t]` and `finished[t]` are the numbers of the events at which task `t` starts and ends, `inside[t]` what it
    needs beyond its results while it runs.
    """
    p = graph
    change = [0.0] * (events + 2)
    within: list[tuple[float, int, int]] = []
    last: dict[int, int] = {}
    first: dict[int, int] = {}
    for v in p.arguments:
        first[v], last[v] = 0, 0
    for t, task in enumerate(p.tasks):
        for v in task.reads:
            last[v] = max(last.get(v, 0), finished[t])
        for v in task.writes:
            first[v] = started[t]
            last[v] = max(last.get(v, 0), finished[t])
        if inside[t]:
            within.append((inside[t], started[t], finished[t]))
            change[started[t]] += inside[t]
            change[finished[t]] -= inside[t]
    if p.constants:
        change[0] += p.constants
    kept = set(p.results) if not p.inner else {r for r in p.results if buffers.buffer[r] >= 0}
    spans: dict[int, tuple[float, list[tuple[int, int, int]]]] = {}
    for i, v in enumerate(p.arguments):
        if i not in p.donated:
            last[v] = events + 1
    for v, start in first.items():
        b = buffers.buffer[v]
        if b < 0:
            continue
        size, of = spans.get(b, (0.0, []))
        of.append((start, events + 1 if v in kept else last.get(v, start), v))
        spans[b] = max(size, p.sizes[v]), of
    for size, of in spans.values():
        of.sort()
        begin, end, _ = of[0]
        for s, e, _ in of[1:]:
            if s <= end:
                end = max(end, e)
                continue
            change[begin] += size
            change[end] -= size
            begin, end = s, e
        change[begin] += size
        change[end] -= size
    change[events] += buffers.copied_results
    now, at = 0.0, []
    for c in change[: events + 1]:
        now += c
        at.append(now)
    peak = max(at, default=0.0)
    if p.constants:
        spans[CONSTANTS] = p.constants, [(0, events + 1, CONSTANTS)]
    return Liveness(at, peak, at.index(peak) if at else 0, spans, within)


#: Bytes, and the events from which to which they are needed; in what runs inside a task shares of an event.
Box = tuple[float, float, float]


def boxes(found: Liveness, inner: Sequence[Sequence[Box]]) -> list[Box]:
    """What a program needs that runs inside a task, in events from 0 to 1; `inner`: of what runs inside its own tasks,
    for each of `found.inside`.
    """
    own = [(size, *_alive(of)) for size, of in found.spans.values() if size]
    return [(size, first / len(found.at), last / len(found.at)) for size, first, last in [*own, *_nested(found, inner)]]


def packed(found: Liveness, own: Collection[int], inner: Sequence[Sequence[Box]]) -> float:
    """Bytes that a program takes as XLA assigns them, at least those alive at the peak; `inner` as in `boxes`.

    Values in `own`, the arguments and the results that take over the memory of none, have each an allocation of its own
    from the beginning to the end.  What is needed in between goes into those of results while these are not there, if
    it fits, and else into one allocation with an offset for every buffer, by XLA's best fit.
    """
    kept, rest, total = list[tuple[float, list[tuple[float, float]]]](), _nested(found, inner), 0.0
    own = {CONSTANTS, *own}
    for size, of in found.spans.values():
        first, last = _alive(of)
        if own.isdisjoint(v for _, _, v in of):
            rest.append((size, first, last))
            continue
        total += size
        if last == len(found.at):  # a result is in it at the end
            kept.append((size, [(s, e) for s, e, _ in of]))
    kept.sort(key=lambda r: r[0])
    left = list[Box]()
    for box in sorted(rest, key=_largest_first):
        size, begin, end = box
        fits = (spans for room, spans in kept if room >= size and all(e <= begin or end <= s for s, e in spans))
        spans = next(fits, None)
        if spans is None:
            left.append(box)
        else:
            spans.append((begin, end))
    return total + best_fit(left)


def _alive(of: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """From which event to which a buffer is needed."""
    return min(s for s, _, _ in of), max(e for _, e, _ in of)


def _nested(found: Liveness, inner: Sequence[Sequence[Box]]) -> list[Box]:
    return [
        (size, start + first * (end - start), start + last * (end - start))
        for (_, start, end), some in zip(found.inside, inner, strict=True)
        for size, first, last in some
    ]


def _largest_first(box: Box) -> Box:
    """Of boxes of one size those that live longest come first."""
    size, first, last = box
    return -size, first - last, first


def best_fit(rest: Sequence[Box]) -> float:
    """Bytes of one allocation for boxes: the largest first, each in the smallest gap that is free while it is alive."""
    if not rest:
        return 0.0
    sizes, first, last = (np.array([b[i] for b in rest]) for i in range(3))
    offset = np.zeros(len(rest))
    top = 0.0
    for i in range(len(rest)):
        clash = np.flatnonzero((first[:i] < last[i]) & (first[i] < last[:i]))
        starts, ends = offset[clash], offset[clash] + sizes[clash]
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(np.concatenate(([0.0], ends[order])))
        gaps = np.append(starts, np.inf) - ends
        fits = np.flatnonzero(gaps >= sizes[i])
        at = fits[np.argmin(gaps[fits])]
        offset[i] = ends[at]
        top = max(top, offset[i] + sizes[i])
    return float(top)
