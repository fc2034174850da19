"""Which device each process of a program on several meshes is."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import stages_of
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.lower.lower_processes import lower_stages
from pcg.lower.processes import devices
from pcg.lower.traffic import traffic_of
from pcg.machine import Cluster, ClusterError, Machine
from pcg.machine.ranks import METHODS, RankMapping, map_ranks


@dataclass
class MapRanks(Transformation):
    """Give the processes of placed stages the devices of a cluster on which their messages take least time."""

    method: str = option("auto", "How device mappings are searched; auto: optimal for up to 8 processes.", METHODS)
    kinds: tuple[str, ...] = option((), "Kinds of device that meshes need, as first=V100,second=A100.")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ranking: RankMapping | None = None

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        func, cluster = entry_of(module), self.machine.cluster
        stages = stages_of(func)
        if not stages:
            raise PcgError("the entry function has no stages; run pcg-split-meshes and pcg-place-stages first", func)
        if cluster is None:
            return
        meshes = shardings.meshes_of(module)
        keep, local = lower_stages(self, module, stages, self.machine)
        try:
            processes, traffic = traffic_of(func, local, self._kinds(module, meshes, cluster))
            usable = set(processes) <= set(cluster.devices)
            self.ranking = found = map_ranks(cluster, traffic, self.method, processes if usable else None)
        except ClusterError as error:
            raise PcgError(str(error), func) from None
        del keep
        device = dict(zip(processes, found.devices, strict=True))
        for name, mesh in meshes.items():
            shardings.set_mesh(module, Mesh.of(mesh.axes, [device[d] for d in devices(mesh)]), name)
        self.statistics["processes"] += len(processes)
        how = "no device mapping is faster" if found.proved else found.method
        self.remark(
            func, f"{len(processes)} processes exchange for {1e6 * found.seconds:.1f} us per step ({how}); in the order"
            f" of numbers {1e6 * found.naive:.1f} us"
        )

    def _kinds(self, module: ir.Operation, meshes: dict[str, Mesh], cluster: Cluster) -> dict[int, str | None]:
        """The kind that each process needs: that of option `kinds`, else that of the device of its number."""
        of_mesh = {}
        for item in self.kinds:
            name, separator, kind = item.partition("=")
            if not separator or name not in meshes:
                known = ", ".join(meshes)
                raise PcgError(f"option 'kinds': {item!r}; expected mesh=kind, of the meshes {known}", module)
            of_mesh[name] = kind
        out: dict[int, str | None] = {}
        for name, mesh in meshes.items():
            for d in devices(mesh):
                if name in of_mesh:
                    out[d] = of_mesh[name]
                else:
                    out.setdefault(d, cluster.group_of(d).kind if 0 <= d < cluster.size else None)
        return out
