"""pcg-choose-mesh: choose the process mesh, and which device of a cluster each of its positions is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from torch_mlir import ir

from pcg.ir import shardings
from pcg.layout import Mesh
from pcg.machine import ClusterError, Machine, mapping
from pcg.passes.base import Bytes, Pass, PassError, option
from pcg.passes.dist_refine_mesh import RefineMeshPass
from pcg.passes.pcg_search import SearchPass

#: How much better (relative) a candidate must be than the best before it.
_WORTH = 1e-3


@dataclass
class ChooseMeshPass(Pass):
    """Choose the process mesh and its place on the cluster: those of the fastest plan.

    With a number of devices (or a cluster) and no mesh in the program, every mesh of that many devices with up to
    `max-axes` axes is a candidate, in every distinct place on the cluster.  With a mesh that names no devices, and a
    cluster, the candidates are the places of that mesh.  For each, `pcg-search` looks for a good plan on a copy of
    the program; it stops as soon as it is proved that the candidate is not 0.1% better than the best before it.  The
    winner becomes the module's `dist.mesh`, with its devices; how much better another one could be at most is said
    in a remark.  Candidates come in a fixed order and only a better one replaces the best, so the same input gives
    the same mesh.

    A program whose mesh names devices, or one without cluster and number of devices, stays as it is.
    """

    name: ClassVar[str] = "pcg-choose-mesh"

    devices: int = option(0, "number of devices that the mesh is made of; 0: all usable ones of the cluster")
    max_axes: int = option(2, "meshes have no more axes: each makes a search many times longer")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as in pcg-search")
    machine: Machine = field(default_factory=Machine.default)
    refine: RefineMeshPass | None = field(default_factory=lambda: RefineMeshPass(reshapes=True, max_axes=2))
    """What cuts mesh axes before the search, as the pipelines do; its options are read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chosen: mapping.Placement | None = None

    def run(self, module: ir.Operation) -> None:
        """Raises PassError where no candidate has a plan that fits, or the mesh does not go on the cluster."""
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
            raise PassError(module, str(error)) from None
        self.statistics["candidates"] = len(candidates)
        best, bound, losers = math.inf, math.inf, 0
        failures: list[tuple[float, PassError]] = []
        for c in candidates if len(candidates) > 1 else ():
            seconds, least = self._price(module, c.mesh, best * (1 - _WORTH), failures)
            bound = min(bound, least)
            if seconds < best:
                best, self.chosen = seconds, c
            losers += seconds == math.inf
        if len(candidates) == 1:
            self.chosen = candidates[0]
        elif self.chosen is None:
            raise min(failures, key=lambda x: x[0])[1]  # the one that needs the least memory
        assert self.chosen is not None
        self.statistics["cut off"] = losers
        shardings.set_mesh(module, self.chosen.mesh, *meshes)
        how = ""
        if best < math.inf:
            gap = max(0.0, 1 - bound / best)
            how = f", {1e6 * best:.1f} us per step by estimate; no other can be more than {100 * gap:.1f}% better"
        self.remark(module, f"mesh {self.chosen}, best of {len(candidates)}{how}")

    def _candidates(self, mesh: Mesh | None) -> Iterable[mapping.Placement]:
        cluster = self.machine.cluster
        if mesh is None:
            usable = len(cluster.devices) if cluster is not None else 0
            return mapping.candidates(cluster, self.devices or usable, self.max_axes)
        assert cluster is not None
        return mapping.placements(cluster, mesh)

    def _price(
        self, module: ir.Operation, mesh: Mesh, cutoff: float, failures: list[tuple[float, PassError]]
    ) -> tuple[float, float]:
        """Seconds of a good plan on `mesh` and a bound for all; infinite where none is below `cutoff`.

        Where there is none at all, `failures` gets why, and how much memory one would need.
        """
        copy = module.clone().operation
        for symbol in list(shardings.meshes_of(copy)) or ["mesh"]:
            shardings.set_mesh(copy, mesh, symbol)
        search = SearchPass(memory_limit=self.memory_limit, machine=self.machine, cutoff=cutoff, quick=True)
        try:
            if self.refine is not None:
                RefineMeshPass(self.refine.reshapes, self.refine.max_axes).run(copy)
            search.run(copy)
        except PassError as error:
            failures.append((search.needed, error))
            return math.inf, math.inf
        outcome = search.outcome
        assert outcome is not None
        return (outcome.seconds if outcome.bound <= cutoff else math.inf), outcome.bound
