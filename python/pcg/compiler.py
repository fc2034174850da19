"""The way of a program through the passes, with every stage kept.  Needs no jax."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_mlir import ir

from pcg import memory, plan_ir
from pcg.baselines.recipe import PLANS, SYNONYMS
from pcg.frontend.module_program import entry_function, module_program
from pcg.frontend.program import Program
from pcg.frontend.state import state_of
from pcg.ir import given, shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.sdy_text import without_second_regions
from pcg.ir.walk import walk
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.machine import Cluster, Machine, toml
from pcg.passes import PIPELINES, lookup
from pcg.passes.base import Bytes
from pcg.passes.choose_groups import ChooseGroupsPass
from pcg.passes.choose_mesh import ChooseMeshPass
from pcg.passes.dist_propagate import ENGINES, PropagatePass
from pcg.passes.dist_refine_mesh import RefineMeshPass, rewrite
from pcg.passes.lower_spmd import LowerSpmdPass
from pcg.passes.pcg_baseline import BaselinePass
from pcg.passes.pcg_hold_copies import HoldCopiesPass
from pcg.passes.pcg_search import SELECTED, SearchPass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline, split
from pcg.plan import Plan, PlanError
from pcg.search.optimize import Outcome
from pcg.search.roles import STATE
from pcg.search.roles import state_of as kept_state

if TYPE_CHECKING:
    from pcg.viz.lint import Lint

#: Stages of `Compilation.as_text`.
STAGES = ("stablehlo", "plan", "pcg", "collectives", "local", "sdy")


#: How placement is decided.  `auto`: `global` if the program or its user annotates something, else `select` on a
#: cluster, `search` without; `select`: the best of several plans by simulation; `unity`: the search as Unity does it;
#: `propagate`: `dist-propagate` with the options given; else an engine of it.
STRATEGIES = ("auto", "search", "select", "unity", "propagate", *ENGINES)
#: Plans of experts, which are strategies too: `pcg-baseline` says what they are.
BASELINES = (*PLANS, *SYNONYMS)


@dataclass(frozen=True)
class Options:
    """What the user fixed: strategy, memory, argument and result specs (by flat index), search options.

    `strategy` is one of `STRATEGIES` or `BASELINES`, or a plan.
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
    options: Options = field(default_factory=Options, repr=False)
    """What the user fixed."""
    asked: Mesh | None = field(default=None, repr=False)
    """The mesh that it was compiled for, before it was refined."""
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
    options, asked = options or Options(), mesh
    on_cpu = devices is not None and len(devices) > 0 and getattr(devices[0], "platform", "") == "cpu"
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
    modules = {"stablehlo": _clone(module)}
    if isinstance(options.strategy, Plan) and (rewrites := memory.rewrites(options.strategy.memory)):
        _run(module, rewrites, remarks, seconds)
    identity = plan_ir.identity(module)
    own = [op for op in walk(module.operation) if op.name == "dist.reshard"]
    report = None
    state: Mapping[int, int]
    if isinstance(options.strategy, Plan):
        state = dict(options.strategy.state)
        _apply_plan(options.strategy, module, mesh, program)
    else:
        _annotate(module, program, mesh, options)
        state = kept_state(entry_function(module))
        _run(module, [_refinement(options)], remarks, seconds)
        mesh = shardings.mesh_of(module) or mesh
        report = _decide(module, options, remarks, seconds, on_cpu, program.donated)
        if rewrites := memory.rewrites(memory.decisions(module)):
            # The program that the plan is for is the rewritten one, as the loop over microbatches.
            rewritten = _clone(modules["stablehlo"])
            _run(rewritten, rewrites, [], {})
            identity = plan_ir.identity(rewritten)
        own = memory.given_reshards(module, own)
        _even_signature(module, mesh)
        _mark_state(entry_function(module), {})
    cluster = (options.search.get("machine") or Machine.default()).cluster
    if cluster is None and isinstance(options.strategy, Plan) and options.strategy.cluster:
        cluster = toml.loads(options.strategy.cluster)
    plan = plan_ir.capture(
        module,
        identity,
        program=program.name,
        leaves=(program.arguments, program.results),
        own=own,
        estimate=estimate_of(report, options.strategy),
        trees=(program.in_tree, program.out_tree) if program.in_tree is not None else None,
        devices=devices,
        state=state,
        donated=program.donated,
        cluster=cluster.dumps() if cluster is not None else "",
        source=modules["stablehlo"].operation.get_asm(print_generic_op_form=True, assume_verified=True),
        memory=memory.decisions(module),
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
    if on_cpu:
        _run(module, [HoldCopiesPass()], remarks, seconds)
    modules["local"] = module
    in_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.in_specs"))
    out_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.out_specs"))
    done = Compilation(program, mesh, plan, in_specs, out_specs, modules, remarks, seconds, report, machine,
        lower.sources, options, asked)
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
    # Of unlike groups one process runs one mesh: of all devices or of one group.  More need `pcg.processes`.
    some = 0 if count is None or count == len(cluster.devices) else count
    groups = ChooseGroupsPass(
        ways=("slowest", "alone"), devices=some, memory_limit=limit, machine=cluster.machine()
    )
    chosen = ChooseMeshPass(
        devices=count or 0, memory_limit=limit, machine=cluster.machine(), refine=refinement
    )
    _run(module, [groups, chosen], [], {})
    strategy = str(options.strategy)
    if mesh is None and strategy == "select":
        # An expert's plan on another mesh may be faster: that mesh it is then, and the plan is found again there.
        # Too dear to be done unasked: every factorisation is planned by every expert.
        _run(module, [refinement], [], {})
        free = dataclasses.replace(options, search={**options.search, "meshes": "auto"})
        _select(module, free, [], {}, False, program.donated)
    found = shardings.mesh_of(module)
    assert found is not None
    return found.origin


def lint_program(program: Program, mesh: Mesh, options: Options | None = None, budget: int | None = None) -> Lint:
    """What the layouts that `program` and `options` give cost on `mesh`, and which to change first.

    Raises:
      PcgError: the program is not valid, or does not go with the mesh; at the op's location.
    """
    from pcg.passes.pcg_lint import LintPass
    from pcg.viz.lint import of_pass

    options = options or Options()
    module = load_module(program.source, make_context(), program.path or "<program>")
    _declare_mesh(module, mesh)
    before, _ = _around_decision()
    _run(module, [e for e in before if not e.startswith("pcg-choose-")], [], {})
    _check_mesh(module, mesh)
    _annotate(module, program, mesh, options)
    _run(module, [_refinement(options)], [], {})
    limit = None if options.memory_limit is None else Bytes(options.memory_limit)
    chosen = LintPass(memory_limit=limit, machine=options.search.get("machine") or Machine.default())
    if budget is not None:
        chosen.budget = budget
    chosen.names = [x.name for x in program.arguments], [x.name for x in program.results]
    _run(module, [chosen], [], {})
    return dataclasses.replace(of_pass(chosen, module), program=program.name)


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
    first = next(i for i, e in enumerate(elements) if e.startswith("dist-refine-mesh"))
    return elements[:first], elements[elements.index("pcg-search") + 1 :]


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


def _decide(
    module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float],
    on_cpu: bool = False, donated: Collection[int] = (),
) -> Any:  # fmt: skip
    strategy = str(options.strategy)
    check_strategy(strategy)
    if strategy == "auto":
        strategy = _default(module, options)
    if strategy in BASELINES:
        return _propagate_baseline(module, strategy, options, remarks, seconds)
    if strategy == "select":
        return _select(module, options, remarks, seconds, on_cpu, donated)
    name = "pcg-search" if strategy in ("search", "unity") else "dist-propagate"
    cls = lookup(name)
    assert cls is not None
    chosen = cls()
    known = {f.name for f in dataclasses.fields(cls)}
    wanted = dict(options.search)
    if strategy == "unity" and wanted.setdefault("algorithm", "unity") != "unity":
        raise ValueError(f"algorithm {wanted['algorithm']!r} and strategy 'unity' are given; expected one of them")
    if strategy in ENGINES:
        if wanted.setdefault("engine", strategy) != strategy:
            raise ValueError(f"engine {wanted['engine']!r} and strategy {strategy!r} are given; expected one of them")
    if options.memory_limit is not None:
        wanted["memory_limit"] = options.memory_limit
    if on_cpu and "backend" in known:
        wanted.setdefault("backend", "cpu")
    for key, value in wanted.items():
        if key not in known:
            if key in ("memory_limit", "recompute", "accumulate", "remembered"):
                continue  # nothing to choose: checked when the program is lowered
            raise ValueError(f"unknown option {key!r}; {name} has {', '.join(sorted(known)) or 'none'}")
        setattr(chosen, key, value)
    _run(module, [chosen], remarks, seconds)
    return getattr(chosen, "outcome", None) or next(iter(getattr(chosen, "measures", {}).values()), None)


