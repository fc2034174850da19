"""What a training step takes as a pipeline of some shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost.transfers import messages_seconds
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import NAMED, named
from pcg.pipeline.placement import placement
from pcg.pipeline.units import Chain, Transfer
from pcg.planning.pipeline_profile import Profiler
from pcg.search.outcome import DoesNotFit

#: The axis of a mesh along which the groups of devices lie.
STAGE_AXIS = "stage"
#: How often a plan is tried, each time with less memory, and which share of what is left its state may take.  Choices.
_TRIES, _SHARE = 4, 0.95
#: More bytes than any device has.
_UNLIMITED = 1e18
#: Sizes in bytes of the messages that a transfer's latency and rate are read off.
_SMALL, _LARGE = 1e3, 1e8

Axes = tuple[tuple[str, int], ...]
#: What the units cost, by mesh of a group, microbatches and limit of a plan (0: none); None: they do not fit.
Profiles = dict[tuple[Axes, int, float], Chain | None]
#: The mesh of one device.
_ONE: Axes = (("data", 1),)


@dataclass(frozen=True)
class Method:
    """How the stages of a shape are run."""

    schedule: str
    chunks: int = 1
    """Stages per group."""
    split: bool = True
    """Whether W may be run some time after its B."""

    @property
    def placement(self) -> str:
        if self.schedule in NAMED:
            return NAMED[self.schedule][0]
        return "linear" if self.chunks == 1 else "v"


@dataclass(frozen=True)
class Configuration:
    """A pipeline, with what it is estimated to take."""

    groups: int
    axes: Axes
    """Of the mesh of each group."""
    microbatches: int
    method: Method
    seconds: float
    """Of a step."""
    bound: float
    """No schedule of these stages takes less."""
    memory: float
    """Bytes on the device that needs most."""
    kept: float
    """The part of it that is activations besides those of one microbatch."""

    @property
    def stages(self) -> int:
        return self.groups * self.method.chunks

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={size}" for name, size in self.axes)
        groups = f"{self.groups} groups" if self.groups > 1 else "1 group"
        chunks = f" with {self.method.chunks} stages each ({self.method.placement})" if self.method.chunks > 1 else ""
        return (
            f"{groups} of {inner}{chunks}, {self.microbatches} microbatches, {self.method.schedule}:"
            f" {1e3 * self.seconds:.4g} ms, {self.memory / 2**20:.1f} MiB per device"
        )


@dataclass
class PipelineEstimator:
    """Estimates shapes of a pipeline for one prepared step.

    Raises:
      PcgError: the step cannot be divided; at the op's location.
    """

    module: ir.Operation
    machine: Machine
    devices: int
    engine: str = "search"
    limit: float | None = None
    """Bytes per device."""
    objective: str = "makespan"
    device_ids: tuple[int, ...] = ()
    """Numbers of the devices on the cluster; empty: those that it takes for so many."""
    effort: str = "quick"
    """Of automatic schedules."""
    profiles: Profiles = field(default_factory=dict)
    """All that were made, and those that another estimator of the same step on the same devices has made."""

    def __post_init__(self) -> None:
        self._profiler = Profiler(self.module, self.machine, self.engine)

    def estimate(
        self, groups: int, axes: Axes, microbatches: int, methods: Sequence[Method], worst: float = float("inf")
    ) -> tuple[list[Configuration], float]:
        """The shape with each of the methods, as far as they fit and can take less than `worst` seconds.

        Returns also the seconds of the fastest, or what it takes at least, infinite where none fits.
        """
        meshes = self.meshes(groups, axes)
        chain = self._fitting(meshes[0], axes, groups, microbatches, methods)
        if chain is None:
            return [], float("inf")
        transfer, found, least = self._transfer(meshes), [], float("inf")
        for m in suitable(methods, groups, chain):
            divided = chain.divided(placement(m.placement, groups, m.chunks), transfer, m.split)
            problem = divided.problem
            bound = bounds(problem).objective(self.objective) + divided.once
            try:
                if self.limit is not None:
                    problem = problem.with_limit([self.limit - f for f in divided.fixed])
                if bound > worst:
                    least = min(least, bound)
                    continue
                schedule = named(problem, m.schedule, self.objective, self.effort)
            except PipelineError:  # it does not fit, or the schedule is for other numbers of microbatches
                continue
            peaks = schedule.peaks()
            memory = max(f + p for f, p in zip(divided.fixed, peaks, strict=True))
            kept = max(p - one for p, one in zip(peaks, problem.least_memory, strict=True))
            seconds = schedule.objective(self.objective) + divided.once
            found.append(Configuration(groups, axes, microbatches, m, seconds, bound, memory, kept))
            least = min(least, seconds)
        return found, least

    def least(
        self, groups: int, axes: Axes, microbatches: int, methods: Sequence[Method], fewest: int = 2
    ) -> float:
        """Seconds that no plan of a shape takes less than, by plans of other shapes; infinite where none can fit.

        Those are the plan on one device, in the `fewest` microbatches that there are, as if that were divided without
        communication; and the plan on the same mesh in fewer microbatches, since smaller ones are not more efficient.
        """
        size = math.prod(n for _, n in axes)
        alone = self._profile(self.meshes(self.devices, _ONE)[0], _ONE, fewest, 0.0)
        known = [m for a, m, limit in self.profiles if a == axes and not limit and microbatches % m == 0]
        same = self.profiles[axes, max(known), 0.0] if known else None
        found = 0.0
        for chain, times, limit in ((alone, size, self.limit), (same, 1, None)):
            if chain is not None:
                spread = chain.spread(times, microbatches)
                found = max(found, self._bound(spread, groups, suitable(methods, groups, spread), limit))
        return found

    def _bound(self, chain: Chain, groups: int, methods: Sequence[Method], limit: float | None) -> float:
        """The least of the lower bounds of methods, with as many bytes per device as `limit`."""
        found = math.inf
        for m in methods:
            own = placement(m.placement, groups, m.chunks)
            divided = chain.divided(own, Transfer(0.0, 0.0), m.split, slack=0.0)
            problem = divided.problem
            try:
                if limit is not None:
                    problem = problem.with_limit([limit - f for f in divided.fixed])
            except PipelineError:  # one microbatch does not fit
                continue
            found = min(found, bounds(problem).objective(self.objective) + divided.once)
        return found

    def meshes(self, groups: int, axes: Axes) -> tuple[Mesh, ...]:
        """The mesh of each group."""
        sizes, cluster = {STAGE_AXIS: groups, **dict(axes)}, self.machine.cluster
        ids = self.device_ids or (None if cluster is None else cluster.take(self.devices).devices)
        return Mesh.of(sizes, ids).along(STAGE_AXIS)

    def _fitting(
        self, mesh: Mesh, axes: Axes, groups: int, microbatches: int, methods: Sequence[Method]
    ) -> Chain | None:
        """The units, planned so that they fit; None where they do not."""
        limit = 0.0
        for _ in range(_TRIES):
            chain = self._profile(mesh, axes, microbatches, limit)
            if chain is None or self.limit is None:
                return chain
            needs = [_needs(chain, groups, m) for m in suitable(methods, groups, chain)]
            state, rest = min(needs, key=sum, default=(0.0, 0.0))
            if state + rest <= self.limit:
                return chain
            share = (self.limit - rest) / state * _SHARE if state else 0.0
            if share <= 0 or not chain.planned or mesh.size == 1:
                return None
            # The plan is of one of each unit, whose state changes as that of all of them.
            limit = chain.planned_with(share)
        return None

    def _profile(self, mesh: Mesh, axes: Axes, microbatches: int, limit: float) -> Chain | None:
        key = axes, microbatches, limit
        if key not in self.profiles:
            try:
                # One of each unit may need more than a device has where no device has all of them.
                self.profiles[key] = self._profiler.run(mesh, microbatches, limit or _UNLIMITED)
            except DoesNotFit:
                self.profiles[key] = None
        return self.profiles[key]

    def _transfer(self, groups: Sequence[Mesh]) -> Transfer:
        """Copies between the devices of the first two groups, all at once."""
        if len(groups) < 2:
            return Transfer(0.0, 0.0)
        first, second = (g.device_ids or range(i * g.size, (i + 1) * g.size) for i, g in enumerate(groups[:2]))
        small, large = (
            messages_seconds(self.machine, [(a, b, size) for a, b in zip(first, second, strict=True)])
            for size in (_SMALL, _LARGE)
        )
        per_byte = max(large - small, 0.0) / (_LARGE - _SMALL)
        return Transfer(max(small - per_byte * _SMALL, 0.0), per_byte)


def suitable(methods: Sequence[Method], groups: int, chain: Chain) -> list[Method]:
    """The methods for which a chain has enough units; one group has nothing to gain from several stages."""
    return [m for m in methods if groups * m.chunks <= chain.length and (groups > 1 or m.chunks == 1)]


def _needs(chain: Chain, groups: int, method: Method) -> tuple[float, float]:
    """Bytes on the device that needs most, with as few activations as a schedule can keep: of state, and others."""
    own = placement(method.placement, groups, method.chunks)
    divided = chain.divided(own, Transfer(0.0, 0.0), method.split)
    found = zip(divided.state, divided.fixed, divided.problem.least_memory, strict=True)
    return max(((s, f - s + a) for s, f, a in found), key=sum)
