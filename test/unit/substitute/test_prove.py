"""Proofs of rules: found from the properties that they need and from no fewer, of true equations that suffice by Z3;
of no rule that has a counterexample."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pcg.substitute import prove as module
from pcg.substitute.egraph import Equation, build, complete
from pcg.substitute.errors import TermError
from pcg.substitute.library import rule_of
from pcg.substitute.operators import OPERATORS
from pcg.substitute.pattern import Hole, Name, Pattern
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.property import Property
from pcg.substitute.prove import Proof, prove
from pcg.substitute.refute import counterexample
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, apply, subterms, variable, variables
from pcg.substitute.validate import equal

#: Rules, and where a property is published without which there is no proof.
RULES = [
    (
        "linear['relu'](x, w) => combine[1, 2](linear['relu'](partition[1, 2](x), replicate[0, 2](w))) for x: "
        "1x4x4, w: 1x6x4", "Unity C1",
    ),
    (
        "linear['relu'](x, w) => combine[2, 2](linear['relu'](replicate[0, 2](x), partition[1, 2](w))) for x: "
        "1x4x4, w: 1x6x4", "Unity C2",
    ),
    (
        "linear['none'](x, w) => reduce[0, 2](linear['none'](partition[2, 2](x), partition[2, 2](w))) for x: "
        "1x4x4, w: 1x6x4", "Unity C3",
    ),
    (
        # Two layers as Megatron splits them.
        "linear['none'](unary['relu'](linear['none'](x, w)), v) => reduce[0, 2](linear['none'](unary['relu']("
        "linear['none'](replicate[0, 2](x), partition[1, 2](w))), partition[2, 2](v)))"
        " for x: 1x4x4, w: 1x6x4, v: 1x2x6", "Unity C2",
    ),
    (
        "matmul['none'](x, w) => reduce[0, 2](matmul['none'](partition[2, 2](x), partition[1, 2](w))) for x: "
        "1x4x4, w: 1x4x6", "Unity C3",
    ),
    (
        "concat[2](linear['none'](x, w), linear['none'](x, v)) => linear['none'](x, concat[1](w, v)) for x: "
        "1x4x4, w: 1x6x4, v: 1x2x4", "TASO 36",
    ),
    (
        "matmul['none'](matmul['none'](x, y), z) => matmul['none'](x, matmul['none'](y, z)) for x: 1x4x3, y: "
        "1x3x2, z: 1x2x5", "TASO 13",
    ),
    (
        "add(matmul['none'](x, y), matmul['none'](x, z)) => matmul['none'](x, add(y, z)) for x: 1x4x3, y: 1x3x2, "
        "z: 1x3x2", "TASO 15",
    ),
    ("linear['relu'](x, w) => unary['relu'](linear['none'](x, w)) for x: 1x4x4, w: 1x6x4", "TASO 22, of products"),
    ("reduce[1, 2](replicate[1, 2](add(x, x))) => multiple[4](x) for x: 1x4x4", "Unity A13"),
    ("conv[1, 'same', 'relu'](x, conv_identity[2, 3]()) => unary['relu'](x) for x: 1x2x2x4x4", "TASO 25"),
    ("add(x, mul(y, z)) => add(mul(z, y), x) for x: 1x2x2, y: 1x2x2, z: 1x2x2", "TASO 4"),
    (
        "slice[1, 0, 2](concat[1](combine[1, 2](partition[1, 2](x)), unary['relu'](combine[1, 2](partition[1, "
        "2](x))))) => x for x: 1x2x4", "Unity A1",
    ),
]  # fmt: skip


def without(source: str) -> tuple[Property, ...]:
    found = tuple(p for p in PROPERTIES if p.source != source)
    assert len(found) < len(PROPERTIES)
    return found


@pytest.mark.parametrize(("text", "source"), RULES)
def test_a_right_rule_is_proved_from_true_equations(text: str, source: str) -> None:
    rule = rule_of(f"r: {text}")
    proof = prove(rule)
    assert proof is not None and source in proof.sources
    assert equal(rule.source[0], rule.destination[0])
    for e in proof.equations:
        assert e.left.type == e.right.type and equal(e.left, e.right), f"{e.left} = {e.right}"


@pytest.mark.parametrize(("text", "source"), RULES)
def test_without_a_property_that_it_needs_it_is_not_proved(text: str, source: str) -> None:
    assert prove(rule_of(f"r: {text}"), without(source)) is None


@pytest.mark.parametrize(("text", "source"), RULES)
def test_the_properties_of_a_proof_suffice(text: str, source: str) -> None:
    rule = rule_of(f"r: {text}")
    proof = prove(rule)
    assert proof is not None
    assert prove(rule, tuple({e.property.source + str(e.property): e.property for e in proof.equations}.values()))


@pytest.mark.parametrize(("text", "source"), RULES)
def test_z3_accepts_no_fewer_equations(text: str, source: str) -> None:
    rule = rule_of(f"r: {text}")
    proof = prove(rule)
    assert proof is not None and proof.equations
    assert module._checked(rule, list(proof.equations)) == proof
    for i in range(len(proof.equations)):
        assert module._checked(rule, [*proof.equations[:i], *proof.equations[i + 1 :]]) is None


def test_equations_that_the_graph_makes_up_are_not_believed() -> None:
    """What has the last word is Z3, which is told the equations and not the classes."""
    rule = rule_of("r: add(x, y) => mul(x, y) for x: 1x2x2, y: 1x2x2")
    with mock.patch.object(module.EGraph, "find", lambda self, number: 0):
        assert prove(rule) is None


def test_functions_of_other_types_are_others() -> None:
    """relu(x) = relu(y) for tensors of one type says nothing of those of another."""
    x, y = (variable(n, TensorType.of((1, 2, 2))) for n in "xy")
    p = PROPERTIES[0]
    split = [apply("partition", (1, 2), (t,)) for t in (x, y)]
    relu = [apply("unary", ("relu",), (t,)) for t in (x, y, *split)]
    one, two = (Rule("r", (relu[i], y), (relu[i + 1], y)) for i in (0, 2))
    assert module._checked(one, [Equation(p, x, y)]) is not None
    assert module._checked(two, [Equation(p, x, y)]) is not None
    assert module._checked(one, [Equation(p, split[0], split[1])]) is None
    assert module._checked(two, [Equation(p, relu[0], relu[1])]) is None
    assert module._checked(two, [Equation(p, relu[2], relu[3])]) is not None
    assert module._checked(one, [Equation(p, *(variable(n, TensorType.of((1, 2, 4))) for n in "xy"))]) is None


def test_all_results_are_proved() -> None:
    rules = [rule_of(f"r: {t} for x: 1x2x2, y: 1x2x2") for t in ("add(x, y) => add(y, x)", "mul(x, y) => add(x, y)")]
    for first, second, proved in ((0, 0, True), (0, 1, False), (1, 0, False)):
        both = [rules[first], rules[second]]
        rule = Rule("r", tuple(r.source[0] for r in both), tuple(r.destination[0] for r in both))
        assert (prove(rule) is not None) == proved


def test_a_rule_of_equal_sides_is_proved_from_nothing() -> None:
    rule = rule_of("r: unary['relu'](add(x, y)) => unary['relu'](add(x, y)) for x: 1x2x2, y: 1x2x2")
    assert prove(rule, ()) == Proof(())
    assert prove(rule_of("r: add(x, y) => add(y, x) for x: 1x2x2, y: 1x2x2"), ()) is None


def test_a_proof_prints_its_equations_and_names_their_sources_once() -> None:
    proof = prove(rule_of("r: add(mul(x, y), z) => add(z, mul(y, x)) for x: 1x2x2, y: 1x2x2, z: 1x2x2"))
    assert proof is not None
    assert set(proof.sources) == {"TASO 2", "TASO 4"} and len(proof.sources) == 2
    lines = str(proof).splitlines()
    assert len(lines) == len(proof.equations) == 2
    assert any(line in ("mul(x, y) = mul(y, x)  (TASO 4)", "mul(y, x) = mul(x, y)  (TASO 4)") for line in lines)


def test_a_transposed_product_of_batches_is_not_proved() -> None:
    """TASO's property is one of matrices; the types of both sides are equal where all sizes are."""
    rule = rule_of(
        "r: transpose[1, 2](matmul['none'](x, y)) => matmul['none'](transpose[1, 2](y), transpose[1, 2](x))"
        " for x: 1x2x2x2, y: 1x2x2x2"
    )
    assert counterexample(rule) is not None
    assert prove(rule) is None


