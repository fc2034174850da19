"""A program of placed stages on several meshes as a program of nodes on slices, one for each mesh.  Needs no jax.

A node is a stage.  What crosses meshes does so in transfers of the stages' boundaries, gradients of uneven data
parallelism among them: they are added where the program adds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.driver.decide import run
from pcg.driver.island_program import Boundary, NodeGraph
from pcg.driver.module_program import entry_function
from pcg.driver.program import Leaf
from pcg.driver.signature import replicate_uneven
from pcg.ir import mesh_names, shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.stages import inputs_of, outputs_of, stage_mesh, stage_module
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, ShardSpec
from pcg.lower.fuse_collectives import FuseCollectives
from pcg.lower.lower_spmd import LowerSpmd
from pcg.machine import Machine
from pcg.passes import pipelines
from pcg.passes.pipelines import Settings
from pcg.search.read_schedule import ScheduleReader


@dataclass(frozen=True)
class StageProgram:
    """What the devices of a mesh run of a stage."""

    name: str
    mesh: Mesh
    arguments: Sequence[Leaf]
    results: Sequence[Leaf]
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    text: str = field(repr=False)
    seconds: float
    """Estimated time of one run."""


def stages_on_slices(
    text: str, slices: Mapping[str, str], machine: Machine
) -> tuple[NodeGraph, dict[str, StageProgram]]:
    """The nodes of a program, and what they run by function.

    Args:
      text: the module of placed stages.
      slices: the name of the slice for each mesh that stages are on.

    Raises:
      PcgError: a stage is on a mesh without a slice.
    """
    module = load_module(text, make_context(), "<stages>")
    return _Reader(module, slices, machine).read()


def meshes_of_stages(text: str) -> dict[str, Mesh]:
    """The meshes that the stages of a module are on."""
    module = load_module(text, make_context(), "<stages>")
    every = shardings.meshes_of(module)
    ops = [op.operation for op in entry_function(module).regions[0].blocks[0].operations]
    return {name: every[name] for name in dict.fromkeys(stage_mesh(op) for op in ops if op.name == "pcg.stage")}


class _Reader:
    def __init__(self, module: ir.Module, slices: Mapping[str, str], machine: Machine) -> None:
        self.func, self.slices, self.machine = entry_function(module), slices, machine
        self.meshes = shardings.meshes_of(module)
        self.leaves: list[Leaf] = []
        self.home: dict[int, tuple[str, ShardSpec]] = {}
        self.nodes: list[Boundary] = []
        self.stages: dict[str, StageProgram] = {}
        self.number: dict[ir.Value, int] = {}

    def read(self) -> tuple[NodeGraph, dict[str, StageProgram]]:
        block = self.func.regions[0].blocks[0]
        self.arguments = [self._new(v, f"argument {v.arg_number}") for v in block.arguments]
        for argument, number in zip(block.arguments, self.arguments, strict=True):
            if (place := self._place(argument)) is not None:
                self.home[number] = place
        for op in (o.operation for o in block.operations):
            if op.name == "pcg.transfer":
                self.number[op.results[0]] = self.number[op.operands[0]]
            elif op.name == "pcg.stage":
                self._stage(op)
        first = next(iter(self.slices.values()))
        for v in self.arguments:  # that no stage reads
            self.home.setdefault(v, (first, ShardSpec.replicated(len(self.leaves[v].shape))))
        returned = list(list(block.operations)[-1].operation.operands)
        results, ends = [self.number[v] for v in returned], [self._place(v) for v in returned]
        return NodeGraph(self.leaves, self.arguments, self.home, self.nodes, results, ends), self.stages

    def _new(self, value: ir.Value, name: str) -> int:
        self.number[value] = self._leaf(name, value.type)
        return self.number[value]

    def _leaf(self, name: str, type_: ir.Type) -> int:
        self.leaves.append(Leaf(name, tuple(type_.shape), str(type_.element_type)))
        return len(self.leaves) - 1

    def _place(self, value: ir.Value) -> tuple[str, ShardSpec] | None:
        """Slice and layout of a value; None if its mesh has no slice."""
        name, spec = mesh_names.mesh_name_of(value), shardings.get(value)
        if name is None or name not in self.slices or spec is None:
            return None
        return self.slices[name], _even(spec, value.type, self.meshes[name])

    def _stage(self, op: ir.Operation) -> None:
        symbol = stage_mesh(op)
        if symbol not in self.slices:
            raise PcgError(f"a stage is on mesh {symbol}; meshes with slices: {', '.join(self.slices)}", op.location)
        name, mesh = f"stage_{len(self.nodes)}", Mesh(self.meshes[symbol].axes)
        inputs, outputs = inputs_of(op), outputs_of(op)
        made = stage_module(op, mesh)
        main = entry_of(made)
        reader = ScheduleReader(CostModel(self.machine, mesh), main)
        seconds = sum(reader.seconds(o.operation) for o in list(main.regions[0].blocks[0].operations)[:-1])
        last = main.regions[0].blocks[0].operations[-1].operation
        types = [v.type for v in (*inputs, *last.operands)]
        specs = [s for w in (shardings.IN_SPECS, shardings.OUT_SPECS) for s in shardings.boundary_specs(op, w)]
        fixed = [self._fixed(s, t, mesh, op) for s, t in zip(specs, types, strict=True)]
        if fixed != specs:
            replicate_uneven(made, mesh)  # at its ends, as arrays of jax are
            run(made, pipelines.place(Settings(self.machine)), [], {})
        for step in (FuseCollectives(machine=self.machine), LowerSpmd()):
            step.run(made.operation)
        ins, outs = tuple(fixed[: len(inputs)]), tuple(fixed[len(inputs) :])
        slice = self.slices[symbol]
        reads = [self.number[v] for v in inputs]
        for v, spec in zip(reads, ins, strict=True):
            if v in self.arguments:
                self.home.setdefault(v, (slice, spec))
        names = [f"{name}.{i}" for i in range(len(outputs))]
        writes = [
            self._leaf(n, t) if v is None else self._new(v, n)
            for v, t, n in zip(outputs, types[len(inputs) :], names, strict=True)
        ]
        self.stages[name] = StageProgram(
            name, mesh, [self.leaves[v] for v in reads], [self.leaves[v] for v in writes], ins, outs,
            made.operation.get_asm(print_generic_op_form=True), seconds,
        )  # fmt: skip
        self.nodes.append(Boundary(name, slice, reads, writes, ins, outs))

    @staticmethod
    def _fixed(spec: ShardSpec | None, type_: ir.Type, mesh: Mesh, op: ir.Operation) -> ShardSpec:
        if spec is None or spec.partial:
            raise PcgError(f"a stage's boundary has layout {spec}; allowed: one without partial sums", op.location)
        return _even(spec, type_, mesh)


def _even(spec: ShardSpec, type_: ir.Type, mesh: Mesh) -> ShardSpec:
    for d in spec.uneven_dims(type_.shape, mesh):
        spec = spec.with_dim(d, ())
    return spec

