"""Which plans are relinked, and how they are timed."""

from __future__ import annotations

import jax
import pytest

from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.planning import relink
from pcg.planning.relink import _layout
from pcg.planning.workers import Workers

EIGHT = Cluster.preset("summit", nodes=2).take(8), Mesh.of({"d0": 4, "d1": 2})
SIXTY_FOUR = Cluster.preset("dgx-h100", nodes=8).take(64), Mesh.of({"d0": 16, "d1": 4})


def selected(
    on: tuple[Cluster, Mesh], relinked: int, meshes: str = "declared", model: str = "mlp"
) -> SelectPass:  # fmt: skip
    """A model on a mesh of a cluster."""
    cluster, mesh = on
    step, args = ZOO[model].shapes(mesh.size)
    module = load_module(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text(), make_context(), model)
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, mapping.device_mappings(cluster, mesh)[0].mesh)
    select = SelectPass(machine=Machine.of(cluster), relinked=relinked, meshes=meshes, candidates="search", jobs=1)
    select.run(module.operation)
    assert select.chosen is not None
    return select


def test_plans_of_a_small_program_are_lowered_after_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What that finds starts from the best plan known, so it is faster, or there is none."""
    monkeypatch.setattr(relink, "_EXACT", 10**9)
    drafted = selected(SIXTY_FOUR, 40)
    monkeypatch.setattr(relink, "_EXACT", 1)
    exact = selected(SIXTY_FOUR, 40)
    assert drafted.chosen is not None and exact.chosen is not None
    assert not any("by simulation" in c.name for c in drafted.tried)
    found = [c for c in exact.tried if "by simulation" in c.name]
    assert [c.name for c in exact.tried if c not in found] == [c.name for c in drafted.tried]
    assert found and found[-1].seconds == exact.chosen.seconds < drafted.chosen.seconds


def test_the_best_plan_of_another_mesh_is_relinked_if_it_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relink, "_NEAR", 0.0)
    one = selected(EIGHT, 4, "any")
    monkeypatch.setattr(relink, "_NEAR", 10.0)
    begun: list[object] = []
    start = Workers.start
    monkeypatch.setattr(Workers, "start", lambda self, task: begun.append(type(task)) or start(self, task))
    two = selected(EIGHT, 4, "any")
    # Both at the same time.
    first = begun.index(relink.Relinking)
    assert begun[first + 1] is relink.Relinking

    def meshes(select: SelectPass) -> set[tuple[object, ...]]:
        return {_layout(c.mesh) for c in select.tried if "relinked" in c.name}

    assert len(meshes(one)) == 1 and len(meshes(two)) == 2 and meshes(one) < meshes(two)
    assert one.chosen is not None and two.chosen is not None and two.chosen.seconds <= one.chosen.seconds


def test_drafts_that_are_nearly_as_fast_are_relinked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[relink.Relinking] = []
    start = Workers.start

    def started(self: Workers, task: object) -> object:
        if isinstance(task, relink.Relinking):
            begun.append(task)
        return start(self, task)

    monkeypatch.setattr(Workers, "start", started)
    monkeypatch.setattr(relink, "_EXACT", 10**9)
    monkeypatch.setattr(relink, "_START", 0.0)
    selected(EIGHT, 10)
    best = begun[:]
    begun.clear()
    monkeypatch.setattr(relink, "_START", 10.0)
    selected(EIGHT, 10)
    several = begun[len(best) : -1]
    assert begun[: len(best)] == best and len(several) > 1
    assert len({tuple(task.choice) for task in several}) == len(several)
    # At last what the best of them became, with parts of drafts and of what the others became.
    assert set(several[0].others) | {tuple(several[0].choice)} < set(begun[-1].others) | {tuple(begun[-1].choice)}
    monkeypatch.setattr(relink, "_DRAFTED_OPS", 1000)  # a large program
    begun.clear()
    selected(EIGHT, 10)
    assert len(begun) == len(best)


@pytest.mark.slow
def test_a_plan_from_another_draft_may_be_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = selected(EIGHT, 40, model="dlrm")
    monkeypatch.setattr(relink, "_START", 0.0)
    once = selected(EIGHT, 40, model="dlrm")
    assert twice.chosen is not None and once.chosen is not None
    assert "twice" in twice.chosen.name and twice.chosen.seconds < once.chosen.seconds


def test_names_of_axes_do_not_tell_meshes_apart() -> None:
    mesh = Mesh.of({"data": 4, "model": 2})
    assert _layout(mesh) == _layout(Mesh.of({"d0": 4, "d1": 2}))
    assert _layout(mesh) != _layout(Mesh.of({"data": 2, "model": 4}))
    assert _layout(mesh) != _layout(Mesh.of({"data": 4, "model": 2}, [1, 0, 2, 3, 4, 5, 6, 7]))
