"""Verdicts on rules of files: right ones are proved, wrong ones refuted or ill-typed as published rule sets have them,
and nothing is said of what has an operator that is not known."""

from __future__ import annotations

from typing import Any

import pytest

from pcg.substitute.check import ILL_TYPED, PROVED, REFUTED, UNKNOWN, Verdict, check, check_entry, verify
from pcg.substitute.errors import RuleError
from pcg.substitute.library import rule_of
from pcg.substitute.rule_file import FileRule
from pcg.substitute.term import variables
from pcg.substitute.validate import equal

Tensor = int | tuple[int, int]
Side = list[dict[str, Any]]
X, Y, Z, W, V = -1, -2, -3, -4, -5


def op(kind: str, *inputs: Tensor, **parameters: int) -> dict[str, Any]:
    tensors = [(t, 0) if isinstance(t, int) else t for t in inputs]
    return {
        "type": f"OP_{kind}",
        "input": [{"opId": i, "tsId": j} for i, j in tensors],
        "para": [{"key": f"PM_{key}", "value": value} for key, value in parameters.items()],
    }


def linear(x: Tensor, w: Tensor, activation: int = 0) -> dict[str, Any]:
    return op("LINEAR", x, w, ACTI=activation)


def parallel(kind: str, x: Tensor, dim: int, degree: int = 2) -> dict[str, Any]:
    return op(kind, x, PARALLEL_DIM=dim, PARALLEL_DEGREE=degree)


def partition(x: Tensor, dim: int, degree: int = 2) -> dict[str, Any]:
    return parallel("PARTITION", x, dim, degree)


def combine(x: Tensor, dim: int, degree: int = 2) -> dict[str, Any]:
    return parallel("COMBINE", x, dim, degree)


def replicate(x: Tensor, dim: int, degree: int = 2) -> dict[str, Any]:
    return parallel("REPLICATE", x, dim, degree)


def reduce(x: Tensor, dim: int, degree: int = 2) -> dict[str, Any]:
    return parallel("REDUCE", x, dim, degree)


def concat(axis: int, *inputs: Tensor) -> dict[str, Any]:
    return op("CONCAT", *inputs, AXIS=axis, NUM_INPUTS=len(inputs))


def split(x: Tensor, axis: int, count: int = 2) -> dict[str, Any]:
    return op("SPLIT", x, AXIS=axis, NUM_OUTPUTS=count)


def add(x: Tensor, y: Tensor) -> dict[str, Any]:
    return op("EW_ADD", x, y)


def mul(x: Tensor, y: Tensor) -> dict[str, Any]:
    return op("EW_MUL", x, y)


def relu(x: Tensor) -> dict[str, Any]:
    return op("RELU", x)


def file_rule(source: Side, destination: Side, *results: tuple[int, int, int, int]) -> FileRule:
    keys = "srcOpId", "srcTsId", "dstOpId", "dstTsId"
    pairs = results or ((len(source) - 1, 0, len(destination) - 1, 0),)
    mapped = [dict(zip(keys, r, strict=True)) for r in pairs]
    return FileRule({"name": "r", "srcOp": source, "dstOp": destination, "mappedOutput": mapped}, "rule[0]")


def checked(source: Side, destination: Side, *results: tuple[int, int, int, int]) -> Verdict:
    found = check(file_rule(source, destination, *results))
    assert found.name == "r"
    return found


