"""The default on a cluster, pcg-select: never slower by simulation than baselines, and right."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from torch_mlir import ir

import pcg
from bench.zoo import ZOO
from pcg.baselines import plans
from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.machine import Cluster, Machine, mapping
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile
from pcg.passes import pipelines
from pcg.passes.pcg_baseline import BaselinePass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pcg_substitute import SubstitutePass
from pcg.passes.pipeline import Pipeline
from pcg.planning.attempt import Candidate
from pcg.planning.rewritten import SUBSTITUTIONS
from pcg.simulate import simulate
from support.training import assert_trees_close, mlp

CLUSTER = "preset:summit:nodes=2,sockets=2,gpus=2"
#: The plans of the baselines as the pipelines complete them: nothing of pcg-select is in the reference.
COMPLETE = "dist-propagate{engine=dataflow},dist-insert-reshards,dist-verify,dist-fuse-collectives,pcg-lower-spmd"


def shapes(width: int, batch: int) -> tuple[Any, ...]:
    weights = {"first": np.zeros((width, 4 * width), np.float32), "second": np.zeros((4 * width, width), np.float32)}
    data = np.zeros((batch, width), np.float32)
    return weights, weights, data, data


def clicks() -> tuple[Any, Any]:
    return importlib.import_module("examples.unity_dlrm").make("small")


PROGRAMS = {
    "wide": lambda: (mlp, shapes(1024, 64)),
    "long": lambda: (mlp, shapes(64, 65536)),
    "clicks": clicks,
}


def prepared(name: str) -> Any:
    step, args = PROGRAMS[name]()
    module = load_module(jax.jit(step).lower(*args).as_text(), make_context(), name)
    Pipeline("prepare").run(module)
    return module


def seconds_of(name: str, plan: plans.BaselinePlan, machine: Any) -> float:
    """Seconds of a baseline by the pipelines, apart from pcg-select."""
    module = prepared(name)
    shardings.set_mesh(module, plan.mesh)
    pipeline = Pipeline([BaselinePass(plan.plan, plan.model, plan.experts, plan.zero), COMPLETE])
    for p in pipeline.python_passes:
        if hasattr(p, "machine"):
            p.machine = machine
    pipeline.run(module)
    return simulate(module, CostModel(machine, plan.mesh)).seconds


def finish(module: Any, machine: Any) -> None:
    """The passes behind pcg-select."""
    rest = Pipeline("pcg-search,dist-insert-reshards,pcg-recompute,dist-verify,dist-fuse-collectives,pcg-lower-spmd")
    for p in rest.python_passes:
        if hasattr(p, "machine"):
            p.machine = machine
    rest.run(module)


@pytest.mark.parametrize("name", ["wide", "long", pytest.param("clicks", marks=pytest.mark.exhaustive)])
def test_no_baseline_is_faster(name: str) -> None:
    machine = Machine.of(pcg.Cluster.parse(CLUSTER))
    mesh = pcg.Mesh.of({"a": 2, "b": 4} if name == "long" else {"a": 8})
    module = prepared(name)
    shardings.set_mesh(module, mesh)
    select = SelectPass(machine=machine)
    select.run(module.operation)
    assert select.chosen is not None and select.chosen.fits
    others = plans.on_mesh(mesh, plans.ModelTraits(name == "clicks"))
    assert len(others) >= 4
    times = [seconds_of(name, plan, machine) for plan in others]
    assert select.chosen.seconds <= min(times) * (1 + 1e-12) and min(times) < max(times)
    # What the following passes make of it takes the time that was promised.
    finish(module, machine)
    assert simulate(module, CostModel(machine, mesh)).seconds == pytest.approx(select.chosen.seconds, rel=1e-12)


def test_any_mesh_is_no_worse_than_the_given_one_and_the_same_each_time() -> None:
    machine = Machine.of(pcg.Cluster.parse(CLUSTER))

    def run(meshes: str, **more: Any) -> tuple[SelectPass, str]:
        module = prepared("wide")
        shardings.set_mesh(module, pcg.Mesh.of({"a": 8}))
        select = SelectPass(machine=machine, meshes=meshes, **more)
        select.run(module.operation)
        return select, str(module)

    free, text = run("any")
    again, same = run("any")
    assert text == same and [str(c) for c in free.tried] == [str(c) for c in again.tried]
    declared, _ = run("declared")
    assert free.chosen is not None and declared.chosen is not None
    assert free.chosen.seconds <= declared.chosen.seconds
    assert {"data data=8", "megatron data=2,model=4"} <= {c.name for c in free.tried}
    # For a table no plan is left out because one of another kind is faster, and every name is reported, also of equals.
    reported: list[Candidate] = []
    table, same = run("any", by_kind=True, report=lambda plan, _: reported.append(plan))
    assert same == text and {c.name for c in free.tried} <= {c.name for c in table.tried}
    assert {c.group for c in reported} == {"search", "unity", "data", "zero", "megatron", "hybrid"}
    names = [c.name for c in reported]
    assert len(set(names)) == len(names) and len(names) >= len(table.tried)
    assert {"search", "search gradient-overlap=0.5 final-overlap=0.5 branch-overlap=0.9", "unity", "unity on d0=2,d1=4"} <= set(names)


@pytest.mark.slow
def test_parts_of_other_searches_make_the_best_plan_faster() -> None:
    machine = Machine.of(pcg.Cluster.parse(CLUSTER))
    text = (Path(__file__).parents[2] / "examples/transformer_step.mlir").read_text()

    def run(relinked: int) -> tuple[SelectPass, Any]:
        module = load_module(text, make_context(), "step")
        Pipeline("prepare").run(module)
        shardings.set_mesh(module, pcg.Mesh.of({"a": 4, "b": 2}))
        select = SelectPass(machine=machine, candidates="search", relinked=relinked)
        select.run(module.operation)
        return select, module

    alone, _ = run(0)
    better, module = run(8)
    assert alone.chosen is not None and better.chosen is not None and better.outcome is not None
    assert better.chosen.name.startswith(f"{alone.chosen.name} relinked")
    assert better.chosen.seconds < alone.chosen.seconds
    assert better.chosen.search is not None and better.chosen.search.outcome is not None
    assert 0 < better.chosen.search.outcome.bound <= better.chosen.search.outcome.seconds
    more = {c.name for c in better.tried} - {c.name for c in alone.tried}
    assert better.chosen.name in more and all(" relinked" in name for name in more)
    finish(module, machine)
    model = CostModel(machine, pcg.Mesh.of({"a": 4, "b": 2}))
    assert simulate(module, model).seconds == pytest.approx(better.chosen.seconds, rel=1e-12)


@pytest.mark.slow
def test_parts_of_our_plans_make_unitys_faster() -> None:
    """It is a kind of its own: neither Unity's plan nor one that our search alone has found."""
    cluster = pcg.Cluster.preset("summit", nodes=8).take(48)
    step, args = ZOO["mlp"].shapes(48)
    module = load_module(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text(), make_context(), "mlp")
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, mapping.device_mappings(cluster, pcg.Mesh.of({"d0": 24, "d1": 2}))[1].mesh)
    select = SelectPass(machine=Machine.of(cluster), relinked=4)
    select.run(module.operation)
    unity = next(c for c in select.tried if c.group == "unity")
    assert all(c.seconds > unity.seconds for c in select.tried if c.group not in ("unity", "relinked"))
    assert select.chosen is not None and select.chosen.seconds < unity.seconds
    assert (select.chosen.name, select.chosen.group) == ("unity relinked", "relinked")


