"""A schedule: the tasks of every device in order, when they run, and what they need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.timing_kernels import memory_peaks, time_orders

KINDS = ("F", "B", "W", "BW")
_TASK = re.compile(r"(F|BW|B|W)(\d+)(?:\.(\d+))?")


class Task(NamedTuple):
    """One step of one microbatch on the device of its stage; BW is a backward pass that is not split."""

    kind: str
    microbatch: int
    stage: int


@dataclass(frozen=True)
class Schedule:
    """An order of the tasks of each device of `pipeline`.

    Raises PipelineError where tasks are missing, are done twice or on another device, or wait for each other.
    """

    pipeline: Pipeline
    order: tuple[tuple[int, ...], ...]
    """By device: tasks as numbers, `(kind * stages + stage) * microbatches + microbatch`."""
    name: str = ""
    start: Floats = field(init=False, repr=False, compare=False)
    """When each task starts, by its number; all start as soon as their device and their inputs are there."""
    end: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        p = self.pipeline
        _check(p, self.order)
        flat, offset = self._arrays
        numbers = 4 * p.stages * p.microbatches
        start, end = np.empty(numbers), np.empty(numbers)
        a = p.arrays
        at, free = np.empty(p.devices, np.int64), np.empty(p.devices)
        done = time_orders(flat, offset, a.device, a.duration, p.transfer, p.microbatches, start, end, at, free)
        if done < len(flat):
            stuck = next(d for d in range(p.devices) if at[d] < offset[d + 1])
            task = self.text(stuck).split()[at[stuck] - offset[stuck]]
            raise PipelineError(f"tasks wait for each other: device {stuck} never starts {task}")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    @property
    def _arrays(self) -> tuple[Ints, Ints]:
        flat = np.array([t for tasks in self.order for t in tasks], np.int64)
        return flat, np.cumsum([0, *(len(tasks) for tasks in self.order)]).astype(np.int64)

    @classmethod
    def from_flat(cls, pipeline: Pipeline, flat: Ints, name: str) -> Schedule:
        """One of split backward passes from the array that the compiled loops fill."""
        offset = pipeline.arrays.offset
        orders = [tuple(flat[a:b].tolist()) for a, b in zip(offset[:-1], offset[1:], strict=True)]
        return cls(pipeline, tuple(orders), name)

    @classmethod
    def parse(cls, pipeline: Pipeline, lines: Sequence[str], name: str = "") -> Schedule:
        """From a line per device as `F0 F1 B0 W0`, or with the stage, `F0.3`, where a device has several."""
        if len(lines) != pipeline.devices:
            raise PipelineError(f"orders of {len(lines)} devices; allowed: one per device, {pipeline.devices}")
        orders = []
        for d, line in enumerate(lines):
            tasks = []
            for word in line.split():
                match = _TASK.fullmatch(word)
                if not match:
                    raise PipelineError(
                        f"task {word!r} of device {d}; allowed: as F0, B0, W0 or BW0, or F0.3 of stage 3"
                    )
                kind, i, stage = match.groups()
                own = pipeline.stages_of(d)
                if stage is None and len(own) > 1:
                    raise PipelineError(f"task {word!r} of device {d} names no stage; allowed: {own}")
                s = int(stage) if stage else own[0]
                if not (s < pipeline.stages and int(i) < pipeline.microbatches):
                    raise PipelineError(
                        f"task {word!r}; allowed: {pipeline.microbatches} microbatches, {pipeline.stages} stages"
                    )
                tasks.append((KINDS.index(kind) * pipeline.stages + s) * pipeline.microbatches + int(i))
            orders.append(tuple(tasks))
        return cls(pipeline, tuple(orders), name)

    def task(self, number: int) -> Task:
        row, i = divmod(number, self.pipeline.microbatches)
        kind, stage = divmod(row, self.pipeline.stages)
        return Task(KINDS[kind], i, stage)

    def text(self, device: int) -> str:
        """The order of a device as `parse` reads it."""
        several = self.pipeline.stages > self.pipeline.devices
        tasks = [self.task(t) for t in self.order[device]]
        return " ".join(f"{t.kind}{t.microbatch}" + (f".{t.stage}" if several else "") for t in tasks)

    def spans(self) -> tuple[float, ...]:
        """By device: from the start of its first task to the end of its last one."""
        return tuple(float(self.end[tasks[-1]] - self.start[tasks[0]]) for tasks in self.order)

    @property
    def span(self) -> float:
        """The longest span: time per step where steps follow each other without a barrier."""
        return max(self.spans())

    @property
    def makespan(self) -> float:
        """From the first start to the last end: time per step where all devices wait for each other after it."""
        return max(float(self.end[tasks[-1]]) for tasks in self.order)

    def objective(self, which: str) -> float:
        return self.span if which == "span" else self.makespan

    def peaks(self) -> tuple[float, ...]:
        """By device: the most memory of activations after any task."""
        flat, offset = self._arrays
        peak = np.empty(self.pipeline.devices)
        memory_peaks(flat, offset, self.pipeline.arrays.change, self.pipeline.microbatches, peak)
        return tuple(peak.tolist())

    def exceeded(self) -> int | None:
        """The first device whose memory is more than its limit."""
        over = (d for d, (p, m) in enumerate(zip(self.peaks(), self.pipeline.limit, strict=True)) if p > m * (1 + 1e-9))
        return next(over, None)


def _check(p: Pipeline, order: Sequence[Sequence[int]]) -> None:
    """Every F once, and every B and W or the BW of both, on the device of its stage."""
    if len(order) != p.devices:
        raise PipelineError(f"orders of {len(order)} devices; allowed: one per device, {p.devices}")
    owner = np.array(p.device)
    count = np.zeros((4, p.stages, p.microbatches), np.int64)
    for d, tasks in enumerate(order):
        numbers = np.array(tasks, np.int64)
        wrong = (numbers < 0) | (numbers >= count.size)
        stage = numbers // p.microbatches % p.stages
        wrong |= owner[stage] != d
        if wrong.any():
            t = int(numbers[wrong.argmax()])
            raise PipelineError(f"device {d} has task {t}; allowed: tasks of its stages, {p.stages_of(d)}")
        count += np.bincount(numbers, minlength=count.size).reshape(count.shape)
    f, b, w, bw = count
    several = np.argwhere((f != 1) | (b + bw != 1) | (w + bw != 1))
    if len(several):
        stage, i = several[0].tolist()
        found = " ".join(f"{n} {k}" for n, k in zip(count[:, stage, i].tolist(), KINDS, strict=True))
        raise PipelineError(f"microbatch {i} has {found} on stage {stage}; allowed: 1 F, and 1 B and 1 W or 1 BW")
