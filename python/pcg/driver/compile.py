"""The way of a program through the passes, with every stage kept.  Needs no jax."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torch_mlir import ir

from pcg.driver import memory, plan_ir, rewrites
from pcg.driver.compilation import Compilation
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options, chooser, decide, run, select, strategy_of
from pcg.driver.module_program import entry_function, module_program
from pcg.driver.plan import Plan
from pcg.driver.plan_document import PlanError
from pcg.driver.program import Program
from pcg.driver.signature import annotate, check_mesh, declare_mesh, mark_state, replicate_uneven
from pcg.ir import annotation, shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.transformation import Bytes
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Cluster, Machine
from pcg.passes import pipelines
from pcg.passes.dist_fuse_collectives import FuseCollectivesPass
from pcg.passes.pcg_choose_groups import ChooseGroupsPass
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pcg_insert_remat_barriers import InsertRematBarriersPass
from pcg.passes.pcg_lower_spmd import LowerSpmdPass
from pcg.passes.pipeline import uncollected
from pcg.planning import ahead, rewritten
from pcg.planning.search import Search
from pcg.rewrite.refine_mesh import RefineMesh, rewrite
from pcg.search.outcome import Outcome
from pcg.search.roles import state_of


@uncollected()
def compile_program(
    program: Program, mesh: Mesh, options: Options | None = None, *, devices: Sequence[Any] | None = None
) -> Compilation:
    """Run the pipeline on `program` for `mesh`; `devices` are kept in the plan.

    Raises:
      PcgError: the program is not valid, or a pass cannot do its work; at the op's location.
      PlanError: the plan in `options.strategy` is of another program or mesh.
    """
    options, target = options or Options(), mesh
    platform = getattr(devices[0], "platform", "") if devices else ""
    on_cpu = platform == "cpu"
    if options.search.get("machine") is None:
        machine = Machine.of_platform(platform, mesh.size)
        options = dataclasses.replace(options, search={**options.search, "machine": machine})
    else:
        platform = ""  # it is planned for that machine, whatever the devices are
    context = make_context()
    seconds: dict[str, float] = {}
    remarks: list[tuple[str, str, str]] = []
    start = time.perf_counter()
    module = load_module(program.source, context, program.path or "<program>")
    seconds["load"] = time.perf_counter() - start
    declare_mesh(module, mesh)
    if options.searches_ahead:
        ahead.expect(ahead.count(module.operation))
    run(module, pipelines.prepare(options.settings), remarks, seconds)
    check_mesh(module, mesh)
    modules = {"stablehlo": clone_module(module)}
    if isinstance(options.strategy, Plan) and (passes := rewrites.of_plan(options.strategy)):
        run(module, passes, remarks, seconds)
        rewritten.forget(module.operation)  # the plan says it
    report = None
    state: Mapping[int, int]
    if isinstance(options.strategy, Plan):
        rewrites.of_search("a plan", options.search, options.machine)
        state = dict(options.strategy.state)
        substitutions, applied_rules = options.strategy.substitutions, options.strategy.applied_rules
        own, identity = _reshards(module), plan_ir.identity(module)
        _apply_plan(options.strategy, module, mesh, program, identity)
    else:
        annotate(module, program, mesh, options)
        state = state_of(entry_function(module))
        run(module, options.refinement(), remarks, seconds)
        mesh = shardings.mesh_of(module) or mesh
        strategy = strategy_of(module, options)
        deciding = dataclasses.replace(
            options, search={k: v for k, v in options.search.items() if k not in rewrites.OPTIONS}
        )
        search = chooser(strategy, deciding, on_cpu) if strategy == "search" and options.searches_ahead else None
        assert search is None or isinstance(search, Search)
        run(module, rewrites.of_search(strategy, options.search, options.machine, search), remarks, seconds)
        own, identity = _reshards(module), plan_ir.identity(modules["stablehlo"])  # while the search goes on
        report = decide(module, deciding, remarks, seconds, on_cpu, program.donated, search)
        applied_rules = rewritten.applied_rules(module.operation)
        substitutions = rewritten.forget(module.operation)
        if passes := rewrites.of_decisions(substitutions, memory.decisions(module)):
            # The program that the plan is for is the rewritten one, as the loop over microbatches.
            repeated = clone_module(modules["stablehlo"])
            run(repeated, passes, [], {})
            identity = plan_ir.identity(repeated)
        own = memory.program_reshards(module, own)
        replicate_uneven(module, mesh)
        mark_state(entry_function(module), {})
    machine = options.machine
    cluster = machine.cluster
    if cluster is None and isinstance(options.strategy, Plan):
        platform = options.strategy.platform
        cluster = Cluster.loads(options.strategy.cluster) if options.strategy.cluster else None
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
        platform=platform,
        source=modules["stablehlo"].operation.get_asm(print_generic_op_form=True, assume_verified=True),
        memory=memory.decisions(module),
        substitutions=substitutions,
        applied_rules=applied_rules,
    )
    if program.constants:
        plan = dataclasses.replace(plan, constants=program.constant_digests)
    mesh = plan.mesh
    modules["plan"] = clone_module(module)
    *placing, verify = pipelines.place(options.settings)
    run(module, placing, remarks, seconds)
    modules["pcg"] = clone_module(module)
    lower = LowerSpmdPass()
    check = partial(run, modules["pcg"], [verify], remarks, seconds)
    with ahead.checking(verify, modules["pcg"].operation, check, options.searches_ahead):
        run(module, [FuseCollectivesPass(machine=machine)], remarks, seconds)
        modules["collectives"] = clone_module(module)
        run(module, [lower], remarks, seconds)
        if on_cpu:
            run(module, [InsertRematBarriersPass()], remarks, seconds)
    modules["local"] = module
    in_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.in_specs"))
    out_specs = tuple(ShardSpec.parse(t) for t in _spec_texts(module, "pcg.out_specs"))
    done = Compilation(program, mesh, plan, in_specs, out_specs, modules, remarks, seconds, report, machine,
        "cpu" if on_cpu else "accelerator", lower.sources, options, target)
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
        declare_mesh(module, mesh)
    run(module, pipelines.prepare(options.settings), [], {})
    if mesh is None:
        options = dataclasses.replace(options, in_specs={}, out_specs={})
    annotate(module, program, mesh or Mesh.of({"devices": cluster.size}), options)
    refinement, = options.refinement()
    assert isinstance(refinement, RefineMesh)
    limit = None if options.memory_limit is None else Bytes(options.memory_limit)
    # Of heterogeneous groups one process runs one mesh: of all devices or of one group.  More need `pcg.processes`.
    some = 0 if count is None or count == len(cluster.devices) else count
    groups = ChooseGroupsPass(
        strategies=("slowest", "alone"), devices=some, memory_limit=limit, machine=Machine.of(cluster)
    )
    chosen = ChooseMeshPass(
        devices=count or 0, memory_limit=limit, machine=Machine.of(cluster), refine=refinement,
        jobs=options.search.get("jobs", 0),
    )  # fmt: skip
    run(module, [groups, chosen], [], {})
    strategy = str(options.strategy)
    if mesh is None and strategy == "select":
        # A baseline on another mesh may be faster; that mesh is taken then, and the plan is searched on it.  Only on
        # request, because every baseline is evaluated on every factorisation of the number of devices.
        run(module, [refinement], [], {})
        free = dataclasses.replace(options, search={**options.search, "meshes": "auto"})
        select(module, free, [], {}, False, program.donated)
    found = shardings.mesh_of(module)
    assert found is not None
    return found.origin


def _check_memory(done: Compilation, limit: int) -> None:
    """A placement that was not searched must fit as it is."""
    if (needed := cost_of(done).peak_bytes) > limit:
        raise PcgError(f"the placement needs {needed:.0f} bytes per device; the memory limit is {limit}")


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


def _apply_plan(plan: Plan, module: ir.Module, mesh: Mesh, program: Program, identity: Sequence[str]) -> None:
    if plan.mesh.origin.axes != mesh.origin.axes:
        raise PlanError(f"plan of program {plan.program!r} is for mesh {plan.mesh.origin}; this mesh is {mesh.origin}")
    if identity[0] != plan.fingerprint:
        plan_ir.check(plan, module)  # says what differs
    if plan.constants != program.constant_digests:
        pairs = zip(program.arguments[len(program.inputs) :], program.constant_digests, strict=True)
        other = [f"{leaf.name} {leaf}" for (leaf, now), was in zip(pairs, plan.constants, strict=False) if now != was]
        raise PlanError(
            f"plan of program {plan.program!r} was made with other values of what it closes over: "
            + (", ".join(other[:3]) or f"{len(plan.constants)} constants, there are {len(program.constants)}")
        )
    if plan.mesh.axes != shardings.mesh_of(module).axes:  # type: ignore[union-attr]
        rewrite(module.operation, Mesh(plan.mesh.axes, mesh.device_ids))
    annotation.record(entry_function(module), "plan")
    plan_ir.write(plan, module)
    memory.write(module, plan.memory)


def _reshards(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(module.operation) if op.name == "dist.reshard"]


def _spec_texts(module: ir.Module, name: str) -> list[str]:
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(module.operation.attributes[name])]
