"""Choose the process mesh, and its device mapping: which device of a cluster each of its coordinates is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry, entry_of
from pcg.layout import Mesh
from pcg.machine import ClusterError, DeviceKind, Machine, mapping
from pcg.planning.evaluate import replace_mesh
from pcg.planning.progress import Progress
from pcg.planning.search import check_possible
from pcg.planning.target import limit_of
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.build import Builder, Built
from pcg.search.optimize import optimize
from pcg.search.outcome import DoesNotFit, Outcome
from pcg.search.roles import state_of
from pcg.search.table import Tables

#: Of candidates whose fastest plan does not fit, so many of the fastest are searched again under the limit; more only
#: until one fits.  A choice: each costs a search.
_FITTED = 6
#: On a module: its mesh was chosen, not given.
CHOSEN = "pcg.mesh_chosen"
#: How much better (relative) a candidate must be than the best before it: the tolerance of a quick search.
_WORTH = 1e-3


@dataclass(frozen=True)
class _Estimate:
    """Seconds per step of a plan and a bound for all plans; its bytes per device, and the least that was found."""

    seconds: float = math.inf
    bound: float = math.inf
    peak: float = math.inf
    needed: float = math.inf


@dataclass
class ChooseMesh(Transformation):
    """Choose the process mesh and its device mapping: those of the fastest plan."""

    devices: int = option(0, "number of devices that the mesh is made of; 0: all usable ones of the cluster")
    max_axes: int = option(2, "meshes have no more axes: each makes a search many times longer")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as in pcg-search")
    machine: Machine = field(default_factory=Machine.default)
    refine: RefineMesh | None = field(default_factory=lambda: RefineMesh(reshapes=True, max_axes=2))
    """What refines the mesh before the search, as the pipelines do; its options are read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chosen: mapping.DeviceMapping | None = None
        self.bound = math.inf
        """No plan on any candidate takes less, in seconds per step; infinite where there was nothing to choose."""
        self._programs: dict[tuple[tuple[str, int], ...], _OnAxes] = {}

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
            with Progress(True, "pcg-choose-mesh") as progress:
                best = self._best(module, candidates, progress)
            self._programs.clear()
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

    def _best(
        self, module: ir.Operation, candidates: Sequence[mapping.DeviceMapping], progress: Callable[[str], None]
    ) -> float:
        """Choose among several candidates; seconds of the best one's plan, infinite if none fits as it is."""
        best, excluded = math.inf, 0
        free: list[tuple[float, int, float]] = []
        failures: list[PcgError] = []
        for n, c in enumerate(candidates):
            progress(f"mesh {n + 1} of {len(candidates)}: {c}")
            found = self._estimate(module, c.mesh, best * (1 - _WORTH), math.inf, failures)
            self.bound = min(self.bound, found.bound)
            excluded += found.seconds == math.inf
            if found.seconds < math.inf:
                free.append((found.seconds, n, found.peak))
                if found.peak <= self._limit(c.mesh):
                    best, self.chosen = found.seconds, c
        self.statistics["excluded by bound"] = excluded
        if not free and self.chosen is None:
            raise failures[0]
        # The fastest plan that ignores memory may have a neighbour that fits and is still the fastest.
        least = math.inf
        for rank, (seconds, n, peak) in enumerate(sorted(free)):
            if rank >= _FITTED and best < math.inf:
                break
            c = candidates[n]
            if seconds >= best * (1 - _WORTH) or peak <= self._limit(c.mesh):
                continue
            progress(f"mesh within the memory limit: {c}")
            found = self._estimate(module, c.mesh, best * (1 - _WORTH), self._limit(c.mesh), failures)
            if found.seconds < best:
                best, self.chosen = found.seconds, c
            elif best == math.inf and found.needed < least * (1 - _WORTH):
                # None fits so far: then the search trades time for memory on the one that needs the least.
                least, self.chosen = found.needed, c
        return best

    def _limit(self, mesh: Mesh) -> float:
        """Bytes that a device of `mesh` has, or may use."""
        machine = Machine.of(self.machine.cluster, mesh) if self.machine.cluster is not None else self.machine
        limit = limit_of(self.memory_limit, machine)
        return math.inf if limit is None else float(limit)

    def _estimate(
        self, module: ir.Operation, mesh: Mesh, cutoff: float, limit: float, failures: list[PcgError]
    ) -> _Estimate:
        """A good plan on `mesh` within `limit` bytes; `failures` gets why there is none."""
        try:
            if mesh.axes not in self._programs:
                self._programs[mesh.axes] = _OnAxes.of(module, mesh, self.refine)
            outcome = self._programs[mesh.axes].plan(mesh, self.machine, cutoff, limit)
        except DoesNotFit as error:
            failures.append(error.at(entry(module)))
            return _Estimate(needed=error.needed)
        except PcgError as error:
            failures.append(error)
            return _Estimate()
        seconds = outcome.seconds if outcome.bound <= cutoff else math.inf
        return _Estimate(seconds, outcome.bound, outcome.peak_bytes, outcome.peak_bytes)


@dataclass
class _OnAxes:
    """The program on meshes with the same axes: the strategies of its ops do not depend on the device mapping."""

    module: ir.Operation
    """The owner of `func`."""
    func: ir.Operation
    axes: tuple[tuple[str, int], ...]
    """Those of the refined mesh."""
    state: dict[int, int]
    builder: Builder | None = None
    built: Built | None = None
    classed: Sequence[int] = ()
    device: DeviceKind | None = None
    """The kind of device that `built` is for."""

    @classmethod
    def of(cls, module: ir.Operation, mesh: Mesh, refine: RefineMesh | None) -> _OnAxes:
        """`module` on `mesh`; it stays as it is.

        Raises:
          PcgError: its layouts do not go with the mesh, or there is nothing to place.
        """
        copy = module.clone().operation
        replace_mesh(copy, mesh)
        if refine is not None:
            RefineMesh(refine.reshapes, refine.max_axes).run(copy)
        func, refined = entry_of(copy), shardings.mesh_of(copy)
        assert refined is not None
        return cls(copy, func, refined.axes, state_of(func))

    def plan(self, mesh: Mesh, machine: Machine, cutoff: float, limit: float) -> Outcome:
        """A good plan on `mesh`; see `optimize` for `cutoff`.

        Raises:
          DoesNotFit: no plan that was found takes at most `limit` bytes.
          PcgError: the layouts that are fixed contradict each other.
        """
        model = CostModel(machine, Mesh(self.axes, mesh.device_ids))
        device = model.machine.device
        if self.built is None or self.builder is None or self.device != device:
            self.builder = Builder(model, Tables.on(model.mesh))
            built = self.built = self.builder.build(self.func, self.state)
            self.classed, self.device = built.graph.classes(), device
        else:
            built = self.builder.elsewhere(self.built, model)
        outcome = optimize(built.quotient(model, self.classed), limit=limit, cutoff=cutoff, quick=True)
        if outcome.bound <= cutoff:
            check_possible(self.func, outcome)
        return outcome
