"""What is in memory where a run needs the most.  No MLIR here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pcg.simulate.memory import CONSTANTS
from pcg.simulate.schedule import Run
from pcg.simulate.task_graph import Task


@dataclass(frozen=True)
class PeakValue:
    """Values of one op that are in memory at the peak: `count` of them, `bytes` together on one device.

    `name` is their defining op (of what a loop carries: that of its next value), `where` that op's source line, `depth`
    the number of loops around it.
    """

    name: str
    where: str
    bytes: float
    count: int
    depth: int = 0

    def __str__(self) -> str:
        times = f" x{self.count}" if self.count > 1 else ""
        return f"{self.name}{times}" + (f" at {self.where}" if self.where else "")


def peak_values(run: Run) -> tuple[PeakValue, ...]:
    """What is in memory at the peak of `run`, largest first, with what is in the loop that runs then."""
    sums: dict[tuple[str, str, int], tuple[float, int]] = {}
    for name, where, size, depth in _values(run, 0):
        bytes_, count = sums.get((name, where, depth), (0.0, 0))
        sums[name, where, depth] = bytes_ + size, count + 1
    found = [PeakValue(name, where, b, n, depth) for (name, where, depth), (b, n) in sums.items()]
    return tuple(sorted(found, key=lambda h: (-h.bytes, h.name, h.where)))


def _values(run: Run, depth: int) -> Iterator[tuple[str, str, float, int]]:
    event = run.liveness.peak_event
    writers = {w: task for task in run.graph.tasks for w in task.writes}
    for value, size in run.liveness.values(event):
        task = writers.get(value)
        while task is not None and value in task.passed:
            value = task.passed[value]
            task = writers.get(value)
        if value == CONSTANTS:
            yield "constants", "", size, depth
        elif task is None:
            yield run.graph.names.get(value, "constant"), "", size, depth
        else:
            yield (*_defining_op(task, value), size, depth)
    for t, bodies in run.bodies.items():
        if bodies and run.started[t] <= event < run.finished[t]:
            yield from _values(max(bodies, key=lambda b: b.peak), depth + 1)


def _defining_op(task: Task, value: int) -> tuple[str, str]:
    """The name and source line of the op that defines a value which `task` writes."""
    if task.kind != "loop":
        return task.name, task.where
    body = task.bodies[0]
    result = body.results[task.writes.index(value)]
    if (writer := body.writers().get(result)) is None:
        return "carry of a loop", task.where
    inner = body.tasks[writer]
    if inner.kind == "loop":
        return _defining_op(inner, result)
    return f"carry of a loop, {inner.name}", inner.where or task.where
