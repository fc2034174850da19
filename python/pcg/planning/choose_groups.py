"""How to use a cluster of unlike groups of devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import mesh_names, shardings
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.stages import stages_of
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry, entry_of
from pcg.layout import Mesh
from pcg.lower.lower_processes import lower_stages
from pcg.machine import Cluster, ClusterError, Group, Machine
from pcg.machine.shares import proportional
from pcg.planning.choose_mesh import ChooseMesh
from pcg.planning.evaluate import Context, evaluate
from pcg.planning.place_stages import PlaceStages
from pcg.planning.search import Search
from pcg.rewrite.propagate_meshes import PropagateMeshes
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.rewrite.share_batch import ShareBatch
from pcg.rewrite.shares import batch_of
from pcg.rewrite.split_meshes import SplitMeshes
from pcg.search.roles import data_of, state_of
from pcg.simulate.stages import simulate_stages

#: The ways to use unlike groups, in the order in which they are tried.
WAYS = ("slowest", "alone", "shared", "staged")
#: How far (relative to all weights) a cut between stages may be from where it should be, to go where less data flows.
_NEAR = 0.2
#: How often the shares are corrected by what the groups are found to take.
_CORRECTIONS = 3


@dataclass(frozen=True)
class Way:
    """A way to use the cluster: seconds per step and bytes per device at the peak, by the simulator.

    `why` says why there is no plan, if there is none; `apply` makes it of a module.
    """

    name: str
    kind: str
    seconds: float
    peak: float
    why: str = ""
    apply: Callable[[ir.Operation], None] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        if self.why:
            return f"{self.name}: {self.why}"
        return f"{self.name} {1e6 * self.seconds:.1f} us, {self.peak / 2**20:.1f} MiB"


@dataclass
class ChooseGroups(Transformation):
    """On a cluster of unlike groups of devices, choose what each of them does."""

    ways: tuple[str, ...] = option(WAYS, "ways to try, of slowest, alone, shared, staged")
    devices: int = option(0, "number of devices asked for; if any, pcg-choose-mesh takes them instead")
    max_axes: int = option(2, "meshes have no more axes, as in pcg-choose-mesh")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need; default: what its kind has")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        #: What was tried, and which of it was taken.
        self.tried: list[Way] = []
        self.chosen: Way | None = None

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no way has a plan that fits."""
        module = module.operation
        cluster = self.machine.cluster
        if cluster is None or self.devices or shardings.meshes_of(module) or len(kinds_of(cluster)) < 2:
            return
        if bad := [w for w in self.ways if w not in WAYS]:
            raise PcgError(f"option 'ways': unknown way {bad[0]!r}; allowed: {', '.join(WAYS)}", module)
        func = entry_of(module)
        self.tried = [w for w in self._ways(module, cluster)]
        found = [w for w in self.tried if not w.why]
        if not found:
            raise PcgError("no way to use the groups has a plan; " + "; ".join(map(str, self.tried)), func)
        self.chosen = min(found, key=lambda w: w.seconds)
        assert self.chosen.apply is not None
        self.chosen.apply(module)
        self.statistics["ways"] += len(self.tried)
        rest = "; ".join(str(w) for w in self.tried if w is not self.chosen)
        self.remark(func, f"{self.chosen} per device" + (f"; rejected: {rest}" if rest else ""))

    # -- ways ----------------------------------------------------------------------------------

    def _ways(self, module: ir.Operation, cluster: Cluster) -> Iterator[Way]:
        if "slowest" in self.ways:
            yield self._one_mesh(module, "all devices as the slowest", "slowest", cluster)[0]
        alone: dict[str, tuple[Way, Mesh | None]] = {}
        if set(self.ways) & {"alone", "shared", "staged"}:
            for group, devices in groups_of(cluster):
                alone[group.name] = self._one_mesh(module, f"{group.name} alone", "alone", cluster.only(devices))
        if "alone" in self.ways:
            yield from (way for way, _ in alone.values())
        meshes = {n: mesh for n, (_, mesh) in alone.items() if mesh is not None}
        if len(alone) < 2:
            return
        if len(meshes) < len(alone):
            meshes = {g.name: Mesh.of({"d0": len(ids)}, ids) for g, ids in groups_of(cluster)}
        speeds = {n: 0.0 if way.why else 1 / way.seconds for n, (way, _) in alone.items()}
        if not all(speeds.values()):  # one has no plan alone: by what its devices can do
            speeds = {g.name: g.size * cluster.kind(g.kind).peak("f32") for g, _ in groups_of(cluster)}
        meshes = {_symbol(n): m for n, m in meshes.items()}
        speeds = {_symbol(n): s for n, s in speeds.items()}
        if "shared" in self.ways:
            yield from self._shared(module, meshes, speeds)
        if "staged" in self.ways:
            yield from self._staged(module, meshes, speeds)

    def _one_mesh(
        self, module: ir.Operation, name: str, kind: str, cluster: Cluster
    ) -> tuple[Way, Mesh | None]:
        """The best mesh of all usable devices of `cluster`, and the plan on it."""
        kept = clone_module(module)
        copy = kept.operation
        machine = Machine.of(cluster)
        try:
            choose = ChooseMesh(max_axes=self.max_axes, memory_limit=self.memory_limit, machine=machine)
            choose.run(copy)
            mesh = next(iter(shardings.meshes_of(copy).values()))
            search = Search(machine=machine, memory_limit=self.memory_limit, progress=False)
            for step in (RefineMesh(reshapes=True, max_axes=2), search):
                step.run(copy)
            found = evaluate(copy, Context(machine)).step
        except (PcgError, ClusterError) as error:
            return Way(name, kind, math.inf, math.inf, getattr(error, "message", str(error))), None
        mesh = Mesh.of(mesh.axes, cluster.device_of(mesh))

        def apply(target: ir.Operation) -> None:
            shardings.set_mesh(target, mesh)

        model = CostModel(machine, mesh)
        why = self._too_large({name: (found.peak_bytes, model.machine.device.memory)})
        return Way(f"{name} ({mesh})", kind, found.seconds, found.peak_bytes, why, apply), mesh

    def _shared(self, module: ir.Operation, meshes: dict[str, Mesh], speeds: dict[str, float]) -> Iterator[Way]:
        """Shares in proportion to speed, then corrected by what the groups take."""
        func = entry(module)
        assert func is not None
        batch, _ = batch_of(func, data_of(func, state_of(func)))
        if batch < len(meshes):
            yield Way("shared batch", "shared", math.inf, math.inf, "the program has no batch to share")
            return
        units = {n: m.size for n, m in meshes.items()}
        seen = set()
        for _ in range(1 + _CORRECTIONS):
            shares = proportional(batch, speeds, units)
            if tuple(shares.values()) in seen:
                break
            seen.add(tuple(shares.values()))
            way, busy = self._shared_as(module, meshes, shares)
            yield way
            if way.why or not all(busy.values()):
                break
            speeds = {n: shares[n] / busy[n] for n in meshes}

    def _shared_as(
        self, module: ir.Operation, meshes: dict[str, Mesh], shares: dict[str, int]
    ) -> tuple[Way, Mapping[str, float]]:
        def apply(target: ir.Operation) -> None:
            for n, mesh in meshes.items():
                shardings.set_mesh(target, mesh, n)
            ShareBatch(shares=tuple(shares.values())).run(target)
            self._place(target)

        text = "batch shared " + ", ".join(f"{n} {s}" for n, s in shares.items())
        return self._stages(module, text, "shared", apply)

    def _staged(self, module: ir.Operation, meshes: dict[str, Mesh], speeds: dict[str, float]) -> Iterator[Way]:
        """Weights cut where stages have parts of them in proportion to speed, or equal parts; in either order."""
        done = set()
        for order in (list(meshes), list(meshes)[::-1]):
            cuts: list[list[float]] = [[speeds[n] for n in order], [1.0] * len(order)]
            for cut in cuts:
                home = stages_by_weights(module, order, cut)
                key = tuple(sorted(home.items()))
                if len(set(home.values())) < len(order) or key in done:
                    continue
                done.add(key)

                def apply(target: ir.Operation, home: dict[int, str] = home) -> None:
                    for n, mesh in meshes.items():
                        shardings.set_mesh(target, mesh, n)
                    func = entry(target)
                    assert func is not None
                    place_arguments(func, home)
                    self._place(target)

                counts = ", ".join(f"{n} {list(home.values()).count(n)} weights" for n in order)
                yield self._stages(module, f"staged {counts}", "staged", apply)[0]

    # -- pricing -------------------------------------------------------------------------------

    def _place(self, module: ir.Operation) -> None:
        """From meshes of arguments and ops to placed stages."""
        limit = self.memory_limit
        for step in (
            PropagateMeshes(), SplitMeshes(),
            PlaceStages(engine="search", memory_limit=limit, spread=True, machine=self.machine),
        ):  # fmt: skip
            step.run(module)

    def _stages(
        self, module: ir.Operation, name: str, kind: str, apply: Callable[[ir.Operation], None]
    ) -> tuple[Way, Mapping[str, float]]:
        """A way that ends in placed stages, and the seconds that each mesh computes."""
        kept = clone_module(module)
        copy = kept.operation
        try:
            apply(copy)
            func = entry(copy)
            assert func is not None
            keep, local = lower_stages(self, copy, stages_of(func), self.machine)
        except PcgError as error:
            return Way(name, kind, math.inf, math.inf, error.message), {}
        found = simulate_stages(func, local, self.machine)
        del keep
        meshes = shardings.meshes_of(copy)
        cluster = self.machine.cluster
        assert cluster is not None
        room = {n: Machine.of(cluster, meshes[n]).device.memory for n in found.peak_bytes}
        why = self._too_large({n: (p, room[n]) for n, p in found.peak_bytes.items()})
        return Way(name, kind, found.seconds, max(found.peak_bytes.values()), why, apply), found.busy

    def _too_large(self, needs: Mapping[str, tuple[float, float]]) -> str:
        for name, (peak, memory) in needs.items():
            limit = memory if self.memory_limit is None else float(self.memory_limit)
            if peak > limit:
                return f"needs {peak / 2**30:.2f} GiB per device of {name}; there are {limit / 2**30:.2f} GiB"
        return ""


