"""How many stages a pipeline has, on which mesh each runs, in how many microbatches, and with which schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.pipeline_choice import PipelineChoice, set_pipeline_choice
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of, walk
from pcg.lower.processes import devices as devices_of
from pcg.machine import Machine
from pcg.pipeline.automatic import OBJECTIVES
from pcg.pipeline.named import AUTO, NAMED
from pcg.planning.heterogeneous_meshes import HeterogeneousMeshes
from pcg.planning.pipeline_estimates import Axes, Configuration, Method, PipelineEstimator, Profiles, Shape, size_of
from pcg.planning.place_stages import ENGINES
from pcg.planning.progress import Progress
from pcg.planning.target import limit_of
from pcg.rewrite.staging.assign import is_boundary
from pcg.rewrite.staging.groups import declare_groups, group_meshes, mesh_name
from pcg.rewrite.temporal import batch_arguments
from pcg.search.roles import data_of, state_of

#: Axes of the mesh of a group.  Either may split anything: the names say which lies on the faster links.
_OUTER, _INNER = "data", "model"
#: Devices of the second axis, at most.  A choice: as many as have fast links between them in most clusters.
_MOST_INNER = 8
#: What is tried where nothing is said.
METHODS = (
    Method(AUTO), Method(AUTO, 2), Method("1f1b", split=False), Method("interleaved", 2, False),
    Method("interleaved", 4, False),
)  # fmt: skip
#: What takes so much longer than the best in any case is not scheduled, and what does by so much more not varied: it
#: would have to become much faster with another number of microbatches.  Choices.
_NEAR, _VARIED = 1.05, 1.1
#: Larger numbers of microbatches that are tried where a shape does not fit.  A choice.
_MORE = 3
#: Numbers of microbatches for which groups of unlike sizes are looked for, and how many divisions of each are
#: estimated.  Choices.
_COUNTS, _DIVISIONS = 2, 2
#: Microbatches per group to begin with.  A choice: then little is idle.
_PER_GROUP = 4


@dataclass
class ChoosePipeline(Transformation):
    """Choose the shape of a pipeline: groups of devices, the mesh of each, microbatches, placement and schedule."""

    devices: int = option(0, "number of devices; default: those of the cluster, else of the module's dist.mesh")
    groups: int = option(0, "number of groups of devices, one behind the other; 0: the best")
    microbatches: int = option(0, "number of microbatches; 0: the best")
    schedule: str = option("", "schedule, as in pcg-schedule; default: the best", ("", AUTO, *NAMED))
    chunks: int = option(0, "stages per group; 0: the best, or what the schedule needs")
    objective: str = option("makespan", "what a step takes: its makespan, or the longest span of a group", OBJECTIVES)
    engine: str = option("search", "how the layouts of a stage are found, as in pcg-place-stages", ENGINES)
    memory_limit: Bytes | None = option(
        None, "bytes per device that a pipeline may need; default: what a device of the cluster, if any, has"
    )
    progress: bool = option(True, "show progress on stderr when the search takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)
    shape: Shape | None = field(default_factory=lambda: None)
    """Axes of the mesh of each group, where they are fixed; default: of meshes @group0, @group1, ... of the module."""
    device_ids: tuple[int, ...] = field(default_factory=tuple)
    """Numbers of the devices on the cluster, in the order of the groups; empty: those that it takes."""

    profiles: Profiles = field(default_factory=dict)
    """What is known of the costs of the same step on the same devices, by an earlier search with another objective."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.candidates: list[Configuration] = []
        """All that were estimated and fit, the best first."""

    @property
    def best(self) -> Configuration:
        return self.candidates[0]

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        func = entry_of(module)
        if marked := [op for op in walk(func) if is_boundary(op)]:
            text = "pcg.stage_boundary says where stages end"
            raise PcgError(f"{text}; allowed: without it, or with a number of stages", marked[0])
        declared = group_meshes(module, "") if mesh_name(0) in shardings.meshes_of(module) else ()
        if self.shape is None and declared:
            self.shape = tuple(mesh.axes for mesh in declared)
            self.device_ids = tuple(d for mesh in declared for d in devices_of(mesh))
        count = self._devices(module)
        limit = limit_of(self.memory_limit, self.machine)
        self.estimator = PipelineEstimator(
            module, self.machine, count, self.engine, limit, self.objective, self.device_ids, profiles=self.profiles
        )  # fmt: skip
        counts = self._microbatches(func)
        self._fewest = counts[0]
        with Progress(self.progress, "pcg-choose-pipeline") as progress:
            shapes = self._shapes(count, func)
            for n, shape in enumerate(shapes, 1):
                progress(f"shape {n} of {len(shapes)}, {len(self.candidates)} candidates")
                self._climb(shape, counts)
            if self.shape is None and any(m.placement == "linear" for m in self._methods()):
                self._heterogeneous(progress)
        if not self.candidates:
            within = f" within {limit / 2**30:.2f} GiB per device" if limit is not None else ""
            text = f"no pipeline on {count} devices{within}"
            raise PcgError(f"{text}; allowed: more devices, more memory, or more microbatches", func)
        self.candidates.sort(key=lambda c: c.seconds)
        self._write(module)
        self.statistics["profiles"] += len(self.estimator.profiles)
        self.statistics["candidates"] += len(self.candidates)
        self.remark(func, f"{self.best}; no schedule of these stages takes less than {1e3 * self.best.bound:.4g} ms")
        for other in best_by_groups(self.candidates)[1:6]:
            self.remark(func, f"instead of {other}")

    # -- what there is -------------------------------------------------------------------------

    def _devices(self, module: ir.Operation) -> int:
        cluster = self.machine.cluster
        found = self.devices or sum(map(size_of, self.shape or ())) or (len(cluster.devices) if cluster else 0)
        if not found and (mesh := shardings.mesh_of(module)) is not None:
            found = mesh.size
        if found < 1:
            raise PcgError("there are no devices to plan a pipeline for; give --cluster, --devices or --mesh", module)
        if cluster and found > len(cluster.devices):
            raise PcgError(f"{found} devices; allowed: up to those of the cluster, {len(cluster.devices)}", module)
        return found

    def _microbatches(self, func: ir.Operation) -> list[int]:
        """The numbers of microbatches that are possible."""
        batch = batch_arguments(func, data_of(func, state_of(func)), 1)[1]
        counts = [m for m in _divisors(batch) if m > 1]
        if not counts:
            raise PcgError(f"a batch of {batch} cannot be divided; allowed: 2 examples or more", func)
        if self.microbatches and self.microbatches not in counts:
            text = f"{self.microbatches} microbatches of a batch of {batch}"
            raise PcgError(f"{text}; allowed: {', '.join(map(str, counts))}", func)
        self._batch = batch
        return [self.microbatches] if self.microbatches else counts

    def _shapes(self, count: int, func: ir.Operation) -> list[Shape]:
        """Groups of equal meshes, beginning with as many groups as devices in each."""
        if self.shape is not None:
            return [self.shape]
        if self.groups and count % self.groups:
            raise PcgError(f"{self.groups} groups of {count} devices; allowed: a divisor of the devices", func)
        found = [
            (axes,) * groups for groups in ([self.groups] if self.groups else _divisors(count))
            for axes in _meshes(count // groups)
        ]  # fmt: skip
        return sorted(found, key=lambda s: (len(s[0]), abs(len(s) ** 2 - count)))

    def _methods(self) -> Sequence[Method]:
        if not self.schedule:
            found = [m for m in METHODS if not self.chunks or m.chunks == self.chunks]
            return found or [Method(AUTO, self.chunks)]
        form = Method(self.schedule).placement
        return [Method(self.schedule, self.chunks or (1 if form == "linear" else 2))]

    # -- search --------------------------------------------------------------------------------

    def _climb(self, shape: Shape, counts: Sequence[int]) -> None:
        """Estimate a shape; take more microbatches, and fewer, as long as that is faster, or more until it fits."""
        groups, size = len(shape), max(map(size_of, shape))
        for own in {*map(size_of, shape)}:
            counts = self._even(own, counts) or counts

        def far(i: int) -> tuple[bool, int]:
            """Whether devices of a group have no example of their own, then the distance from what is usual."""
            return self._batch // counts[i] % size != 0, abs(counts[i] - _PER_GROUP * groups)

        start = min(range(len(counts)), key=far)
        first = self._add(shape, counts[start])
        for step in (1, -1):
            i, before = start + step, first
            while 0 <= i < len(counts) and (before is None or self._is_promising(before, i - start)):
                found = self._add(shape, counts[i])
                if found is None or (before is not None and before < float("inf") and found >= before):
                    break
                i, before = i + step, found

    def _heterogeneous(self, progress: Progress) -> None:
        """Estimate groups of unlike meshes, in the numbers of microbatches of the fastest shapes so far."""
        e = self.estimator
        meshes = HeterogeneousMeshes(e)
        ranked = sorted(self.candidates, key=lambda c: c.seconds)
        for microbatches in [*dict.fromkeys(c.microbatches for c in ranked)][:_COUNTS]:
            even = [size for size in range(1, e.devices) if self._even(size, [microbatches])]
            for size in [size for size in even if size & (size - 1) == 0]:
                for mesh in meshes.unplanned(size):
                    progress(f"groups of {size} devices, {len(self.candidates)} candidates")
                    e.plan(mesh, microbatches)
            shapes = [s for s in meshes.shapes(microbatches, even) if self.groups in (0, len(s))]
            for shape in shapes[:_DIVISIONS]:
                progress(f"groups of unlike sizes, {len(self.candidates)} candidates")
                self._add(shape, microbatches)

    def _even(self, size: int, counts: Sequence[int]) -> list[int]:
        """The numbers of microbatches whose examples a group's devices share evenly, or that share them."""
        return [m for m in counts if (n := self._batch // m) % size == 0 or size % n == 0]

    def _is_promising(self, seconds: float, more: int) -> bool:
        """Whether another number of microbatches, so many places away, is tried behind one that takes `seconds`."""
        if seconds == float("inf"):  # it does not fit: smaller microbatches need less
            return 0 < more <= _MORE
        return seconds <= self._fastest * _VARIED

    @property
    def _fastest(self) -> float:
        return min((c.seconds for c in self.candidates), default=float("inf"))

    def _add(self, shape: Shape, microbatches: int) -> float | None:
        """Add what is fast of a shape.

        Returns the seconds of the best of it, or what it takes at least; infinite: it does not fit; None: it has not
        been planned, since it cannot be fast.
        """
        methods, fastest = self._methods(), self._fastest
        if fastest < float("inf"):
            # What cannot be the best is planned only where it would be the first of so many groups.
            most = fastest * (1 if any(c.groups == len(shape) for c in self.candidates) else _NEAR)
            least = self.estimator.least(shape, microbatches, methods, self._fewest)
            if least > most:
                return None if least < float("inf") else least
        found, least = self.estimator.estimate(shape, microbatches, methods, fastest * _NEAR)
        self.candidates += found
        return least

    # -- result --------------------------------------------------------------------------------

    def _write(self, module: ir.Operation) -> None:
        """Declare the meshes of the groups, and say what the passes behind this one take."""
        c = self.best
        with module.context:
            declare_groups(module, self.estimator.meshes(c.shape))
            m = c.method
            set_pipeline_choice(module, PipelineChoice(c.stages, c.microbatches, m.placement, m.schedule))


def best_by_groups(found: Sequence[Configuration]) -> list[Configuration]:
    """The best of each number of groups, in order."""
    best: dict[int, Configuration] = {}
    for c in found:
        best.setdefault(c.groups, c)
    return list(best.values())


def _meshes(size: int) -> Iterator[Axes]:
    """Meshes of one and of two axes."""
    yield ((_OUTER, size),)
    for inner in _divisors(size):
        if 1 < inner < size and inner <= _MOST_INNER:
            yield (_OUTER, size // inner), (_INNER, inner)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
