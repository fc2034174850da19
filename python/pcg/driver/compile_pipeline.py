"""A training step as a pipeline on groups of devices.  Needs no jax."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.cost.transfers import copy_seconds
from pcg.driver.decide import run
from pcg.driver.module_program import entry_function
from pcg.driver.pipelined import Division, FragmentProgram, PipelineProgram, Value
from pcg.driver.program import Program
from pcg.driver.signature import mark_state
from pcg.driver.state import state_of
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.stages import PREDICTED, UNREAD, WAITS, inputs_of, outputs_of, stage_mesh, stage_module, stage_number
from pcg.ir.transformation import Bytes
from pcg.ir.walk import defining_op, entry_of
from pcg.layout import Mesh, ShardSpec
from pcg.lower.fragment import close_fragment, start_module
from pcg.lower.fuse_collectives import FuseCollectives
from pcg.lower.lower_spmd import LowerSpmd
from pcg.lower.processes import devices
from pcg.machine import Machine
from pcg.passes import pipelines
from pcg.passes.pipeline import uncollected
from pcg.passes.pipelines import Settings
from pcg.pipeline.placement import placement
from pcg.rewrite.layers.signature import STACKED_ARGUMENTS, STACKED_RESULTS, stacked
from pcg.rewrite.microbatch_loop import number
from pcg.rewrite.staging.fragments import VARYING, phase_of
from pcg.rewrite.staging.groups import mesh_name
from pcg.rules.registry import shape
from pcg.search.read_schedule import ScheduleReader


@uncollected()
def compile_pipeline(
    program: Program, groups: Sequence[Mesh], microbatches: int, form: str = "linear", chunks: int = 1,
    engine: str = "search", machine: Machine | None = None, memory_limit: int | None = None,
) -> PipelineProgram:  # fmt: skip
    """Divide `program`, a training step, into stages, and lower what each group of devices runs.

    Loops over layers are unrolled, and state that is stacked over layers becomes that of each layer.

    Args:
      program: of which the loss is a result that is not state, and the batch the first dimension of the data.
      groups: the mesh of each group, with the numbers of its devices among those of all groups.
      microbatches: how many; the batch is a multiple of it.
      form: placement of the stages on the groups (`pcg.pipeline.placement`).
      chunks: stages per group.
      engine: how the layouts inside of a stage are found, as in pcg-place-stages.
      machine: what is planned for.
      memory_limit: bytes per device that a group's programs may need for one microbatch.

    Raises:
      PcgError: the program cannot be divided; at the op's location.
    """
    machine = machine or Machine.default()
    if microbatches < 2:
        raise PcgError(f"a pipeline of {microbatches} microbatches; allowed: 2 or more", program.path)
    placed = placement(form, len(groups), chunks)
    remarks: list[tuple[str, str, str]] = []
    module = prepared(program, machine, remarks)
    for g, mesh in enumerate(groups):
        shardings.set_mesh(module, mesh, mesh_name(g))
    limit = None if memory_limit is None else Bytes(memory_limit)
    settings = Settings(
        machine, memory_limit=limit, stages=len(placed), microbatches=microbatches, placement=form
    )  # fmt: skip
    run(module, pipelines.pipelined(settings, engine), remarks, {})
    reader = _Reader(program, entry_function(module), tuple(groups), machine)
    reader.read()
    return PipelineProgram(
        program, microbatches, tuple(groups), placed, reader.values, tuple(reader.fragments),
        tuple(reader.transfers), tuple(reader.first), tuple(reader.joins), tuple(reader.arguments),
        tuple(reader.results), str(module), tuple(remarks), reader.stacked_arguments, reader.stacked_results,
        tuple(name for _, name in sorted(reader.predicted.items())), reader.unread, reader.transfer,
    )  # fmt: skip


def prepared(program: Program, machine: Machine, remarks: list[tuple[str, str, str]]) -> ir.Module:
    """The program as passes divide it: normalised, with its state marked."""
    module = load_module(program.source, make_context(), program.path or "<program>")
    run(module, pipelines.prepare(Settings(machine)), remarks, {})
    if program.in_tree is not None:
        mark_state(entry_function(module), state_of(program))
    return module


@dataclass
class _Reader:
    """Reads the function of placed fragments."""

    program: Program
    func: ir.Operation
    meshes: tuple[Mesh, ...]
    machine: Machine
    values: dict[str, Value] = field(default_factory=dict)
    fragments: list[FragmentProgram] = field(default_factory=list)
    transfers: list[tuple[str, str]] = field(default_factory=list)
    first: list[Division | FragmentProgram | tuple[str, str]] = field(default_factory=list)
    joins: list[Division] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    predicted: dict[int, str] = field(default_factory=dict)
    _name: dict[ir.Value, str] = field(default_factory=dict)

    @property
    def stacked_arguments(self) -> tuple[int, ...]:
        return tuple(stacked(self.func, STACKED_ARGUMENTS, len(self.program.arguments)))

    @property
    def stacked_results(self) -> tuple[int, ...]:
        return tuple(stacked(self.func, STACKED_RESULTS, len(self.program.results)))

    @property
    def unread(self) -> tuple[tuple[str, str, bool], ...]:
        if UNREAD not in self.func.attributes:
            return ()
        found = [int(n) for n in ir.DenseI64ArrayAttr(self.func.attributes[UNREAD])]
        triples = zip(found[::3], found[1::3], found[2::3], strict=True)
        return tuple((self.predicted[n], self.predicted[p], bool(value)) for n, p, value in triples)

    @property
    def transfer(self) -> float:
        """Seconds that what one fragment sends to another group takes, the longest; by the layouts on this side."""
        writer = {n: f.name for f in self.fragments for n in f.writes}
        size: Counter[tuple[str, int, int]] = Counter()
        for source, target in self.transfers:
            value, group = self.values[source], self.values[target].group
            if value.varying and source in writer:
                size[writer[source], value.group, group] += value.bytes(self.meshes[value.group])
        return max(
            (
                copy_seconds(self.machine, devices(self.meshes[a]), devices(self.meshes[b]), n)
                for (_, a, b), n in size.items()
            ),
            default=0.0,
        )

    def read(self) -> None:
        block = self.func.regions[0].blocks[0]
        *ops, last = (op.operation for op in block.operations)
        names = (
            n for leaf, count in zip(self.program.arguments, self.stacked_arguments, strict=True)
            for n in ([f"{leaf.name}[{i}]" for i in range(count)] or [leaf.name])
        )  # fmt: skip
        for argument, name in zip(block.arguments, names, strict=True):
            self.arguments.append(self._add(argument, name, False))
        needed = self._before(ops)
        for op in ops:
            if op.name == "pcg.stage":
                self._fragment(op)
            elif op.name == "pcg.transfer":
                self._transfer(op, op in needed)
            elif op.name == "pcg.pipeline":
                self._division(op)
            elif op.name == "pcg.batch":
                self._batch(op)
        self.results = [self._name[v] for v in last.operands]

    def _before(self, ops: Sequence[ir.Operation]) -> set[ir.Operation]:
        """The transfers that `prepare` fragments and the division into microbatches need."""
        work = [op for op in ops if op.name == "pcg.pipeline" or (op.name == "pcg.stage" and phase_of(op) == "prepare")]
        found: set[ir.Operation] = set()
        while work:
            op = work.pop()
            for v in inputs_of(op) if op.name == "pcg.stage" else op.operands:
                source = defining_op(v)
                if source is not None and source.name == "pcg.transfer" and source not in found:
                    found.add(source)
                    work.append(source)
        return found

    def _group(self, value: ir.Value) -> int:
        spec_mesh = shardings.mesh_symbol(self._attribute(value))
        return int(spec_mesh.removeprefix(mesh_name(0)[:-1]))

    def _attribute(self, value: ir.Value) -> ir.Attribute:
        """The attribute that says the layout of a value between fragments."""
        if isinstance(value, ir.BlockArgument):
            return self.func.attributes["arg_attrs"][value.arg_number][shardings.SPEC]
        op = value.owner.operation
        stage = shardings.stage_of(op)
        if stage is not None:
            return stage.attributes[shardings.OUT_SPECS][number(op.attributes["index"])]
        return op.attributes[shardings.SPECS][0]

    def _add(self, value: ir.Value, name: str, varying: bool) -> str:
        """Name a value; of two with one name the second gets a number."""
        unique, n = name, 1
        while unique in self.values:
            n += 1
            unique = f"{name}#{n}"
        spec = shardings.get(value)
        assert spec is not None, "a value without a layout"
        element = str(ir.RankedTensorType(value.type).element_type)
        self.values[unique] = Value(unique, self._group(value), tuple(shape(value)), element, spec, varying)
        self._name[value] = unique
        return unique

    def _fragment(self, op: ir.Operation) -> None:
        phase, stage = phase_of(op), stage_number(op)
        mesh = self.meshes[group := int(stage_mesh(op).removeprefix(mesh_name(0)[:-1]))]
        place = group if stage is None else stage
        count = sum(f.phase == phase and f.stage == place for f in [*self.fragments, *self._programs(self.first)])
        name = f"{phase}{place}" + (f".{count}" if count else "")
        made = stage_module(op, mesh)
        main = entry_of(made)
        reader = ScheduleReader(CostModel(self.machine, mesh), main)
        seconds = sum(reader.seconds(o.operation) for o in list(main.regions[0].blocks[0].operations)[:-1])
        for step in (FuseCollectives(machine=self.machine), LowerSpmd()):
            step.run(made.operation)
        outputs: list[str | None] = []
        sums: list[tuple[str, int, str]] = []
        for i, value in enumerate(outputs_of(op)):
            if value is None:
                outputs.append(None)
                continue
            readers = [use.owner.operation for use in value.uses]
            added = [r for r in readers if r.name == "pcg.batch" and "kind" in r.attributes]
            for batch in added:
                total = self._add(batch.results[0], f"{name}.sum{i}", False)
                sums.append((total, i, ir.StringAttr(batch.attributes["kind"]).value))
            only = len(added) == len(readers)
            outputs.append(None if only else self._add(value, f"{name}.{i}", phase in VARYING))
        ins, outs = (shardings.boundary_specs(op, w) for w in (shardings.IN_SPECS, shardings.OUT_SPECS))
        in_specs, out_specs = _all(ins), _all(outs)
        types = tuple((tuple(shape(v)), str(ir.RankedTensorType(v.type).element_type)) for v in _yielded_types(op))
        main = entry_of(made)
        close_fragment(
            main, in_specs, out_specs, [n is not None for n in outputs], [(i, kind) for _, i, kind in sums]
        )  # fmt: skip
        start = ""
        if sums:
            added_up = main.regions[0].blocks[0].arguments[-len(sums) :]
            with main.context, main.location:
                begin = start_module([a.type for a in added_up], [kind for _, _, kind in sums])
            start = begin.operation.get_asm(print_generic_op_form=True)
        if PREDICTED in op.attributes:
            pairs = [int(n) for n in ir.DenseI64ArrayAttr(op.attributes[PREDICTED])]
            for result, n in zip(pairs[::2], pairs[1::2], strict=True):
                if (value_name := outputs[result]) is not None:
                    self.predicted[n] = value_name
        fragment = FragmentProgram(
            name, phase, place, group, tuple(self._name[v] for v in inputs_of(op)), tuple(outputs), tuple(sums),
            made.operation.get_asm(print_generic_op_form=True), start, in_specs, out_specs, types, seconds,
            WAITS in op.attributes,
        )  # fmt: skip
        if phase == "prepare":
            self.first.append(fragment)
        else:
            self.fragments.append(fragment)

    @staticmethod
    def _programs(found: Iterable[object]) -> list[FragmentProgram]:
        return [f for f in found if isinstance(f, FragmentProgram)]

    def _transfer(self, op: ir.Operation, early: bool) -> None:
        source, value = self._name[op.operands[0]], op.results[0]
        group = self._group(value)
        target = self._add(value, f"{source}@{group}", self.values[source].varying)
        if early:
            self.first.append((source, target))
        else:
            self.transfers.append((source, target))

    def _division(self, op: ir.Operation) -> None:
        source = self._name[op.operands[0]]
        target = self._add(op.results[0], f"{source}[t]", True)
        dim, block = (number(op.attributes[n]) for n in ("dim", "block"))
        self.first.append(Division(source, target, dim, block))

    def _batch(self, op: ir.Operation) -> None:
        """Put microbatches of a result together; sums are what fragments accumulate."""
        if "kind" in op.attributes:
            return
        readers = [use.owner.operation for use in op.results[0].uses]
        if other := [r for r in readers if r.name != "func.return"]:
            raise PcgError(
                "a value of each example is read after all microbatches; allowed in a pipeline: sums over them, and"
                " values of each example that are returned", other[0].location or op.location,
            )  # fmt: skip
        source = self._name[op.operands[0]]
        target = self._add(op.results[0], f"{source}[:]", False)
        dim, block = (number(op.attributes[n]) for n in ("dim", "block"))
        self.joins.append(Division(source, target, dim, block))


def _yielded_types(op: ir.Operation) -> list[ir.Value]:
    last = op.regions[0].blocks[0].operations[-1].operation
    return list(last.operands[0].owner.operation.operands)


def _all(specs: Sequence[ShardSpec | None]) -> tuple[ShardSpec, ...]:
    known = tuple(s for s in specs if s is not None)
    assert len(known) == len(specs), "a boundary without a layout"
    return known