def groups_of(cluster: Cluster) -> list[tuple[Group, list[int]]]:
    """The groups that have usable devices, and these."""
    found = []
    for i, group in enumerate(cluster.groups):
        start = cluster.starts[i]
        ids = [d for d in cluster.devices if start <= d < start + group.size]
        if ids:
            found.append((group, ids))
    return found


def kinds_of(cluster: Cluster) -> set[str]:
    """Kinds of the usable devices."""
    return {cluster.group_of(d).kind for d in cluster.devices}


def stages_by_weights(module: ir.Operation, order: Sequence[str], parts: Sequence[float]) -> dict[int, str]:
    """Weights (arguments that are neither data nor scalars) -> the stage of each, in order of their first use.

    Stage k has a part of the bytes in proportion to `parts[k]`, as nearly as a cut where little data flows allows.
    """
    func = entry(module)
    assert func is not None
    block = func.regions[0].blocks[0]
    uses = first_uses(func)
    weights = [i for i in sorted(uses, key=lambda i: (uses[i][0], i)) if block.arguments[i].type.rank]
    sizes = [tensor_bytes(block.arguments[i].type) for i in weights]
    before = [sum(sizes[:n]) for n in range(len(sizes))]
    total, low = float(sum(sizes)), 1
    cuts = []
    for k in range(1, len(order)):
        wanted = sum(parts[:k]) / sum(parts) * total
        room = range(low, len(weights) - (len(order) - 1 - k))
        near = [n for n in room if abs(before[n] - wanted) <= _NEAR * total] or sorted(
            room, key=lambda n: abs(before[n] - wanted)
        )[:1]
        if not near:
            return {}
        cuts.append(min(near, key=lambda n: (uses[weights[n]][1], abs(before[n] - wanted), n)))
        low = cuts[-1] + 1
    return {i: order[sum(n >= c for c in cuts)] for n, i in enumerate(weights)}