@pytest.mark.parametrize(
    "text",
    [
        "unary['relu'](add(x, y)) => add(unary['relu'](x), unary['relu'](y)) for x: 1x2x2, y: 1x2x2",
        "reduce[1, 2](replicate[1, 2](x)) => x for x: 1x2x2",
        "linear['none'](x, w) => linear['none'](w, x) for x: 1x2x2, w: 1x2x2",
        "transpose[1, 2](matmul['none'](x, y)) => matmul['none'](x, y) for x: 1x2x2, y: 1x2x2",
        "unary['relu'](reduce[1, 2](x)) => reduce[1, 2](unary['relu'](x)) for x: 1x2{2}x2",
        (
            "linear['none'](partition[2, 2](x), partition[2, 2](w)) => replicate[0, 2](linear['none'](x, w)) for x: "
            "1x2x4, w: 1x2x4"
        ),
        "concat[1](x, y) => concat[1](y, x) for x: 1x2x2, y: 1x2x2",
        "mul(reduce[1, 2](x), reduce[1, 2](y)) => reduce[1, 2](mul(x, y)) for x: 1x2{2}x2, y: 1x2{2}x2",
    ],
)  # fmt: skip
def test_a_wrong_rule_is_refuted_and_not_proved(text: str) -> None:
    rule = rule_of(f"r: {text}")
    assert counterexample(rule) is not None
    assert prove(rule) is None


