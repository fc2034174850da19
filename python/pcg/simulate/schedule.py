"""When every task runs: list scheduling of a program on its streams.  No MLIR here.

A task is ready when what it reads is there.  Of the ready tasks of a stream the first in program order runs, so that
compute continues with later tasks while an earlier one waits for a collective, as under XLA's latency-hiding scheduler.
How far ahead is limited, because what is computed early takes memory.  The body of a loop runs to its end before the
next iteration: XLA does not move collectives out of a loop's body.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pcg.simulate.memory import (
    Box,
    BufferAssignment,
    Liveness,
    assign_buffers,
    best_fit,
    boxes,
    liveness,
    packed,
)
from pcg.simulate.task_graph import COMMUNICATION, COMPUTE, Task, TaskGraph


def _at_once(size: float) -> float:
    """Seconds of copies that take no time."""
    return 0.0


@dataclass(frozen=True)
class ScheduleOptions:
    """How the devices run a program.

    `overlap`: collectives run beside compute; else everything is one stream, in program order.
    `ahead`: how many all-gathers may be done or under way before the first reader of their result has started:
    what is gathered takes memory.  `window`: how many tasks a compute stream may be ahead of its first unfinished one.
    Both defaults are choices that stand for a compiler's memory limit.
    `copy`: seconds of copying so many bytes (read and written).
    `packed`: memory includes the gaps between buffers that have fixed offsets.
    """

    overlap: bool = True
    ahead: int = 4
    window: int = 64
    copy: Callable[[float], float] = _at_once
    packed: bool = False

    def __post_init__(self) -> None:
        for name in ("ahead", "window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: 1 or more")


@dataclass
class Run:
    """One run of a program.

    `start` and `finish` are seconds from the beginning of the program, by task, `started` and `finished` the numbers of
    these events, whose times are `event_times`.  `compute` and `communication` are the seconds of work on the streams,
    loops with all their iterations; `exposed` is communication during which nothing is computed.  `bodies` are the runs
    of the bodies of a task, each as if it started at 0.  `boxes` are what a body needs where memory is packed.
    """

    graph: TaskGraph
    buffers: BufferAssignment
    start: list[float]
    finish: list[float]
    seconds: float
    compute: float
    communication: float
    exposed: float
    liveness: Liveness
    peak: float
    event_times: list[float]
    started: list[int]
    finished: list[int]
    bodies: dict[int, tuple[Run, ...]] = field(default_factory=dict)
    boxes: list[Box] = field(default_factory=list)


def run(graph: TaskGraph, options: ScheduleOptions) -> Run:
    """Schedule `graph`."""
    buffers = assign_buffers(graph)
    bodies = {t: tuple(run(b, options) for b in task.bodies) for t, task in enumerate(graph.tasks) if task.bodies}
    seconds = [
        _seconds(task, bodies.get(t, ()), buffers.copied.get(t, 0.0), options) for t, task in enumerate(graph.tasks)
    ]
    streams = [_streams(task, bodies.get(t, ()), options) for t, task in enumerate(graph.tasks)]
    scheduler = _ListScheduler(graph, buffers, seconds, streams, options)
    scheduler.run()
    return run_at(
        graph, buffers, options, bodies, seconds=seconds, start=scheduler.start, finish=scheduler.finish,
        started=scheduler.started, finished=scheduler.finished, event_times=scheduler.times,
    )  # fmt: skip


def makespan(graph: TaskGraph) -> float:
    """Seconds of `run` on streams that overlap, of a program that copies nothing: only the times, without memory."""
    return _makespan(graph, ScheduleOptions())[0]


def _makespan(graph: TaskGraph, options: ScheduleOptions) -> tuple[float, bool]:
    """Also whether anything is sent."""
    seconds, streams, sends = [], [], False
    for task in graph.tasks:
        inner = [_makespan(b, options) for b in task.bodies]
        both = any(sent for _, sent in inner)
        sends |= both or task.communicates
        seconds.append(task.seconds + task.iterations * max((s for s, _ in inner), default=0.0))
        streams.append((COMPUTE, COMMUNICATION) if both else task.streams)
    scheduler = _ListScheduler(graph, BufferAssignment([]), seconds, streams, options)
    scheduler.run()
    return max(scheduler.finish, default=0.0), sends


def run_at(
    graph: TaskGraph, buffers: BufferAssignment, options: ScheduleOptions, bodies: dict[int, tuple[Run, ...]], *,
    seconds: Sequence[float], start: list[float], finish: list[float], started: list[int], finished: list[int],
    event_times: list[float],
) -> Run:  # fmt: skip
    """The run of `graph` whose tasks take `seconds` and start and end at known times (see `Run`)."""
    inside = [max((b.peak for b in bodies.get(t, ())), default=0.0) for t in range(len(graph.tasks))]
    memory = liveness(graph, buffers, started, finished, len(event_times), inside)
    compute, communication = _totals(graph, buffers, seconds, bodies, options)
    end = max(finish, default=0.0) + options.copy(buffers.final_copies)
    peak, needed = memory.peak, list[Box]()
    if options.packed:
        largest = (max(bodies[t], key=lambda b: b.peak) for t in range(len(graph.tasks)) if inside[t])
        inner = [b.boxes for b in largest]
        if graph.inner:
            needed = boxes(memory, inner)
            peak = best_fit(needed)
        else:
            results = (r for i, r in enumerate(graph.results) if i not in graph.aliases)
            peak = packed(memory, [*graph.arguments, *results], inner) + buffers.copied_results
    return Run(
        graph, buffers, start, finish, end, compute, communication, _exposed(graph.tasks, start, finish, bodies),
        memory, peak, event_times, started, finished, bodies, needed,
    )  # fmt: skip


def _totals(
    graph: TaskGraph, buffers: BufferAssignment, seconds: Sequence[float], bodies: Mapping[int, Sequence[Run]],
    options: ScheduleOptions,
) -> tuple[float, float]:  # fmt: skip
    """Seconds of all compute and of all communication; `seconds` are those of every task."""
    compute, communication = options.copy(buffers.final_copies), 0.0
    for t, task in enumerate(graph.tasks):
        worst = _worst(bodies.get(t, ()))
        if worst is not None:
            compute += task.iterations * worst.compute + options.copy(buffers.copied.get(t, 0.0))
            communication += task.iterations * worst.communication
        elif task.communicates:
            communication += seconds[t]
        else:
            compute += seconds[t]
    return compute, communication


def _worst(bodies: Sequence[Run]) -> Run | None:
    return max(bodies, key=lambda b: b.seconds, default=None)


def _seconds(task: Task, bodies: Sequence[Run], copied: float, options: ScheduleOptions) -> float:
    worst = _worst(bodies)
    inner = task.seconds if worst is None else task.seconds + task.iterations * worst.seconds
    return inner + options.copy(copied)


def _streams(task: Task, bodies: Sequence[Run], options: ScheduleOptions) -> tuple[int, ...]:
    """A task that has others in it takes the streams that these take."""
    if not options.overlap:
        return tuple(sorted({s - s % 2 for s in task.streams or (COMPUTE,)}))
    if bodies and any(b.communication for b in bodies):
        first = task.streams[0] // 2 * 2  # streams of a mesh come in pairs
        return (first + COMPUTE, first + COMMUNICATION)
    return task.streams


def _exposed(
    tasks: Sequence[Task], start: Sequence[float], finish: Sequence[float], bodies: Mapping[int, Sequence[Run]]
) -> float:  # fmt: skip
    """Seconds in which something is sent and nothing computed, on the streams of one device."""
    total = 0.0
    changes: list[tuple[float, int, int]] = []
    for t, task in enumerate(tasks):
        worst = _worst(bodies.get(t, ()))
        if worst is not None:
            total += task.iterations * worst.exposed
        sends = task.communicates
        changes.append((start[t], int(sends), int(not sends)))
        changes.append((finish[t], -int(sends), -int(not sends)))
    sending = computing = 0
    before = 0.0
    for time, s, c in sorted(changes):
        if sending and not computing:
            total += time - before
        sending, computing, before = sending + s, computing + c, time
    return total


class _ListScheduler:
    """The ready tasks of every stream, first in program order first."""

    def __init__(
        self, graph: TaskGraph, buffers: BufferAssignment, seconds: Sequence[float], streams: Sequence[tuple[int, ...]],
        options: ScheduleOptions,
    ) -> None:  # fmt: skip
        tasks = graph.tasks
        self.tasks, self.seconds, self.streams, self.options = tasks, seconds, streams, options
        n = len(tasks)
        self.start, self.finish = [0.0] * n, [0.0] * n
        self.started, self.finished = [0] * n, [0] * n
        self.times = [0.0]
        last: dict[int, int] = {}
        self.rank = [0] * n
        """Number of a task among those of its compute stream."""
        self.of_stream: dict[int, list[int]] = {}
        writer: dict[int, int] = {}
        self.next: list[list[int]] = [[] for _ in range(n)]
        self.waiting = [0] * n
        for t, task in enumerate(tasks):
            before = {writer[v] for v in task.reads if v in writer}
            before.update(task.after, buffers.after.get(t, ()))
            before.discard(t)
            if not options.overlap:
                before.update(last[s] for s in streams[t] if s in last)
                last.update((s, t) for s in streams[t])
            for s in streams[t]:
                if s % 2 == COMPUTE:
                    self.rank[t] = len(self.of_stream.setdefault(s, []))
                    self.of_stream[s].append(t)
            for b in before:
                self.next[b].append(t)
            self.waiting[t] = len(before)
            for v in task.writes:
                writer[v] = t
        self.gathers = self._first_readers(writer) if options.overlap else {}
        self.readers: dict[int, list[int]] = {}
        for gather, reader in self.gathers.items():
            self.readers.setdefault(reader, []).append(gather)

    def _first_readers(self, writer: dict[int, int]) -> dict[int, int]:
        """All-gathers and the first task in program order that reads their result."""
        found: dict[int, int] = {}
        for t, task in enumerate(self.tasks):
            for v in task.reads:
                w = writer.get(v, -1)
                if w >= 0 and self.tasks[w].grows:
                    found.setdefault(w, t)
        return found

    def run(self) -> None:
        n = len(self.tasks)
        ready: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for t in range(n):
            if not self.waiting[t]:
                self._push(ready, t)
        running: list[tuple[float, int]] = []
        busy: set[int] = set()
        done = [False] * n
        lowest = dict.fromkeys(self.of_stream, 0)
        outstanding: dict[tuple[int, ...], int] = {}
        now = 0.0
        left = n
        while left:
            for s, tasks in self.of_stream.items():
                while lowest[s] < len(tasks) and done[tasks[lowest[s]]]:
                    lowest[s] += 1
            reserved: set[int] = set()
            progress = True
            while progress:
                progress = False
                for key in sorted((k for k, h in ready.items() if h), key=lambda k: ready[k][0]):
                    if not ready[key]:
                        continue
                    t = ready[key][0]
                    streams, grows = key
                    forced = not running
                    window = self.options.window
                    if not forced and any(self.rank[t] > lowest[s] + window for s in streams if s in lowest):
                        continue
                    if grows and outstanding.get(streams, 0) >= self.options.ahead and not forced:
                        continue
                    if any(s in busy or s in reserved for s in streams):
                        reserved.update(streams)
                        continue
                    heapq.heappop(ready[key])
                    self.start[t] = now
                    self.started[t] = len(self.times)
                    self.times.append(now)
                    heapq.heappush(running, (now + self.seconds[t], t))
                    busy.update(streams)
                    if grows and t in self.gathers:
                        outstanding[streams] = outstanding.get(streams, 0) + 1
                    for gather in self.readers.get(t, ()):
                        outstanding[self.streams[gather]] -= 1
                    progress = True
            now, _ = running[0]
            while running and running[0][0] <= now:
                _, t = heapq.heappop(running)
                self.finish[t] = now
                self.finished[t] = len(self.times)
                self.times.append(now)
                done[t] = True
                left -= 1
                busy.difference_update(self.streams[t])
                for s in self.next[t]:
                    self.waiting[s] -= 1
                    if not self.waiting[s]:
                        self._push(ready, s)

    def _push(self, ready: dict[tuple[tuple[int, ...], bool], list[int]], t: int) -> None:
        heapq.heappush(ready.setdefault((self.streams[t], self.tasks[t].grows), []), t)
