"""Plans by name, and which mesh axis does what."""

from __future__ import annotations

import pytest

from pcg.baselines.recipe import PLANS, SYNONYMS, RecipeError, Roles, recipe, roles
from pcg.layout import Mesh


def test_synonyms_are_plans() -> None:
    assert {recipe(n) for n in SYNONYMS} <= set(PLANS.values())
    assert recipe("fsdp") == recipe("zero3") and recipe("zero2") == recipe("zero1")


def test_an_unknown_plan_names_the_known_ones() -> None:
    with pytest.raises(RecipeError, match="plan 'pipeline'; expected one of data, zero1, zero3, megatron"):
        recipe("pipeline")


@pytest.mark.parametrize(
    ("plan", "mesh", "given", "want"),
    [
        ("data", "a=2,b=4", {}, Roles(("a", "b"))),
        ("zero3", "a=2,b=4", {}, Roles(("a", "b"), zero=("a", "b"))),
        ("zero1", "a=2,b=4", {"zero": ("b",)}, Roles(("a", "b"), zero=("b",))),
        ("megatron", "a=2,b=4", {}, Roles(("a",), ("b",))),
        ("megatron", "model=2,b=4", {}, Roles(("b",), ("model",))),
        ("megatron", "a=2,b=4", {"model": ("a", "b")}, Roles((), ("a", "b"))),
        ("experts", "a=2,b=4", {}, Roles(("a", "b"), experts=("b",))),
        ("experts-megatron-zero1", "a=2,expert=2,model=2", {},
         Roles(("a", "expert"), ("model",), ("expert",), ("a", "expert"))),
    ],
)  # fmt: skip
def test_roles(plan: str, mesh: str, given: dict[str, tuple[str, ...]], want: Roles) -> None:
    assert roles(recipe(plan), Mesh.parse(mesh), **given) == want


def test_a_refined_axis_keeps_its_role() -> None:
    mesh = Mesh.parse("data=2,model=4").refined({"model": (2, 2)})
    assert roles(recipe("megatron"), mesh) == Roles(("data",), ("model.0", "model.1"))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"model": ("z",)}, "axis 'z'; the mesh has 'a', 'b'"),
        ({"zero": ("b",)}, "axis 'b' is a model axis; the data axes are 'a'"),
    ],
)
def test_wrong_axes(given: dict[str, tuple[str, ...]], text: str) -> None:
    with pytest.raises(RecipeError, match=text):
        roles(recipe("megatron-zero1"), Mesh.parse("a=2,b=4"), **given)