def first_uses(func: ir.Operation) -> dict[int, tuple[int, float]]:
    """Weight -> (number of the first op that computes with it and with data, bytes of data that this op takes).

    What only updates use is used late.
    """
    block = func.regions[0].blocks[0]
    data = set(data_of(func, state_of(func)))
    fed: set[ir.Value] = {block.arguments[i] for i in data}
    origin: dict[ir.Value, set[int]] = {a: {a.arg_number} for a in block.arguments if a.arg_number not in data}
    found: dict[int, tuple[int, float]] = {}
    for number, op in enumerate(o.operation for o in block.operations):
        sources = set().union(*(origin.get(v, set()) for v in op.operands))
        taken = [v for v in op.operands if v in fed]
        if taken:
            fed.update(op.results)
            size = sum(tensor_bytes(v.type) for v in taken)
            for i in sources:
                found.setdefault(i, (number, size))
        elif sources:
            origin.update(dict.fromkeys(op.results, sources))
    return found


def place_arguments(func: ir.Operation, home: Mapping[int, str]) -> None:
    """Say on which meshes arguments, and the results that are their next values, are."""
    count = len(func.regions[0].blocks[0].arguments)
    state = state_of(func)
    results = list(func.regions[0].blocks[0].operations)[-1].operation.operands
    mesh_names.set_signature_meshes(func, "arg_attrs", [home.get(i) for i in range(count)])
    mesh_names.set_signature_meshes(func, "res_attrs", [home.get(state.get(r, -1)) for r in range(len(results))])


def _symbol(group: str) -> str:
    """A mesh's symbol from the name of a group."""
    text = "".join(c if c.isalnum() or c in "_.$-" else "_" for c in group)
    return text if text != "all" else "all_"