def variables_of(random: Random, rank: int) -> list[Term]:
    """Of small sizes: types are often equal, and both sides of a property of one type where it says nothing of that."""
    shape = tuple(random.choice((1, 2, 2)) if d else random.choice((1, 1, 2)) for d in range(rank))
    degrees = tuple(random.choice((1, 1, s)) for s in shape)
    found = [variable(n, TensorType.of(shape, degrees)) for n in "xy"]
    found.append(variable("z", TensorType.of((1, *(2,) * (rank - 1)))))
    found.append(variable("w", TensorType.of((1, *(2,) * (rank - 1)))))
    return [*found, variable("n", TensorType.of(()))]


PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "activation": ("none", "none", "relu"), "function": ("relu", "tanh"), "padding": ("same", "valid"),
    "degree": (2, 2, 3), "factor": (1, 2), "kernel": (1, 3), "channels": (1, 2), "stride": (1, 2),
    "axis": (0, 1, 2, 3), "dim": (0, 1, 2, 3), "other": (1, 2, 3), "start": (0, 1), "size": (1, 2, 4),
}  # fmt: skip
#: Those that a proof may be about; embeddings and what makes results of other ranks are of no property.
GROWING = (
    "add mul scale multiple unary matmul linear conv pool_average pool_max concat slice transpose ones_like partition"
    " combine replicate reduce pipeline batch reduce_sum reduce_max softmax enlarge"
).split()


def grown(random: Random, rank: int) -> list[Term]:
    """Terms of some operators on others."""
    terms = variables_of(random, rank)
    for _ in range(60):
        op = OPERATORS[random.choice(GROWING)]
        parameters = tuple(random.choice(PARAMETERS[p]) for p in op.parameters)
        try:
            found = apply(op.name, parameters, tuple(random.choice(terms) for _ in range(op.arity)))
        except TermError:
            continue
        if found.type.elements <= 40 and sum(1 for _ in subterms(found)) <= 9:
            terms.append(found)
    return terms