def _default(module: ir.Module, options: Options) -> str:
    """The strategy that "auto" is for this program."""
    if annotated(module):
        return "global"
    machine = options.search.get("machine")
    # Who asks for another algorithm wants to see what that does.
    plain = options.search.get("algorithm", "exact") == "exact"
    return "select" if machine is not None and machine.cluster is not None and plain else "search"


def _select(
    module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float], on_cpu: bool,
    donated: Collection[int],
) -> Any:  # fmt: skip
    """The best of several plans by simulation; the search options are those of pcg-select and of pcg-search."""
    chosen = SelectPass(meshes="given", donated=donated)
    own = {f.name for f in dataclasses.fields(SelectPass)} - {"search", "refine", "donated"}
    its = {f.name for f in dataclasses.fields(SearchPass)} - {"mesh"}
    wanted = dict(options.search)
    if options.memory_limit is not None:
        wanted["memory_limit"] = options.memory_limit
    if on_cpu:
        wanted.setdefault("backend", "cpu")
    for key, value in wanted.items():
        if key not in own | its:
            raise ValueError(f"unknown option {key!r}; pcg-select has {', '.join(sorted(own | its))}")
        setattr(chosen if key in own else chosen.search, key, value)
    _run(module, [chosen], remarks, seconds)
    if SELECTED in module.operation.attributes:
        del module.operation.attributes[SELECTED]
    return chosen.outcome


