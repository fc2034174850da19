"""What is in memory where a run needs the most.  No MLIR here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pcg.simulate.memory import CONSTANTS
from pcg.simulate.program import Task
from pcg.simulate.schedule import Run


@dataclass(frozen=True)
class Held:
    """Values alike that are in memory at the peak: `count` of them, `bytes` together on one device.

    `name` is the op that made them (what a loop carries: the op that makes its next value), `where` that op's source
    line, `depth` the number of loops that are around it.
    """

    name: str
    where: str
    bytes: float
    count: int
    depth: int = 0

    def __str__(self) -> str:
        times = f" x{self.count}" if self.count > 1 else ""
        return f"{self.name}{times}" + (f" at {self.where}" if self.where else "")


def held(run: Run) -> tuple[Held, ...]:
    """What is in memory at the peak of `run`, largest first, with what is in the loop that runs then."""
    sums: dict[tuple[str, str, int], tuple[float, int]] = {}
    for name, where, size, depth in _held(run, 0):
        bytes_, count = sums.get((name, where, depth), (0.0, 0))
        sums[name, where, depth] = bytes_ + size, count + 1
    found = [Held(name, where, b, n, depth) for (name, where, depth), (b, n) in sums.items()]
    return tuple(sorted(found, key=lambda h: (-h.bytes, h.name, h.where)))


def _held(run: Run, depth: int) -> Iterator[tuple[str, str, float, int]]:
    event = run.alive.peak_event
    makers = {w: task for task in run.program.tasks for w in task.writes}
    for value, size in run.alive.values(event):
        task = makers.get(value)
        while task is not None and value in task.passed:
            value = task.passed[value]
            task = makers.get(value)
        if value == CONSTANTS:
            yield "constants", "", size, depth
        elif task is None:
            yield run.program.names.get(value, "constant"), "", size, depth
        else:
            yield (*_made(task, value), size, depth)
    for t, bodies in run.bodies.items():
        if bodies and run.started[t] <= event < run.finished[t]:
            yield from _held(max(bodies, key=lambda b: b.peak), depth + 1)


def _made(task: Task, value: int) -> tuple[str, str]:
    """The name and source line of what made a value."""
    if task.kind == "loop":
        result = task.bodies[0].results[task.writes.index(value)]
        maker = task.bodies[0].maker(result)
        if maker is None:
            return "carry of a loop", task.where
        if maker.kind == "loop":
            return _made(maker, result)
        return f"carry of a loop, {maker.name}", maker.where or task.where
    return task.name, task.where