RIGHT: dict[str, tuple[Side, Side, list[tuple[int, int, int, int]]]] = {
    "data": (
        [linear(X, W, 2)], [partition(X, 1), replicate(W, 0), linear(0, 1, 2), combine(2, 1)], [],
    ),
    "output channels": (
        [linear(X, W, 2)], [replicate(X, 0), partition(W, 1), linear(0, 1, 2), combine(2, 2)], [],
    ),
    "what is summed over": (
        [linear(X, W)], [partition(X, 2), partition(W, 2), linear(0, 1), reduce(2, 0)], [],
    ),
    "two layers": (
        [linear(X, W, 2), linear(0, V)],
        [replicate(X, 0), partition(W, 1), linear(0, 1, 2), partition(V, 2), linear(2, 3), reduce(4, 0)], [],
    ),
    "degree four": (
        [linear(X, W)], [partition(X, 2, 4), partition(W, 2, 4), linear(0, 1), reduce(2, 0, 4)], [],
    ),
    "relu of parts": ([partition(X, 1), relu(0), combine(1, 1)], [relu(X)], []),
    "sum of parts": (
        [add(X, Y)], [partition(X, 2), partition(Y, 2), add(0, 1), combine(2, 2)], [],
    ),
    "copies that are summed": ([replicate(X, 0), reduce(0, 0)], [add(X, X)], []),
    "parts of parts": ([partition(X, 2), partition(0, 2)], [partition(X, 2, 4)], []),
    "slices": ([parallel("PIPELINE", X, 1), parallel("BATCH", 0, 1)], [partition(X, 1), combine(0, 1)], []),
    "two layers as one": (
        [linear(X, W), linear(X, V)], [concat(1, W, V), linear(X, 0), split(1, 2)], [(0, 0, 2, 0), (1, 0, 2, 1)],
    ),
    "two inputs as one": (
        [linear(X, W), linear(Y, W)], [concat(1, X, Y), linear(0, W), split(1, 1)], [(0, 0, 2, 0), (1, 0, 2, 1)],
    ),
    "three inputs as one": (
        [linear(X, W), linear(Y, W), linear(Z, W)], [concat(1, X, Y, Z), linear(0, W), split(1, 1, 3)],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 0, 2, 2)],
    ),
    "sum of layers": (
        [linear(X, W), linear(Y, V), add(0, 1)], [concat(2, X, Y), concat(2, W, V), linear(0, 1)], [],
    ),
    "split and concatenated": ([concat(1, X, Y), split(0, 1), concat(1, (1, 0), (1, 1))], [concat(1, X, Y)], []),
    "relu before and after": (
        [concat(1, X, Y), relu(0), split(1, 1)], [relu(X), relu(Y)], [(2, 0, 0, 0), (2, 1, 1, 0)],
    ),
    "distributed": ([mul(X, Y), mul(X, Z), add(0, 1)], [add(Y, Z), mul(X, 0)], []),
    "one activation": ([linear(X, W), relu(0)], [linear(X, W, 2)], []),
    "nothing": ([relu(X)], [relu(X)], []),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_is_proved(name: str) -> None:
    source, destination, results = RIGHT[name]
    found = checked(source, destination, *results)
    assert found.verdict == PROVED and not found.reason, found.reason
    assert found.rule is not None and found.proof is not None
    for s, d in zip(found.rule.source, found.rule.destination, strict=True):
        assert s.type == d.type and equal(s, d)
    for e in found.proof.equations:
        assert equal(e.left, e.right)
    assert bool(found.proof.equations) == (name != "nothing")


