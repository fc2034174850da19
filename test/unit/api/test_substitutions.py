"""`pcg.compile` rewrites programs by rules: on eight CPU devices they compute what they did."""

from __future__ import annotations

import importlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.driver.cost import cost_of
from pcg.rewrite.substitutions.match import exact
from pcg.substitute.library import known
from pcg.viz.explain import explain
from support.close import assert_close

MESH = {"a": 2, "b": 4}
#: Errors as shares of the largest magnitude of an array.  Numbers of 32 bits are rounded by 6e-8, and sums of some
#: hundred terms are in another order.  Adam divides a gradient by its own size and 1e-6: of one that is hardly more
#: than rounding that is hardly more either, but as large as a step.
TOLERANCE, OF_ADAM = 1e-5, 5e-3
UNITY_DLRM: dict[str, dict[str, Any]] = {
    "one row": {"bag": 1}, "two rows": {"bag": 2}, "three tables": {"stacked": False, "tables": (48, 96, 160)},
}  # fmt: skip


def example(name: str, **overrides: Any) -> tuple[Any, tuple[Any, ...]]:
    found: tuple[Any, tuple[Any, ...]] = importlib.import_module(f"examples.{name}").make("small", **overrides)
    return found


def same(got: Any, want: Any, tolerance: float) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    jax.tree.map(lambda a, b: assert_close(a, b, tolerance), got, want)


def tables_of(args: tuple[Any, ...]) -> set[tuple[int, ...]]:
    """The sizes of the tables of a click model, without those that a weight has as well."""
    others = {x.shape for name, part in args[0].items() if name != "tables" for x in jax.tree.leaves(part)}
    return {x.shape for x in jax.tree.leaves(args[0]["tables"])} - others


def as_mlir(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) + "xf32"


@pytest.mark.parametrize("name", UNITY_DLRM)
def test_only_rows_of_tables_are_updated(name: str) -> None:
    step, args = example("unity_dlrm", **UNITY_DLRM[name])
    compiled = pcg.compile(step, MESH).lower(*args)
    plan, tables, count = compiled.plan, tables_of(args), len(args[0]["tables"])
    assert "subtract-from-table" in plan.substitutions and len(tables) >= 3
    assert plan.substitutions.partition("taken=")[2].count(",") + 1 == count  # one for each table
    before, after = compiled.as_text("stablehlo"), compiled.as_text("pcg")
    for shape in tables:
        # Before there are a gradient of a table's size and zeros that it is added up in; after nothing but the table.
        computed = rf"stablehlo\.(constant|broadcast_in_dim|subtract|multiply|negate|add) [^\n]*tensor<{as_mlir(shape)}>"
        assert len(re.findall(computed, before)) >= 3 and not re.search(computed, after)
    for text, updates_tables in ((before, False), (after, True)):
        updated = re.findall(r'"stablehlo\.scatter"\(%(\w+), ', text)
        assert len(updated) == count and all(v.startswith("arg") == updates_tables for v in updated)
    same(compiled(*args), jax.jit(step)(*args), TOLERANCE)


@pytest.mark.parametrize(
    ("name", "overrides", "rewritten", "tolerance"),
    [
        ("dlrm", {}, True, TOLERANCE),
        ("unity_dlrm", {"stacked": True, "tables": (64,) * 4}, False, TOLERANCE),
        ("candle_uno", {}, False, TOLERANCE),
        ("mlp_towers", {}, False, TOLERANCE),
        ("gpt", {}, False, OF_ADAM),
    ],
    ids=["dlrm", "unity_dlrm of one array", "candle_uno", "mlp_towers", "gpt"],
)
def test_results_are_those_of_jax(name: str, overrides: dict[str, Any], rewritten: bool, tolerance: float) -> None:
    step, args = example(name, **overrides)
    compiled = pcg.compile(step, MESH).lower(*args)
    assert bool(compiled.plan.substitutions) == rewritten
    (params, *rest), (expected, *others) = compiled(*args), jax.jit(step)(*args)
    same(params, expected, tolerance)
    same(rest, others, TOLERANCE)


