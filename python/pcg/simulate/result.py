"""What a simulation found.  No MLIR here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcg.machine.units import bytes_text, time_text
from pcg.simulate.peak import PeakValue, peak_values
from pcg.simulate.schedule import Run
from pcg.simulate.trace import write_trace

#: Rows that a printed simulation has of what is in memory at the peak.  A choice: a short list.
_LARGEST = 8


@dataclass(frozen=True)
class Event:
    """All executions of one task in a step: `times` of them, each of `seconds`, the first from `start`.

    `kind` is compute, collective, transfer, loop or branch; what is inside of a loop follows it, with `depth` one more.
    """

    name: str
    kind: str
    start: float
    seconds: float
    times: int
    where: str
    bytes: float
    flops: float
    depth: int = 0
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Simulation:
    """One step of a program on one device of a mesh; it is the same on all devices.

    Seconds: `seconds` of the step, `compute` and `communication` of all work on the two streams, `exposed` of
    communication during which nothing is computed.  Bytes per device: `peak_bytes`, of which `argument_bytes` are there
    from the start; `allocations` are those that the step makes: each result that does not take the memory of a donated
    argument, and all temporaries as one.
    """

    seconds: float
    compute: float
    communication: float
    exposed: float
    peak_bytes: float
    argument_bytes: float
    allocations: tuple[float, ...]
    run: Run = field(repr=False, compare=False)
    name: str = "step"

    @property
    def events(self) -> tuple[Event, ...]:
        """What runs, in the order in which it starts."""
        return tuple(_events(self.run, 1, 0, 0.0))

    @property
    def peak_values(self) -> tuple[PeakValue, ...]:
        """What is in memory at the peak, largest first."""
        return peak_values(self.run)

    @property
    def communication_bytes(self) -> float:
        """Bytes that one device sends per step."""
        return sum(e.bytes * e.times for e in self.events if e.kind in ("collective", "transfer"))

    @property
    def flops(self) -> float:
        """Operations that one device does per step."""
        return sum(e.flops * e.times for e in self.events)

    def write_trace(self, path: str | Path) -> None:
        """Write the step as a Chrome trace (JSON), which ui.perfetto.dev opens."""
        write_trace(path, {self.name: self.run})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "seconds": self.seconds, "compute": self.compute, "communication": self.communication,
            "exposed": self.exposed, "peak_bytes": self.peak_bytes, "argument_bytes": self.argument_bytes,
            "communication_bytes": self.communication_bytes, "flops": self.flops,
        }  # fmt: skip

    def top(self, count: int = 10) -> list[tuple[str, int, float]]:
        """What takes longest: (name with source line, executions, seconds of all of them)."""
        sums: dict[str, tuple[int, float]] = {}
        for e in self.events:
            if e.kind in ("loop", "branch"):
                continue
            axes = e.detail.get("axes", ())
            assert isinstance(axes, tuple)
            key = e.name + (f" over {'+'.join(axes)}" if axes else "") + (f" at {e.where}" if e.where else "")
            times, seconds = sums.get(key, (0, 0.0))
            sums[key] = times + e.times, seconds + e.times * e.seconds
        ranked = sorted(sums.items(), key=lambda x: (-x[1][1], x[0]))
        return [(name, times, seconds) for name, (times, seconds) in ranked[:count]]

    def __str__(self) -> str:
        lines = [
            f"step            {time_text(self.seconds)}",
            f"  compute       {time_text(self.compute)}  {self.flops / 1e9:.3g} GFLOP per device",
            f"  communication {time_text(self.communication)}  {bytes_text(self.communication_bytes)} sent per device, "
            f"{time_text(self.exposed)} of it exposed",
            f"  memory        {bytes_text(self.peak_bytes)} at the peak, {bytes_text(self.argument_bytes)} of it "
            "arguments",
        ]
        total = self.compute + self.communication
        rows = self.top()
        if rows and total:
            width = max(len(n) for n, _, _ in rows)
            lines += [f"  {'longest':{width}s}  times     seconds  share"]
            lines += [f"  {n:{width}s} {t:6d} {time_text(s):>11s} {100 * s / total:5.1f}%" for n, t, s in rows]
        if largest := [h for h in self.peak_values[:_LARGEST] if h.bytes]:
            width = max(len(str(h)) for h in largest)
            lines += [f"  {'largest at the peak':{width}s}        bytes  share"]
            lines += [
                f"  {h!s:{width}s} {bytes_text(h.bytes):>12s} {100 * h.bytes / self.peak_bytes:5.1f}%" for h in largest
            ]
        return "\n".join(lines)


def _events(run: Run, times: int, depth: int, at: float) -> Iterator[Event]:
    tasks = run.graph.tasks
    for t in sorted(range(len(tasks)), key=lambda t: (run.start[t], t)):
        task = tasks[t]
        yield Event(
            task.name, task.kind, at + run.start[t], run.finish[t] - run.start[t], times, task.where, task.bytes,
            task.flops, depth, task.detail,
        )  # fmt: skip
        bodies = run.bodies.get(t, ())
        if bodies:
            slowest = max(bodies, key=lambda b: b.seconds)
            yield from _events(slowest, times * task.iterations, depth + 1, at + run.start[t])


def of_run(run: Run, name: str) -> Simulation:
    """The summary of a run."""
    graph = run.graph
    arguments = sum(graph.sizes[v] for v in graph.arguments)
    results = [graph.sizes[v] for i, v in enumerate(graph.results) if i not in graph.aliases]
    temporaries = max(0.0, run.peak - arguments - sum(results) - graph.constants)
    return Simulation(
        run.seconds, run.compute, run.communication, run.exposed, run.peak, arguments, (*results, temporaries), run,
        name,
    )  # fmt: skip