def test_the_default_on_a_cluster_computes_what_one_device_does() -> None:
    rng = np.random.default_rng(0)
    weights, moments, x, y = jax.tree.map(lambda a: rng.standard_normal(a.shape, np.float32) / 32, shapes(256, 64))
    compiled, alone = pcg.compile(mlp, pcg.Cluster.parse(CLUSTER)), jax.jit(mlp)
    got = want = (weights, moments)
    for _ in range(2):
        got, want = compiled(*got[:2], x, y), alone(*want[:2], x, y)
    assert_trees_close(got, want, 1e-4)
    assert "Rejected" in compiled.explain() and "megatron" in compiled.explain()
    promised = compiled.cost.seconds
    assert promised == pytest.approx(compiled.simulate().seconds, rel=1e-9)
    assert min(a.seconds for a in compiled.cost.alternatives if a.fits) >= promised


def test_a_program_is_also_planned_on_the_mesh_that_is_best_when_it_is_rewritten() -> None:
    """XDL on 8 V100s: as it is on one axis of 8, with updates of rows only on 4x2."""
    machine = Machine.of(Cluster.preset("summit", nodes=2).take(8))
    settings = pipelines.Settings(machine)
    step, args = ZOO["xdl"].shapes(8)
    module = load_module(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text(), make_context(), "xdl")
    Pipeline(pipelines.prepare(settings)).run(module)
    bare = clone_module(module)
    Pipeline([*pipelines.choose(settings), *pipelines.refine()]).run(module)
    first = shardings.mesh_of(module)
    assert first is not None
    Pipeline(pipelines.substitute(settings)).run(module)
    options = module.operation.attributes[SUBSTITUTIONS]
    Pipeline([SubstitutePass.from_options(ir.StringAttr(options).value), *pipelines.choose(settings)]).run(bare)
    second = shardings.mesh_of(bare)
    assert second is not None and second.origin != first.origin
    select = SelectPass(machine=machine, candidates="search", relinked=0)
    Pipeline([select]).run(module)
    found = {c.name: c.seconds for c in select.tried}
    there = [seconds for name, seconds in found.items() if name.endswith(f" on {second.origin}")]
    here = [seconds for name, seconds in found.items() if " on " not in name]
    assert there and here and min(there) < min(here)
    assert select.chosen is not None and select.chosen.seconds == min(found.values())


