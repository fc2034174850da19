"""How to use a cluster of heterogeneous groups of devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.stages import stages_of
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.lower.lower_processes import lower_stages
from pcg.machine import Cluster, ClusterError, Group, Machine
from pcg.machine.apportion import apportion
from pcg.planning.choose_mesh import ChooseMesh
from pcg.planning.evaluate import Context, evaluate
from pcg.planning.place_stages import PlaceStages
from pcg.planning.search import Search
from pcg.planning.weight_stages import stages_by_weights
from pcg.rewrite.propagate_meshes import PropagateMeshes, place_arguments
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.rewrite.split_meshes import SplitMeshes
from pcg.rewrite.uneven_data_parallelism import UnevenDataParallelism, batch_of
from pcg.search.roles import data_of, state_of
from pcg.simulate.stages import simulate_stages

#: The strategies for heterogeneous groups, in the order in which they are tried.
GROUP_STRATEGIES = ("slowest", "alone", "shared", "staged")
#: How often the shares of the batch are corrected by the time that each group is found to compute.  A choice: one
#: correction is exact where time is proportional to the share; each costs a plan of every stage.
_CORRECTIONS = 3


@dataclass(frozen=True)
class GroupPlan:
    """A plan for the groups: seconds per step and bytes per device at the peak, by the simulator.

    `failure` says why there is no plan, if there is none; `apply` makes a module the plan.
    """

    name: str
    strategy: str
    seconds: float = math.inf
    peak: float = math.inf
    failure: str = ""
    apply: Callable[[ir.Operation], None] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        if self.failure:
            return f"{self.name}: {self.failure}"
        return f"{self.name} {1e6 * self.seconds:.1f} us, {self.peak / 2**20:.1f} MiB"


@dataclass
class ChooseGroups(Transformation):
    """On a cluster of heterogeneous groups of devices, choose what each of them does."""

    strategies: tuple[str, ...] = option(GROUP_STRATEGIES, "strategies to try, of slowest, alone, shared, staged")
    devices: int = option(0, "number of devices of one mesh; if any, pcg-choose-mesh takes them instead")
    max_axes: int = option(2, "meshes have no more axes, as in pcg-choose-mesh")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need; default: what its kind has")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        #: The plans that were made, and the one that was taken.
        self.tried: list[GroupPlan] = []
        self.chosen: GroupPlan | None = None

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no strategy has a plan that fits."""
        module = module.operation
        cluster = self.machine.cluster
        if cluster is None or self.devices or shardings.meshes_of(module) or len(_usable_kinds(cluster)) < 2:
            return
        if unknown := [s for s in self.strategies if s not in GROUP_STRATEGIES]:
            allowed = ", ".join(GROUP_STRATEGIES)
            raise PcgError(f"option 'strategies': unknown strategy {unknown[0]!r}; allowed: {allowed}", module)
        func = entry_of(module)
        self.tried = list(self._plans(module, cluster))
        found = [p for p in self.tried if not p.failure]
        if not found:
            raise PcgError("no strategy for the groups has a plan; " + "; ".join(map(str, self.tried)), func)
        self.chosen = min(found, key=lambda p: p.seconds)
        assert self.chosen.apply is not None
        self.chosen.apply(module)
        self.statistics["strategies"] += len(self.tried)
        rest = "; ".join(str(p) for p in self.tried if p is not self.chosen)
        self.remark(func, f"{self.chosen} per device" + (f"; rejected: {rest}" if rest else ""))

    # -- strategies ----------------------------------------------------------------------------

    def _plans(self, module: ir.Operation, cluster: Cluster) -> Iterator[GroupPlan]:
        if "slowest" in self.strategies:
            yield self._one_mesh(module, "all devices as the slowest", "slowest", cluster)[0]
        groups = _usable_groups(cluster)
        alone: dict[str, tuple[GroupPlan, Mesh | None]] = {}
        if set(self.strategies) & {"alone", "shared", "staged"}:
            for group, devices in groups:
                alone[group.name] = self._one_mesh(module, f"{group.name} alone", "alone", cluster.only(devices))
        if "alone" in self.strategies:
            yield from (plan for plan, _ in alone.values())
        if len(alone) < 2:
            return
        meshes = {_symbol(n): mesh for n, (_, mesh) in alone.items() if mesh is not None}
        if len(meshes) < len(alone):
            meshes = {_symbol(g.name): Mesh.of({"d0": len(ids)}, ids) for g, ids in groups}
        speeds = {_symbol(n): 0.0 if plan.failure else 1 / plan.seconds for n, (plan, _) in alone.items()}
        if not all(speeds.values()):  # one has no plan alone: by what its devices can do
            speeds = {_symbol(g.name): g.size * cluster.kind(g.kind).peak("f32") for g, _ in groups}
        if "shared" in self.strategies:
            yield from self._shared(module, meshes, speeds)
        if "staged" in self.strategies:
            yield from self._staged(module, meshes, speeds)

    def _one_mesh(
        self, module: ir.Operation, name: str, strategy: str, cluster: Cluster
    ) -> tuple[GroupPlan, Mesh | None]:
        """The best mesh of all usable devices of `cluster`, and the plan on it."""
        copy = clone_module(module).operation
        machine = Machine.of(cluster)
        try:
            ChooseMesh(max_axes=self.max_axes, memory_limit=self.memory_limit, machine=machine).run(copy)
            mesh = next(iter(shardings.meshes_of(copy).values()))
            RefineMesh(reshapes=True, max_axes=2).run(copy)
            Search(machine=machine, memory_limit=self.memory_limit, progress=False).run(copy)
            found = evaluate(copy, Context(machine))
        except (PcgError, ClusterError) as error:
            return GroupPlan(name, strategy, failure=getattr(error, "message", str(error))), None
        mesh = Mesh.of(mesh.axes, cluster.device_of(mesh))

        def apply(target: ir.Operation) -> None:
            shardings.set_mesh(target, mesh)

        memory = CostModel(machine, mesh).machine.device.memory
        failure = self._too_large({name: (found.peak_bytes, memory)})
        return GroupPlan(f"{name} ({mesh})", strategy, found.seconds, found.peak_bytes, failure, apply), mesh

    def _shared(self, module: ir.Operation, meshes: dict[str, Mesh], speeds: dict[str, float]) -> Iterator[GroupPlan]:
        """Uneven data parallelism: shares in proportion to speed, then corrected by what the groups take."""
        func = entry_of(module)
        batch, _ = batch_of(func, data_of(func, state_of(func)))
        if batch < len(meshes):
            yield GroupPlan("shared batch", "shared", failure="the program has no batch to share")
            return
        units = {n: m.size for n, m in meshes.items()}
        seen = set()
        for _ in range(1 + _CORRECTIONS):
            shares = apportion(batch, speeds, units)
            if tuple(shares.values()) in seen:
                break
            seen.add(tuple(shares.values()))
            name = "batch shared " + ", ".join(f"{n} {s}" for n, s in shares.items())
            rewrite = UnevenDataParallelism(shares=tuple(shares.values())).run
            plan, busy = self._on_stages(module, name, "shared", meshes, rewrite)
            yield plan
            if plan.failure or not all(busy.values()):
                break
            speeds = {n: shares[n] / busy[n] for n in meshes}

    def _staged(self, module: ir.Operation, meshes: dict[str, Mesh], speeds: dict[str, float]) -> Iterator[GroupPlan]:
        """Stages that have weights in proportion to speed, or equal parts; in either order."""
        done = set()
        for order in (list(meshes), list(meshes)[::-1]):
            for parts in ([speeds[n] for n in order], [1.0] * len(order)):
                home = stages_by_weights(module, order, parts)
                key = tuple(sorted(home.items()))
                if len(set(home.values())) < len(order) or key in done:
                    continue
                done.add(key)

                def rewrite(target: ir.Operation, home: dict[int, str] = home) -> None:
                    place_arguments(entry_of(target), home)

                counts = ", ".join(f"{n} {list(home.values()).count(n)} weights" for n in order)
                yield self._on_stages(module, f"staged {counts}", "staged", meshes, rewrite)[0]

    # -- evaluation ----------------------------------------------------------------------------

    def _on_stages(
        self, module: ir.Operation, name: str, strategy: str, meshes: dict[str, Mesh],
        rewrite: Callable[[ir.Operation], None],
    ) -> tuple[GroupPlan, Mapping[str, float]]:  # fmt: skip
        """A plan that ends in placed stages on `meshes`, and the seconds that each mesh computes.

        `rewrite` says of a module that declares the meshes which arguments and ops are on which.
        """
        cluster = self.machine.cluster
        assert cluster is not None

        def apply(target: ir.Operation) -> None:
            for n, mesh in meshes.items():
                shardings.set_mesh(target, mesh, n)
            rewrite(target)
            PropagateMeshes().run(target)
            SplitMeshes().run(target)
            PlaceStages(
                engine="search", memory_limit=self.memory_limit, spread=True, machine=self.machine
            ).run(target)

        copy = clone_module(module).operation
        try:
            apply(copy)
            func = entry_of(copy)
            keep, local = lower_stages(self, copy, stages_of(func), self.machine)
        except PcgError as error:
            return GroupPlan(name, strategy, failure=error.message), {}
        found = simulate_stages(func, local, self.machine)
        del keep
        placed = shardings.meshes_of(copy)
        memory = {n: Machine.of(cluster, placed[n]).device.memory for n in found.peak_bytes}
        failure = self._too_large({n: (peak, memory[n]) for n, peak in found.peak_bytes.items()})
        return GroupPlan(name, strategy, found.seconds, max(found.peak_bytes.values()), failure, apply), found.busy

    def _too_large(self, needs: Mapping[str, tuple[float, float]]) -> str:
        """Why a plan does not fit, by (peak, memory) in bytes of a device of each mesh; empty if it fits."""
        for name, (peak, memory) in needs.items():
            limit = memory if self.memory_limit is None else float(self.memory_limit)
            if peak > limit:
                return f"needs {peak / 2**30:.2f} GiB per device of {name}; there are {limit / 2**30:.2f} GiB"
        return ""


def _usable_groups(cluster: Cluster) -> list[tuple[Group, list[int]]]:
    """The groups that have usable devices, and these."""
    spans = [(g, range(start, start + g.size)) for g, start in zip(cluster.groups, cluster.starts, strict=True)]
    found = [(group, [d for d in cluster.devices if d in span]) for group, span in spans]
    return [(group, devices) for group, devices in found if devices]


def _usable_kinds(cluster: Cluster) -> set[str]:
    """Kinds of the usable devices."""
    return {cluster.group_of(d).kind for d in cluster.devices}


def _symbol(group: str) -> str:
    """A mesh's symbol from the name of a group; `all` is the mesh of all devices."""
    text = "".join(c if c.isalnum() or c in "_.$-" else "_" for c in group)
    return text if text != "all" else "all_"
