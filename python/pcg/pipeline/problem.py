"""A pipeline to be scheduled: its stages, what they cost, what they remember, and how much each device may."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcg.kernels.native import Floats, Ints
from pcg.pipeline.errors import MemoryLimitError, PipelineError


@dataclass(frozen=True)
class Pipeline:
    """`microbatches` that pass forward (F) through all stages and backward (B) through them, with a weight gradient (W)
    of each stage some time after its B.

    Times have any one unit, memory has another; both are those of the schedules that are found.
    """

    device: tuple[int, ...]
    """The device of each stage, in the order of the forward pass; devices are 0, 1, ..."""
    microbatches: int
    forward: tuple[float, ...]
    """Time of F, by stage."""
    backward: tuple[float, ...]
    """Time of B, the gradient with respect to the stage's input."""
    weight: tuple[float, ...]
    """Time of W, the gradient with respect to its parameters."""
    transfer: float = 0.0
    """Latency between two devices; they go on meanwhile."""
    activation: tuple[float, ...] = ()
    """Memory of a microbatch from its F to its B, by stage; empty: 1 per device, in equal parts."""
    residual: tuple[float, ...] = ()
    """The part of it that remains until its W; empty: half."""
    limit: tuple[float, ...] = ()
    """The most memory of activations, by device; empty: no limit."""

    def __post_init__(self) -> None:
        stages = len(self.device)
        if not stages or sorted(set(self.device)) != list(range(max(self.device) + 1)):
            raise PipelineError(
                f"devices of stages {list(self.device)}; allowed: 0 to the last one, each at least once"
            )
        if self.microbatches < 1:
            raise PipelineError(f"{self.microbatches} microbatches; allowed: 1 or more")
        if not self.activation:
            share = tuple(1.0 / self.device.count(d) for d in self.device)
            object.__setattr__(self, "activation", share)
        if not self.residual:
            object.__setattr__(self, "residual", tuple(a / 2 for a in self.activation))
        if not self.limit:
            object.__setattr__(self, "limit", (math.inf,) * self.devices)
        for name in ("forward", "backward", "weight", "activation", "residual"):
            values = getattr(self, name)
            if len(values) != stages:
                raise PipelineError(f"{name}: {len(values)} values; allowed: one per stage, {stages}")
            least = 0.0 if name in ("weight", "activation", "residual") else math.ulp(0.0)
            if not all(math.isfinite(v) and v >= least for v in values):
                wrong = next(v for v in values if not (math.isfinite(v) and v >= least))
                raise PipelineError(
                    f"{name} {wrong:g}; allowed: finite numbers {'of 0 or more' if not least else 'above 0'}"
                )
        if not (math.isfinite(self.transfer) and self.transfer >= 0):
            raise PipelineError(f"transfer {self.transfer:g}; allowed: a finite number of 0 or more")
        for s, (a, r) in enumerate(zip(self.activation, self.residual, strict=True)):
            if r > a * (1 + 1e-9):
                raise PipelineError(f"stage {s}: {r:g} remains until W, of {a:g}; allowed: no more than there is")
        if len(self.limit) != self.devices:
            raise PipelineError(f"limits of {len(self.limit)} devices; allowed: one per device, {self.devices}")
        for d, (most, least) in enumerate(zip(self.limit, self.least_memory, strict=True)):
            if not most >= least * (1 - 1e-9):
                raise MemoryLimitError(
                    f"memory limit {most:g} of device {d}: one microbatch needs {least:g} there; a limit of"
                    f" {max(self.least_memory):g} fits all devices"
                )

    @classmethod
    def uniform(
        cls, device: tuple[int, ...], microbatches: int, costs: Sequence[float], memory: Sequence[float] = (1.0, 0.5),
        limit: float = math.inf,
    ) -> Pipeline:  # fmt: skip
        """One whose devices are equal: `costs` are times of F, B and W of all stages of a device and the latency of a
        transfer, `memory` the activation of a microbatch on a device and the part that remains until W."""
        forward, backward, weight, activation, residual = (
            tuple(x / device.count(d) for d in device) for x in (*costs[:3], *memory)
        )
        return cls(
            device, microbatches, forward, backward, weight, costs[3], activation, residual,
            (limit,) * (max(device) + 1),
        )  # fmt: skip

    @property
    def devices(self) -> int:
        return max(self.device) + 1

    @property
    def stages(self) -> int:
        return len(self.device)

    @property
    def tasks(self) -> int:
        """Number of F, B and W of all stages and microbatches."""
        return 3 * self.stages * self.microbatches

    @property
    def work(self) -> tuple[float, ...]:
        """Time of all tasks of each device."""
        totals = [0.0] * self.devices
        for d, f, b, w in zip(self.device, self.forward, self.backward, self.weight, strict=True):
            totals[d] += self.microbatches * (f + b + w)
        return tuple(totals)

    @property
    def least_memory(self) -> tuple[float, ...]:
        """What each device needs for one microbatch: all its F come before its B."""
        totals = [0.0] * self.devices
        for d, a in zip(self.device, self.activation, strict=True):
            totals[d] += a
        return tuple(totals)

    def stages_of(self, device: int) -> list[int]:
        return [s for s, d in enumerate(self.device) if d == device]

    def hop(self, stage: int) -> float:
        """Latency between a stage and the next one."""
        return self.transfer if self.device[stage] != self.device[stage + 1] else 0.0

    def with_limit(self, limit: Sequence[float]) -> Pipeline:
        return replace(self, limit=tuple(limit))

    @functools.cached_property
    def arrays(self) -> Arrays:
        return Arrays(self)


class Arrays:
    """What the compiled loops read of a pipeline."""

    def __init__(self, p: Pipeline) -> None:
        f, b, w = (np.array(t, float) for t in (p.forward, p.backward, p.weight))
        a, r = np.array(p.activation, float), np.array(p.residual, float)
        self.device: Ints = np.array(p.device, np.int64)
        #: By kind (F, B, W, BW) and stage.
        self.duration: Floats = np.concatenate([f, b, w, b + w])
        self.change: Floats = np.concatenate([a, r - a, -r, -a])
        self.limit: Floats = np.array(p.limit, float)
        #: What a microbatch whose F of a stage fits still needs on the same device.
        later = [
            sum(p.activation[t] for t in range(s + 1, p.stages) if p.device[t] == p.device[s]) for s in range(p.stages)
        ]
        self.reserve: Floats = np.array(later, float)
        #: The stages of device d are `own[first[d]:first[d + 1]]`.
        own = [p.stages_of(d) for d in range(p.devices)]
        self.own: Ints = np.array([s for stages in own for s in stages], np.int64)
        self.first: Ints = np.cumsum([0, *(len(stages) for stages in own)]).astype(np.int64)
        counts = [3 * p.microbatches * p.device.count(d) for d in range(p.devices)]
        #: Where the tasks of each device begin in an order of all.
        self.offset: Ints = np.cumsum([0, *counts]).astype(np.int64)
