"""Simulating a program of stages on several meshes: all meshes at once, with the transfers between them.

Every device of a mesh does the same, so a mesh is two streams, as one device is in the simulation of one mesh; a
transfer is a task on the way from one mesh to another, which does one after the other, beside what both compute.  The
tasks of all stages are one program, so that what waits for what, and what overlaps, follows from the values.
Collectives of a mesh do not slow down transfers, nor transfers of one way those of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch_mlir import ir

from pcg.cost import COMBINED, CostModel
from pcg.cost.transfers import messages
from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import inputs_of, mesh_symbol, outputs_of
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec
from pcg.lower.moves import itemsize
from pcg.machine import Machine
from pcg.reshard import cross_mesh_plan
from pcg.simulate.combine import combine
from pcg.simulate.memory import alive, place
from pcg.simulate.program import Program, Task
from pcg.simulate.read import Reader
from pcg.simulate.result import write
from pcg.simulate.schedule import Options, Run, run
from pcg.simulate.scope import aliases_of


@dataclass(frozen=True)
class StagedSimulation:
    """One step of a program of stages.

    By symbol of a mesh: `busy`, the seconds that its devices compute; `peak_bytes` per device.  `transfers` are the
    seconds of all transfers between meshes, `sent_bytes` what crosses between devices for them.
    """

    seconds: float
    busy: Mapping[str, float]
    peak_bytes: Mapping[str, float]
    transfers: float
    sent_bytes: float
    runs: Mapping[str, Run] = field(repr=False, compare=False)

    def write_trace(self, path: str | Path) -> None:
        """Write the step as a Chrome trace (JSON), with a row of streams per mesh, which ui.perfetto.dev opens."""
        write(path, self.runs)


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
        self.program = Program()
        #: Symbols of meshes that have stages -> the number of their streams; meshes that share devices share them.
        self.place = self._places()
        self.ways: dict[tuple[int, int], int] = {}
        #: (value of the function, place) -> number in the program.
        self.values: dict[tuple[ir.Value, int], int] = {}
        self.at: list[int] = []
        #: Place of each task; of a transfer that of who sends.
        self.of: list[int] = []
        self.sent = 0.0
        #: Seconds per byte copied, on the slowest device.
        self.copy = 0.0
        #: Bytes of constants per place.
        self.constants: dict[int, float] = {}

    def _places(self) -> dict[str, int]:
        found: dict[str, int] = {}
        taken: list[set[int]] = []
        for name in dict.fromkeys(mesh_symbol(s) for s in self.local):
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
            for place_ in self._held_by(a):
                first.setdefault(i, len(arguments))
                arguments.append(self._value(a, place_, f"arg{i}"))
        self.program.arguments = tuple(arguments)
        last = block.operations[0].operation
        for op in block.operations:
            op = op.operation
            if op.name == "pcg.stage":
                self._stage(op)
            elif op.name == "pcg.transfer":
                self._transfer(op)
            last = op
        results = [self._find(v) for v in last.operands]
        self.program.results = tuple(results)
        donated, aliases = aliases_of(self.func, last, ())
        self.program.donated = frozenset(first[i] for i in donated if i in first)
        self.program.aliases = {
            r: first[i]
            for r, i in aliases.items()
            if i in first and self.at[results[r]] == self.at[arguments[first[i]]]
        }
        # The tasks of all meshes are one list: how far one may run ahead of another is not limited by it.
        options = Options(ahead=8, window=len(self.program.tasks) + 1, copy=self.copy)
        done = run(self.program, options)
        parts = self._parts(done)
        return StagedSimulation(
            done.seconds, self._busy(done), {n: r.peak for n, r in parts.items()},
            sum(t.seconds for t in self.program.tasks if t.kind == "transfer"), self.sent, parts,
        )  # fmt: skip

    # -- values --------------------------------------------------------------------------------

    def _spec(self, value: ir.Value) -> tuple[ShardSpec, str]:
        spec, name = shardings.get(value), mesh_names.mesh_name_of(value)
        assert spec is not None and name is not None, "a program of placed stages has all layouts"
        return spec, name

    def _held_by(self, value: ir.Value) -> list[int]:
        """The places that hold an argument: that of its mesh, or all that have devices of it."""
        _, name = self._spec(value)
        if name in self.place:
            return [self.place[name]]
        ids = set(_devices(self.meshes[name]))
        return sorted({n for m, n in self.place.items() if ids & set(_devices(self.meshes[m]))})

    def _value(self, value: ir.Value, place_: int, name: str = "") -> int:
        spec, mesh = self._spec(value)
        part = spec.local_shape(value.type.shape, self.meshes[mesh])
        number = self._new(tensor_bytes(value.type, part), place_, name)
        self.values[value, place_] = number
        return number

    def _new(self, bytes_: float, place_: int, name: str = "") -> int:
        self.at.append(place_)
        return self.program.value(bytes_, name)

    def _find(self, value: ir.Value) -> int:
        return next(n for (v, _), n in self.values.items() if v == value)

    # -- tasks ---------------------------------------------------------------------------------

    def _stage(self, stage: ir.Operation) -> None:
        place_ = self.place[mesh_symbol(stage)]
        func = self.local[stage]
        model = CostModel(self.machine, self.meshes[mesh_symbol(stage)])
        self.copy = max(self.copy, model.copy)
        inner = Reader(model, func.parent).function(func)
        combine(inner, COMBINED, model)
        self.constants[place_] = self.constants.get(place_, 0.0) + inner.constants
        number: dict[int, int] = {}
        for i, (v, outer) in enumerate(zip(inner.arguments, inputs_of(stage), strict=True)):
            if (outer, place_) not in self.values:
                symbol = mesh_symbol(stage)
                text = f"input {i} of the stage on @{symbol} is not on its mesh; pcg.transfer moves it there"
                raise PcgError(text, stage.location)
            number[v] = self.values[outer, place_]
        for v, bytes_ in enumerate(inner.sizes):
            if v not in number:
                number[v] = self._new(bytes_, place_, inner.names.get(v, ""))
        shift = len(self.program.tasks)
        self.of += [place_] * len(inner.tasks)
        for task in inner.tasks:
            self.program.tasks.append(
                replace(
                    task, streams=tuple(2 * place_ + s for s in task.streams),
                    reads=tuple(number[v] for v in task.reads), writes=tuple(number[v] for v in task.writes),
                    over={number[w]: tuple(number[v] for v in vs) for w, vs in task.over.items()},
                    after=tuple(t + shift for t in task.after),
                )
            )  # fmt: skip
        for v, result in zip(inner.results, outputs_of(stage), strict=True):
            if result is not None:
                self.values[result, place_] = number[v]

    def _transfer(self, op: ir.Operation) -> None:
        value, result = op.operands[0], op.results[0]
        (src, src_mesh), (dst, dst_mesh) = self._spec(value), self._spec(result)
        meshes = self.meshes
        plan = cross_mesh_plan(
            src, meshes[src_mesh], dst, meshes[dst_mesh], value.type.shape, itemsize(value)
        )
        to = self.place.get(dst_mesh)
        if to is None:  # a result on a mesh that computes nothing
            to = self._held_by(result)[0]
        from_ = to if (value, to) in self.values else next(p for v, p in self.values if v == value)
        sent = [(p.sender, p.receiver, p.elements * plan.itemsize) for p in plan.pieces]
        self.sent += plan.bytes
        streams = (self._way(from_, to),) if sent else ()
        taken, made = self.values[value, from_], self._value(result, to)
        self.of.append(from_)
        self.program.tasks.append(
            Task(
                "transfer", "transfer", messages(self.machine, sent), streams, (taken,), (made,),
                bytes=max(plan.sent.values(), default=0.0),
                detail={"axes": (f"@{src_mesh} to @{dst_mesh}",)},
            )
        )  # fmt: skip

    def _way(self, a: int, b: int) -> int:
        """The stream of what goes from one place to another; streams come in pairs."""
        first = 2 * (max(self.place.values()) + 1)
        return self.ways.setdefault((a, b), first + 2 * len(self.ways))

    # -- results -------------------------------------------------------------------------------

    def _busy(self, done: Run) -> dict[str, float]:
        found = dict.fromkeys(self.place, 0.0)
        for task, start, finish in zip(self.program.tasks, done.start, done.finish, strict=True):
            for name, number in self.place.items():
                if 2 * number in task.streams:
                    found[name] += finish - start
        return found

    def _parts(self, done: Run) -> dict[str, Run]:
        """The run as each mesh sees it: its own tasks, what it sends, and its own memory."""
        found = {}
        for name, number in self.place.items():
            sizes = [s if p == number else 0.0 for s, p in zip(self.program.sizes, self.at, strict=True)]
            own = replace(self.program, sizes=sizes, constants=self.constants.get(number, 0.0))
            mine = [t for t, p in enumerate(self.of) if p == number]
            inside = [0.0] * len(self.of)
            for t in mine:
                inside[t] = max((b.peak for b in done.bodies.get(t, ())), default=0.0)
            memory = alive(own, place(own), done.started, done.finished, len(done.event_times), inside)
            found[name] = replace(
                done, program=replace(own, tasks=[own.tasks[t] for t in mine]),
                start=[done.start[t] for t in mine], finish=[done.finish[t] for t in mine],
                bodies={i: done.bodies[t] for i, t in enumerate(mine) if t in done.bodies},
                alive=memory, peak=memory.peak,
            )  # fmt: skip
        return found


def _devices(mesh: Mesh) -> list[int]:
    return list(mesh.device_ids or range(mesh.size))

