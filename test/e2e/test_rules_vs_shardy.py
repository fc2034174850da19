"""Our factor rules against Shardy's own: every difference has a reason, and every reason a difference."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import jaxlib
import numpy as np
import pytest

from bench import rule_instances, rule_reasons, rules_vs_shardy
from bench.rule_compare import compare
from bench.shardy_rules import Answer
from pcg.tools import op_samples
from support.rulecheck import context, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules-vs-shardy.md"
_FOUND = re.search(r"Shardy in jaxlib ([\d.]+),", PAGE.read_text())
assert _FOUND, "the page does not say with which jaxlib it was made"
MADE_WITH = _FOUND[1]
#: Shardy's rules are those of a jaxlib: in 0.12 those of `pad`, of updates and of some reshapes were corrected.
of_that_shardy = pytest.mark.skipif(
    jaxlib.__version__.split(".")[:2] != MADE_WITH.split(".")[:2],
    reason=f"the reasons are for Shardy in jaxlib {MADE_WITH}",
)


@pytest.fixture(scope="module")
def comparison() -> rules_vs_shardy.Comparison:
    return rules_vs_shardy.collect()


@of_that_shardy
def test_every_difference_has_a_reason(comparison: rules_vs_shardy.Comparison) -> None:
    print("\n".join(rules_vs_shardy.counts(comparison)))
    assert comparison.problems() == []


def test_all_ops_are_compared(comparison: rules_vs_shardy.Comparison) -> None:
    found = {i.op.partition(" @")[0] for i in comparison.instances}
    assert found >= set(op_samples.SAMPLES) | {"stablehlo.while", "stablehlo.case", "stablehlo.custom_call"}
    assert sum(i.shardy.rule is not None for i in comparison.instances) > 150


def test_the_page_is_fresh(comparison: rules_vs_shardy.Comparison) -> None:
    """The page names the jaxlib it was made with."""
    if MADE_WITH == comparison.version:
        again = "python -m bench.rules_vs_shardy --markdown docs/rules-vs-shardy.md"
        assert PAGE.read_text() == rules_vs_shardy.markdown(comparison), f"write it again: {again}"


# -- the comparison finds what it should ------------------------------------------------------------


def _instance(comparison: rules_vs_shardy.Comparison, name: str) -> rules_vs_shardy.Instance:
    return next(i for i in comparison.instances if i.name == name)


def _kinds(instance: rules_vs_shardy.Instance, **change: object) -> list[str]:
    """Kinds of difference after `change` to Shardy's rule."""
    assert instance.shardy.rule is not None
    shardy = Answer(dataclasses.replace(instance.shardy.rule, **change))
    shapes = [[f for f in (8,) * len(t)] for t in (*instance.rule.operands, *instance.rule.results)]
    return [f.kind for f in compare(instance.rule, shardy, shapes)]


@pytest.mark.parametrize(
    ("kinds", "want"),
    [
        (("pass", "pass", "pass", "reduction"), {"equal"}),
        (("pass", "pass", "pass", "pass"), {"equal", "reduction"}),
        (("pass", "need_replication", "pass", "reduction"), {"equal", "splits"}),
        (("permutation", "pass", "pass", "reduction"), {"equal", "communication"}),
    ],
)
def test_a_changed_kind_is_found(
    comparison: rules_vs_shardy.Comparison, kinds: tuple[str, ...], want: set[str]
) -> None:
    assert set(_kinds(_instance(comparison, "stablehlo.dot_general"), kinds=kinds)) == want


def test_a_changed_tie_or_size_is_found(comparison: rules_vs_shardy.Comparison) -> None:
    dot = _instance(comparison, "stablehlo.dot_general")
    assert dot.shardy.rule is not None
    assert dot.shardy.rule.results == (((0,), (1,), (2,)),)
    swapped = (((0,), (2,), (1,)),)
    assert set(_kinds(dot, results=swapped)) & {"ties", "factors"}
    assert "sizes" in _kinds(dot, sizes=(2, 2, 6, 8))


def test_missing_and_idle_reasons_are_found(
    comparison: rules_vs_shardy.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = rule_reasons.REASONS[1:]
    idle = rule_reasons.Reason(("stablehlo.add",), "whole", "less", "never")
    for module in (rule_reasons, rules_vs_shardy):
        monkeypatch.setattr(module, "REASONS", (*kept, idle))
    problems = comparison.problems()
    assert any(p.startswith("chlo.") and "no reason" in p for p in problems)
    assert "stablehlo.add: 'whole' has a reason, but no difference" in problems


# -- where Shardy's factor is called wrong, it is ----------------------------------------------------


def _run(text: str, *values: np.ndarray) -> np.ndarray:
    with context():
        return run(text, list(values))[0]


@of_that_shardy
def test_padding_that_keeps_the_size_moves_every_element(comparison: rules_vs_shardy.Comparison) -> None:
    """Shardy's rule of `pad` says that halves of the result come from halves of the operand."""
    rule = _instance(comparison, "pad shift").shardy.rule
    assert rule is not None and rule.kinds == ("pass", "pass")
    text = rule_instances.MORE["pad shift"]
    x = np.arange(48, dtype=np.float32).reshape(8, 6)
    whole = _run(text, x)
    shards = np.concatenate([_run(text.replace("8x6", "4x6"), part) for part in (x[:4], x[4:])])
    assert (whole[:4] == shards[:4]).all() and (whole[4] != shards[4]).any()


@of_that_shardy
def test_an_update_is_not_cut_like_its_operand(comparison: rules_vs_shardy.Comparison) -> None:
    """Shardy's rule of a constant `dynamic_update_slice` lets the update be split by an axis of its own."""
    rule = _instance(comparison, "dynamic_update_slice at constants").shardy.rule
    assert rule is not None and set(rule.kinds) == {"pass"}
    text = rule_instances.MORE["dynamic_update_slice at constants"]
    x, update = np.zeros((8, 6), np.float32), np.arange(12, dtype=np.float32).reshape(2, 6) + 1
    whole = _run(text, x, update)
    halves = [_run(text.replace("2x6", "1x6"), x, part) for part in (update[:1], update[1:])]
    assert all((h != whole).any() for h in halves)  # neither device has the result, and nothing is reduced


@of_that_shardy
@pytest.mark.parametrize(
    ("name", "factor"), [("reshape swaps coprime sizes", 0), ("reshape swaps coprime sizes", 1)]
)
def test_a_factor_of_one_side_changes_the_number_of_elements(
    comparison: rules_vs_shardy.Comparison, name: str, factor: int
) -> None:
    """Split by it, operand and result of a reshape have different numbers of elements."""
    rule = _instance(comparison, name).shardy.rule
    assert rule is not None and rule.kinds[factor] == "pass"
    sides = [sum(factor in d for t in side for d in t) for side in (rule.operands, rule.results)]
    assert sorted(sides) == [0, 1]
