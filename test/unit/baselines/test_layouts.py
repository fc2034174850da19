"""What is read of a training step: pairs of weights, tables, experts, moments, and the layouts that follow.

The models are those of `examples`, from shapes; what their authors call things is used only to say what is expected.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax
import pytest

from pcg.baselines.layouts import Layouts, ProgramFacts, choose_layouts, read_program
from pcg.baselines.recipe import RecipeError, recipe, roles
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.passes.pipeline import Pipeline
from pcg.search.roles import state_of

MESH = Mesh.parse("data=2,model=4")


@functools.cache
def program(model: str, **overrides: Any) -> tuple[ProgramFacts, tuple[str, ...], Any]:
    """A small model read, and the names of its arguments; the module keeps it alive."""
    step, args = importlib.import_module(f"examples.{model}").shapes("small", **overrides)
    module = load_module(jax.jit(step).lower(*args).as_text(), make_context(), model)
    Pipeline("prepare").run(module)
    func = entry(module)
    assert func is not None
    names = [jax.tree_util.keystr(p, simple=True, separator=".") for p, _ in jax.tree_util.tree_leaves_with_path(args)]
    return read_program(func, state_of(func)), tuple(names), module


def layouts(model: str, plan: str, mesh: Mesh = MESH, **overrides: Any) -> tuple[Layouts, dict[str, int]]:
    """The layouts of a plan, and the number of every argument by its name."""
    found, names, _ = program(model, **overrides)
    r = recipe(plan)
    return choose_layouts(found, r, roles(r, mesh), mesh), {n: i for i, n in enumerate(names)}


def split(found: Layouts, number: dict[str, int], layer: str) -> dict[str, str]:
    """Layouts of the weights of a layer that are not whole, by the last part of their names."""
    prefix = f"0.{layer}."
    specs = {n.removeprefix(prefix): found.used[i] for n, i in number.items() if n.startswith(prefix)}
    return {n: str(s) for n, s in specs.items() if any(s.dims)}


@pytest.mark.parametrize("scan", [False, True])
def test_megatron_finds_columns_and_rows_of_a_transformer(scan: bool) -> None:
    found, number = layouts("bert", "megatron", heads=4, scan=scan)
    lead = "-, " if scan else ""
    want = {n: f"[{lead}-, model]" for n in ("query", "key", "value", "up")}
    want |= {n: f"[{lead}model, -]" for n in ("out", "down")}
    want |= {f"bias_{n}": f"[{lead}model]" for n in ("query", "key", "value", "up")}
    assert split(found, number, "layers" if scan else "layers.0") == want


def test_heads_that_do_not_divide_are_left_whole() -> None:
    found, number = layouts("bert", "megatron", Mesh.parse("model=4"), heads=2)
    assert set(split(found, number, "layers.0")) == {"up", "bias_up", "down"}


def test_a_stack_of_dense_layers_alternates() -> None:
    found, number = layouts("mlp_towers", "megatron")
    for tower in ("left", "right"):
        stack = [str(found.used[number[f"0.{tower}.{i}"]]) for i in range(3)]
        assert stack == ["[-, model]", "[model, -]", "[-, model]"]


def test_a_bottleneck_is_split_inside_and_its_groups_go_along() -> None:
    found, number = layouts("resnext", "megatron", Mesh.parse("data=4,model=2"))
    block = {n: str(found.used[number[f"0.blocks.1.{n}.conv"]]) for n in ("reduce", "grouped", "expand")}
    assert block == {
        "reduce": "[-, -, -, model]", "grouped": "[-, -, -, model]", "expand": "[-, -, model, -]",
    }  # fmt: skip


def test_vocabularies_are_split_by_rows_and_logits_by_columns() -> None:
    found, number = layouts("llama", "megatron")
    assert str(found.used[number["0.table_token"]]) == "[model, -]"
    assert str(found.used[number["0.output"]]) == "[-, model]"


@pytest.mark.parametrize(("model", "weight"), [("vit", "conv_patch"), ("mixtral", "layers.0.router")])
def test_what_feeds_a_residual_stream_or_only_decides_stays_whole(model: str, weight: str) -> None:
    found, number = layouts(model, "megatron")
    assert not any(found.used[number["0." + weight]].dims)


@pytest.mark.parametrize(("plan", "kept", "moments"), [("zero1", False, True), ("zero3", True, True)])
def test_zero_splits_state(plan: str, kept: bool, moments: bool) -> None:
    found, number = layouts("bert", plan)
    weight, mean = number["0.layers.0.up"], number["1.mean.layers.0.up"]
    assert not any(found.used[weight].dims)
    assert any(found.kept[weight].dims) == kept and any(found.kept[mean].dims) == moments
    assert found.split[weight].shards(MESH) == (1, 8)


def test_stacked_layers_are_not_cut_apart_by_zero() -> None:
    found, number = layouts("bert", "zero3", Mesh.parse("data=2"), scan=True)
    stacked = [found.kept[i] for n, i in number.items() if n.startswith("0.layers.")]
    assert stacked and all(not s.dims[0] for s in stacked) and all(any(s.dims) for s in stacked)


def test_moments_have_the_layout_of_their_weight() -> None:
    found, number = layouts("bert", "megatron-zero1", heads=4)
    for n, i in number.items():
        if n.startswith("0."):
            assert found.used[number["1.mean." + n[2:]]] == found.used[i] == found.used[number["1.square." + n[2:]]], n


def test_tables_are_split_and_the_rest_is_data_parallel() -> None:
    found, number = layouts("unity_dlrm", "dlrm")
    tables = {n: str(found.used[i]) for n, i in number.items() if ".table" in n}
    assert set(tables.values()) == {"[-, data+model]"} and len(tables) == 4
    rows, _ = layouts("unity_dlrm", "dlrm-rows")
    assert {str(rows.used[number[n]]) for n in tables} == {"[data+model, -]"}
    assert all(not any(found.used[i].dims) for n, i in number.items() if n.startswith(("0.bottom", "0.top")))


STACK = {"tables": (64,) * 4, "stacked": True}


@pytest.mark.parametrize(
    ("plan", "mesh", "want"),
    [
        ("dlrm-whole", "data=4", "[data, -, -]"),
        ("dlrm-whole", "data=2,model=4", "[data+model, -, -]"),  # four tables on eight devices: one each, then none
        ("dlrm", "data=2,model=4", "[-, -, data+model]"),
        ("dlrm-rows", "data=2,model=4", "[-, data+model, -]"),
    ],
)
def test_stacked_tables_lie_on_one_device_each_or_are_split(plan: str, mesh: str, want: str) -> None:
    found, number = layouts("unity_dlrm", plan, Mesh.parse(mesh), **STACK)
    assert str(found.used[number["0.tables"]]) == want
    assert all(not any(found.used[i].dims) for n, i in number.items() if n.startswith(("0.bottom", "0.top")))


def test_tables_that_are_not_stacked_cannot_each_lie_on_one_device() -> None:
    with pytest.raises(RecipeError, match="no embedding tables are stacked in one array"):
        layouts("unity_dlrm", "dlrm-whole")


def test_experts_are_split_by_their_number() -> None:
    found, number = layouts("moe", "experts", Mesh.parse("data=2,expert=4"))
    assert {n: str(found.used[i]) for n, i in number.items() if n.startswith("0.") and any(found.used[i].dims)} == {
        "0.up": "[expert, -, -]", "0.down": "[expert, -, -]",
    }  # fmt: skip


def test_only_the_batch_is_split() -> None:
    found, number = layouts("gpt", "data")
    assert str(found.kept[number["2.tokens"]]) == "[data+model, -]"
    assert str(found.kept[number["2.key"]]) == "[-]"
    assert found.data == {number["2.tokens"], number["2.key"]}
