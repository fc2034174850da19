"""Layouts inside every stage, and of the values between stages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.baselines.recipe import PLANS
from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import inputs_of, outputs_of, stage_mesh, stage_module, stages_of, take_body
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, ShardSpec
from pcg.lower.processes import devices
from pcg.machine import Machine
from pcg.planning import place_fragments
from pcg.planning.baseline import Baseline
from pcg.planning.propagation import ENGINES as PROPAGATION
from pcg.planning.propagation import Propagate
from pcg.planning.search import EFFORT, Search
from pcg.propagate import ENGINES as LOCAL
from pcg.reshard.cross import same_split
from pcg.rewrite.insert_reshards import InsertReshards
from pcg.rewrite.staging.outline import fragments_of
from pcg.rules.registry import shape

#: Bytes from which a value that comes from another mesh is spread.  A choice: below, latency decides.
_LARGE = 1 << 16
#: How layouts can be found.
ENGINES = (*PROPAGATION, "search", *PLANS)


@dataclass
class PlaceStages(Transformation):
    """Decide all layouts of a program of stages: plan each stage in turn as a program on one mesh."""

    engine: str = option(
        "dataflow", "How the layouts of a stage are found: as in dist-propagate, search, or a plan of pcg-baseline.",
        ENGINES,
    )  # fmt: skip
    memory_limit: Bytes | None = option(None, "Bytes per device that each searched stage may need.")
    effort: str = EFFORT
    spread: bool = option(
        False, "Whether large values come from another mesh in shards over all devices: nothing is transferred twice."
    )
    machine: Machine = field(default_factory=Machine.default)
    explains: bool = field(default_factory=lambda: True)
    """Whether somebody reads remarks: on ops that run replicated, and on what plans are measured to take."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.peak = 0.0
        """Bytes per device that a search counts, of the program on one mesh that needs most."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        if self.engine not in ENGINES:
            raise PcgError(f"option 'engine' is {self.engine!r}; expected one of {', '.join(ENGINES)}", module)
        stages = stages_of(func)
        if not stages:
            raise PcgError("the entry function has no stages; run pcg-split-meshes first", func)
        meshes = self.meshes = shardings.meshes_of(module)
        for stage in stages:
            if stage_mesh(stage) not in meshes:
                names = ", ".join("@" + m for m in meshes) or "none"
                raise PcgError(f"stage on @{stage_mesh(stage)}; declared meshes: {names}", stage)
        if fragments := fragments_of(func):
            with module.context:
                self._fragments(func, fragments)
            self.statistics["stages"] += len(stages)
            return
        last = func.regions[0].blocks[0].operations[-1].operation
        with module.context:
            returned: dict[ir.Value, ShardSpec] = {}
            for value, spec in zip(last.operands, shardings.function_result_specs(func), strict=True):
                if spec is not None and returned.setdefault(value, spec) != spec:
                    raise PcgError(f"a value is returned as {returned[value]} and as {spec}; allowed: one layout", last)
            for value, spec in returned.items():
                if shardings.get(value) is None and not _is_result_of_stage(value):
                    shardings.set(value, spec, mesh_names.mesh_name_of(value) or "")
            for stage in stages:
                self._stage(stage, returned, meshes[stage_mesh(stage)])
            self._rest(func, last, returned)
        self.statistics["stages"] += len(stages)

    def _fragments(self, func: ir.Operation, fragments: Sequence[ir.Operation]) -> None:
        """Layouts of a pipeline; the programs of one mesh are planned together."""

        def decide(program: ir.Module) -> None:
            self.take_notes(self._run(program), "pcg-search" if self.engine == "search" else "dist-propagate")

        place_fragments.place(func, fragments, self.meshes, decide, self.engine == "search")
        for stage in fragments:
            inner = stage_module(stage, self.meshes[stage_mesh(stage)])
            self._insert(stage, inner)

    def _stage(self, stage: ir.Operation, returned: dict[ir.Value, ShardSpec], mesh: Mesh) -> None:
        """Layouts of one stage; `returned` are those that the function's results need."""
        symbol, inputs, outputs = stage_mesh(stage), inputs_of(stage), outputs_of(stage)
        ins = [shardings.get(v) for v in inputs]
        outs = [None if v is None else returned.get(v) for v in outputs]
        arguments = stage.regions[0].blocks[0].arguments
        known = [s if s is not None else _constraint(a) for s, a in zip(ins, arguments, strict=True)]
        if self.spread:
            known = [s if s is not None else self._spread(v, mesh) for s, v in zip(known, inputs, strict=True)]
        shardings.set_boundary_specs(stage, shardings.IN_SPECS, known, symbol)
        shardings.set_boundary_specs(stage, shardings.OUT_SPECS, outs, symbol)
        inner, decide = self._decide(stage, mesh)
        hints = [self._hint(v, mesh) if s is None else None for v, s in zip(inputs, known, strict=True)]
        if self.engine in LOCAL and any(hints):
            found = [shardings.get(a) for a in entry_of(inner).regions[0].blocks[0].arguments]
            hints = [h if s is not None and s.is_replicated else None for h, s in zip(hints, found, strict=True)]
            if any(hints):
                known = [s if s is not None else h for s, h in zip(known, hints, strict=True)]
                shardings.set_boundary_specs(stage, shardings.IN_SPECS, known, symbol)
                inner, decide = self._decide(stage, mesh)
        self.take_notes(decide, "dist-propagate" if isinstance(decide, Propagate) else "pcg-search")
        self._insert(stage, inner)
        for value, before, spec in zip(inputs, ins, shardings.boundary_specs(stage, shardings.IN_SPECS), strict=True):
            if before is None and spec is not None:
                shardings.set(value, spec, symbol)

    def _decide(self, stage: ir.Operation, mesh: Mesh) -> tuple[ir.Module, Search | Propagate]:
        """The stage as a program of its own, with all layouts, and what found them."""
        inner = stage_module(stage, mesh)
        return inner, self._run(inner)

    def _run(self, program: ir.Module) -> Search | Propagate:
        """Decide the layouts of a program on one mesh."""
        decide: Search | Propagate = Search(
            machine=self.machine, memory_limit=self.memory_limit, progress=False, recompute=False, accumulate=False,
            effort=self.effort,
        )  # fmt: skip
        decide.measures = self.explains
        if self.engine in PLANS:
            Baseline(plan=self.engine).run(program.operation)
            decide = Propagate(engine="dataflow", machine=self.machine, progress=False)
        elif self.engine != "search":
            decide = Propagate(engine=self.engine, machine=self.machine, progress=False)
        decide.run(program.operation)
        if isinstance(decide, Search) and decide.outcome is not None:
            self.peak = max(self.peak, decide.outcome.peak_bytes)
        return decide

    def _insert(self, stage: ir.Operation, program: ir.Module) -> None:
        """Give a stage the body of its placed program, with its redistributions."""
        insert = InsertReshards(machine=self.machine, explain=self.explains)
        insert.run(program.operation)
        self.take_notes(insert, "dist-insert-reshards")
        take_body(stage, program)

    def _spread(self, value: ir.Value, mesh: Mesh) -> ShardSpec | None:
        """The layout of a large value from another mesh in which no element is replicated, if its size divides.

        A stage that needs another layout gathers it on its own mesh, whose links are faster; its search knows the cost.
        """
        if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "pcg.transfer":
            return None
        source = value.owner.operation.operands[0]
        name, full = mesh_names.mesh_name_of(source), shape(value)
        assert name is not None
        if set(devices(mesh)) <= set(devices(self.meshes[name])) or tensor_bytes(value.type) < _LARGE:
            return None
        return _evenly(full, mesh)

    def _hint(self, value: ir.Value, mesh: Mesh) -> ShardSpec | None:
        """The layout of a value from another mesh there, if this mesh has an equivalent one."""
        if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "pcg.transfer":
            return None
        source = value.owner.operation.operands[0]
        spec, name = shardings.get(source), mesh_names.mesh_name_of(source)
        if spec is None or name is None:
            return None
        found = same_split(spec, self.meshes[name], mesh)
        return found if found is not None and any(found.dims) else None

    def _rest(self, func: ir.Operation, last: ir.Operation, returned: dict[ir.Value, ShardSpec]) -> None:
        """Layouts of values that no stage reads (unused arguments, transfers of results), and of the results."""
        block = func.regions[0].blocks[0]
        values = [*block.arguments]
        values += [op.operation.results[0] for op in block.operations if op.operation.name == "pcg.transfer"]
        for value in values:
            if shardings.get(value) is None:
                symbol = mesh_names.mesh_name_of(value)
                assert symbol is not None
                shardings.set(value, returned.get(value, ShardSpec.replicated(len(shape(value)))), symbol)
        for i, value in enumerate(last.operands):
            symbol, spec = mesh_names.mesh_name_of(value), shardings.get(value)
            assert symbol is not None
            if value in returned and spec is not None and returned[value] != spec:
                text = f"result {i} has layout {returned[value]}, but the returned value has {spec} on @{symbol}"
                raise PcgError(f"{text}; allowed: the same, or a result that a stage computes", last)
            shardings.set_function_result_spec(func, i, spec, symbol)
        mesh_names.set_signature_meshes(func, "arg_attrs", [None] * len(block.arguments))
        mesh_names.set_signature_meshes(func, "res_attrs", [None] * len(last.operands))


