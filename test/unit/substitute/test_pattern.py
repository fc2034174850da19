"""Patterns of terms as text: what is read prints the same, what is none is refused, and which names are in it."""

from __future__ import annotations

import pytest

from pcg.substitute.errors import TermError
from pcg.substitute.pattern import Hole, Name, Pattern, parse

TEXTS = [
    "x",
    "add(x, y)",
    "identity[n]()",
    "unary['relu'](partition[d, 2](add(x, identity[3]())))",
    "conv[s, 'same', a](x, enlarge[k](y))",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_pattern_prints_as_it_was_written(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(f"  {text.replace(', ', ' ,  ')} ") == parse(text)


def test_what_is_in_brackets_are_integers_names_in_quotes_and_names_that_stand_for_one() -> None:
    assert parse("conv[2, 'same', a](x, y)") == Pattern("conv", (2, "same", Name("a")), (Hole("x"), Hole("y")))


def test_names_in_a_pattern() -> None:
    pattern = parse("add(slice[a, s, 2](x), partition[a, k](mul(x, y)))")
    assert isinstance(pattern, Pattern)
    assert pattern.variables == {"x", "y"} and parse("x").variables == {"x"}
    assert pattern.parameters_named == {"a", "s", "k"} and not parse("x").parameters_named
    assert list(pattern.names()) == [("a", "axis"), ("s", "start"), ("a", "dim"), ("k", "degree")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "its end in place of a name"),
        ("add(x", "its end in place of a name|is missing"),
        ("add(x, y", r"\) is missing"),
        ("add(x y)", r"\) is missing"),
        ("add(x, y))", r"goes on after its end, with '\)'"),
        ("add(x, y) z", "goes on after its end, with 'z'"),
        ("add(x)", "add with 0 parameters and 1 operands"),
        ("add[1](x, y)", "add with 1 parameters and 2 operands"),
        ("partition[d](x)", "partition with 1 parameters and 1 operands"),
        ("subtract(x, y)", "subtract with 0 parameters and 2 operands"),
        ("identity[n]", "identity has parameters and no operands"),
        ("partition[d, (x)", "a parameter is missing"),
        ("partition[d k](x)", r"\] is missing"),
        ("partition[d, k", r"\] is missing"),
        ("2(x)", "2 in place of a name"),
        ("add(x, -y)", r"has '-' at 6; allowed: names, integers, \[ \] \( \) ,"),
        ("x + y", r"has '\+' at 1; allowed"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str, says: str) -> None:
    with pytest.raises(TermError, match=says):
        parse(text)
