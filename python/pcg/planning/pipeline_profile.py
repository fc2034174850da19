"""What the layers of a training step cost on a group of devices: two of them planned, with what is around them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.stages import inputs_of, outputs_of, stage_module, stage_number
from pcg.ir.transformation import Bytes
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import defining_op, entry_of
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.pipeline.units import Chain, Unit
from pcg.planning.place_stages import PlaceStages
from pcg.rewrite.accumulate import Microbatch
from pcg.rewrite.backward.split import SplitBackward
from pcg.rewrite.layers.unroll import Unroll
from pcg.rewrite.layers.unstack import Unstack
from pcg.rewrite.staging.assign import REPEATS, AssignStages, is_boundary
from pcg.rewrite.staging.fragments import VARYING, phase_of
from pcg.rewrite.staging.groups import declare_groups, mesh_name
from pcg.rewrite.staging.outline import OutlineStages, fragments_of
from pcg.rewrite.staging.positions import Positions
from pcg.rules.registry import shape
from pcg.search.read_schedule import ScheduleReader

#: Stages that a program without loops over layers is divided into, to be profiled.  A choice: twice the groups that
#: are common, so that stages can be made of them.
_UNITS = 32
_ANY = Mesh.of({"data": 1})


@dataclass
class Profiler:
    """Plans parts of a prepared training step on meshes, and reads what they cost.

    Raises:
      PcgError: the step cannot be divided; at the op's location.
    """

    module: ir.Operation
    machine: Machine
    engine: str = "search"
    _divided: dict[int, ir.Module] = field(default_factory=dict)
    """By number of microbatches: the program of few layers, as fragments of units."""

    def run(self, mesh: Mesh, microbatches: int, memory_limit: float) -> Chain:
        """The units on a group with this mesh.

        Args:
          mesh: of the group, with the numbers of its devices.
          microbatches: the batch is a multiple of it.
          memory_limit: bytes per device that the units, each planned once, may need.
        """
        with self.module.context, self.module.location:
            module = clone_module(self._in_units(microbatches)).operation
            shardings.set_mesh(module, mesh, mesh_name(0))
            place = PlaceStages(
                engine=self.engine, machine=self.machine, memory_limit=Bytes(int(memory_limit)), effort="quick"
            )  # fmt: skip
            place.explains = False
            place.run(module)
            return replace(_Reader(entry_of(module), mesh, self.machine, microbatches).read(), planned=place.peak)

    @cached_property
    def _unrolled(self) -> ir.Module:
        """The program of few layers; of all where something reads all layers of a tensor at once."""
        copy = clone_module(self.module)
        try:
            Unroll(shorten=True).run(copy.operation)
            Unstack(shorten=True).run(copy.operation)
        except PcgError:
            copy = clone_module(self.module)
            Unroll().run(copy.operation)
            Unstack().run(copy.operation)
        return copy

    def _in_units(self, microbatches: int) -> ir.Module:
        """The program of few layers in so many microbatches, as fragments of units on a mesh that any may replace."""
        if microbatches not in self._divided:
            copy = clone_module(self._unrolled)
            module, func = copy.operation, entry_of(copy.operation)
            shardings.erase_meshes(module)  # the units are the same on all groups
            Microbatch(microbatches=microbatches).run(module)
            AssignStages(stages=_stages(func), machine=self.machine).run(module)
            SplitBackward().run(module)
            declare_groups(module, [_ANY])
            OutlineStages(placement="interleaved").run(module)
            self._divided[microbatches] = copy
        return self._divided[microbatches]


def _stages(func: ir.Operation) -> int:
    """The number of units: those that the boundaries of layers make, or any, where there are no loops over layers."""
    forward = Positions(func).forward
    return 1 + sum(map(is_boundary, forward)) if any(map(is_boundary, forward)) else min(_UNITS, len(forward))


@dataclass
class _Reader:
    """Reads placed fragments of one group, whose stages are the units."""

    func: ir.Operation
    mesh: Mesh
    machine: Machine
    microbatches: int
    _seconds: dict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    """By phase and unit."""
    _reads: dict[tuple[str, int], set[ir.Value]] = field(default_factory=lambda: defaultdict(set))
    _writes: dict[tuple[str, int], set[ir.Value]] = field(default_factory=lambda: defaultdict(set))
    _bytes: dict[ir.Value, float] = field(default_factory=dict)
    """On one device."""
    _varying: set[ir.Value] = field(default_factory=set)
    """One for each microbatch."""
    _once: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By unit."""
    _workspace: float = 0.0

    def read(self) -> Chain:
        for fragment in fragments_of(self.func):
            self._fragment(fragment)
        count = 1 + max(unit for _, unit in self._seconds)
        repeats = list(ir.DenseI64ArrayAttr(self.func.attributes[REPEATS])) if REPEATS in self.func.attributes else []
        units = [self._unit(u, count, (repeats or [1] * count)[u]) for u in range(count)]
        return Chain(tuple(units), self.microbatches, self._workspace)

    def _fragment(self, op: ir.Operation) -> None:
        phase, unit = phase_of(op), stage_number(op)
        inner = stage_module(op, self.mesh)
        reader = ScheduleReader(CostModel(self.machine, self.mesh), entry_of(inner))
        schedule = reader.read().schedule
        seconds = schedule.seconds
        ins = shardings.boundary_specs(op, shardings.IN_SPECS)
        outs = shardings.boundary_specs(op, shardings.OUT_SPECS)
        pairs = [*zip(inputs_of(op), ins, strict=True), *zip(outputs_of(op), outs, strict=True)]
        for value, spec in pairs:
            if value is not None and spec is not None:
                self._bytes[value] = tensor_bytes(value.type, spec.local_shape(shape(value), self.mesh))
        read = {v for v in inputs_of(op)}
        self._workspace = max(self._workspace, schedule.peak() - sum(self._bytes[v] for v in read))
        if phase not in VARYING:
            each = _by_unit(entry_of(inner), reader.seconds)
            total = sum(each.values())
            for at, own in each.items():  # what runs at the same time counts once
                self._once[at] += own * seconds / total if total else 0.0
            return
        assert unit is not None
        self._seconds[phase, unit] += seconds
        self._reads[phase, unit] |= read
        written = {v for v in outputs_of(op) if v is not None}
        self._writes[phase, unit] |= written
        self._varying |= written
        self._varying |= {v for v in read if (source := defining_op(v)) is not None and source.name == "pcg.pipeline"}

    def _size(self, values: Iterable[ir.Value]) -> float:
        return sum(self._bytes[v] for v in values)

    def _unit(self, u: int, count: int, repeat: int) -> Unit:
        forward, backward, weight = VARYING
        own = (self._reads[forward, u] | self._writes[forward, u]) & self._varying
        behind = self._reads[backward, u] | self._reads[weight, u]
        final = self._reads[weight, u] & self._varying & (own | self._writes[backward, u])
        activation, residual = self._size(own & behind), self._size(final)
        before = {v for w in range(u + 1) for v in self._writes[forward, w]}
        crossing = self._size(before & {v for w in range(u + 1, count) for v in self._reads[forward, w]})
        return Unit(
            self._seconds[forward, u], self._seconds[backward, u], self._seconds[weight, u],
            activation, residual, self._state(u), crossing, self._once[u], repeat,
        )  # fmt: skip

    def _state(self, u: int) -> float:
        """Bytes of the parameters of a unit, of the optimizer's state of them, and of the sums of their gradients."""
        read = [{v for p in VARYING for v in self._reads[p, w]} - self._varying for w in range(u + 1)]
        first = read[u] - set().union(*read[:u])  # what several units read is there once, and copied to the others
        parameters = {v for v in read[u] if isinstance(v, ir.BlockArgument)}
        sums = [
            v for p in VARYING for v in self._writes[p, u]
            if any(use.owner.name == "pcg.batch" and "kind" in use.owner.attributes for use in v.uses)
        ]  # fmt: skip
        moments = self._moments * self._size(parameters & first)
        return self._size(read[u]) + self._size(sums) + moments

    @cached_property
    def _moments(self) -> float:
        """Bytes of state that only the update reads, per byte of parameters."""
        read = {v for reads in self._reads.values() for v in reads}
        parameters = [v for v in read if isinstance(v, ir.BlockArgument)]
        others = [v for v in self._bytes if isinstance(v, ir.BlockArgument) and v not in read]
        total = self._size(parameters)
        return self._size(others) / total if total else 0.0


def _by_unit(func: ir.Operation, seconds: Callable[[ir.Operation], float]) -> dict[int, float]:
    """Seconds of the ops of a function by unit.

    Redistributions count where the first op that reads them does, those of results where what they read does.
    """
    *ops, _ = (op.operation for op in func.regions[0].blocks[0].operations)
    unit = {op: own for op in ops if (own := stage_number(op)) is not None}
    for op in reversed(ops):
        readers = [u for r in op.results for use in r.uses if (u := unit.get(use.owner.operation)) is not None]
        if op not in unit and readers:
            unit[op] = min(readers)
    found: dict[int, float] = defaultdict(float)
    for op in ops:
        if op not in unit:
            sources = (unit.get(source) for v in op.operands if (source := defining_op(v)) is not None)
            unit[op] = next((u for u in sources if u is not None), 0)
        found[unit[op]] += seconds(op)
    return found
