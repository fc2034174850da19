"""The way of a program through the passes, with every stage kept.  Needs no jax."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch_mlir import ir

from pcg import plan_ir
from pcg.frontend.module_program import entry_function, module_program
from pcg.frontend.program import Program
from pcg.frontend.state import state_of
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.machine import Machine
from pcg.passes import PIPELINES, lookup
from pcg.passes.pipeline import Pipeline, split
from pcg.plan import Plan, PlanError
from pcg.search.roles import STATE

#: Stages of `Compilation.as_text`.
STAGES = ("stablehlo", "plan", "pcg", "collectives", "local", "sdy")


@dataclass(frozen=True)
class Options:
    """What the user fixed: strategy, memory, argument and result specs (by flat index), search options."""

    strategy: Literal["auto", "propagate"] | Plan = "auto"
    memory_limit: int | None = None
    in_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    out_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Compilation:
    """One program, compiled for one mesh: a module per stage.

    `in_specs` / `out_specs` are the layouts of the lowered function; `remarks` are `(pass, where,
    text)`; `seconds` is the time of each step; `report` is what the search says about its choice.
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
            self._texts[key] = self.modules[stage].operation.get_asm(
                print_generic_op_form=generic, assume_verified=True
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
    shardings.set_mesh(module, mesh)
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
        report = _decide(module, options, remarks, seconds)
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
    modules["plan"] = _clone(module)
    _run(module, after, remarks, seconds)
    modules["pcg"] = _clone(module)
    *fuse, lower = split(PIPELINES["lower"].elements)
    _run(module, fuse, remarks, seconds)
    modules["collectives"] = _clone(module)
    _run(module, [lower], remarks, seconds)
    modules["local"] = module
    machine = options.search.get("machine") or Machine.default()
    in_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.in_specs"))
    out_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.out_specs"))
    done = Compilation(program, mesh, plan, in_specs, out_specs, modules, remarks, seconds, report, machine)
    if options.memory_limit is not None and report is None:
        _check_memory(done, options.memory_limit)
    return done


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
    """The passes of --auto-parallel before and after the search."""
    elements = list(split(PIPELINES["auto-parallel"].elements))
    at = elements.index("pcg-search")
    return elements[:at], elements[at + 1 :]


def _run(
    module: ir.Module, names: Sequence[Any], remarks: list[tuple[str, str, str]], seconds: dict[str, float]
) -> None:
    for element in names:
        pipeline = Pipeline([element])
        start = time.perf_counter()
        pipeline.run(module)
        name = element if isinstance(element, str) else element.name
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
        remarks += [(p.name, plan_ir.where(location), text) for p, location, text in pipeline.remarks()]


def _decide(module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float]) -> Any:
    name = {"auto": "pcg-search", "propagate": "dist-propagate"}.get(str(options.strategy))
    if name is None:
        raise ValueError(f"strategy {options.strategy!r}; expected 'auto', 'propagate' or a plan")
    cls = lookup(name)
    assert cls is not None
    chosen = cls()
    known = {f.name for f in dataclasses.fields(cls)}
    given = dict(options.search)
    if options.memory_limit is not None:
        given["memory_limit"] = options.memory_limit
    for key, value in given.items():
        if key not in known:
            if key == "memory_limit":
                continue  # nothing to choose: checked when the program is lowered
            raise ValueError(f"unknown option {key!r}; {name} has {', '.join(sorted(known)) or 'none'}")
        setattr(chosen, key, value)
    _run(module, [chosen], remarks, seconds)
    return getattr(chosen, "outcome", None)


def _annotate(module: ir.Module, program: Program, mesh: Mesh, options: Options) -> None:
    """Write the fixed argument and result layouts."""
    function = entry_function(module)
    arguments = function.regions[0].blocks[0].arguments
    for what, leaves, specs in (
        ("argument", program.arguments, options.in_specs), ("result", program.results, options.out_specs)
    ):  # fmt: skip
        for i, spec in specs.items():
            try:
                spec.check(mesh, leaves[i].shape)
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
    if plan.mesh.axes != mesh.axes:
        raise PlanError(f"plan of program {plan.program!r} is for mesh {plan.mesh}; this mesh is {mesh}")
    plan_ir.apply(plan, module)


def _check_mesh(module: ir.Module, mesh: Mesh) -> None:
    found = shardings.mesh_of(module)
    if found is not None and found.axes != mesh.axes:
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
