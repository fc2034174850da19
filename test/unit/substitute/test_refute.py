"""Counterexamples: values of inputs for which a wrong rule differs, the same each time, and none of a right one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pcg.substitute.entries import Floats
from pcg.substitute.evaluate import evaluate
from pcg.substitute.library import rule_of
from pcg.substitute.refute import counterexample
from pcg.substitute.rule import Rule
from pcg.substitute.term import variables
from pcg.substitute.validate import equal

WRONG = [
    "add(x, y) => mul(x, y) for x: 1x2x4, y: 1x2x4",
    "unary['relu'](add(x, y)) => add(unary['relu'](x), unary['relu'](y)) for x: 1x2x4, y: 1x2x4",
    "unary['relu'](x) => x for x: 1x1x1",
    "unary['relu'](x) => unary['tanh'](x) for x: 1x1x1",
    "unary['log'](x) => unary['rsqrt'](x) for x: 1x2x2",  # which have no values at most numbers
    "unary['gelu'](x) => unary['relu'](x) for x: 1x2x2",
    "concat[1](x, y) => concat[1](y, x) for x: 1x2x4, y: 1x2x4",
    "transpose[1, 2](x) => x for x: 1x2x2",
    "scale(add(x, y), v) => add(scale(x, v), y) for x: 1x2x2, y: 1x2x2, v: number",
    "add(embedding(i, t), embedding(j, t)) => embedding(i, add(t, t)) for i: 1x3, j: 1x3, t: 1x4x2",
    "embedding(i, t) => embedding(i, multiple[2](t)) for i: 1x3, t: 1x4x2",
    "softmax[1](x) => softmax[2](x) for x: 1x2x2",
    "pool_max[3, 1, 'same'](x) => pool_average[3, 1, 'same'](x) for x: 1x1x1x2x2",
    "reduce[1, 2](x) => slice[1, 0, 1](combine[1, 2](x)) for x: 1x2{2}x2",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_rule_differs_where_it_is_said(text: str) -> None:
    rule = rule_of(f"r: {text}")
    found = counterexample(rule)
    assert found is not None and found.result == 0
    assert {n: a.shape for n, a in found.inputs.items()} == {n: t.shape for n, t in variables(*rule.source).items()}
    s, d = evaluate([rule.source[0], rule.destination[0]], found.inputs, Floats())
    assert s[found.index] == found.source and d[found.index] == found.destination
    assert abs(found.source - found.destination) > 1e-6
    assert not equal(rule.source[0], rule.destination[0])


def test_it_is_the_same_for_the_same_rule() -> None:
    texts = {str(counterexample(rule_of(f"r: {WRONG[0]}"))) for _ in range(3)}
    assert len(texts) == 1


def test_it_says_values_and_where_they_differ() -> None:
    found = counterexample(rule_of("r: neg(neg(x)) => multiple[2](x) for x: 1x1x1"))
    assert found is not None
    x = found.inputs["x"].item()
    both = f"{x:g} of the source and {2 * x:g} of the destination"
    assert str(found) == f"for x = [[[{x}]]], element [0, 0, 0] of result 0 is {both}"


def test_it_says_which_result_differs() -> None:
    both_sides = ("add(x, x) => multiple[2](x)", "neg(x) => unary['relu'](x)")
    rules = [rule_of(f"r: {sides} for x: 1x2x2") for sides in both_sides]
    both = Rule("r", tuple(r.source[0] for r in rules), tuple(r.destination[0] for r in rules))
    found = counterexample(both)
    assert found is not None and found.result == 1


RIGHT = [
    "add(x, y) => add(y, x) for x: 1x2x4, y: 1x2x4",
    "scale(add(x, y), v) => add(scale(x, v), scale(y, v)) for x: 1x2x2, y: 1x2x2, v: number",
    "embedding(i, add(t, s)) => add(embedding(i, t), embedding(i, s)) for i: 1x3, t: 1x4x2, s: 1x4x2",
    "unary['log'](unary['reciprocal'](x)) => unary['log'](unary['reciprocal'](multiple[1](x))) for x: 1x2x2",
    (
        "linear['none'](x, w) => reduce[0, 2](linear['none'](partition[2, 2](x), partition[2, 2](w))) for x: 1x3x4, w: "
        "1x5x4"
    ),
    "pool_average[3, 2, 'same'](x) => conv[2, 'same', 'none'](x, pool_kernel[3, 3]()) for x: 1x2x3x5x4",
    "softmax[2](x) => transpose[1, 2](softmax[1](transpose[1, 2](x))) for x: 1x2x3",
]


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_rule_has_none(text: str) -> None:
    assert counterexample(rule_of(f"r: {text}")) is None


def test_what_rounding_loses_is_no_counterexample() -> None:
    """The terms of a sum may be much larger than the sum, and what is computed of it."""
    for x, y, z in permutations("xyz"):  # for each other values
        large = f"unary['exp'](mul(mul({x}, {x}), mul({x}, {x})))"
        sides = (
            f"unary['tanh'](add(add({large}, mul({large}, {y})), {z}))",
            f"unary['tanh'](add({large}, add(mul({large}, {y}), {z})))",
        )
        rule = rule_of(f"r: {' => '.join(sides)} for x: 1x4x4, y: 1x4x4, z: 1x4x4")
        assert equal(rule.source[0], rule.destination[0])
        assert counterexample(rule) is None


def test_what_overflows_is_no_counterexample() -> None:
    large = "unary['exp'](mul(mul(x, x), mul(x, mul(x, x))))"
    other = large.replace("x,", "y,").replace(", x", ", y")
    left = f"mul(mul(mul(mul({large}, {large}), {large}), {large}), {other})"
    right = f"mul({large}, mul({large}, mul({large}, mul({large}, {other}))))"
    with np.errstate(all="ignore"):
        assert counterexample(rule_of(f"r: {left} => {right} for x: 1x4x4, y: 1x4x4")) is None
