"""Rules are found: every term of a space is enumerated, terms of equal value are paired, and what is kept is proved."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from pcg.substitute.egraph import Directions
from pcg.substitute.entries import Floats
from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.generate import generate as generation
from pcg.substitute.generate.enumerate import Enumeration
from pcg.substitute.generate.field import PRIME, batched, mixed
from pcg.substitute.generate.generate import generate
from pcg.substitute.generate.prune import as_property, bound, follows, general, named, size
from pcg.substitute.generate.space import SPACES, Space
from pcg.substitute.library import line, rule_of
from pcg.substitute.operators import OPERATORS
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Term, apply, subterms, variable
from pcg.substitute.validate import equal

X, W = TensorType.of((1, 2, 4)), TensorType.of((1, 4, 4))
SMALL = Space(
    "small",
    (("x1", X), ("x2", X), ("w1", W)),
    (("add", ()), ("matmul", ("none",)), ("unary", ("relu",)), ("concat", (1,)), ("slice", (1, 0, 2))),
    3,
)
SPLIT = Space(
    "split",
    (("x1", X), ("w1", W)),
    (("matmul", ("none",)), *((name, (dim, 2)) for name in ("partition", "reduce") for dim in (0, 1, 2))),
    4,
    degree=2,
)


def lines(space: Space, jobs: int = 1, state: Path | None = None) -> list[str]:
    return [line(rule) for rule in generate(space, jobs, state).rules]


def every_term(space: Space) -> set[Term]:
    """All terms of a space, by trying every operator on all before."""
    found: set[Term] = {variable(name, type) for name, type in space.inputs}
    for _ in range(space.size):
        new = set()
        for name, parameters in space.operators:
            for operands in product(found, repeat=OPERATORS[name].arity):
                try:
                    space.type_of(name, parameters, tuple(o.type for o in operands))
                    term = apply(name, parameters, operands)
                except TermError:
                    continue
                if size(term) <= space.size and term.type.elements <= space.elements:
                    new.add(term)
        found |= new
    return found


@pytest.mark.parametrize(("name", "space"), [("small", SMALL.of_size(2)), ("split", SPLIT.of_size(2))])
def test_as_many_values_are_found_as_all_terms_have(name: str, space: Space) -> None:
    """Of all terms those that are equal on symbols are counted once, and as many are distinct."""
    classes: dict[TensorType, list[Term]] = {}
    for term in sorted(every_term(space), key=lambda t: (size(t), str(t))):
        known = classes.setdefault(term.type, [])
        if int(np.prod(term.type.degrees)) <= space.degree and not any(equal(term, k) for k in known):
            known.append(term)
    distinct = sum(map(len, classes.values())) - len(space.inputs)
    assert Enumeration(space).run().counts.distinct == distinct


@pytest.mark.parametrize("space", SPACES.values(), ids=lambda space: space.name)
def test_candidates_have_equal_values(space: Space) -> None:
    """By the definitions of their operators, functions being any."""
    pairs = named(space, Enumeration(space.of_size(2)).run().candidates())
    assert len(pairs) > 40
    for left, right in pairs[::7]:
        assert left.type == right.type and equal(left, right), f"{left} = {right}"


def test_terms_have_no_more_operators_than_their_space() -> None:
    found = Enumeration(SMALL).run()
    sizes = {max(size(a), size(b)) for a, b in found.candidates()}
    assert sizes == {1, 2, 3}


def test_a_term_that_uses_another_often_is_enumerated() -> None:
    """Shared operands are counted once: add(r, r) of r = relu(x) has two operators."""
    relu = apply("unary", ("relu",), (variable("x1", X),))
    double = apply("add", (), (relu, relu))
    wanted = apply("matmul", ("none",), (double, variable("w1", W)))
    enumeration = Enumeration(SMALL).run()
    count = len(enumeration._operator)
    kept = {enumeration.term(i) for i in range(count)}
    either = kept | {side for pair in enumeration.candidates() for side in pair}
    assert double in either and wanted in either


def test_the_split_of_a_contraction_is_found() -> None:
    """Reduction parallelism: four operators in place of one."""
    texts = [t.partition(": ")[2] for t in lines(SPLIT)]
    wanted = "reduce[0, 2](matmul['none'](partition[2, 2](x1), partition[1, 2](w1))) => matmul['none'](x1, w1)"
    assert any(t.startswith(wanted) for t in texts)


def test_what_follows_from_others_is_dropped() -> None:
    found = generate(SMALL.of_size(2))
    assert found.rules and not found.refuted
    before = Directions()
    for rule in found.rules:
        assert not follows(rule, before), rule
        before.add(as_property(rule))
    counts = found.counts
    assert counts["terms"] == counts["distinct"] + counts["equal"]
    assert counts["renamed"] >= counts["bound"] >= counts["general"] >= counts["kept"]
    assert counts["kept"] == counts["proved"] + counts["unknown"]


def test_it_does_not_depend_on_the_number_of_processes() -> None:
    assert lines(SMALL, 1) == lines(SMALL, 2)


def test_it_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "_BATCH", 8)
    state = tmp_path / "state.json"
    wanted = lines(SMALL)
    looked_at = []

    def interrupted(what: str, done: int, of: int) -> None:
        if what == "candidates" and done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(SMALL, 1, state, interrupted)
    assert json.loads(state.read_text())["done"] == 16
    found = generate(SMALL, 1, state, lambda what, done, of: looked_at.append((what, done)))
    assert [line(rule) for rule in found.rules] == wanted
    assert looked_at[0] == ("candidates", 16)


def test_a_state_of_another_space_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    generate(SMALL.of_size(1), 1, state)
    with pytest.raises(RuleError, match="is of small with 1 operators; allowed: small with 2"):
        generate(SMALL.of_size(2), 1, state)
    state.write_text("{}")
    with pytest.raises(RuleError, match="is no state of a generation"):
        generate(SMALL.of_size(1), 1, state)


def test_instances_of_a_rule_are_none_of_their_own() -> None:
    x = "x1: 1x2x4, x2: 1x2x4, x3: 1x2x4"
    sums = [
        f"a: add(x1, add(x2, x3)) => add(add(x1, x2), x3) for {x}",
        f"b: add(x1, add(x1, x2)) => add(add(x1, x1), x2) for {x}",
        f"c: add(add(x1, x1), x2) => add(x1, add(x1, x2)) for {x}",
        f"d: add(x1, add(x1, x2)) => add(add(x1, x2), x1) for {x}",
    ]
    assert [rule.name for rule in general(rule_of(s) for s in sums)] == ["a", "d"]


def test_a_rule_goes_to_the_side_whose_variables_the_other_has() -> None:
    x, y = variable("x1", X), variable("x2", X)
    left, right = apply("slice", (1, 0, 2), (apply("concat", (1,), (x, y)),)), x
    assert [r.source for r in bound([(right, left)])] == [(left,)]
    assert bound([(x, y)]) == []


def test_candidates_that_differ_by_names_are_one() -> None:
    x, y = variable("x1", X), variable("x2", X)
    pairs = [(apply("add", (), p), apply("add", (), p[::-1])) for p in ((x, y), (y, x))]
    assert len(named(SMALL, pairs)) == 1


OPERANDS = {
    "add": [X, X], "mul": [X, X], "scale": [X, TensorType.of(())], "multiple": [X],
    "matmul": [TensorType.of((2, 4, 4), (2, 2, 2)), TensorType.of((4, 4, 6), (4, 2, 1))],
    "linear": [X, W], "conv": [TensorType.of((1, 2, 4, 4, 3)), TensorType.of((1, 2, 2, 3, 1))],
    "reduce_sum": [X], "pool_average": [TensorType.of((1, 1, 2, 4, 4))], "pool_max": [TensorType.of((1, 1, 2, 4, 4))],
    "reduce_max": [X], "concat": [X, W], "slice": [X], "transpose": [X], "enlarge": [TensorType.of((1, 2, 2, 1, 3))],
    "ones_like": [X], "identity": [], "conv_identity": [], "replicate": [X], "broadcast": [X],
    "partition": [X], "combine": [TensorType.of((1, 4, 4), (1, 2, 1))], "reduce": [TensorType.of((1, 4, 4), (1, 2, 1))],
}  # fmt: skip
PARAMETERS = {
    "multiple": (3,), "matmul": ("none",), "linear": ("none",), "conv": (1, "same", "none"), "reduce_sum": (1,),
    "pool_average": (3, 2, "same"), "pool_max": (3, 1, "same"), "reduce_max": (2,), "concat": (1,), "slice": (2, 1, 2),
    "transpose": (1, 2), "enlarge": (3,), "identity": (3,), "conv_identity": (2, 3), "replicate": (1, 3),
    "broadcast": (2, 3), "partition": (2, 2), "combine": (1, 2), "reduce": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERANDS)
def test_many_operands_at_once_give_what_each_gives(name: str) -> None:
    parameters, types = PARAMETERS.get(name, ()), tuple(OPERANDS[name])
    random = np.random.default_rng(0)
    count = 5 if types else 1
    values = [random.integers(0, 9, (count, *t.shape)) for t in types]
    found = batched(name, parameters, types)(*(v.reshape(count, -1) for v in values))
    for i in range(count):
        operands = tuple(v[i].astype(float) for v in values)
        wanted = OPERATORS[name].value_of(parameters, types, operands, Floats()).reshape(-1)
        if name == "pool_average":
            wanted, factor = wanted * 9, 9
        else:
            factor = 1
        assert (found[i] * factor % PRIME == np.round(wanted).astype(int) % PRIME).all()


def test_functions_are_any_that_are_not_equal() -> None:
    x = np.arange(50_000)
    relu, tanh = mixed("relu", x), mixed("tanh", x)
    assert (relu == mixed("relu", x)).all() and ((0 <= relu) & (relu < PRIME)).all()
    assert len(np.unique(relu)) > 49_900 and (relu == tanh).sum() < 5


def test_rules_that_are_not_of_one_result_have_no_line() -> None:
    x = variable("x1", X)
    with pytest.raises(RuleError, match="rule two has 2 results; allowed: one"):
        line(Rule("two", (x, x), (x, x)))
    assert [*subterms(x)] == [x]