#: Of the kinds that are in published rule sets.  Their sides have equal types and differ.
WRONG: dict[str, tuple[Side, Side]] = {
    "copies that are summed are no copy": ([replicate(X, 0), reduce(0, 0)], [partition(X, 2), combine(0, 2)]),
    "copies that are summed twice": ([replicate(X, 1), replicate(0, 1), reduce(1, 1), reduce(2, 1)], [add(X, X)]),
    "the sum of layers that were not split": (
        [linear(X, W)], [replicate(X, 0), replicate(W, 0), linear(0, 1), reduce(2, 0)],
    ),
    "relu of a sum": ([add(X, Y), relu(0)], [relu(X), relu(Y), add(0, 1)]),
    "relu before a sum of parts": ([partition(X, 2), reduce(0, 2), relu(1)], [partition(X, 2), relu(0), reduce(1, 2)]),
    "relu after a sum of parts": ([partition(X, 1), relu(0), reduce(1, 1)], [partition(X, 1), reduce(0, 1), relu(1)]),
    "an activation of partial sums": (
        [linear(X, W), relu(0)],
        [partition(X, 2), partition(W, 2), linear(0, 1), relu(2), reduce(3, 0)],
    ),
    "the product of sums": (
        [partition(X, 2), reduce(0, 2), partition(Y, 2), reduce(2, 2), mul(1, 3)],
        [partition(X, 2), partition(Y, 2), mul(0, 1), reduce(2, 2)],
    ),
    "weights that are exchanged": ([linear(X, W), linear(X, V), concat(2, 0, 1)], [concat(1, V, W), linear(X, 0)]),
    "inputs that are exchanged": ([concat(1, X, Y), linear(0, W)], [concat(1, Y, X), linear(0, W)]),
    "concatenated in another order": ([concat(2, X, Y)], [concat(2, Y, X)]),
    "results that are exchanged": ([concat(1, X, Y), split(0, 1), concat(1, (1, 1), (1, 0))], [concat(1, X, Y)]),
    "no activation": ([linear(X, W, 2)], [linear(X, W)]),
    "another activation": ([linear(X, W, 2)], [linear(X, W, 1)]),
    "no activation where it is split": (
        [linear(X, W, 2)], [partition(X, 1), replicate(W, 0), linear(0, 1), combine(2, 1)],
    ),
    "the sum of two others": ([linear(X, W), linear(Y, W), add(0, 1)], [mul(X, Y), linear(0, W)]),
    "a product of one operand": ([mul(X, Y)], [mul(X, X)]),
    "an axis of weights": (
        [linear(X, W), linear(Y, W), add(0, 1)], [concat(2, X, Y), concat(2, W, W), linear(0, 1), relu(2)],
    ),
    "one summand": ([linear(X, W), linear(Y, V), add(0, 1)], [concat(2, X, X), concat(2, W, V), linear(0, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_refuted(name: str) -> None:
    found = checked(*WRONG[name])
    assert found.verdict == REFUTED and found.proof is None, found.reason
    assert found.rule is not None and "is" in found.reason
    for input_name in variables(*found.rule.source):
        assert f"{input_name} = [" in found.reason
    assert any(not equal(s, d) for s, d in zip(found.rule.source, found.rule.destination, strict=True))


#: Those that are no rules for any sizes, and what is said of them.
NONE: dict[str, tuple[Side, Side, str]] = {
    "an input of the destination alone": (
        [linear(X, W)], [linear(X, V)], "the destination reads w5; allowed: inputs of the source",
    ),
    "another input": ([relu(X)], [relu(X), mul(0, Y)], "the destination reads x2"),
    "a sum over one device": (
        [relu(X)], [relu(X), reduce(0, 0, 1)], "operator 1 of the destination: reduce: degree 1; allowed: 2 or more",
    ),
    "one part": ([relu(X)], [relu(X), combine(0, 1, 1)], "combine: degree 1; allowed: 2 or more"),
    "one copy": (
        [replicate(X, 0, 1), relu(0)], [relu(X)], "operator 0 of the source: replicate: degree 1; allowed: 2 or more",
    ),
    "what is of one device": ([relu(X)], [relu(X), combine(0, 1)], "allowed: what 2 divides"),
    "a sum across another dimension": (
        [linear(X, W)], [partition(X, 2), partition(W, 2), linear(0, 1), reduce(2, 1)], "degree 1 of dimension 1",
    ),
    "parts where there are sums": (
        [linear(X, W)], [partition(X, 2), partition(W, 2), linear(0, 1), combine(2, 0)], "allowed: equal types",
    ),
    "parts that are not gathered": (
        [linear(X, W)], [partition(X, 1), replicate(W, 0), linear(0, 1)], "allowed: equal types",
    ),
    "weights without copies": (
        [linear(X, W)], [partition(X, 1), linear(0, W), combine(1, 1)], "allowed: replica dimensions",
    ),
    "one operand that is split": (
        [linear(X, W)], [partition(X, 2), linear(0, W), combine(1, 2)], "contracted dimensions are split equally",
    ),
    "an activation of sums": (
        [linear(X, W, 2)], [partition(X, 2), partition(W, 2), linear(0, 1, 2), reduce(2, 0)],
        "activation relu of partial sums",
    ),
    "concatenated along a dimension that is split": (
        [concat(1, X, Y)], [partition(X, 1), partition(Y, 1), concat(1, 0, 1), combine(2, 1)],
        "operand is split along dimension 1",
    ),
    "a sum of what is split and what is not": (
        [add(X, Y)], [partition(X, 1), add(0, Y), combine(1, 1)], "allowed: equal types",
    ),
    "weights along another axis": (
        [linear(X, W), linear(X, V), concat(2, 0, 1)], [concat(2, W, V), linear(X, 0)],
        "allowed: [r, m, k] and [r, n, k]",
    ),
    "a cycle": ([relu(1), relu(0)], [relu(X)], "srcOp[0] reads result 0 of operator 1"),
    "a result that is lost": ([relu(X), relu(Y)], [relu(Y)], "result 0 of operator 0 of the source is lost"),
    "a dimension that there is not": (
        [relu(X)], [partition(X, 3), combine(0, 3), relu(1)], "dimension 3; allowed: 0 to 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_rule_is_ill_typed(name: str) -> None:
    source, destination, says = NONE[name]
    found = checked(source, destination)
    assert (found.verdict, found.rule, found.proof) == (ILL_TYPED, None, None)
    assert says in found.reason


@pytest.mark.parametrize("of", range(2))
def test_an_operator_that_is_not_known_leaves_it_open(of: int) -> None:
    sides = [[relu(X)], [relu(X)]]
    sides[of] = [op("CONV2D", X, W), relu(0)]
    found = checked(sides[0], sides[1])
    assert found.verdict == UNKNOWN and "operator OP_CONV2D; allowed: OP_LINEAR" in found.reason


def test_what_is_neither_refuted_nor_proved_is_unknown() -> None:
    """Of relu nothing is known but its values."""
    found = checked([relu(X), relu(0)], [relu(X)])
    assert found.verdict == UNKNOWN and "no counterexample and no proof" in found.reason
    assert found.rule is not None and found.proof is None


def test_a_rule_of_other_sizes_than_the_published_is_checked() -> None:
    """Eight parts of a dimension that has four elements there."""
    found = checked([linear(X, W)], [partition(X, 2, 8), partition(W, 2, 8), linear(0, 1), reduce(2, 0, 8)])
    assert found.verdict == PROVED
    assert found.rule is not None and variables(*found.rule.source)["x1"].shape[2] == 8
    wrong = checked([partition(X, 2, 8), reduce(0, 2, 8), relu(1)], [partition(X, 2, 8), relu(0), reduce(1, 2, 8)])
    assert wrong.verdict == REFUTED


def test_a_rule_that_holds_for_published_sizes_only_is_refuted() -> None:
    """A quarter of x, y, x, y is one of them where they are of equal sizes."""
    quarters = [concat(1, X, Y), concat(1, 0, 0), split(1, 1, 4), concat(1, (2, 1), (2, 0))]
    rule = file_rule([concat(1, Y, X)], quarters)
    published = rule.rule({"x1": (1, 2, 4), "x2": (1, 2, 4)})
    assert equal(published.source[0], published.destination[0])
    assert check(rule).verdict == REFUTED


def test_inputs_of_any_types_are_tried() -> None:
    """Sums of inputs whose numbers say activation or weight have terms where all are of one type."""
    source = [add(-1, -2), add(0, -3), add(1, -4), add(2, -5)]
    destination = [add(-5, -4), add(0, -3), add(1, -2), add(2, -1)]
    assert checked(source, destination).verdict == PROVED


def test_a_long_chain_has_a_verdict() -> None:
    chain = [relu(X), *(relu(i) for i in range(99))]
    assert checked(chain, chain).verdict == PROVED


def test_one_that_doubles_has_a_verdict() -> None:
    """As a tree it has 2^40 leaves."""
    chain = [add(X, X), *(add(i, i) for i in range(39))]
    assert checked(chain, chain).verdict == PROVED


def test_a_true_rule_is_not_refuted_by_rounding() -> None:
    large = [mul(X, X), mul(0, 0), op("EXP", 1), mul(2, Y)]
    left, right = [add(2, 3), add(4, Z), op("TANH", 5)], [add(3, Z), add(2, 4), op("TANH", 5)]
    assert checked([*large, *left], [*large, *right]).verdict != REFUTED


def test_an_entry_that_is_malformed_is_ill_typed() -> None:
    found = check_entry(RuleError("rule[17].srcOp is None; allowed: a list"))
    assert (found.name, found.verdict) == ("rule[17]", ILL_TYPED)
    assert found.reason == "rule[17].srcOp is None; allowed: a list"
    assert check_entry(RuleError("rule[3] is 7; allowed: an object")).name == "rule[3]"
    assert check_entry(file_rule([relu(X)], [relu(X)])).verdict == PROVED


def test_the_verdict_is_the_same_each_time() -> None:
    for source, destination in (WRONG["relu of a sum"], RIGHT["two layers"][:2]):
        first, second = (checked(source, destination) for _ in range(2))
        assert (first.verdict, first.reason, str(first.rule)) == (second.verdict, second.reason, str(second.rule))
        assert str(first.proof) == str(second.proof)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("add(x, y) => add(y, x)", PROVED),
        ("add(x, y) => mul(x, y)", REFUTED),
        ("unary['relu'](unary['relu'](x)) => unary['relu'](x)", UNKNOWN),
    ],
)
def test_terms_have_verdicts_too(text: str, verdict: str) -> None:
    types = ", ".join(f"{n}: 1x2x4" for n in "xy" if f"{n}" in text.partition(" =>")[0].replace("unary", ""))
    found = verify(rule_of(f"named: {text} for {types}"))
    assert (found.name, found.verdict) == ("named", verdict)
    assert (found.proof is not None) == (verdict == PROVED) and bool(found.reason) == (verdict != PROVED)
