"""Simulating a program of stages on several meshes: all meshes at once, with the transfers between them.

Every device of a mesh does the same, so a mesh is two streams, as one device is in the simulation of one mesh; a
transfer is a task on a stream of the two meshes, in the direction in which it goes, beside what both compute.  The
tasks of all stages are one graph, so that what waits for what, and what overlaps, follows from the values.
Collectives of a mesh do not slow down transfers, nor transfers between two meshes those between others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch_mlir import ir

from pcg.cost import COMBINED, CostModel, slowest_copy
from pcg.cost.transfers import messages_seconds
from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import inputs_of, outputs_of, stage_mesh
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec
from pcg.lower.redistribution_ops import itemsize
from pcg.machine import Machine
from pcg.reshard import cross_mesh_plan
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.memory import assign_buffers, liveness
from pcg.simulate.read import TaskReader
from pcg.simulate.schedule import Run, ScheduleOptions, run
from pcg.simulate.scope import aliases_of
from pcg.simulate.task_graph import Task, TaskGraph
from pcg.simulate.trace import write_trace


@dataclass(frozen=True)
class StagedSimulation:
    """One step of a program of stages.

    By symbol of a mesh: `busy`, the seconds that its devices compute; `peak_bytes` per device.  `transfers` are the
    seconds of all transfers between meshes, `transfer_bytes` what devices send for them.
    """

    seconds: float
    busy: Mapping[str, float]
    peak_bytes: Mapping[str, float]
    transfers: float
    transfer_bytes: float
    runs: Mapping[str, Run] = field(repr=False, compare=False)

    def write_trace(self, path: str | Path) -> None:
        """Write the step as a Chrome trace (JSON), with a row of streams per mesh, which ui.perfetto.dev opens."""
        write_trace(path, self.runs)


def simulate_stages(
    func: ir.Operation, local: Mapping[ir.Operation, ir.Operation], machine: Machine
) -> StagedSimulation:
    """One step of the entry function `func`, whose stages run `local` programs on their meshes.

    Args:
      func: a function of placed stages, as pcg-place-stages leaves it.
      local: what a device of its mesh runs of each stage, as pcg-lower-spmd makes it.
      machine: with the cluster on which the devices of the meshes are.
    """
    return _Staged(func, local, machine).simulate()


class _Staged:
    def __init__(self, func: ir.Operation, local: Mapping[ir.Operation, ir.Operation], machine: Machine) -> None:
        self.func, self.local, self.machine = func, local, machine
        self.meshes: dict[str, Mesh] = shardings.meshes_of(func.parent)
        self.graph = TaskGraph()
        #: Symbols of meshes that have stages -> number of their device group; meshes that share devices share it.
        #: Group g has the streams 2 g and 2 g + 1.
        self.group = self._group_by_mesh()
        #: (group, group) -> the stream of transfers from one to the other.
        self.links: dict[tuple[int, int], int] = {}
        #: (value of the function, group) -> number in the graph.
        self.values: dict[tuple[ir.Value, int], int] = {}
        #: Group of each value, and of each task; of a transfer that of its sender.
        self.group_of_value: list[int] = []
        self.group_of_task: list[int] = []
        self.transfer_bytes = 0.0
        self.models: list[CostModel] = []
        #: Group -> bytes of constants.
        self.constants: dict[int, float] = {}

    def _group_by_mesh(self) -> dict[str, int]:
        found: dict[str, int] = {}
        taken: list[set[int]] = []
        for name in dict.fromkeys(stage_mesh(s) for s in self.local):
            ids = set(_devices(self.meshes[name]))
            number = next((i for i, t in enumerate(taken) if t & ids), len(taken))
            if number == len(taken):
                taken.append(set())
            taken[number] |= ids
            found[name] = number
        return found

    def simulate(self) -> StagedSimulation:
        block = self.func.regions[0].blocks[0]
        arguments: list[int] = []
        first: dict[int, int] = {}
        for i, a in enumerate(block.arguments):
            for group in self._groups_of(a):
                first.setdefault(i, len(arguments))
                arguments.append(self._value(a, group, f"arg{i}"))
        self.graph.arguments = tuple(arguments)
        last = block.operations[0].operation
        for op in block.operations:
            op = op.operation
            if op.name == "pcg.stage":
                self._stage(op)
            elif op.name == "pcg.transfer":
                self._transfer(op)
            last = op
        results = [self._find(v) for v in last.operands]
        self.graph.results = tuple(results)
        donated, aliases = aliases_of(self.func, last, ())
        self.graph.donated = frozenset(first[i] for i in donated if i in first)
        self.graph.aliases = {
            r: first[i]
            for r, i in aliases.items()
            if i in first and self.group_of_value[results[r]] == self.group_of_value[arguments[first[i]]]
        }
        # A window that limits nothing: a mesh computes as far ahead as its inputs allow.  `ahead`: a choice.
        options = ScheduleOptions(ahead=8, window=len(self.graph.tasks) + 1, copy=slowest_copy(self.models))
        done = run(self.graph, options)
        parts = self._parts(done)
        return StagedSimulation(
            done.seconds, self._busy(done), {n: r.peak for n, r in parts.items()},
            sum(t.seconds for t in self.graph.tasks if t.kind == "transfer"), self.transfer_bytes, parts,
        )  # fmt: skip

    # -- values --------------------------------------------------------------------------------

    def _spec(self, value: ir.Value) -> tuple[ShardSpec, str]:
        spec, name = shardings.get(value), mesh_names.mesh_name_of(value)
        assert spec is not None and name is not None, "a program of placed stages has all layouts"
        return spec, name

    def _groups_of(self, value: ir.Value) -> list[int]:
        """The groups that hold an argument: that of its mesh, or all that have devices of it."""
        _, name = self._spec(value)
        if name in self.group:
            return [self.group[name]]
        ids = set(_devices(self.meshes[name]))
        return sorted({n for m, n in self.group.items() if ids & set(_devices(self.meshes[m]))})

    def _value(self, value: ir.Value, group: int, name: str = "") -> int:
        spec, mesh = self._spec(value)
        part = spec.local_shape(value.type.shape, self.meshes[mesh])
        number = self._new(tensor_bytes(value.type, part), group, name)
        self.values[value, group] = number
        return number

    def _new(self, bytes_: float, group: int, name: str = "") -> int:
        self.group_of_value.append(group)
        return self.graph.value(bytes_, name)

    def _find(self, value: ir.Value) -> int:
        return next(n for (v, _), n in self.values.items() if v == value)

    # -- tasks ---------------------------------------------------------------------------------

    def _stage(self, stage: ir.Operation) -> None:
        group = self.group[stage_mesh(stage)]
        func = self.local[stage]
        model = CostModel(self.machine, self.meshes[stage_mesh(stage)])
        self.models.append(model)
        inner = TaskReader(model, func.parent).function(func)
        combine_all_reduces(inner, COMBINED, model)
        self.constants[group] = self.constants.get(group, 0.0) + inner.constants
        number: dict[int, int] = {}
        for i, (v, outer) in enumerate(zip(inner.arguments, inputs_of(stage), strict=True)):
            if (outer, group) not in self.values:
                symbol = stage_mesh(stage)
                text = f"input {i} of the stage on @{symbol} is not on its mesh; pcg.transfer moves it there"
                raise PcgError(text, stage.location)
            number[v] = self.values[outer, group]
        for v, bytes_ in enumerate(inner.sizes):
            if v not in number:
                number[v] = self._new(bytes_, group, inner.names.get(v, ""))
        shift = len(self.graph.tasks)
        self.group_of_task += [group] * len(inner.tasks)
        for task in inner.tasks:
            self.graph.tasks.append(
                replace(
                    task, streams=tuple(2 * group + s for s in task.streams),
                    reads=tuple(number[v] for v in task.reads), writes=tuple(number[v] for v in task.writes),
                    over={number[w]: tuple(number[v] for v in vs) for w, vs in task.over.items()},
                    after=tuple(t + shift for t in task.after),
                )
            )  # fmt: skip
        for v, result in zip(inner.results, outputs_of(stage), strict=True):
            if result is not None:
                self.values[result, group] = number[v]

    def _transfer(self, op: ir.Operation) -> None:
        value, result = op.operands[0], op.results[0]
        (src, src_mesh), (dst, dst_mesh) = self._spec(value), self._spec(result)
        meshes = self.meshes
        plan = cross_mesh_plan(
            src, meshes[src_mesh], dst, meshes[dst_mesh], value.type.shape, itemsize(value)
        )
        to = self.group.get(dst_mesh)
        if to is None:  # a result on a mesh that computes nothing
            to = self._groups_of(result)[0]
        from_ = to if (value, to) in self.values else next(p for v, p in self.values if v == value)
        sends = [(p.sender, p.receiver, p.elements * plan.itemsize) for p in plan.pieces]
        self.transfer_bytes += plan.bytes
        streams = (self._link(from_, to),) if sends else ()
        self.group_of_task.append(from_)
        self.graph.tasks.append(
            Task(
                "transfer", "transfer", messages_seconds(self.machine, sends), streams,
                (self.values[value, from_],), (self._value(result, to),),
                bytes=max(plan.wire_bytes_by_sender.values(), default=0.0),
                detail={"axes": (f"@{src_mesh} to @{dst_mesh}",)},
            )
        )  # fmt: skip

    def _link(self, a: int, b: int) -> int:
        """The stream of transfers from group `a` to group `b`; streams come in pairs."""
        first = 2 * (max(self.group.values()) + 1)
        return self.links.setdefault((a, b), first + 2 * len(self.links))

    # -- results -------------------------------------------------------------------------------

    def _busy(self, done: Run) -> dict[str, float]:
        found = dict.fromkeys(self.group, 0.0)
        for task, start, finish in zip(self.graph.tasks, done.start, done.finish, strict=True):
            for name, number in self.group.items():
                if 2 * number in task.streams:
                    found[name] += finish - start
        return found

    def _parts(self, done: Run) -> dict[str, Run]:
        """The run as each mesh sees it: its own tasks, what it sends, and its own memory."""
        found = {}
        for name, number in self.group.items():
            sizes = [s if p == number else 0.0 for s, p in zip(self.graph.sizes, self.group_of_value, strict=True)]
            own = replace(self.graph, sizes=sizes, constants=self.constants.get(number, 0.0))
            mine = [t for t, p in enumerate(self.group_of_task) if p == number]
            inside = [0.0] * len(self.group_of_task)
            for t in mine:
                inside[t] = max((b.peak for b in done.bodies.get(t, ())), default=0.0)
            memory = liveness(own, assign_buffers(own), done.started, done.finished, len(done.event_times), inside)
            found[name] = replace(
                done, graph=replace(own, tasks=[own.tasks[t] for t in mine]),
                start=[done.start[t] for t in mine], finish=[done.finish[t] for t in mine],
                bodies={i: done.bodies[t] for i, t in enumerate(mine) if t in done.bodies},
                liveness=memory, peak=memory.peak,
            )  # fmt: skip
        return found


def _devices(mesh: Mesh) -> list[int]:
    return list(mesh.device_ids or range(mesh.size))

