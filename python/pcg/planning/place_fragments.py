"""Layouts of a pipeline: all programs of a stage are planned as one, so that they agree on what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import emit, mesh_names, shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.loops import RUNS, set_runs
from pcg.ir.stages import inputs_of, outputs_of, stage_mesh, yielded
from pcg.ir.walk import defining_op, entry_of, walk
from pcg.layout import Mesh, ShardSpec
from pcg.rewrite.accumulate import MICROBATCHES
from pcg.rewrite.backward.dataflow import BARRIER
from pcg.rewrite.staging.fragments import VARYING, phase_of
from pcg.rules.factor import numbers_of
from pcg.rules.registry import shape
from pcg.search.roles import PARTIAL, STATE, state_of


@dataclass
class StageProgram:
    """The fragments on one mesh, one after another, as a function of what comes from elsewhere."""

    func: ir.Operation
    """The entry function of the program of fragments."""
    fragments: Sequence[ir.Operation]
    mesh: Mesh
    searched: bool
    """Whether costs decide, not a propagation."""
    module: ir.Module = field(init=False)
    arguments: dict[ir.Value, int] = field(init=False)
    """Value of the program, on the mesh -> argument."""
    _values: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Value of the program -> in the function."""
    _leaving: dict[ir.Value, int] = field(init=False)
    """Values that are read on other meshes, or returned -> result of the function."""
    _writers: dict[ir.Value, ir.Operation] = field(default_factory=dict)
    """Value of the program -> fragment that computes it."""
    _copies: list[tuple[ir.Operation, ir.Operation]] = field(default_factory=list)
    """(op in a fragment, op of the function)."""

    def __post_init__(self) -> None:
        self.name = stage_mesh(self.fragments[0])
        with self.func.context, self.func.location:
            self._build()

    def _source(self, value: ir.Value) -> ir.Value:
        """What `value` is for the plan: a sum over microbatches has the layout of its terms."""
        op = defining_op(value)
        while op is not None and op.name == "pcg.batch" and "kind" in op.attributes:
            value = op.operands[0]
            op = defining_op(value)
        return value

    def _build(self) -> None:
        computed = {v for f in self.fragments for v in outputs_of(f) if v is not None}
        outside: dict[ir.Value, None] = {}
        for f in self.fragments:
            outside.update((v, None) for v in map(self._source, inputs_of(f)) if v not in computed)
        self.arguments = {v: i for i, v in enumerate(outside)}
        results = self._results(computed)
        self._leaving = {v: i for i, v in enumerate(results)}
        self.module = ir.Module.create(self.func.location)
        shardings.set_mesh(self.module, self.mesh)
        kind = ir.FunctionType.get([v.type for v in outside], [v.type for v in results])
        with ir.InsertionPoint(self.module.body):
            inner = ir.Operation.create(
                "func.func", regions=1,
                attributes={"sym_name": ir.StringAttr.get("main"), "function_type": ir.TypeAttr.get(kind)},
            )  # fmt: skip
        block = inner.regions[0].blocks.append(*kind.inputs, arg_locs=[v.location for v in outside])
        self._values.update(zip(outside, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for f in self.fragments:
                self._clone(f)
            ir.Operation.create("func.return", operands=[self._values[v] for v in results])
        self._mark_results(inner, results)

    def _results(self, computed: set[ir.Value]) -> list[ir.Value]:
        """What is read elsewhere, or returned."""
        own = {v for f in self.fragments for v in inputs_of(f)}

        def leaves(value: ir.Value) -> bool:
            readers = [use.owner.operation for use in value.uses]
            sums = [r for r in readers if r.name == "pcg.batch" and "kind" in r.attributes]
            others = [r for r in readers if r not in sums and (r.name != "stablehlo.tuple" or value not in own)]
            return bool(others) or any(leaves(r.results[0]) for r in sums)

        found = [v for v in computed if leaves(v)]
        order = {v: i for i, v in enumerate(v for f in self.fragments for v in outputs_of(f))}
        return sorted(found, key=order.__getitem__)

    def _clone(self, fragment: ir.Operation) -> None:
        block = fragment.regions[0].blocks[0]
        values = {
            a: self._values[self._source(v)] for a, v in zip(block.arguments, inputs_of(fragment), strict=True)
        }
        for view in list(block.operations)[:-2]:
            copy = mesh_free(clone_mapped(view.operation, values))
            set_runs(copy, self._runs(fragment))
            self._copies.append((view.operation, copy))
        for inner, outer in zip(yielded(fragment), outputs_of(fragment), strict=True):
            if outer is not None:
                self._values[outer] = self._array(fragment, outer, values[inner])
                self._writers[outer] = fragment

    def _runs(self, fragment: ir.Operation) -> int:
        """How often a fragment runs in a step."""
        return int(ir.IntegerAttr(self.func.attributes[MICROBATCHES])) if phase_of(fragment) in VARYING else 1

    def _array(self, fragment: ir.Operation, outer: ir.Value, value: ir.Value) -> ir.Value:
        """`value`, which leaves `fragment` as `outer`, with shards of one size.

        Where they could be of several, a barrier lets a search count what another layout takes.  Results of the
        function have such shards anyway.
        """
        if not self.searched or outer in self._leaving:
            return value
        parts = [n for n in numbers_of(self.mesh) if n > 1]
        if isinstance(value, ir.BlockArgument) or all(n % p == 0 or n < 2 * p for n in shape(value) for p in parts):
            return value
        attributes: dict[str, ir.Attribute] = {}
        kinds = {ir.StringAttr(op.attributes["kind"]).value for op in _batches(outer) if "kind" in op.attributes}
        if len(kinds) < 2:
            attributes[PARTIAL] = ir.StringAttr.get(next(iter(kinds or {"sum"})))
        at = value.owner.location
        barrier = ir.Operation.create(BARRIER, [value.type], [value], attributes=attributes, loc=at)
        set_runs(barrier, self._runs(fragment))
        return barrier.results[0]

    def _mark_results(self, inner: ir.Operation, results: Sequence[ir.Value]) -> None:
        """Say which results are the next values of arguments: both have one layout; and how often results leave."""
        returned = list(self.func.regions[0].blocks[0].operations[-1].operands)
        arguments = self.func.regions[0].blocks[0].arguments
        state = {returned[r]: arguments[a] for r, a in state_of(self.func).items()}
        attributes = []
        for v in results:
            argument = self.arguments.get(state[v]) if v in state else None
            own: dict[str, ir.Attribute] = {} if argument is None else {STATE: emit.i64(argument)}
            if (runs := 1 if self._is_summed(v) else self._runs(self._writers[v])) > 1:
                own[RUNS] = emit.i64(runs)
            attributes.append(ir.DictAttr.get(own))
        inner.attributes["res_attrs"] = ir.ArrayAttr.get(attributes)

    @staticmethod
    def _is_summed(value: ir.Value) -> bool:
        """Whether of a value only the sum over microbatches is read."""
        readers = [use.owner.operation for use in value.uses]
        return bool(readers) and all(r.name == "pcg.batch" and "kind" in r.attributes for r in readers)

    def take(self) -> dict[ir.Value, ShardSpec]:
        """Give the ops of the fragments, and their boundaries, the layouts of the planned function.

        Returns the layouts of what comes from elsewhere.
        """
        renamed: dict[ir.Attribute, ir.Attribute] = {}
        for op, copy in self._copies:
            for old, new in zip(walk(op), walk(copy), strict=True):
                for name in (shardings.SPECS, shardings.OPERAND_SPECS):
                    if name in new.attributes:
                        old.attributes[name] = new.attributes[name]
            mesh_names.rename(op, shardings.MESH, self.name, renamed)
        for f in self.fragments:
            ins = [self._spec(v) for v in inputs_of(f)]
            outs = [self._spec(v) for v in outputs_of(f)]
            shardings.set_boundary_specs(f, shardings.IN_SPECS, ins, self.name)
            shardings.set_boundary_specs(f, shardings.OUT_SPECS, outs, self.name)
        return {v: self._spec(v) or ShardSpec.replicated(len(shape(v))) for v in self.arguments}

    def _spec(self, value: ir.Value | None) -> ShardSpec | None:
        if value is None:
            return None
        source = self._source(value)
        if source in self._leaving:  # state that is computed in one layout and kept in another is redistributed here
            spec = shardings.function_result_specs(entry_of(self.module.operation))[self._leaving[source]]
        else:
            spec = shardings.get(self._values[source])
        spec = spec or ShardSpec.replicated(len(shape(value)))
        # Values between programs are arrays: their shards are of one size, and what leaves the group is no partial sum.
        for d in spec.uneven_dims(shape(value), self.mesh):
            spec = spec.with_dim(d, ())
        return spec.without_partial() if source in self._leaving or not _accumulates(source, spec) else spec


def _accumulates(value: ir.Value, spec: ShardSpec) -> bool:
    """Whether a partial value is accumulated over microbatches as it is: by the same reduction as over devices."""
    kinds = {kind for _, kind in spec.partial}
    read = _batches(value)
    return all("kind" in op.attributes and {ir.StringAttr(op.attributes["kind"]).value} >= kinds for op in read)


def _batches(value: ir.Value) -> list[ir.Operation]:
    """What makes a value of the step of one of a microbatch."""
    return [use.owner.operation for use in value.uses if use.owner.operation.name == "pcg.batch"]


def mesh_free(op: ir.Operation) -> ir.Operation:
    """`op`, which no longer says on which mesh it is."""
    mesh_names.set_op_mesh(op, None)
    return op


def place(
    func: ir.Operation, fragments: Sequence[ir.Operation], meshes: dict[str, Mesh],
    decide: Callable[[ir.Module], None], searched: bool,
) -> None:  # fmt: skip
    """Plan all stages: `decide` finds the layouts of a program on one mesh, by a search if `searched`."""
    by_mesh: dict[str, list[ir.Operation]] = {}
    for f in fragments:
        by_mesh.setdefault(stage_mesh(f), []).append(f)
    found: dict[str, dict[ir.Value, ShardSpec]] = {}
    for name, own in by_mesh.items():
        program = StageProgram(func, own, meshes[name], searched)
        decide(program.module)
        found[name] = program.take()
    _between(func, found)


def _between(func: ir.Operation, found: dict[str, dict[ir.Value, ShardSpec]]) -> None:
    """Layouts of what is between fragments, and of the function's arguments and results."""
    block = func.regions[0].blocks[0]
    for view in block.operations:
        op = view.operation
        if op.name not in ("pcg.transfer", "pcg.pipeline", "pcg.batch"):
            continue
        value = op.results[0]
        mesh = _mesh_of(value)
        spec = found.get(mesh, {}).get(value)
        if spec is None and op.name == "pcg.batch":
            spec = shardings.get(op.operands[0])
        shardings.set(value, spec or ShardSpec.replicated(len(shape(value))), mesh)
    for argument in block.arguments:
        mesh = _mesh_of(argument)
        spec = found.get(mesh, {}).get(argument)
        if spec is None:  # only divided into microbatches, or read on other meshes
            parts = [use.owner.operation for use in argument.uses if use.owner.operation.name == "pcg.pipeline"]
            spec = next((shardings.get(p.results[0]) for p in parts if _mesh_of(p.results[0]) == mesh), None)
        shardings.set(argument, spec or ShardSpec.replicated(len(shape(argument))), mesh)
    last = block.operations[-1].operation
    for i, value in enumerate(last.operands):
        spec = shardings.get(value)
        assert spec is not None
        shardings.set_function_result_spec(func, i, spec, _mesh_of(value))
    mesh_names.set_signature_meshes(func, "arg_attrs", [None] * len(block.arguments))
    mesh_names.set_signature_meshes(func, "res_attrs", [None] * len(last.operands))


def _mesh_of(value: ir.Value) -> str:
    """The mesh of a value of a program of fragments: that of what computes it, or that it is transferred to."""
    name = mesh_names.mesh_name_of(value)
    op = defining_op(value)
    while name is None and op is not None:
        value = op.operands[0]
        name, op = mesh_names.mesh_name_of(value), defining_op(value)
    assert name is not None, "a value on no mesh"
    return name
