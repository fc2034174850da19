"""E-graphs: equal terms are one class, by congruence as by enumeration, and what properties make equal is equal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.substitute.egraph import Directions, EGraph, build
from pcg.substitute.errors import TermError
from pcg.substitute.pattern import parse
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.property import Property
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Term, apply, subterms, variable
from pcg.substitute.validate import equal

TYPE = TensorType.of((1, 2, 2))
TYPES = {name: TYPE for name in "abcdefwxyz"} | {"n": TensorType.of(())}


def term(text: str) -> Term:
    """Of variables of one type."""
    return build(parse(text), {n: variable(n, t) for n, t in TYPES.items()}, {})


def of_source(*sources: str) -> tuple[Property, ...]:
    found = tuple(p for p in PROPERTIES if p.source in sources)
    assert found
    return found


def saturated(graph: EGraph, properties: tuple[Property, ...], rounds: int = 10, most: int = 500) -> bool:
    """Whether nothing was new in the end."""
    directions = Directions(properties)
    return any(not graph.saturate(directions, most) for _ in range(rounds))


def test_a_term_is_added_once() -> None:
    graph = EGraph()
    first = graph.add(term("add(mul(x, y), x)"))
    assert len(graph) == 4
    assert graph.add(term("add(mul(x, y), x)")) == first and len(graph) == 4
    assert graph.type(first) == TYPE
    assert len({graph.find(graph.add(term(t))) for t in ("x", "y", "mul(x, y)", "mul(y, x)")}) == 4
    assert len(graph) == 5


def test_what_is_equal_is_so_below_every_operator() -> None:
    graph = EGraph()
    left, right = (graph.add(term(f"unary['relu'](add({v}, z))")) for v in "xy")
    x, y = graph.add(term("x")), graph.add(term("y"))
    assert graph.merge(x, y) and not graph.merge(y, x)
    graph.rebuild()
    assert graph.find(left) == graph.find(right)
    assert graph.find(x) != graph.find(left) and graph.find(x) == graph.find(y)
    # And of terms that are added then.
    assert graph.find(graph.add(term("mul(x, y)"))) == graph.find(graph.add(term("mul(y, x)")))


def test_a_term_that_is_its_own_operand() -> None:
    """f(f(f(x))) = x and f(f(f(f(f(x))))) = x, so that f(x) = x."""
    graph = EGraph()

    def f(times: int) -> int:
        return graph.add(term("unary['relu'](" * times + "x" + ")" * times))

    numbers = [f(i) for i in range(6)]
    graph.merge(numbers[3], numbers[0])
    graph.merge(numbers[5], numbers[0])
    graph.rebuild()
    assert len({graph.find(n) for n in numbers}) == 1
    assert graph.find(f(40)) == graph.find(numbers[0])


def random_term(random: Random, depth: int) -> Term:
    if depth == 0 or random.random() < 0.3:
        return term(random.choice("abcde"))
    if random.random() < 0.4:
        return apply("unary", (random.choice(("relu", "tanh")),), (random_term(random, depth - 1),))
    operands = random_term(random, depth - 1), random_term(random, depth - 1)
    return apply(random.choice(("add", "mul")), (), operands)


def congruent(terms: list[Term], equations: list[tuple[Term, Term]]) -> dict[Term, int]:
    """The classes of terms, by going over all pairs until nothing changes."""
    of = {t: i for i, t in enumerate(terms)}

    def unite(a: Term, b: Term) -> bool:
        old, new = of[a], of[b]
        for t in of if old != new else ():
            if of[t] == old:
                of[t] = new
        return old != new

    for a, b in equations:
        unite(a, b)
    changed = True
    while changed:
        changed = False
        for a in terms:
            for b in terms:
                same = a.operands and (a.operator, a.parameters) == (b.operator, b.parameters)
                if same and all(of[i] == of[j] for i, j in zip(a.operands, b.operands, strict=True)):
                    changed |= unite(a, b)
    return of


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_classes_are_those_of_enumeration(seed: int) -> None:
    random = Random(seed)
    terms = list(subterms(*(random_term(random, 3) for _ in range(5))))
    equations = [(random.choice(terms), random.choice(terms)) for _ in range(random.randrange(5))]
    graph = EGraph()
    later = random.sample(terms, len(terms) // 2)
    for t in terms:
        if t not in later:
            graph.add(t)
    for a, b in equations:
        graph.merge(graph.add(a), graph.add(b))
        if random.random() < 0.5:
            graph.rebuild()
    graph.rebuild()
    numbers = {t: graph.find(graph.add(t)) for t in terms}
    numbers = {t: graph.find(n) for t, n in numbers.items()}
    want = congruent(terms, equations)
    for a in terms:
        for b in terms:
            assert (numbers[a] == numbers[b]) == (want[a] == want[b]), f"{a}, {b}"


def test_a_property_is_applied_in_both_directions_and_below_operators() -> None:
    both = "scale(add(x, y), n)", "add(scale(x, n), scale(y, n))"
    for left, right in (both, both[::-1]):
        graph = EGraph()
        number = graph.add(term(f"unary['relu']({left})"))
        assert saturated(graph, of_source("TASO 7"))
        assert graph.find(graph.add(term(f"unary['relu']({right})"))) == graph.find(number)


def test_saturation_ends_where_nothing_is_new() -> None:
    graph = EGraph()
    graph.add(term("add(x, add(y, z))"))
    directions = Directions(of_source("TASO 2"))
    assert graph.saturate(directions, 500)
    while graph.saturate(directions, 500):
        assert len(graph) <= 9
    count = len(graph)
    assert not graph.saturate(directions, 500) and len(graph) == count == 7


def test_all_sums_of_four_are_one_class() -> None:
    """By associativity and commutativity: 4! orders of 5 trees."""
    graph = EGraph()
    number = graph.add(term("add(add(a, b), add(c, d))"))
    assert saturated(graph, of_source("TASO 1", "TASO 2"))
    # Of each of two or more of the four as many sums as they may be taken apart in two, in either order.
    assert len(graph) == 4 + sum(2**k - 2 for k in (2,) * 6 + (3,) * 4 + (4,))
    for text in ("add(a, add(b, add(c, d)))", "add(d, add(add(c, b), a))", "add(add(add(d, b), a), c)"):
        assert graph.find(graph.add(term(text))) == graph.find(number)
    for text in ("add(a, add(b, c))", "add(a, add(b, add(c, c)))", "add(a, mul(b, add(c, d)))"):
        assert graph.find(graph.add(term(text))) != graph.find(number)


def test_saturation_stops_above_so_many_nodes() -> None:
    graph = EGraph()
    graph.add(term("add(a, add(b, add(c, add(d, add(e, f)))))"))
    directions = Directions(of_source("TASO 1", "TASO 2"))
    for _ in range(4):
        graph.saturate(directions, 40)
    assert 40 < len(graph) < 60


def test_a_property_is_applied_where_its_condition_holds() -> None:
    p = Property(
        "matmul['none'](x, matmul['none'](y, z))", "matmul['none'](matmul['none'](x, y), z)", "ours", "x: r m k",
        lambda b: b.type("x").shape[2] == 3,
    )  # fmt: skip
    for k in (2, 3):
        graph = EGraph()
        x, y, z = (variable(n, TensorType.of(s)) for n, s in (("x", (1, 2, k)), ("y", (1, k, 2)), ("z", (1, 2, 2))))
        graph.add(apply("matmul", ("none",), (x, apply("matmul", ("none",), (y, z)))))
        assert graph.saturate(Directions((p,)), 100) == (k == 3)


def test_what_cannot_be_built_is_not_equal() -> None:
    """A sum of types that differ is none, and neither is what is of another type than what it is to equal."""
    graph = EGraph()
    x = variable("x", TensorType.of((1, 4, 3)))
    graph.add(apply("transpose", (1, 2), (x,)))
    wrong = Property("transpose[1, 2](x)", "x", "nowhere", "x: r m n")
    ill_typed = Property("transpose[1, 2](x)", "add(x, transpose[1, 2](x))", "nowhere", "x: r m n")
    assert not graph.saturate(Directions((wrong, ill_typed)), 100)
    assert len(graph) == 2 and not graph.equations


def matched(text: str, of: Term) -> Iterator[dict[str, object]]:
    """What the names of a pattern stand for in a term."""
    found: dict[str, object] = {}

    def match(pattern: object, t: Term) -> bool:
        if not hasattr(pattern, "operator"):
            return found.setdefault(str(pattern), t) == t
        if pattern.operator != t.operator or len(pattern.parameters) != len(t.parameters):
            return False
        for p, value in zip(pattern.parameters, t.parameters, strict=True):
            if found.setdefault(f"[{p.name}]", value) != value if hasattr(p, "name") else p != value:
                return False
        return all(match(p, o) for p, o in zip(pattern.operands, t.operands, strict=True))

    if match(parse(text), of):
        yield found


TERMS = [
    "add(x, mul(x, add(y, y)))",
    "unary['relu'](transpose[1, 2](matmul['tanh'](x, add(y, z))))",
    "slice[1, 2, 2](concat[1](add(x, y), matmul['none'](x, linear['none'](y, z))))",
    "combine[1, 2](partition[1, 2](scale(linear['relu'](x, w), n)))",
    "concat[2](concat[1](x, y), concat[1](z, w))",
    "reduce[0, 2](replicate[0, 2](mul(x, ones_like(y))))",
    # What is combined has more users than x when both become one class.
    "slice[1, 0, 2](concat[1](combine[1, 2](partition[1, 2](x)), unary['relu'](combine[1, 2](partition[1, 2](x)))))",
]


@pytest.mark.parametrize("text", TERMS)
def test_every_equation_is_an_instance_of_its_property_and_true(text: str) -> None:
    graph = EGraph()
    graph.add(term(text))
    directions = Directions(PROPERTIES)
    for _ in range(2):
        graph.saturate(directions, 60)
    assert graph.equations
    for e in graph.equations:
        assert e.left.type == e.right.type
        assert equal(e.left, e.right), f"{e.left} = {e.right} ({e.property})"
        sides = [
            (a | b, a, b)
            for l, r in ((e.left, e.right), (e.right, e.left))
            for a in matched(e.property.left, l)
            for b in matched(e.property.right, r)
        ]
        assert any(all(both[n] == v for side in (a, b) for n, v in side.items()) for both, a, b in sides)


@pytest.mark.parametrize("text", TERMS)
def test_equations_alone_make_equal_what_properties_made_so(text: str) -> None:
    """A second graph of the same terms, with the equations of the first and without its properties."""
    graph, other = EGraph(), EGraph()
    graph.add(term(text))
    directions = Directions(PROPERTIES)
    for _ in range(2):
        graph.saturate(directions, 60)
    for e in graph.equations:
        other.merge(other.add(e.left), other.add(e.right))
    other.rebuild()
    terms = list(subterms(term(text), *(side for e in graph.equations for side in (e.left, e.right))))
    for t in terms:
        for u in terms:
            one = graph.find(graph.add(t)) == graph.find(graph.add(u))
            two = other.find(other.add(t)) == other.find(other.add(u))
            assert one == two, f"{t}, {u}"


def test_a_pattern_is_built_of_terms() -> None:
    found = build(parse("partition[d, 2](add(x, x))"), {"x": term("mul(y, z)")}, {"d": 1})
    assert found == term("partition[1, 2](add(mul(y, z), mul(y, z)))")
    with pytest.raises(TermError, match=re.escape("partition: dimension 7; allowed: 0 to 2")):
        build(parse("partition[d, 2](x)"), {"x": term("x")}, {"d": 7})
