"""What devices do when, as a schedule plans it or as it was measured: what pages and traces are drawn of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcg.machine.units import bytes_text, time_text
from pcg.pipeline.bounds import bounds
from pcg.pipeline.instructions import Instructions, Run
from pcg.pipeline.ordering import AFTER, BEFORE, timed_runs
from pcg.pipeline.progress import memory
from pcg.pipeline.schedule import Schedule

#: What tasks of pipelines are, in the order of their numbers.
KINDS = {
    "F": "forward pass",
    "B": "gradient of the stage's input",
    "W": "gradient of its parameters",
    "BW": "backward pass that is not split",
    "prepare": "before all microbatches",
    "update": "after all microbatches",
    "deferred": "what is left to do of the step before",
}


@dataclass(frozen=True)
class Event:
    """A task of a device."""

    device: int
    label: str
    """Drawn in it where there is room."""
    kind: str
    """One of `KINDS`."""
    start: float
    end: float
    about: tuple[str, ...] = ()
    """What it is, and what follows from it elsewhere: lines."""
    shade: int = 0
    """Tasks of one kind are drawn darker or paler by it: the chunk."""


@dataclass(frozen=True)
class Timeline:
    """Tasks of devices, and their memory.

    Raises ValueError for tasks of devices or kinds that are not there, and for those that end before they start.
    """

    title: str
    devices: tuple[str, ...]
    """Names."""
    events: tuple[Event, ...]
    memory: tuple[tuple[tuple[float, float], ...], ...] = ()
    """By device: (time, memory from then on), by time; empty: not known."""
    limits: tuple[float, ...] = ()
    """By device; empty: none."""
    figures: tuple[tuple[str, str], ...] = ()
    """(name, value) of what is shown above it."""
    units: bool = False
    """Times are seconds and memory is bytes; else both have any unit."""

    def __post_init__(self) -> None:
        for e in self.events:
            if not (0 <= e.device < len(self.devices) and e.kind in KINDS and e.start <= e.end):
                raise ValueError(f"task {e}; allowed: devices 0 to {len(self.devices) - 1}, kinds {', '.join(KINDS)}")

    @property
    def end(self) -> float:
        return max((e.end for e in self.events), default=0.0)

    @property
    def time_text(self) -> Callable[[float], str]:
        return time_text if self.units else _plain

    @property
    def memory_text(self) -> Callable[[float], str]:
        return bytes_text if self.units else _plain

    def peak(self, device: int) -> float:
        return max((amount for _, amount in self.memory[device]), default=0.0)


def planned(s: Schedule) -> Timeline:
    """A schedule, with the memory of activations, and how far it is from what no schedule is better than."""
    p, bound = s.pipeline, bounds(s.pipeline)
    events, samples = [], []
    for d, tasks in enumerate(s.order):
        stages = p.stages_of(d)
        now, own = 0.0, [(0.0, 0.0)]
        for t in tasks:
            kind, i, stage = s.task(t)
            start, end = float(s.start[t]), float(s.end[t])
            what = f"{kind} of microbatch {i}" + (f", stage {stage}" if len(stages) > 1 else "")
            about = (what, f"{start:g} to {end:g}, {end - start:g}", *_transfer(s, kind, stage, end))
            events.append(Event(d, str(i), kind, start, end, about, stages.index(stage)))
            kept, rest = p.activation[stage], p.residual[stage]
            now += {"F": kept, "B": rest - kept, "W": -rest, "BW": -kept}[kind]
            own.append((start if kind == "F" else end, now))
        samples.append(tuple(own))
    figures = tuple(
        (name, f"{found:g}, lower bound {least:g} ({100 * (found / least - 1):.2f}% above it), bubble"
               f" {100 * (1 - max(p.work) / found):.2f}%")
        for name, found, least in (("span", s.span, bound.span), ("makespan", s.makespan, bound.makespan))
    )  # fmt: skip
    title = f"{s.name}: {p.stages} stages on {p.devices} devices, {p.microbatches} microbatches"
    names = tuple(f"device {d}" for d in range(p.devices))
    return Timeline(title, names, tuple(events), tuple(samples), p.limit, figures)


def planned_step(s: Schedule, instructions: Instructions, limits: tuple[float, ...] = ()) -> Timeline:
    """Instructions at the times of the schedule that they are of, in seconds, with all memory, in bytes.

    What is before and after the microbatches takes no time in a schedule.
    """
    step = instructions.step
    events, samples = [], []
    for d, found in enumerate(instructions.lists):
        when = {}
        for (phase, start), (_, end), run in timed_runs(step, s, d):
            outside = {BEFORE: 0.0, AFTER: s.makespan}.get(phase)
            when[run.fragment, run.microbatch] = (start, end) if outside is None else (outside, outside)
        now, own = 0.0, []
        for what, amount in zip((*found, None), memory(instructions, d), strict=True):
            if isinstance(what, Run):
                start, end = when[what.fragment, what.microbatch]
                f = step.fragment[what.fragment]
                label = "" if what.microbatch is None else str(what.microbatch)
                about = (str(what), f"{time_text(start)} to {time_text(end)}")
                shade = s.pipeline.stages_of(d).index(f.stage) if f.varying else 0
                events.append(Event(d, label, f.kind, start, end, about, shade))
                own.append((start, float(amount)))
                now = end
            else:
                own.append((now, float(amount)))
        samples.append(tuple(own))
    names = tuple(f"device {d}" for d in range(step.devices))
    return Timeline(f"{s.name}, planned", names, tuple(events), tuple(samples), limits, units=True)


def _transfer(s: Schedule, kind: str, stage: int, end: float) -> Iterator[str]:
    """Where the result of a task goes."""
    p = s.pipeline
    to = {"F": stage + 1, "B": stage - 1, "BW": stage - 1, "W": -1}[kind]
    if 0 <= to < p.stages and p.device[to] != p.device[stage]:
        yield f"to device {p.device[to]}, there at {end + p.transfer:g}"


def write_trace(path: str | Path, timeline: Timeline, seconds: float = 1.0) -> None:
    """Write a trace as that of a simulation; a unit of time is so many seconds."""
    from pcg.simulate import trace  # loads the bindings

    events: list[dict[str, Any]] = []
    for d, name in enumerate(timeline.devices):
        events += trace.process(d, name, {0: "compute"})
    for e in timeline.events:
        length = seconds * (e.end - e.start)
        args = {"about": "; ".join(e.about)}
        events.append(trace.complete(f"{e.kind}{e.label}", e.kind, e.device, 0, seconds * e.start, length, args))
    for d, samples in enumerate(timeline.memory):
        events += [trace.memory_counter(d, seconds * time, amount) for time, amount in samples]
    trace.write_events(path, events)


def _plain(x: float) -> str:
    return f"{x:g}"
