"""Which baselines are enumerated."""

from __future__ import annotations

from pcg.baselines.plans import ModelTraits, on_devices, on_mesh
from pcg.baselines.recipe import PLANS, recipe, roles
from pcg.layout import Mesh


def test_every_factorisation_is_enumerated() -> None:
    plans = on_devices(12, ModelTraits(True, experts=frozenset({8})))
    hybrids = {str(p.mesh) for p in plans if p.plan == "megatron" and p.group == "hybrid"}
    assert hybrids == {f"data={12 // n},model={n}" for n in (2, 3, 4, 6)}
    assert len({p.label for p in plans}) == len(plans)
    assert {p.mesh.size for p in plans} == {12}
    assert not any(p.group in ("tables", "experts") for p in on_devices(12, ModelTraits()))


def test_on_a_mesh_every_axis_has_every_role() -> None:
    mesh = Mesh.of({"a": 2, "b": 4})
    plans = on_mesh(mesh, ModelTraits(True, frozenset({8}), frozenset({8, 6})))
    assert len({p.label for p in plans}) == len(plans) and {p.mesh for p in plans} == {mesh}
    assert {p.model for p in plans if p.plan == "megatron"} == {("a",), ("b",), ("a", "b")}
    assert {p.zero for p in plans if p.plan == "zero3"} == {(), ("a",), ("b",)}
    assert {(p.experts, p.model) for p in plans if p.plan == "experts-megatron"} == {(("a",), ("b",)), (("b",), ("a",))}
    assert {p.plan for p in plans} == set(PLANS)


def test_on_numbered_axes_everything_has_its_role() -> None:
    """By position: names say nothing there."""
    everything = ModelTraits(True, frozenset({8}), frozenset({8}))
    for plan in [*on_devices(8, everything), *on_mesh(Mesh.of({"a": 2, "b": 4}, [7, 6, 5, 4, 3, 2, 1, 0]), everything)]:
        new = plan.on_numbered_axes
        assert new.mesh.sizes == plan.mesh.sizes and new.mesh.device_ids == plan.mesh.device_ids
        assert new.mesh.names == tuple(f"d{i}" for i in range(len(new.mesh.names)))
        at = {name: f"d{i}" for i, name in enumerate(plan.mesh.names)}
        mine = roles(recipe(plan.plan), plan.mesh, plan.model, plan.experts, plan.zero)
        renamed = roles(recipe(new.plan), new.mesh, new.model, new.experts, new.zero)
        for role in ("data", "model", "experts", "zero"):
            assert tuple(at[a] for a in getattr(mine, role)) == getattr(renamed, role), (plan.label, role)
        assert new.tensor_degree == plan.tensor_degree == plan.mesh.axes_size(mine.model)


def test_a_series_differs_in_the_tensor_degree() -> None:
    plans = on_devices(8, ModelTraits(experts=frozenset({4})))
    series = {p.label: (p.series, p.tensor_degree) for p in plans}
    assert series["data data=8"] == (("data", 1), 1)
    assert series["megatron data=4,model=2"] == (("data", 1), 2)
    assert series["megatron model=8"] == (("data", 1), 8)
    assert series["experts data=2,expert=4"] == (("experts", 4), 1)
    assert series["experts-megatron-zero3 expert=4,model=2"] == (("experts", 4), 2)
    assert series["experts-megatron expert=2,model=4"] == (("experts", 2), 4)
    assert series["zero3 data=4,shard=2 zero=shard"] == (("data", 1), 1)


def test_experts_go_on_axes_that_divide_them() -> None:
    six = ModelTraits(experts=frozenset({6}))
    assert not [p for p in on_mesh(Mesh.of({"a": 4}), six) if p.group == "experts"]
    assert {p.experts for p in on_mesh(Mesh.of({"a": 2, "b": 4}), six) if p.group == "experts"} == {("a",)}


def test_whole_tables_go_where_every_device_has_as_many() -> None:
    eight = ModelTraits(True, stacks=frozenset({8}))
    for count, want in ((2, True), (8, True), (16, False), (6, False)):
        for plans in (on_devices(count, eight), on_mesh(Mesh.of({"a": count}), eight)):
            assert any(p.plan == "dlrm-whole" for p in plans) == want
    assert not [p for p in on_mesh(Mesh.of({"a": 8}), ModelTraits(stacks=frozenset({8}))) if "dlrm" in p.plan]


def test_axes_of_size_one_have_no_role() -> None:
    plans = on_mesh(Mesh.of({"a": 1, "b": 4}), ModelTraits())
    assert {p.model for p in plans if "megatron" in p.plan} == {("b",)} and not any(p.group == "hybrid" for p in plans)
    assert [p.model for p in on_mesh(Mesh.of({"a": 1}), ModelTraits()) if p.plan == "megatron"] == [("a",)]


def test_every_variant_knows_the_plan_without_zero() -> None:
    for plans in (on_devices(12, ModelTraits(True, experts=frozenset({4}))), on_mesh(Mesh.of({"a": 2, "b": 4}), ModelTraits(True, experts=frozenset({8})))):
        labels = [p.label for p in plans]
        for i, p in enumerate(plans):
            base = p.without_zero
            assert "zero" not in base.plan and base.without_zero == base
            assert base.label in labels[: i + 1], "it comes first"
