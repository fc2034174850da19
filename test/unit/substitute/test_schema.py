"""Rules for tensors of any size: how a line is read, the sizes it fits, its example, its rule for others, its text."""

from __future__ import annotations

import pytest

from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.library import known
from pcg.substitute.pattern import parse
from pcg.substitute.schema import schema_of, type_of_text
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import variables

SPLIT = (
    "split: matmul['none'](concat[2](x, y), w) => add(matmul['none'](x, slice[1, 0, k](w)),"
    " matmul['none'](y, slice[1, k, l](w))) for x: 1*m*k, y: 1*m*l, w: 1*(k+l)*n"
)
SCALED = (
    "scaled: scale(scatter_add(zeros[v, n](), i, g), c) => scatter_add(zeros[v, n](), i, scale(g, c))"
    " for i: 1*m, g: 1*m*n, c: number, v=5"
)
FIXED = "fixed: add(x, x) => multiple[2](x) for x: 1x2x4"


def types(**texts: str) -> dict[str, TensorType]:
    return {name: type_of_text(text) for name, text in texts.items()}


def test_a_line_has_patterns_types_parameters_and_a_proof() -> None:
    schema = schema_of(f"  {SCALED}  # TASO 2, ours ")
    assert schema.name == "scaled" and schema.proof == "TASO 2, ours"
    assert schema.source == parse("scale(scatter_add(zeros[v, n](), i, g), c)")
    assert schema.destination == parse("scatter_add(zeros[v, n](), i, scale(g, c))")
    assert schema.types == {"i": "1*m", "g": "1*m*n", "c": "number"}
    assert schema.parameters == {"v": 5}


def test_a_line_may_have_no_types_and_no_proof() -> None:
    schema = schema_of("none: transpose[1, 2](identity[2]()) => identity[2]()")
    assert not schema.types and not schema.parameters and schema.proof == ""
    assert str(schema.example()) == "transpose[1, 2](identity[2]()) => identity[2]()"


def test_letters_come_in_order_of_their_use_in_types() -> None:
    assert schema_of(SPLIT).letters == ("m", "k", "l", "n")
    assert schema_of("s: neg(neg(x)) => x for x: 1*(n+m)*k, y: 1*n*m").letters == ("n", "m", "k")


@pytest.mark.parametrize("type", ["1x2x4", "1x2{2}x4/2", "number"])
def test_types_of_known_sizes_have_no_letters(type: str) -> None:
    assert schema_of(f"s: neg(neg(x)) => x for x: {type}").letters == ()


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("", RuleError, "''; allowed: name: source => destination for variable: type, ..."),
        ("a: neg(x) for x: 1*m", RuleError, "'a: neg(x) for x: 1*m'; allowed: name: source => destination"),
        ("a b: neg(x) => x for x: 1*m", RuleError, "'a b: neg(x) => x for x: 1*m'; allowed: name: source =>"),
        ("a: neg(neg(x)) => x for x", RuleError, "'x' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: neg(neg(x)) => x for x: 1*m, s", RuleError, "'s' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: neg(neg(x)) => x for x: 1*m, s=t", RuleError, "'s=t' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: neg(neg(x)) => x for x: 1*m, s=-1", RuleError, "'s=-1' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: neg(neg(x)) => x for x: 1*m, S=1", RuleError, "'S=1' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: x => neg(neg(x)) for x: 1*m", RuleError, "rule a replaces x, which is any tensor; allowed: an operator"),
        ("a: neg(neg(x) => x for x: 1*m", TermError, "pattern 'neg(neg(x)': ) is missing"),
        ("a: neg(x, x) => x for x: 1*m", TermError, "neg with 0 parameters and 2 operands"),
        ("a: neg(neg(x)) => minus(x) for x: 1*m", TermError, "minus with 0 parameters and 1 operands"),
    ],
)
def test_a_line_that_is_no_schema_is_refused(text: str, error: type[ValueError], says: str) -> None:
    with pytest.raises(error) as raised:
        schema_of(text)
    assert says in str(raised.value)