def _propagate_baseline(
    module: ir.Module, plan: str, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float]
) -> Any:
    """The layouts of a plan that experts use, completed by propagation; the search options are those of both passes."""
    chosen, propagation = BaselinePass(plan=plan), PropagatePass(engine="dataflow")
    known = {f.name: p for p in (propagation, chosen) for f in dataclasses.fields(p)}
    for key, value in options.search.items():
        if key not in known or key in ("plan", "engine"):
            allowed = ", ".join(sorted(known.keys() - {"plan", "engine"}))
            raise ValueError(f"unknown option {key!r}; strategy {plan!r} has {allowed}")
        axes = known[key] is chosen and isinstance(value, str)
        setattr(known[key], key, (value,) if axes else value)
    _run(module, [chosen, propagation], remarks, seconds)
    return next(iter(propagation.measures.values()), None)


def check_strategy(strategy: str) -> None:
    """Raise ValueError for what is not one of `STRATEGIES` or `BASELINES`."""
    if strategy not in (*STRATEGIES, *BASELINES):
        names = ", ".join(map(repr, (*STRATEGIES, *BASELINES)))
        raise ValueError(f"strategy {strategy!r}; expected one of {names}, a Plan, or the path of a saved plan (.json)")


def annotated(module: ir.Module) -> bool:
    """Whether some layout in the program names an axis."""
    return given.annotated(entry_function(module))


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
    for i, (value, own) in enumerate(zip(returned, shardings.function_result_specs(function), strict=True)):
        spec = own or shardings.get(value)
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
    given.mark(entry_function(module), "plan")
    plan_ir.write(plan, module)
    memory.write(module, plan.memory)


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
