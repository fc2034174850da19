"""What a training step takes as a pipeline of some shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost.transfers import copy_seconds
from pcg.layout import Mesh
from pcg.layout.groups import groups_text, one_after_another
from pcg.machine import Machine
from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import NAMED, named
from pcg.pipeline.placement import placement
from pcg.pipeline.units import Chain, Transfer, divide
from pcg.planning.pipeline_profile import Profiler
from pcg.search.outcome import DoesNotFit

#: How often a plan is tried, each time with less memory, and which share of what is left its state may take.  Choices.
_TRIES, _SHARE = 4, 0.95
#: More bytes than any device has.
_UNLIMITED = 1e18
#: Sizes in bytes of the messages that a transfer's latency and rate are read off.
_SMALL, _LARGE = 1e3, 1e8

Axes = tuple[tuple[str, int], ...]
#: Axes of the mesh of each group, in the order of the groups.
Shape = tuple[Axes, ...]
#: What the units cost, by mesh of a group, kinds of its devices, microbatches and limit of a plan (0: none); None: they
#: do not fit.
Profiles = dict[tuple[Axes, str, int, float], Chain | None]
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

    shape: Shape
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
    def groups(self) -> int:
        return len(self.shape)

    @property
    def stages(self) -> int:
        return self.groups * self.method.chunks

    def __str__(self) -> str:
        chunks = f" with {self.method.chunks} stages each ({self.method.placement})" if self.method.chunks > 1 else ""
        groups = groups_text([Mesh(axes) for axes in self.shape])
        return (
            f"{groups}{chunks}, {self.microbatches} microbatches, {self.method.schedule}:"
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
        self._transfers: dict[tuple[Sequence[int], Sequence[int]], Transfer] = {}

    def estimate(
        self, shape: Shape, microbatches: int, methods: Sequence[Method], worst: float = float("inf")
    ) -> tuple[list[Configuration], float]:
        """The shape with each of the methods, as far as they fit and can take less than `worst` seconds.

        Returns also the seconds of the fastest, or what it takes at least, infinite where none fits.
        """
        meshes = self.meshes(shape)
        chains = self._fitting(meshes, microbatches, methods)
        if chains is None:
            return [], float("inf")
        found, least = [], float("inf")
        for m in suitable(methods, len(shape), chains[0]):
            own = placement(m.placement, len(shape), m.chunks)
            divided = divide(chains, own, self._transfer(meshes, own), m.split)
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
            found.append(Configuration(shape, microbatches, m, seconds, bound, memory, kept))
            least = min(least, seconds)
        return found, least

    def least(self, shape: Shape, microbatches: int, methods: Sequence[Method], fewest: int = 2) -> float:
        """Seconds that no plan of a shape takes less than, by plans of other shapes; infinite where none can fit.

        Those are the plans on one device, in the `fewest` microbatches that there are, as if those were divided without
        communication; and the plans on the same meshes in fewer microbatches, since smaller ones are not more
        efficient.
        """
        meshes, found = self.meshes(shape), 0.0
        alone = [self.plan(self._first_of(mesh), fewest) for mesh in meshes]
        if all(alone):
            spread = [c.spread(mesh.size, microbatches) for c, mesh in zip(alone, meshes, strict=True) if c]
            found = self._bound(spread, methods, self.limit)
        same = [self._fewer(mesh, microbatches) for mesh in meshes]
        if all(same):
            found = max(found, self._bound([c.spread(1, microbatches) for c in same if c], methods, None))
        return found

    def _first_of(self, mesh: Mesh) -> Mesh:
        """A mesh of one device of the fastest kind in a group: the first on the cluster, so groups share its plan."""
        cluster = self.machine.cluster
        if cluster is None:
            return Mesh(_ONE, (0,))
        kinds = {cluster.kind_of(d).name for d in mesh.device_ids or ()}
        places = [d for d in cluster.devices if cluster.kind_of(d).name in kinds]
        return Mesh(_ONE, (max(places, key=lambda d: (cluster.kind_of(d).default_flops, -d)),))

    def _fewer(self, mesh: Mesh, microbatches: int) -> Chain | None:
        """The plan on a mesh in the most microbatches that divide `microbatches` and are known."""
        key = mesh.axes, self.kind(mesh)
        known = [m for *of, m, limit in self.profiles if (*of, limit) == (*key, 0) and microbatches % m == 0]
        return self.profiles[*key, max(known), 0.0] if known else None

    def _bound(self, chains: Sequence[Chain], methods: Sequence[Method], limit: float | None) -> float:
        """The least of the lower bounds of methods, with as many bytes per device as `limit`."""
        found, groups = math.inf, len(chains)
        for m in suitable(methods, groups, chains[0]):
            own = placement(m.placement, groups, m.chunks)
            divided = divide(chains, own, Transfer(0.0, 0.0), m.split, slack=0.0)
            problem = divided.problem
            try:
                if limit is not None:
                    problem = problem.with_limit([limit - f for f in divided.fixed])
            except PipelineError:  # one microbatch does not fit
                continue
            found = min(found, bounds(problem).objective(self.objective) + divided.once)
        return found

    def meshes(self, shape: Shape) -> tuple[Mesh, ...]:
        """The mesh of each group, one behind the other on the cluster."""
        return one_after_another([Mesh(axes) for axes in shape], self.ids)

    @property
    def ids(self) -> Sequence[int]:
        """Numbers of the devices on the cluster, in the order of the groups."""
        cluster = self.machine.cluster
        return self.device_ids or (range(self.devices) if cluster is None else cluster.take(self.devices).devices)

    def _fitting(self, meshes: Sequence[Mesh], microbatches: int, methods: Sequence[Method]) -> list[Chain] | None:
        """The units on each group, planned so that they fit; None where they do not."""
        keys = [(mesh.axes, self.kind(mesh)) for mesh in meshes]
        first = {key: mesh for key, mesh in zip(reversed(keys), reversed(meshes), strict=True)}
        limits = dict.fromkeys(first, 0.0)
        for _ in range(_TRIES):
            planned = {key: self.plan(mesh, microbatches, limits[key]) for key, mesh in first.items()}
            chains = [c for key in keys if (c := planned[key]) is not None]
            if len(chains) < len(keys):
                return None
            if self.limit is None:
                return chains
            needs = [_needs(chains, m) for m in suitable(methods, len(chains), chains[0])]
            needed = min(needs, key=lambda each: max(map(sum, each)), default=[])
            large = {key: pair for key, pair in sorted(zip(keys, needed, strict=False), key=lambda x: sum(x[1]))}
            large = {key: pair for key, pair in large.items() if sum(pair) > self.limit}
            if not large:
                return chains
            for key, (state, rest) in large.items():
                share, chain = (self.limit - rest) / state * _SHARE if state else 0.0, planned[key]
                if share <= 0 or chain is None or not chain.planned or first[key].size == 1:
                    return None
                # The plan is of one of each unit, whose state changes as that of all of them.
                limits[key] = chain.planned_with(share)
        return None

    def kind(self, mesh: Mesh) -> str:
        """The kinds of the devices of a group."""
        cluster = self.machine.cluster
        if cluster is None:
            return self.machine.device.name
        return "+".join(sorted({cluster.kind_of(d).name for d in mesh.device_ids or ()}))

    def plan(self, mesh: Mesh, microbatches: int, limit: float = 0.0) -> Chain | None:
        """The units on a group, whose plan needs at most so many bytes per device (0: any); None: it does not fit."""
        key = mesh.axes, self.kind(mesh), microbatches, limit
        if key not in self.profiles:
            try:
                # One of each unit may need more than a device has where no device has all of them.
                self.profiles[key] = self._profiler.run(mesh, microbatches, limit or _UNLIMITED)
            except DoesNotFit:
                self.profiles[key] = None
        return self.profiles[key]

    def _transfer(self, meshes: Sequence[Mesh], groups: Sequence[int]) -> Transfer:
        """Copies between the devices of two groups of neighbouring stages, all at once: those that take longest."""
        pairs = {(a, b) for a, b in itertools.pairwise(groups) if a != b}
        found = [self._between(meshes[a].device_ids or (), meshes[b].device_ids or ()) for a, b in pairs]
        return max(found, key=lambda t: t.seconds(_LARGE), default=Transfer(0.0, 0.0))

    def _between(self, first: Sequence[int], second: Sequence[int]) -> Transfer:
        """Copies between two groups."""
        if (first, second) not in self._transfers:
            small, large = (copy_seconds(self.machine, first, second, size) for size in (_SMALL, _LARGE))
            per_byte = max(large - small, 0.0) / (_LARGE - _SMALL)
            self._transfers[first, second] = Transfer(max(small - per_byte * _SMALL, 0.0), per_byte)
        return self._transfers[first, second]


def size_of(axes: Axes) -> int:
    """The number of devices of a mesh."""
    return math.prod(size for _, size in axes)


def suitable(methods: Sequence[Method], groups: int, chain: Chain) -> list[Method]:
    """The methods for which a chain has enough units; one group has nothing to gain from several stages."""
    return [m for m in methods if groups * m.chunks <= chain.length and (groups > 1 or m.chunks == 1)]


def _needs(chains: Sequence[Chain], method: Method) -> list[tuple[float, float]]:
    """Bytes on a device of each group, with as few activations as a schedule can keep: of state, and others."""
    own = placement(method.placement, len(chains), method.chunks)
    divided = divide(chains, own, Transfer(0.0, 0.0), method.split)
    found = zip(divided.state, divided.fixed, divided.problem.least_memory, strict=True)
    return [(s, f - s + a) for s, f, a in found]