@pytest.mark.parametrize("type", ["1*M", "1*(k-l)", "1*(k+)", "1*(k", "1*k+l", "1*2m", "1*mm", "1**m", "*", "1*(k+2)"])
def test_a_type_that_is_none_is_refused_and_named(type: str) -> None:
    with pytest.raises(RuleError) as raised:
        schema_of(f"a: neg(neg(x)) => x for x: {type}").example()
    assert str(raised.value) == (f"type {type!r}; allowed: sizes with degrees, as 1x2{{2}}x4, or letters, as 1*m*(k+l)")


@pytest.mark.parametrize("text", ["1*m*k", "1xmxk", "1*(k+l)"])
def test_letters_are_no_type_by_themselves(text: str) -> None:
    with pytest.raises(RuleError, match="allowed: numbers, here"):
        type_of_text(text)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("a: add(x, y) => add(y, x) for x: 1*m", RuleError, "variable y of add(x, y) has no type; allowed: those after"),
        ("a: neg(x) => neg(y) for x: 1*m", RuleError, "variable y of neg(y) has no type; allowed: those after"),
        (
            "a: slice[1, s, m](x) => x for x: 1*m", RuleError,
            "slice[1, s, m](x) has parameter s; allowed: integers, functions in quotes, letters of sizes",
        ),
        ("a: neg(x) => slice[1, 0, l](x) for x: 1*m", RuleError, "slice[1, 0, l](x) has parameter l; allowed: int"),
        ("a: neg(x) => slice[1, i, 1](x) for x: 1*m, s=2, i=s/t", RuleError, "i is s/t; allowed: letters of sizes"),
        ("a: neg(x) => slice[1, i, 1](x) for x: 1*m, s=3, i=s/m", TermError, "i is 3 / 2; allowed: a number and one that"),
        ("a: neg(x) => slice[1, i, 1](x) for x: 1*m, s=0, i=m/s", TermError, "i is 2 / 0; allowed: a number and one that"),
        ("a: add(x, y) => add(y, x) for x: 1*m, y: 1*n", TermError, "operands 1x2 and 1x3; allowed: equal types"),
        ("a: neg(x) => concat[1](x, x) for x: 1*m", TermError, "result 0 is 1x2 of the source and 1x4 of the"),
        ("a: neg(x) => y for x: 1*m, y: 1*m", TermError, "the destination reads y; allowed: inputs of the source"),
        ("a: slice[1, s, 1](x) => x for x: 1*m, s=2", TermError, "elements 2 to 3 of dimension 1 of 1x2; allowed:"),
    ],
)  # fmt: skip
def test_a_schema_whose_example_is_no_rule_says_why(text: str, error: type[ValueError], says: str) -> None:
    schema = schema_of(text)
    with pytest.raises(error) as raised:
        schema.example()
    assert says in str(raised.value)


def test_an_example_has_other_sizes_for_other_letters() -> None:
    example = schema_of(SPLIT).example()
    assert example.name == "split"
    assert variables(*example.source) == types(x="1x2x3", y="1x2x4", w="1x7x5")
    assert str(example.destination[0]) == (
        "add(matmul['none'](x, slice[1, 0, 3](w)), matmul['none'](y, slice[1, 3, 4](w)))"
    )


def test_parameters_are_what_they_are_in_an_example() -> None:
    example = schema_of(SCALED).example()
    assert variables(*example.source) == types(i="1x2", g="1x2x3", c="number")
    assert str(example.source[0]) == "scale(scatter_add(zeros[5, 3](), i, g), c)"


def test_a_rule_without_letters_is_its_own_example() -> None:
    example = schema_of("p: combine[1, 2](neg(x)) => neg(combine[1, 2](x)) for x: 1x2{2}x4/2").example()
    assert variables(*example.source) == types(x="1x2{2}x4/2")
    assert str(example) == "combine[1, 2](neg(x)) => neg(combine[1, 2](x))"


