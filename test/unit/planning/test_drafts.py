"""Which drafts of plans are made, and which of them are lowered and simulated."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np
import pytest

from bench.zoo import ZOO
from pcg.baselines import plans
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.transformation import Bytes
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.planning import select as selecting
from pcg.planning.attempt import BaselineAttempt, Common, Draft, SearchAttempt, digest
from pcg.planning.baseline import suitable
from pcg.planning.baseline_drafts import BaselineDrafts, Drafts, Unfit
from pcg.planning.evaluate import Context
from pcg.planning.search import Search
from pcg.planning.workers import Workers
from pcg.planning.workspace import Workspace
from support.training import mlp

CLUSTER = Cluster.preset("summit", nodes=2).take(8)
MESH = mapping.device_mappings(CLUSTER, Mesh.of({"d0": 4, "d1": 2}))[0].mesh


def prepared(name: str) -> Any:
    if name == "wide":
        weights = {"first": np.zeros((1024, 4096), np.float32), "second": np.zeros((4096, 1024), np.float32)}
        x = np.zeros((64, 1024), np.float32)
        text = jax.jit(mlp).lower(weights, weights, x, x).as_text()
    else:
        step, args = ZOO[name].shapes(8)
        text = jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text()
    module = load_module(text, make_context(), name)
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, MESH)
    return module.operation


def attempts(module: Any, limit: float) -> list[BaselineAttempt]:
    """Those of data parallelism and its ZeRO variants."""
    common = Common(Context(Machine.of(CLUSTER)), limit)
    found = [p for p in plans.on_mesh(MESH, suitable(entry_of(module))) if p.without_zero.plan == "data"]
    assert len(found) > 4
    return [BaselineAttempt(common, p.label, p.group, plan=p) for p in found]


@pytest.mark.parametrize("name", ["wide", "mlp", "candle_uno"])
def test_zero_variants_that_are_left_out_are_not_the_fastest(name: str) -> None:
    module = prepared(name)
    workspace = Workspace(module)
    with module.context:
        tasks = attempts(module, math.inf)
        everything = Drafts(tasks, {}, True, False)(workspace)
        seconds = [d.seconds for d in everything if d is not None and not isinstance(d, PcgError)]
        assert len(seconds) == len(tasks) and min(seconds) < max(seconds)
        best = min(seconds)
        found = Drafts(tasks, {"": 0.99 * best}, False, False)(workspace)
        assert found[0] is not None
        for draft, full in zip(found, seconds, strict=True):
            assert draft is not None or full > 0.99 * best
        # What nothing can make fast enough is not tried.
        assert [d is not None for d in Drafts(tasks, {"": best / 100}, False, False)(workspace)] == [
            t.plan is not None and t.plan.without_zero == t.plan for t in tasks
        ]


def test_few_variants() -> None:
    """Of a large program none, unless nothing else fits."""
    module = prepared("mlp")
    with module.context:
        found = Drafts(attempts(module, math.inf), {}, False, True)(Workspace(module))
        assert [d is not None for d in found].count(True) == 1
        found = Drafts(attempts(module, 1.0), {}, False, True)(Workspace(module))
        assert None not in found


def every_baseline(module: Any, limit: float) -> list[BaselineAttempt]:
    """On all meshes of eight devices."""
    common = Common(Context(Machine.of(CLUSTER)), limit)
    found = plans.on_devices(8, suitable(entry_of(module)))
    return [
        BaselineAttempt(common, p.label, p.group, [mapping.device_mappings(CLUSTER, p.mesh)[0].mesh], plan=p) for p in found
    ]


def test_arguments_are_part_of_the_peak_of_every_baseline() -> None:
    """So that one whose arguments do not fit needs no draft."""
    module = prepared("wide")
    workspace, held = Workspace(module), {}
    with module.context:
        for attempt in every_baseline(module, math.inf):
            found = attempt(workspace).candidate
            assert found is not None
            held[attempt.name] = attempt.annotated(workspace).argument_bytes
            assert 0 < held[attempt.name] <= found.peak_bytes
    weights, data = 4 * 1024 * 4096 * 4, 2 * 64 * 1024 * 4
    assert held["data data=8"] == weights + data / 8
    assert held["zero3 data=8"] == weights / 8 + data / 8
    assert held["megatron data=4,model=2"] == weights / 2 + data / 4


def test_what_cannot_fit_is_not_drafted() -> None:
    module = prepared("wide")
    workspace, limit = Workspace(module), 2.0**24
    with module.context:
        tasks = every_baseline(module, limit)
        held = [a.annotated(workspace).argument_bytes for a in tasks]
        found = Drafts(tasks, {}, False, False)(workspace)
        assert [isinstance(f, Unfit) for f in found] == [h > limit for h in held]
        assert [f.argument_bytes for f in found if isinstance(f, Unfit)] == [h for h in held if h > limit]
        assert 0 < sum(h > limit for h in held) < len(held)
        assert not any(isinstance(f, Unfit) for f in Drafts(tasks, {}, True, False)(workspace))


def test_zero_that_splits_nothing_is_the_baseline_without_it() -> None:
    """No dimension of the model is divided by three."""
    cluster = Cluster.preset("summit", nodes=1)
    module = prepared("wide")
    shardings.set_mesh(module, Mesh.of({"data": 3}))
    common = Common(Context(Machine.of(cluster)), math.inf)
    found = plans.on_mesh(Mesh.of({"data": 3}), suitable(entry_of(module)))
    tasks = [BaselineAttempt(common, p.label, p.group, plan=p) for p in found if p.without_zero.plan == "data"]
    with module.context:
        drafts = Drafts(tasks, {}, False, False)(Workspace(module))
        assert [d is not None for d in drafts] == [t.name == "data data=3" for t in tasks]
        every = Drafts(tasks, {}, True, False)(Workspace(module))
        assert len({(d.seconds, d.peak_bytes) for d in every if d is not None and not isinstance(d, PcgError | Unfit)}) == 1


@pytest.mark.parametrize(("name", "want"), [("wide", {1, 2, 4, 8, 16, 32, 64}), ("transformer_unity", {1, 2, 4, 8, 16})])
def test_higher_tensor_degrees_are_tried_while_lower_ones_are_not_hopeless(name: str, want: set[int]) -> None:
    """The step of an MLP with few examples becomes faster with the degree, though it is slow at first."""
    module = prepared(name)
    cluster = Cluster.preset("summit", nodes=12).take(64)
    common = Common(Context(Machine.of(cluster)), math.inf)
    tasks = [
        BaselineAttempt(common, p.label, p.group, [p.mesh], plan=p)
        for p in plans.on_devices(64, suitable(entry_of(module)))
        if p.series == ("data", 1) and p.without_zero == p
    ]
    with module.context, Workers(module, 1) as workers:
        drafts = BaselineDrafts(workers, lambda _: None, {}, False, False).run(tasks)
        every = BaselineDrafts(workers, lambda _: None, {}, True, False).run(tasks)
    found = {a.plan.tensor_degree: d.seconds for a, d in drafts if isinstance(d, Draft) and a.plan is not None}
    seconds = {a.plan.tensor_degree: d.seconds for a, d in every if isinstance(d, Draft) and a.plan is not None}
    assert [a for a, _ in drafts] == [a for a, _ in every] == tasks and set(seconds) == {1, 2, 4, 8, 16, 32, 64}
    assert set(found) == want and all(seconds[n] == s for n, s in found.items())
    assert all(seconds[n] > 2 * min(seconds.values()) for n in set(seconds) - want)


@pytest.mark.parametrize("name", ["mlp", "transformer_unity"])
def test_of_a_large_program_the_fastest_are_simulated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> SelectPass:
        select = SelectPass(machine=Machine.of(CLUSTER), jobs=1)
        select.run(prepared(name))
        assert select.chosen is not None
        return select

    full = run()
    monkeypatch.setattr(selecting, "_SIMULATED_OPS", 0)
    few = run()
    assert full.chosen is not None and few.chosen is not None
    assert len(few.tried) <= 1 + selecting._SIMULATED + 1 < len(full.tried)
    assert few.chosen.seconds <= 1.01 * full.chosen.seconds
    assert few.statistics["plans timed"] >= sum("relinked" not in c.name for c in full.tried)


def test_nothing_fits() -> None:
    """Of what does not fit the plans that need least are simulated, so that the error says what would do."""
    select = SelectPass(machine=Machine.of(CLUSTER), memory_limit=2**20, jobs=1)
    with pytest.raises(PcgError, match=r"no plan fits in 1\.00 MiB per device; the smallest one found needs"):
        select.run(prepared("mlp"))


def test_a_draft_that_does_not_fit_when_lowered_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search counts less memory than the simulator here: the fastest drafts do not fit, slower ones do."""
    monkeypatch.setattr(selecting, "_SIMULATED_OPS", 0)
    monkeypatch.setattr(selecting, "_SIMULATED", 8)
    with monkeypatch.context() as all_of_them:
        all_of_them.setattr(selecting, "_SLOWER", 10.0)
        full = SelectPass(machine=Machine.of(CLUSTER), relinked=0, jobs=1, memory_limit=2**40)
        full.run(prepared("mlp"))
    peaks = sorted(c.peak_bytes for c in full.tried)
    limit = int((peaks[0] + peaks[-1]) / 2)
    assert peaks[0] < limit < peaks[-1]
    select = SelectPass(machine=Machine.of(CLUSTER), relinked=0, jobs=1, memory_limit=limit)
    select.run(prepared("mlp"))
    assert select.chosen is not None and select.chosen.fits and select.chosen.peak_bytes <= limit


def test_a_draft_that_does_not_fit_is_where_trading_time_for_memory_begins() -> None:
    """The plan that ignores memory is found once: what is made of it is what a whole search makes."""
    module = prepared("wide")
    with module.context:
        workspace = Workspace(module)
        free = Search(machine=Machine.of(CLUSTER))
        free.find(workspace.on())
        assert free.outcome is not None
        limit = Bytes(round(0.98 * free.outcome.peak_bytes))
        first = SearchAttempt(
            Common(Context(Machine.of(CLUSTER)), float(limit)), "search", "search",
            search=Search(machine=Machine.of(CLUSTER), memory_limit=limit),
        )  # fmt: skip
        draft = first.draft(workspace)
        assert draft.search is not None and draft.search.exceeds and draft.peak_bytes > limit
        known = dataclasses.replace(
            first, search=dataclasses.replace(first.search, fastest=draft.search.outcome)
        )  # fmt: skip
        searches: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Search, "_optimize", lambda *_: searches.append(_))
            written, search = known.write(workspace)
        assert not searches
        assert search is not None and search.fitted
        expected, _ = first.write(workspace)
        assert digest(written) == digest(expected)
