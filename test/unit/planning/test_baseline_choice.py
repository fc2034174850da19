"""Baselines as plans of the search."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

from bench.zoo import ZOO
from pcg.baselines import plans
from pcg.baselines.plans import ModelTraits
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.planning.attempt import BaselineAttempt, Common
from pcg.planning.evaluate import Context, evaluate
from pcg.planning.target import cost_model
from pcg.planning.workspace import Workspace
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.commit import commit
from pcg.search.table import Tables
from pcg.search.warm_start import choices_of
from pcg.solve.ilp import completed
from support.training import mlp

CLUSTER = Cluster.parse("preset:summit:nodes=2,sockets=2,gpus=2")
MESH = Mesh.of({"data": 2, "model": 4})


def prepared(width: int = 256, batch: int = 64) -> Any:
    weights = {"first": np.zeros((width, 4 * width), np.float32), "second": np.zeros((4 * width, width), np.float32)}
    data = np.zeros((batch, width), np.float32)
    module = load_module(jax.jit(mlp).lower(weights, weights, data, data).as_text(), make_context(), "mlp")
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, MESH)
    return module.operation


def arguments(module: Any) -> list[Any]:
    return [shardings.get(a) for a in entry_of(module).regions[0].blocks[0].arguments]


def _renamed(spec: str, names: dict[str, str]) -> str:
    return re.sub(r"[a-z]\w*", lambda m: names.get(m[0], m[0]), spec)


@pytest.mark.parametrize("label", ["data data=8", "megatron data=2,model=4", "zero1 data=8", "zero3 data=8"])
def test_a_baseline_is_a_plan_of_the_search(label: str) -> None:
    """As a plan of the search it keeps its arguments as they were, and is about as fast: on its mesh, refined or not.

    But for the names of axes, which are those of all meshes of these sizes.
    """
    workspace, context = Workspace(prepared()), Context(Machine.of(CLUSTER))
    plan = next(p for p in plans.on_devices(8, ModelTraits(False, frozenset(), frozenset())) if p.label == label)
    refine = RefineMesh(reshapes=True, max_axes=2)
    common = Common(context, 1e12)
    attempt = BaselineAttempt(common, plan.label, plan.group, [plan.mesh], plan=plan, refine=refine)
    candidate = attempt(workspace).candidate
    assert candidate is not None
    draft = attempt.draft(workspace)
    mesh = plan.on_numbered_axes.mesh
    names = dict(zip(plan.mesh.names, mesh.names, strict=True))
    assert draft.mesh.origin == mesh and candidate.mesh.origin == plan.mesh and draft.search is None
    assert bool(draft.apart) == label.startswith("zero3")
    assert draft.seconds == pytest.approx(candidate.seconds, rel=0.02)
    on = workspace.on(mesh, refine)
    model = cost_model(on.module, context.machine, on.mesh)
    copy = clone_module(on.module).operation
    commit(entry_of(copy), on.graph_of(copy, model), draft.choice, Tables.on(on.mesh))
    written = arguments(candidate.written.module(copy.context))
    assert [str(s) for s in arguments(copy)] == [_renamed(str(s), names) for s in written]
    assert evaluate(copy, context).seconds <= 1.02 * candidate.seconds


@pytest.mark.parametrize("label", ["data data=8", "megatron data=2,model=4", "zero3 data=8"])
def test_choices_around_known_ones_cost_what_they_do_in_the_network_of_all(label: str) -> None:
    """Only the costs that are needed are computed; of the known choices some are left open, and some added."""
    workspace = Workspace(prepared(width=96, batch=24))
    plan = next(p for p in plans.on_devices(8, ModelTraits(False, frozenset(), frozenset())) if p.label == label)
    common = Common(Context(Machine.of(CLUSTER)), 1e12)
    draft = BaselineAttempt(common, plan.label, plan.group, [plan.mesh], plan=plan).draft(workspace)
    on = workspace.on(plan.on_numbered_axes.mesh)
    quotient = on.graph(cost_model(on.module, common.context.machine, on.mesh)).quotient(
        cost_model(on.module, common.context.machine, on.mesh)
    ).discrete()
    network = quotient.network()
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 0.7, 0.95, 1.0):
        fixed = {n: k for n, k in enumerate(draft.choice) if rng.random() < share}
        found = quotient.completed(fixed)
        assert {n: found[n] for n in fixed} == fixed
        want = completed(network, fixed)
        assert network.cost(found) == pytest.approx(network.cost(want), rel=1e-9)
        # No other choice of a node that is open makes it cheaper, but by rounding.
        if share > 0.5:
            better = network.icm(found, fixed)
            assert network.cost(better) >= network.cost(found) * (1 - 1e-3)


def test_another_program_is_no_plan() -> None:
    one, other = prepared(), prepared()
    block = entry_of(other).regions[0].blocks[0]
    last = [op.operation for op in block.operations if op.operation.name == "stablehlo.subtract"][-1]
    last.results[0].replace_all_uses_with(last.operands[0])
    last.erase()
    on = Workspace(one).on()
    built = on.graph(cost_model(one, Machine.of(CLUSTER), MESH))
    with pytest.raises(ValueError, match="expected"):
        choices_of(built, on.func, entry_of(other))


@pytest.mark.parametrize("by_kind", [False, True])
def test_the_search_is_never_slower_than_a_baseline(by_kind: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the searches find nothing as fast, the best baseline is improved as a plan of theirs."""
    monkeypatch.setattr("pcg.planning.overlaps.OVERLAPS", ())
    cluster = Cluster.preset("summit", nodes=2).take(8)
    step, args = ZOO["mlp"].shapes(8)
    module = load_module(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text(), make_context(), "mlp")
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, mapping.device_mappings(cluster, Mesh.of({"d0": 4, "d1": 2}))[0].mesh)
    select = SelectPass(machine=Machine.of(cluster), by_kind=by_kind)
    select.run(module.operation)
    others = [c.seconds for c in select.tried if c.search is None and c.fits]
    searched = {c.name: c.seconds for c in select.tried if c.group == "search"}
    assert min(s for name, s in searched.items() if "relinked" not in name) > min(others)
    assert min(searched.values()) <= min(others) * (1 + 1e-9)
    chosen = select.chosen
    assert chosen is not None and chosen.seconds <= min(others)
    if chosen.search is not None:  # what the searches on the mesh know of all its plans holds for this one
        assert chosen.search.outcome is not None and 0 < chosen.search.outcome.bound <= chosen.search.outcome.seconds