FITTING: list[tuple[dict[str, str], dict[str, int]]] = [
    ({"x": "1x2x3", "y": "1x2x4", "w": "1x7x5"}, {"m": 2, "k": 3, "l": 4, "n": 5}),
    ({"w": "1x7x5", "y": "1x2x4", "x": "1x2x3"}, {"m": 2, "k": 3, "l": 4, "n": 5}),  # in any order
    ({"x": "1x6x6", "y": "1x6x6", "w": "1x12x6"}, {"m": 6, "k": 6, "l": 6, "n": 6}),
    ({"x": "1x1x1", "y": "1x1x1", "w": "1x2x1"}, {"m": 1, "k": 1, "l": 1, "n": 1}),
]


@pytest.mark.parametrize(("texts", "sizes"), FITTING)
def test_sizes_follow_from_the_types_of_variables(texts: dict[str, str], sizes: dict[str, int]) -> None:
    assert schema_of(SPLIT).sizes(types(**texts)) == sizes


@pytest.mark.parametrize(
    "texts",
    [
        {"x": "1x2x3", "y": "1x3x4", "w": "1x7x5"},  # two sizes of m
        {"x": "1x2x3", "y": "1x2x4", "w": "1x6x5"},  # less than k+l
        {"x": "1x2x3", "y": "1x2x4", "w": "1x8x5"},  # more
        {"x": "2x2x3", "y": "1x2x4", "w": "1x7x5"},  # 2 for 1
        {"x": "1x2x3x1", "y": "1x2x4", "w": "1x7x5"},  # a dimension more
        {"x": "2x3", "y": "1x2x4", "w": "1x7x5"},  # one less
    ],
)
def test_sizes_that_do_not_fit_are_none(texts: dict[str, str]) -> None:
    assert schema_of(SPLIT).sizes(types(**texts)) is None


def test_a_number_fits_a_number_only() -> None:
    schema = schema_of(SCALED)
    assert schema.sizes(types(i="1x7", g="1x7x3", c="number")) == {"m": 7, "n": 3}
    assert schema.sizes(types(i="1x7", g="1x7x3", c="1")) is None
    assert schema.sizes(types(i="1x7", g="number", c="number")) is None


def test_sizes_of_a_schema_without_letters_are_an_example() -> None:
    """It fits tensors of any size, of which none is named."""
    assert schema_of(FIXED).sizes(types(x="1x2x4")) == {}
    assert schema_of(FIXED).sizes(types(x="1x3x5")) == {}
    assert schema_of(FIXED.replace("1x2x4", "1x2{2}x4")).sizes(types(x="1x4{2}x4")) == {}


def test_a_schema_is_a_rule_for_other_sizes() -> None:
    schema = schema_of(SPLIT)
    of = types(x="1x1x6", y="1x1x2", w="1x8x3")
    sizes = schema.sizes(of)
    assert sizes is not None
    rule = schema.rule(of, sizes)
    assert variables(*rule.source) == of
    assert str(rule.destination[0]) == (
        "add(matmul['none'](x, slice[1, 0, 6](w)), matmul['none'](y, slice[1, 6, 2](w)))"
    )


def test_a_rule_that_cannot_be_built_says_why() -> None:
    schema = schema_of(SPLIT)
    of = types(x="1x2x3", y="1x2x4", w="1x7x5")
    with pytest.raises(TermError, match="elements 3 to 8 of dimension 1 of 1x7x5; allowed: those it has"):
        schema.rule(of, {"k": 3, "l": 5})
    with pytest.raises(RuleError, match=r"has parameter l; allowed: integers, functions in quotes"):
        schema.rule(of, {"k": 3})
    with pytest.raises(RuleError, match="variable w of .* has no type"):
        schema.rule({n: t for n, t in of.items() if n != "w"}, {"k": 3, "l": 4})


@pytest.mark.parametrize("text", [SPLIT, SCALED, FIXED, "none: transpose[1, 2](identity[2]()) => identity[2]()"])
def test_a_schema_prints_as_it_was_written(text: str) -> None:
    assert str(schema_of(text)) == text
    assert str(schema_of(f"{text}  # ours")) == text


def test_every_schema_that_pcg_has_is_read_again_as_it_prints() -> None:
    for schema in known().values():
        again = schema_of(str(schema))
        assert (again.name, again.source, again.destination) == (schema.name, schema.source, schema.destination)
        assert (again.types, again.parameters) == (schema.types, schema.parameters)