def test_where_devices_share_processors_the_reports_say_what_the_choice_was_made_by() -> None:
    """With what devices wait for each other and new memory, which only the backend's simulation counts."""
    waits = {n: Curve((1e-9, 1e-3), (1e-3 * n, 2e-3 * n)) for n in (2, 4)}
    profile = Profile("cpu", 4, 0.0, 0.0, 0.0, {}, {}, fresh=Curve((1.0,), (1e-12,)), waits=waits)
    host = pcg.Cluster.preset("cpu", devices=4)
    cluster = dataclasses.replace(host, kinds=tuple(dataclasses.replace(k, profile=profile) for k in host.kinds))
    args = PROGRAMS["wide"]()[1]
    lowered = pcg.compile(mlp, cluster).lower(*args)
    assert lowered.cost.simulated == pytest.approx(lowered.cost.seconds, rel=1e-9)
    assert lowered.cost.simulated > lowered.simulate(backend="accelerator").seconds


@pytest.mark.parametrize("plan", ["zero3", "megatron"])
def test_a_baseline_that_was_selected_is_saved_and_read(plan: str, tmp_path: Any) -> None:
    args = shapes(32, 16)
    first = pcg.compile(mlp, {"data": 2, "model": 4}, strategy=plan).lower(*args)
    first.compilation.plan.save(tmp_path / "plan.json")
    second = pcg.compile(mlp, {"data": 2, "model": 4}, strategy=tmp_path / "plan.json").lower(*args)
    assert second.compilation.plan == first.compilation.plan
    assert second.as_text("local") == first.as_text("local")


def test_options() -> None:
    args = shapes(32, 16)
    cluster = pcg.Cluster.parse(CLUSTER)
    only = pcg.compile(mlp, {"x": 8}, cluster=cluster, candidates="search").lower(*args)
    assert all(a.name.startswith("search") for a in only.cost.alternatives)
    with pytest.raises(pcg.PcgError, match="option 'other-overlap' is 2; allowed: 0 to 1"):
        pcg.compile(mlp, {"x": 8}, strategy="search", other_overlap=2.0).lower(*args)
    with pytest.raises(ValueError, match="unknown option 'colour'; pcg-select has"):
        pcg.compile(mlp, {"x": 8}, cluster=cluster, colour="red").lower(*args)
    generic = pcg.compile(mlp, {"x": 8}, strategy="select").lower(*args)
    assert generic.cost.plan