# -- options ---------------------------------------------------------------------------------------


def rows(x: Any, w: Any) -> Any:
    """Of a product only some rows are used."""
    return (x @ w)[:16]


def test_exact_rules_change_no_bit_where_sums_are_exact() -> None:
    """Sums of small integers are the same in every order, so devices and XLA add nothing to what the rule does."""
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-8, 8, shape).astype(np.float32) for shape in ((1024, 64), (64, 128)))
    compiled = pcg.compile(rows, MESH, exact=True).lower(x, w)
    rules = compiled.plan.substitutions.partition(" taken=")[0].removeprefix("rules=").split(",")
    assert "rows-of-product" in rules and all(exact(known()[name]) for name in rules)
    text = compiled.as_text("pcg")
    assert "tensor<1024x128xf32>" in compiled.as_text("stablehlo") and "tensor<1024x128xf32>" not in text
    np.testing.assert_array_equal(compiled(x, w), jax.jit(rows)(x, w))


def test_exact_leaves_a_step_whose_rewriting_changes_rounding() -> None:
    """What is left is the plan without rewriting, so its results are the same to the last bit."""
    step, args = example("unity_dlrm")
    found = pcg.compile(step, MESH, exact=True).lower(*args)
    plain = pcg.compile(step, MESH, substitutions=False).lower(*args)
    assert found.plan.substitutions == "" and found.plan == plain.plan
    jax.tree.map(np.testing.assert_array_equal, found(*args), plain(*args))


def test_only_rules_that_are_named() -> None:
    step, args = example("unity_dlrm")
    compiled = pcg.compile(step, MESH, rules=("subtract-from-table", "scaled-rows")).lower(*args)
    assert compiled.plan.substitutions.startswith("rules=subtract-from-table,scaled-rows taken=")
    assert pcg.compile(step, MESH, rules=("negated-rows",)).lower(*args).plan.substitutions == ""


def test_the_report_names_rules() -> None:
    step, args = example("unity_dlrm", **UNITY_DLRM["three tables"])
    compilation = pcg.compile(step, MESH).lower(*args).compilation
    said = [text for name, _, text in compilation.remarks if name == "pcg-substitute"]
    assert any("subtract-from-table: add(t, neg(scatter_add(" in text for text in said)
    section = next(s for s in explain(compilation, cost_of(compilation)).split("\n\n") if s.startswith("Substitutions "))
    assert re.search(r"\n  scaled-rows then subtract-from-table +3 +[\d.]+ us  training\.py:\d+\n", section)
    assert section.count("subtract-from-table: add(t, neg(scatter_add(") == 1  # a rule is shown once
    assert any(re.match(r"substitutions: [\d.]+ us per step by estimate, [\d.]+ us without: ", text) for text in said)


@pytest.mark.parametrize(
    ("option", "strategy"),
    [({"exact": True}, "data"), ({"rules": ("rows-of-product",)}, "data"), ({"exact": True}, "global"), ({"exact": True}, "unity")],
)
def test_options_of_other_strategies(option: dict[str, Any], strategy: str) -> None:
    x, w = jnp.ones((64, 8)), jnp.ones((8, 8))
    name = next(iter(option))
    with pytest.raises(ValueError, match=f"option '{name}' is for strategies search, select, not '{strategy}'"):
        pcg.compile(rows, MESH, strategy=strategy, **option).lower(x, w)


def test_a_rule_that_there_is_not() -> None:
    with pytest.raises(pcg.PcgError, match="rule 'faster' is not known; allowed: split-contraction, "):
        pcg.compile(rows, MESH, rules=("faster",)).lower(jnp.ones((64, 8)), jnp.ones((8, 8)))