def matches(
    pattern: Pattern | Hole, term: Term, terms: dict[str, Term], parameters: dict[str, Parameter]
) -> bool:
    """Whether a term is an instance, and of what."""
    if isinstance(pattern, Hole):
        return terms.setdefault(pattern.name, term) == term
    if pattern.operator != term.operator:
        return False
    for wanted, has in zip(pattern.parameters, term.parameters, strict=True):
        if (parameters.setdefault(wanted.name, has) if isinstance(wanted, Name) else wanted) != has:
            return False
    return all(matches(p, o, terms, parameters) for p, o in zip(pattern.operands, term.operands, strict=True))


def instances(term: Term, random: Random) -> Iterator[Term]:
    """What properties say that it equals, in random order."""
    directions = [(p, sides) for p in PROPERTIES for sides in (p.sides, p.sides[::-1])]
    for p, (here, there) in random.sample(directions, len(directions)):
        terms: dict[str, Term] = {}
        parameters: dict[str, Parameter] = {}
        if isinstance(here, Hole) or not there.variables <= here.variables:
            continue
        if not matches(here, term, terms, parameters):
            continue
        called = dict(there.names()) if isinstance(there, Pattern) else {}
        for name in called.keys() - parameters.keys() - p.let.keys():
            parameters[name] = random.choice(PARAMETERS[called[name]])
        found = complete(p, {n: t.type for n, t in terms.items()}, parameters)
        if found is None:
            continue
        try:
            other = build(there, terms, found)
        except (TermError, KeyError):
            continue
        if other.type == term.type and other != term:
            yield other


def replaced(term: Term, old: Term, new: Term) -> Term:
    if term == old:
        return new
    if not term.operands:
        return term
    return apply(term.operator, term.parameters, tuple(replaced(o, old, new) for o in term.operands))


def rewritten(term: Term, random: Random, steps: int) -> Term:
    """The term with instances of properties applied at random places, if there are any."""
    for _ in range(steps):
        places = list(subterms(term))
        random.shuffle(places)
        found = next(((place, other) for place in places for other in instances(place, random)), None)
        if found is not None:
            term = replaced(term, *found)
    return term


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 3, 4, 5]), st.integers(1, 4))
def test_what_properties_rewrite_has_the_same_value_and_no_counterexample(seed: int, rank: int, steps: int) -> None:
    """On terms of any rank and size, which the domains of the properties do not say."""
    random = Random(seed)
    term = random.choice(grown(random, rank)[-8:])
    other = rewritten(term, random, steps)
    assume(other != term)
    rule = Rule("r", (term,), (other,))
    assert equal(term, other), f"{term} = {other}"
    assert counterexample(rule) is None, f"{term} = {other}"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 3, 4, 5]))
def test_what_differs_is_not_proved(seed: int, rank: int) -> None:
    """Terms of one type, of which one was rewritten and changed in one place."""
    random = Random(seed)
    terms = grown(random, rank)
    term = random.choice(terms[-8:])
    other = rewritten(term, random, 2)
    known = variables(term).keys()
    changes = [
        (old, new) for old in subterms(other) for new in terms
        if old.type == new.type and old != new and variables(new).keys() <= known
    ]  # fmt: skip
    changed = (replaced(other, *change) for change in random.sample(changes, len(changes)))
    wrong = next((t for t in changed if not equal(term, t)), None)
    assume(wrong is not None)
    with mock.patch.object(module, "_NODES", 300):
        assert prove(Rule("r", (term,), (wrong,))) is None, f"{term} = {wrong}"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_one_property_rewrites_is_proved(seed: int) -> None:
    random = Random(seed)
    term = random.choice(grown(random, 3)[-8:])
    other = rewritten(term, random, 1)
    assert prove(Rule("r", (term,), (other,))) is not None, f"{term} = {other}"
