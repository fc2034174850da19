"""The way of a program through the passes, with every stage kept.  Needs no jax."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from pcg import plan_ir
from pcg.frontend.module_program import entry_function, module_program
from pcg.frontend.program import Program
from pcg.frontend.state import state_of
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.given import mark as note_given
from pcg.ir.parse import load_module
from pcg.ir.sdy_text import without_second_regions
from pcg.ir.walk import walk
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.machine import Cluster, Machine
from pcg.passes import PIPELINES, lookup
from pcg.passes.base import Bytes
from pcg.passes.choose_mesh import ChooseMeshPass
from pcg.passes.dist_propagate import ENGINES
from pcg.passes.dist_refine_mesh import RefineMeshPass, rewrite
from pcg.passes.lower_spmd import LowerSpmdPass
from pcg.passes.pipeline import Pipeline, split
from pcg.plan import Plan, PlanError
from pcg.search.optimize import Outcome
from pcg.search.roles import STATE

#: Stages of `Compilation.as_text`.
STAGES = ("stablehlo", "plan", "pcg", "collectives", "local", "sdy")


#: How placement is decided.  `auto`: `search`, or `global` if the program or its user annotates something;
#: `propagate`: `dist-propagate` with the options given; else an engine of it.
STRATEGIES = ("auto", "search", "propagate", *ENGINES)


@dataclass(frozen=True)
class Options:
    """What the user fixed: strategy, memory, argument and result specs (by flat index), search options.

    `strategy` is one of `STRATEGIES`, or a plan.
    `refine`: whether mesh axes may be cut for reshapes; None: as far as the pipelines do.  For sub-axes that a
    layout names they always are.
    """

    strategy: str | Plan = "auto"
    memory_limit: int | None = None
    in_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    out_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    refine: bool | None = None


@dataclass
class Compilation:
    """One program, compiled for one mesh: a module per stage.

    `mesh` is refined where the plan uses parts of axes (`mesh.origin` is the user's).  `in_specs` /
    `out_specs` are the layouts of the lowered function; `remarks` are `(pass, where, text)`; `seconds` is
    the time of each step; `report` is what the search says about its choice.
    """

    program: Program
    mesh: Mesh
    plan: Plan
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    modules: dict[str, ir.Module] = field(repr=False)
    remarks: list[tuple[str, str, str]] = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    report: Any = field(default=None, repr=False)
    machine: Machine = field(default_factory=Machine.default, repr=False)
    sources: dict[int, int] = field(default_factory=dict, repr=False)
    """Channel of each collective of the lowered program -> the op it comes from, by its number in the walk of the entry
    function at stage `collectives`."""
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    def as_text(self, stage: str = "pcg", *, generic: bool | None = None) -> str:
        """The module at `stage`: one of `STAGES`.

        `stablehlo` is the normalised program, `plan` the program with every layout, `pcg` the
        parallel computation graph, `collectives` the graph with collectives, `local` what one
        device runs, `sdy` the plan as StableHLO with Shardy attributes.

        Raises:
          ValueError: unknown stage.
        """
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
        if stage == "sdy" and stage not in self._texts:
            copy = _clone(self.modules["plan"])
            _run(copy, ["sdy-export"], [], {})
            self.modules["sdy"] = copy
            generic = True if generic is None else generic
        key = f"{stage}{generic}"
        if key not in self._texts:
            generic = stage == "sdy" if generic is None else generic
            self._texts[key] = without_second_regions(
                self.modules[stage].operation.get_asm(print_generic_op_form=generic, assume_verified=True)
            )
        return self._texts[key]

    @property
    def local_text(self) -> str:
        """The lowered module in the form that jax reads."""
        return self.as_text("local", generic=True)


def compile_program(
    program: Program, mesh: Mesh, options: Options | None = None, *, devices: Sequence[Any] | None = None
) -> Compilation:
    """Run the pipeline on `program` for `mesh`; `devices` are kept in the plan.

    Raises:
      PcgError: the program is not valid, or a pass cannot do its work; at the op's location.
      PlanError: the plan in `options.strategy` is of another program or mesh.
    """
    options = options or Options()
    context = make_context()
    seconds: dict[str, float] = {}
    remarks: list[tuple[str, str, str]] = []
    start = time.perf_counter()
    module = load_module(program.source, context, program.path or "<program>")
    seconds["load"] = time.perf_counter() - start
    _declare_mesh(module, mesh)
    before, after = _around_decision()
    _run(module, before, remarks, seconds)
    _check_mesh(module, mesh)
    identity = plan_ir.identity(module)
    own = [op for op in walk(module.operation) if op.name == "dist.reshard"]
    modules = {"stablehlo": _clone(module)}
    report = None
    if isinstance(options.strategy, Plan):
        _apply_plan(options.strategy, module, mesh, program)
    else:
        _annotate(module, program, mesh, options)
        _run(module, [_refinement(options)], remarks, seconds)
        mesh = shardings.mesh_of(module) or mesh
        report = _decide(module, options, remarks, seconds)
        _even_signature(module, mesh)
        _mark_state(entry_function(module), {})
    plan = plan_ir.capture(
        module,
        identity,
        program=program.name,
        leaves=(program.arguments, program.results),
        own=own,
        estimate=estimate_of(report, options.strategy),
        trees=(program.in_tree, program.out_tree) if program.in_tree is not None else None,
        devices=devices,
    )
    mesh = plan.mesh
    modules["plan"] = _clone(module)
    machine = options.search.get("machine") or Machine.default()
    _run(module, after, remarks, seconds, machine)
    modules["pcg"] = _clone(module)
    *fuse, _ = split(PIPELINES["lower"].elements)
    _run(module, fuse, remarks, seconds, machine)
    modules["collectives"] = _clone(module)
    lower = LowerSpmdPass()
    _run(module, [lower], remarks, seconds)
    modules["local"] = module
    in_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.in_specs"))
    out_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.out_specs"))
    done = Compilation(program, mesh, plan, in_specs, out_specs, modules, remarks, seconds, report, machine,
        lower.sources)
    if options.memory_limit is not None and not isinstance(report, Outcome):
        _check_memory(done, options.memory_limit)
    return done


def choose_mesh(
    program: Program, cluster: Cluster, mesh: Mesh | None = None, options: Options | None = None,
    count: int | None = None,
) -> Mesh:  # fmt: skip
    """The mesh on which `program` runs fastest on `cluster`: `mesh` in its best place, or any of `count` devices.

    Layouts in the program, and those that `options` fixes if there is a mesh, are kept.

    Raises:
      PcgError: no plan fits, or the mesh is larger than the cluster.
    """
    options = options or Options()
    module = load_module(program.source, make_context(), program.path or "<program>")
    if mesh is not None:
        _declare_mesh(module, mesh)
    before, _ = _around_decision()
    _run(module, [e for e in before if e != ChooseMeshPass.name], [], {})
    if mesh is None:
        options = dataclasses.replace(options, in_specs={}, out_specs={})
    _annotate(module, program, mesh or Mesh.of({"devices": cluster.size}), options)
    refinement = next(iter(Pipeline([_refinement(options)]).python_passes))
    assert isinstance(refinement, RefineMeshPass)
    limit = None if options.memory_limit is None else Bytes(options.memory_limit)
    chosen = ChooseMeshPass(
        devices=count or 0, memory_limit=limit, machine=cluster.machine(), refine=refinement
    )
    _run(module, [chosen], [], {})
    found = shardings.mesh_of(module)
    assert found is not None
    return found.origin


def _check_memory(done: Compilation, limit: int) -> None:
    """A placement that was given, not searched, must fit as it is."""
    from pcg.viz.cost import cost_of

    if (needed := cost_of(done).peak_bytes) > limit:
        raise PcgError(f"the given placement needs {needed:.0f} bytes per device; the memory limit is {limit}")


def load_program(source: str | bytes, *, path: str | None = None, donated: frozenset[int] = frozenset()) -> Program:
    """A StableHLO module as a program.

    Raises:
      PcgError: it does not parse or verify.
      ProgramError: it has no entry function or a dynamic shape.
    """
    module = load_module(source, make_context(), path or "<program>")
    return module_program(module, source, donated=donated, path=path)


def estimate_of(report: Any, strategy: Any) -> dict[str, Any]:
    """The numbers of a search report as plain JSON values."""
    if report is None:
        return dict(strategy.estimate) if isinstance(strategy, Plan) else {}
    if dataclasses.is_dataclass(report):
        report = {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
    return {k: v for k, v in dict(report).items() if isinstance(v, bool | int | float | str)}


def _around_decision() -> tuple[list[str], list[str]]:
    """The passes of --auto-parallel before the search (and the refinement for it), and after it."""
    elements = list(split(PIPELINES["auto-parallel"].elements))
    at = elements.index("pcg-search")
    return elements[: at - 1], elements[at + 1 :]


def _refinement(options: Options) -> str:
    """The pass that cuts mesh axes, as far as the user wants, else as the pipelines do."""
    if options.refine is not None:
        return "dist-refine-mesh{reshapes=true}" if options.refine else "dist-refine-mesh"
    return next(e for e in split(PIPELINES["auto-parallel"].elements) if e.startswith("dist-refine-mesh"))


def _run(
    module: ir.Module, names: Sequence[Any], remarks: list[tuple[str, str, str]], seconds: dict[str, float],
    machine: Machine | None = None,
) -> None:  # fmt: skip
    for element in names:
        pipeline = Pipeline([element])
        for p in pipeline.python_passes:
            if machine is not None and hasattr(p, "machine"):
                p.machine = machine
        start = time.perf_counter()
        pipeline.run(module)
        name = element if isinstance(element, str) else element.name
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
        remarks += [(p.name, plan_ir.where(location), text) for p, location, text in pipeline.remarks()]


def _decide(module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float]) -> Any:
    strategy = str(options.strategy)
    check_strategy(strategy)
    if strategy == "auto":
        strategy = "global" if annotated(module) else "search"
    name = "pcg-search" if strategy == "search" else "dist-propagate"
    cls = lookup(name)
    assert cls is not None
    chosen = cls()
    known = {f.name for f in dataclasses.fields(cls)}
    given = dict(options.search)
    if strategy in ENGINES:
        if given.setdefault("engine", strategy) != strategy:
            raise ValueError(f"engine {given['engine']!r} and strategy {strategy!r} are given; expected one of them")
    if options.memory_limit is not None:
        given["memory_limit"] = options.memory_limit
    for key, value in given.items():
        if key not in known:
            if key == "memory_limit":
                continue  # nothing to choose: checked when the program is lowered
            raise ValueError(f"unknown option {key!r}; {name} has {', '.join(sorted(known)) or 'none'}")
        setattr(chosen, key, value)
    _run(module, [chosen], remarks, seconds)
    return getattr(chosen, "outcome", None) or next(iter(getattr(chosen, "measures", {}).values()), None)


def check_strategy(strategy: str) -> None:
    """Raise ValueError for what is not one of `STRATEGIES`."""
    if strategy not in STRATEGIES:
        names = ", ".join(map(repr, STRATEGIES))
        raise ValueError(f"strategy {strategy!r}; expected one of {names}, a Plan, or the path of a saved plan (.json)")


def annotated(module: ir.Module) -> bool:
    """Whether some layout in the program names an axis."""
    func = entry_function(module)
    specs = [shardings.get(a) for a in func.regions[0].blocks[0].arguments] + shardings.function_result_specs(func)
    if any(s is not None and s.used_axes for s in specs):
        return True
    for op in walk(func):
        given = shardings.result_specs(op) if op.name != "func.func" else []
        if op.name == "dist.constraint":
            given = [shardings.from_attr(op.attributes["spec"])]
        if any(s is not None and s.used_axes for s in given):
            return True
    return False


def _annotate(module: ir.Module, program: Program, mesh: Mesh, options: Options) -> None:
    """Write the fixed argument and result layouts; cut axes where the user's mesh is cut."""
    function = entry_function(module)
    if mesh.is_refined:
        have = shardings.mesh_of(module)
        assert have is not None
        try:
            fine = refine.refine_at(have, ((p.axis, p.end) for p in (refine.resolve(n, mesh) for n in mesh.names)))
        except MeshError as error:
            raise PcgError(f"mesh {mesh} does not go with the sub-axes in the program: {error}") from None
        rewrite(module.operation, fine)
    arguments = function.regions[0].blocks[0].arguments
    for what, leaves, specs in (
        ("argument", program.arguments, options.in_specs), ("result", program.results, options.out_specs)
    ):  # fmt: skip
        for i, spec in specs.items():
            try:
                refine.check(spec, mesh, leaves[i].shape, even=True)
                spec = refine.to_origin(spec, mesh)
            except SpecError as error:
                raise PcgError(f"sharding of {what} {leaves[i].name} ({leaves[i]}): {error}") from None
            if what == "argument":
                shardings.set(arguments[i], spec)
            else:
                shardings.set_function_result_spec(function, i, spec)
    if program.in_tree is not None:
        _mark_state(function, state_of(program))
    for i, leaf in enumerate(program.arguments):
        if leaf.key_rank and shardings.get(arguments[i]) is None and len(leaf.shape) == leaf.key_rank:
            shardings.set(arguments[i], ShardSpec.replicated(len(leaf.shape)))
    for i, leaf in enumerate(program.results):
        if leaf.key_rank and len(leaf.shape) == leaf.key_rank:
            shardings.set_function_result_spec(function, i, ShardSpec.replicated(len(leaf.shape)))


def _even_signature(module: ir.Module, mesh: Mesh) -> None:
    """Hold arguments and results whole where they cannot be cut equally, as the shards of a `jax.Array` are."""
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    returned = list(block.operations)[-1].operation.operands
    for argument in block.arguments:
        spec = shardings.get(argument)
        if spec is not None and (even := _even(spec, argument, mesh)) != spec:
            shardings.set(argument, even)
    for i, (value, given) in enumerate(zip(returned, shardings.function_result_specs(function), strict=True)):
        spec = given or shardings.get(value)
        if spec is not None and (even := _even(spec.without_partial(), value, mesh)) != spec.without_partial():
            shardings.set_function_result_spec(function, i, even)


def _even(spec: ShardSpec, value: ir.Value, mesh: Mesh) -> ShardSpec:
    if not isinstance(value.type, ir.RankedTensorType):
        return spec
    for d in spec.uneven_dims(value.type.shape, mesh):
        spec = spec.with_dim(d, ())
    return spec


def _mark_state(function: ir.Operation, state: Mapping[int, int]) -> None:
    """Tell the search which results keep the layout of which argument; nothing else reads it."""
    if "res_attrs" not in function.attributes:
        return
    with function.context:
        i64 = ir.IntegerType.get_signless(64)
        every = [{n.name: n.attr for n in ir.DictAttr(d) if n.name != STATE} for d in function.attributes["res_attrs"]]
        for result, argument in state.items():
            every[result][STATE] = ir.IntegerAttr.get(i64, argument)
        function.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(d) for d in every])


