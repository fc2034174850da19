"""Runs as Chrome traces, which Perfetto opens: a process per device, a thread per stream, a counter of its memory.

The format is the JSON form of the Trace Event Format: complete events (`X`) with microseconds, metadata (`M`) that
names processes and threads, and counters (`C`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcg.simulate.schedule import Run
from pcg.simulate.task_graph import COMMUNICATION, COMPUTE

#: Iterations of a loop that are shown one by one, and events of a trace beyond which only one is.  Choices: what a
#: person looks at, and what a viewer opens at once.
_ITERATIONS = 4
_EVENTS = 200_000


def write_trace(path: str | Path, runs: Mapping[str, Run]) -> None:
    """Write the trace of the runs of devices, by the devices' names."""
    events: list[dict[str, Any]] = []
    for pid, (name, run) in enumerate(runs.items()):
        events += process(pid, name, {COMPUTE: "compute", COMMUNICATION: "communication"})
        budget = [_EVENTS]
        events += _tasks(run, pid, 0.0, budget)
        events += _memory(run, pid)
    write_events(path, events)


def write_events(path: str | Path, events: Sequence[dict[str, Any]]) -> None:
    """Write a trace of these events."""
    trace = {"traceEvents": events, "displayTimeUnit": "ms"}
    Path(path).write_text(json.dumps(trace), encoding="utf-8")


def process(pid: int, name: str, threads: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Events that name a device and its streams."""
    yield _metadata("process_name", pid, 0, name)
    for tid, text in threads.items():
        yield _metadata("thread_name", pid, tid, text)


def complete(
    name: str, category: str, pid: int, tid: int, start: float, seconds: float, args: Mapping[str, Any]
) -> dict[str, Any]:
    """The event of a task."""
    return {
        "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, "ts": 1e6 * start, "dur": 1e6 * seconds,
        "args": dict(args),
    }  # fmt: skip


def memory_counter(pid: int, time: float, amount: float) -> dict[str, Any]:
    """The event of a change of a device's memory, to `amount` bytes."""
    return {"ph": "C", "name": "memory", "pid": pid, "ts": 1e6 * time, "args": {"bytes": amount}}


def _metadata(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _tasks(run: Run, pid: int, at: float, budget: list[int]) -> Iterator[dict[str, Any]]:
    for t, task in enumerate(run.graph.tasks):
        if task.kind == "barrier":
            continue
        budget[0] -= 1
        start, seconds = at + run.start[t], run.finish[t] - run.start[t]
        args: dict[str, Any] = {k: v for k, v in task.detail.items() if v and k != "joint"}
        args |= {k: v for k, v in (("bytes", task.bytes), ("flops", task.flops), ("at", task.where)) if v}
        if task.kind == "loop":
            args["iterations"] = task.iterations
        yield complete(task.name, task.kind, pid, COMMUNICATION if task.communicates else COMPUTE, start, seconds, args)
        bodies = run.bodies.get(t, ())
        if not bodies:
            continue
        body = max(bodies, key=lambda b: b.seconds)
        first = start + seconds - task.iterations * body.seconds
        shown = min(task.iterations, _ITERATIONS if budget[0] > 0 else 1)
        left = task.iterations - shown
        for k in range(shown):
            yield from _tasks(body, pid, first + k * body.seconds, budget)
        if left and body.seconds:
            begin, length = first + shown * body.seconds, left * body.seconds
            yield complete(f"{left} more iterations", "loop", pid, COMPUTE, begin, length, {})


def _memory(run: Run, pid: int) -> Iterator[dict[str, Any]]:
    """Bytes alive whenever they change; of what happens at one time the most."""
    last = -1.0
    most: dict[float, float] = {}
    for time, bytes_ in zip(run.event_times, run.liveness.at, strict=False):
        most[time] = max(most.get(time, 0.0), bytes_)
    for time, bytes_ in most.items():
        if bytes_ != last:
            yield memory_counter(pid, time, bytes_)
        last = bytes_
