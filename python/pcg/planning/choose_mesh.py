"""Choose the process mesh, and its device mapping: which device of a cluster each of its coordinates is."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Cluster, ClusterError, Machine, mapping
from pcg.planning.progress import Progress
from pcg.planning.search import check_possible
from pcg.planning.target import limit_of
from pcg.planning.workers import JOBS, Workers
from pcg.planning.workspace import Workspace
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.optimize import optimize
from pcg.search.outcome import DoesNotFit, Outcome
from pcg.solve.effort import QUICK

#: Of plans on candidates, which are compared: the one on the mesh that is chosen is searched again.
_EFFORT = replace(QUICK, brief=True)
#: Of candidates whose fastest plan does not fit, so many of the fastest are searched again under the limit; more only
#: until one fits.  A choice: each costs a search.
_FITTED = 6
#: On a module: its mesh was chosen, not given.
CHOSEN = "pcg.mesh_chosen"
#: How much better (relative) a candidate must be than the best before it: the tolerance of a quick search.
_WORTH = 1e-3
#: A candidate that takes so many times as long as any other is never chosen, whichever is known first: the one chosen
#: may take 1 / (1 - _WORTH) times as long as the fastest, and be compared with one that does again.
_SLOWER = (1 - _WORTH) ** -3


@dataclass(frozen=True)
class Estimate:
    """Seconds per step of a plan and a bound for all plans; its bytes per device, and the least that was found.

    `failure` is why there is no plan; `unfit` the plan, where it does not fit.
    """

    seconds: float = math.inf
    bound: float = math.inf
    peak: float = math.inf
    needed: float = math.inf
    failure: PcgError | None = None
    unfit: Outcome | None = None


@dataclass(frozen=True)
class EstimateMeshes:
    """A task: good plans on meshes with the same axes, in several device mappings.

    `limits` are bytes per device, which a plan may exceed, but for one that is made of the plan `unfit` on one mesh.
    Plans that are proved to take more than `cutoff` seconds, or to be slower than one before that fits, are not looked
    for.
    """

    meshes: Sequence[Mesh]
    refine: RefineMesh | None
    machine: Machine
    limits: Sequence[float]
    unfit: Outcome | None = None
    cutoff: float = math.inf

    def __call__(self, workspace: Workspace) -> list[Estimate]:
        best, found = math.inf, list[Estimate]()
        for mesh, limit in zip(self.meshes, self.limits, strict=True):
            found.append(self._estimate(workspace, mesh, min(self.cutoff, best * (1 - _WORTH)), limit))
            if found[-1].peak <= limit:
                best = min(best, found[-1].seconds)
        return found

    def _estimate(self, workspace: Workspace, mesh: Mesh, cutoff: float, limit: float) -> Estimate:
        entered = entry(workspace.module)
        try:
            on = workspace.on(self.meshes[0], self.refine)
            model = CostModel(self.machine, Mesh(on.mesh.axes, mesh.device_ids))
            outcome = optimize(
                on.quotient(on.graph(model), model), limit=math.inf if self.unfit is None else limit, cutoff=cutoff,
                effort=_EFFORT, fastest=self.unfit,
            )  # fmt: skip
            if outcome.bound <= cutoff:
                check_possible(on.func, outcome)
        except DoesNotFit as error:
            return Estimate(needed=error.needed, failure=error.at(entered))
        except PcgError as error:
            return Estimate(failure=error)
        seconds = outcome.seconds if outcome.bound <= cutoff else math.inf
        unfit = outcome if outcome.peak_bytes > limit and seconds < math.inf else None
        return Estimate(seconds, outcome.bound, outcome.peak_bytes, outcome.peak_bytes, None, unfit)


@dataclass
class ChooseMesh(Transformation):
    """Choose the process mesh and its device mapping: those of the fastest plan."""

    devices: int = option(0, "number of devices that the mesh is made of; 0: all usable ones of the cluster")
    max_axes: int = option(2, "meshes have no more axes: each makes a search many times longer")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as in pcg-search")
    jobs: int = JOBS
    machine: Machine = field(default_factory=Machine.default)
    refine: RefineMesh | None = field(default_factory=lambda: RefineMesh(reshapes=True, max_axes=2))
    """What refines the mesh before the search, as the pipelines do; its options are read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chosen: mapping.DeviceMapping | None = None
        self.bound = math.inf
        """No plan on any candidate takes less, in seconds per step; infinite where there was nothing to choose."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no candidate has a plan, or the mesh does not go on the cluster."""
        module = module.operation
        meshes = shardings.meshes_of(module)
        found = next(iter(meshes.values())) if len(meshes) == 1 else None
        if len(meshes) > 1 or (found is not None and (found.device_ids or self.machine.cluster is None)):
            return
        if found is None and not self.devices and self.machine.cluster is None:
            return
        try:
            candidates = list(self._candidates(found))
        except ClusterError as error:
            raise PcgError(str(error), module) from None
        self.statistics["candidates"] = len(candidates)
        best = math.inf
        if len(candidates) > 1:
            with Progress(True, "pcg-choose-mesh") as progress, Workers(module, self.jobs) as workers:
                best = self._best(candidates, progress, workers)
        else:
            self.chosen = candidates[0]
        assert self.chosen is not None
        shardings.set_mesh(module, self.chosen.mesh, *meshes)
        if found is None and self.machine.cluster is not None:
            with module.context:
                module.attributes[CHOSEN] = ir.UnitAttr.get()
        how = ""
        if best < math.inf:
            gap = max(0.0, 1 - self.bound / best) if best else 0.0
            how = f", {1e6 * best:.1f} us per step by estimate; no other can be more than {100 * gap:.1f}% better"
        elif len(candidates) > 1:
            how = ": no plan fits as it is, this mesh needs the least memory"
        self.remark(module, f"mesh {self.chosen}, best of {len(candidates)}{how}")

    def _candidates(self, mesh: Mesh | None) -> Iterable[mapping.DeviceMapping]:
        cluster = self.machine.cluster
        if mesh is None:
            usable = len(cluster.devices) if cluster is not None else 0
            return mapping.candidate_mappings(cluster, self.devices or usable, self.max_axes)
        assert cluster is not None
        return mapping.device_mappings(cluster, mesh)

    def best(self, progress: Callable[[str], None], workers: Workers) -> Mesh | None:
        """The best mesh for the program of `workers`, whatever mesh that has; None where no candidate has a plan."""
        try:
            self._best(list(self._candidates(None)), progress, workers)
        except PcgError:
            return None
        return None if self.chosen is None else self.chosen.mesh

    def _best(
        self, candidates: Sequence[mapping.DeviceMapping], progress: Callable[[str], None], workers: Workers
    ) -> float:
        """Choose among several candidates; seconds of the best one's plan, infinite if none fits as it is."""
        found = self._estimates(candidates, progress, workers)
        self.bound = min(e.bound for e in found)
        failure = next((e.failure for e in found if e.failure is not None), None)
        best, free = math.inf, 0
        unfit: list[tuple[float, int, Outcome, mapping.DeviceMapping]] = []
        for c, e in zip(candidates, found, strict=True):
            if e.unfit is not None:
                unfit.append((e.seconds, free, e.unfit, c))
            elif e.seconds < best * (1 - _WORTH):
                best, self.chosen = e.seconds, c
            free += e.seconds < math.inf
        self.statistics["excluded by bound"] = sum(e.failure is None and e.bound > best * (1 - _WORTH) for e in found)
        if not free and failure is not None:
            raise failure
        # The fastest plan that ignores memory may have a neighbour that fits and is still the fastest.
        unfit = sorted(u for u in unfit if u[0] < best * (1 - _WORTH))
        least = math.inf
        for first in range(0, len(unfit), _FITTED):
            some = unfit[first : first + _FITTED]
            cutoff = best * (1 - _WORTH)
            for seconds, c, running in [(s, c, workers.start(self._task([c], cutoff, o))) for s, _, o, c in some]:
                if seconds >= best * (1 - _WORTH):
                    running.cancel()
                    continue
                progress(f"mesh within the memory limit: {c}")
                (e,) = running.result()
                if e.seconds < best * (1 - _WORTH):
                    best, self.chosen = e.seconds, c
                elif best == math.inf and e.needed < least * (1 - _WORTH):
                    # None fits so far: then the search trades time for memory on the one that needs the least.
                    least, self.chosen = e.needed, c
            if best < math.inf:
                break
        return best

    def _estimates(
        self, candidates: Sequence[mapping.DeviceMapping], progress: Callable[[str], None], workers: Workers
    ) -> list[Estimate]:
        """Of each candidate; those with the same axes are one task."""
        by_axes: dict[tuple[tuple[str, int], ...], list[mapping.DeviceMapping]] = {}
        for c in candidates:
            by_axes.setdefault(c.mesh.axes, []).append(c)
        fastest = math.inf
        found: dict[mapping.DeviceMapping, Estimate] = {}

        def hopeful(c: mapping.DeviceMapping) -> bool:
            """Whether no mesh that has all of its plans proves that it is not the fastest."""
            slower = {k.mesh: e.bound for k, e in found.items() if e.bound > _SLOWER * fastest}
            if any(_refines(mesh, c.mesh) for mesh in slower):
                try:
                    on = Mesh(workers.workspace.on(c.mesh, self.refine).mesh.axes, c.mesh.device_ids)
                except PcgError:  # the task says why
                    return True
                if bounds := [bound for mesh, bound in slower.items() if _refines(mesh, on)]:
                    found[c] = Estimate(bound=max(bounds))
            return c not in found

        def tasks() -> Iterator[tuple[Sequence[mapping.DeviceMapping], EstimateMeshes]]:
            # Those that take longest first, so that no process has a long one left when the others are done.
            for every in sorted(by_axes.values(), key=lambda group: (-len(group), -len(group[0].mesh.axes))):
                if group := [c for c in every if hopeful(c)]:
                    progress(f"mesh {group[0].mesh.origin}, {len(group)} of {len(candidates)} candidates")
                    yield group, self._task(group, _SLOWER * fastest)

        for group, estimates in workers.each(tasks()):
            found |= zip(group, estimates, strict=True)
            fastest = min([fastest, *(e.seconds for e in estimates if e.unfit is None)])
        return [found[c] for c in candidates]

    def _task(
        self, group: Sequence[mapping.DeviceMapping], cutoff: float = math.inf, unfit: Outcome | None = None
    ) -> EstimateMeshes:
        limits = [self._limit(c.mesh) for c in group]
        return EstimateMeshes([c.mesh for c in group], self.refine, self.machine, limits, unfit, cutoff)

    def _limit(self, mesh: Mesh) -> float:
        """Bytes that a device of `mesh` has, or may use."""
        machine = Machine.of(self.machine.cluster, mesh) if self.machine.cluster is not None else self.machine
        limit = limit_of(self.memory_limit, machine)
        return math.inf if limit is None else float(limit)


def _refines(fine: Mesh, coarse: Mesh) -> bool:
    """Whether each axis of `coarse` is one or several axes of `fine`, one after another, on the same devices."""
    ends = itertools.accumulate(fine.sizes, operator.mul)
    return fine.device_ids == coarse.device_ids and set(itertools.accumulate(coarse.sizes, operator.mul)).issubset(ends)


def unity_meshes(cluster: Cluster) -> list[Mesh]:
    """The meshes on which Unity's algorithm plans for a cluster: one axis, and nodes x devices of a node."""
    count = len(cluster.devices)
    blocks = itertools.groupby(cluster.devices, lambda d: cluster.coordinates(d)[:2])
    node = max(len(list(inside)) for _, inside in blocks)
    meshes = [Mesh.of({"d0": count})]
    if 1 < node < count and count % node == 0:
        meshes.append(Mesh.of({"d0": count // node, "d1": node}))
    return meshes