def _apply_plan(plan: Plan, module: ir.Module, mesh: Mesh, program: Program) -> None:
    if plan.mesh.origin.axes != mesh.origin.axes:
        raise PlanError(f"plan of program {plan.program!r} is for mesh {plan.mesh.origin}; this mesh is {mesh.origin}")
    plan_ir.check(plan, module)
    if plan.mesh.axes != shardings.mesh_of(module).axes:  # type: ignore[union-attr]
        rewrite(module.operation, Mesh(plan.mesh.axes, mesh.device_ids))
    note_given(entry_function(module), "plan")
    plan_ir.write(plan, module)


def _declare_mesh(module: ir.Module, mesh: Mesh) -> None:
    """The user's mesh, unrefined but for what the module itself refines: a program has one form on one mesh."""
    found, new = shardings.mesh_of(module), mesh.origin
    if found is not None and found.origin.axes == new.axes:
        new = Mesh(found.axes, new.device_ids)
    shardings.set_mesh(module, new)


def _check_mesh(module: ir.Module, mesh: Mesh) -> None:
    found = shardings.mesh_of(module)
    if found is not None and found.origin.axes != mesh.origin.axes:
        raise PcgError(f"the program has shardings on mesh {found}; it is compiled for mesh {mesh}")


def _spec_texts(module: ir.Module, name: str) -> list[str]:
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(module.operation.attributes[name])]


def _clone(module: ir.Module) -> ir.Module:
    with module.context, ir.Location.unknown():
        copy = ir.Module.create(module.operation.location)
        for name in module.operation.attributes:
            copy.operation.attributes[name] = module.operation.attributes[name]
        for op in module.body.operations:
            copy.body.append(op.operation.clone())
    return copy
