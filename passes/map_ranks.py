"""pcg-map-ranks: which device each process of a program on several meshes is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import stages_of
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.lower.processes import devices
from pcg.lower.traffic import traffic_of
from pcg.machine import Cluster, ClusterError, Machine
from pcg.machine.ranks import METHODS, Ranking, map_ranks
from pcg.passes.base import Pass, option
from pcg.passes.lower_processes import lower_stages


@dataclass
class MapRanksPass(Pass):
    """Give the processes of placed stages the devices of a cluster on which what they exchange takes least.

    The devices that the meshes name are taken as processes.  What they send each other follows from the stages'
    collectives and the transfers between them; a process that talks much with another goes near it.  A process stays on
    devices of the kind on which it is, for which its stage was planned; `kinds` names another, and is needed where a
    mesh names devices that the cluster does not have.  Its device must hold its arguments.  Greedily
    as Paddle does it, then by exchanging two processes; of up to 8 processes the best of all placements.
    Never slower than the order of numbers.  Without a cluster nothing happens.

    Before, on nodes of two devices, where every process of @a talks to the one of @b at its position:
    ```mlir
    "dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
    "dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
    ```
    After:
    ```mlir
    "dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 2]>} : () -> ()
    "dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [1, 3]>} : () -> ()
    ```
    """

    name: ClassVar[str] = "pcg-map-ranks"
    method: str = option("auto", "How placements are looked for; auto: optimal for up to 8 processes.", METHODS)
    kinds: tuple[str, ...] = option((), "Kinds of device that meshes need, as first=V100,second=A100.")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ranking: Ranking | None = None

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
        how = "no placement is faster" if found.proved else found.method
        self.remark(
            func, f"{len(processes)} processes exchange for {1e6 * found.seconds:.1f} us per step ({how}); in the order"
            f" of numbers {1e6 * found.naive:.1f} us"
        )

    def _kinds(self, module: ir.Operation, meshes: dict[str, Mesh], cluster: Cluster) -> dict[int, str | None]:
        """The kind that each process needs: that asked for its mesh, else that of the device of its number."""
        asked = {}
        for item in self.kinds:
            name, given, kind = item.partition("=")
            if not given or name not in meshes:
                known = ", ".join(meshes)
                raise PcgError(f"option 'kinds': {item!r}; expected mesh=kind, of the meshes {known}", module)
            asked[name] = kind
        out: dict[int, str | None] = {}
        for name, mesh in meshes.items():
            for d in devices(mesh):
                if name in asked:
                    out[d] = asked[name]
                else:
                    out.setdefault(d, cluster.group_of(d).kind if 0 <= d < cluster.size else None)
        return out