def _evenly(full: Sequence[int], mesh: Mesh) -> ShardSpec | None:
    """The longest dimension in shards over the most axes of `mesh` that divide it; None if none does."""
    best: tuple[int, int, int, ShardSpec] | None = None
    for count in range(len(mesh.names), 0, -1):
        for axes in itertools.combinations(mesh.names, count):
            parts = mesh.axes_size(axes)
            for d, size in enumerate(full):
                key = (parts, size, -d)
                if parts > 1 and size % parts == 0 and (best is None or key > best[:3]):
                    best = (*key, ShardSpec(tuple(axes if i == d else () for i in range(len(full)))))
    return best[3] if best is not None else None


def _constraint(argument: ir.Value) -> ShardSpec | None:
    """The layout of the constraints that read an argument of a stage, if they agree."""
    users = [use.owner.operation for use in argument.uses]
    specs = {
        shardings.from_attr(op.attributes["spec"])
        for op in users
        if op.name == "dist.constraint" and shardings.OPEN not in op.attributes
    }
    return specs.pop() if len(specs) == 1 else None


def _is_result_of_stage(value: ir.Value) -> bool:
    """Whether a value is a stage's result, so that the stage decides its layout."""
    return not isinstance(value, ir.BlockArgument) and shardings.stage_of(value.owner) is not None
