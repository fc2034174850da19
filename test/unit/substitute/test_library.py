"""Rules as text: what is written is read again as the same rule, and a line that is none is named by its number."""

from __future__ import annotations

import pytest

from pcg.substitute.check import PROVED, verify
from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.generate.generate import generate
from pcg.substitute.generate.space import SPACES
from pcg.substitute.library import files, for_programs, known, line, read, rule_of, schemas
from pcg.substitute.rule import Rule
from pcg.substitute.schema import type_of_text
from pcg.substitute.tensor_type import TensorType

LINES = [
    "sum: add(x, y) => add(y, x) for x: 1x2x4, y: 1x2x4",
    "scaled-1: scale(x, n) => scale(x, n) for x: 1x2x4, n: number",
    "split: linear['none'](x, w) => linear['none'](x, w) for x: 2{2}x2/2x4, w: 2{2}x6x4",
    "conv: conv[1, 'same', 'relu'](x, conv_identity[2, 3]()) => unary['relu'](x) for x: 1x2x2x4x4",
    "constant: identity[2]() => transpose[1, 2](identity[2]())",
]


@pytest.mark.parametrize("text", LINES)
def test_a_rule_is_read_as_it_was_written(text: str) -> None:
    rule = rule_of(text)
    assert line(rule) == text
    assert rule_of(line(rule)) == rule and rule.name == text.partition(":")[0]


@pytest.mark.parametrize("text", ["1", "1x2x4", "8{2}x4/2x6{3}/2"])
def test_types_are_read_as_they_print(text: str) -> None:
    assert str(type_of_text(text)) == text


def test_the_type_of_a_number_and_what_is_no_type() -> None:
    assert type_of_text("number") == TensorType.of(())
    for text in ("", "x", "1x", "1x2{}", "1x2{2", "-1", "1 x 2", "1x2/"):
        with pytest.raises(RuleError, match="allowed: sizes with degrees, as 1x2"):
            type_of_text(text)
    with pytest.raises(TermError, match="cannot be split"):
        type_of_text("1x3{2}")


def test_comments_and_empty_lines_are_passed_over() -> None:
    lines = ["# all of them", "", f"  {LINES[0]}  # TASO 2", "   # nothing", LINES[3]]
    assert [line(r) for r in read(lines, "here")] == [LINES[0], LINES[3]]
    assert list(read([], "here")) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("add(x, y)", "allowed: name: source => destination for variable: type"),
        ("a b: neg(x) => x for x: 1x2", "allowed: name: source => destination"),
        ("a: neg(x) => add(x, x for x: 1x2", "is missing"),
        ("a: neg(x) => add(x) for x: 1x2", "add with 0 parameters and 1 operands"),
        ("a: neg(x) => y for x: 1x2", "variable y of y has no type; allowed: those after"),
        ("a: neg(x) => y for x: 1x2, y: 1x2", "the destination reads y; allowed: inputs of the source"),
        ("a: neg(x) => partition[d, 2](x) for x: 1x2", "has parameter d; allowed: integers, functions in quotes"),
        ("a: neg(x) => partition[1, 2](x) for x: 1x2", "result 0 is 1x2 of the source and 1x2{2} of the destination"),
        ("a: neg(x) => combine[1, 2](x) for x: 1x2", "degree 1 of dimension 1 of 1x2; allowed: what 2 divides"),
        ("a: x => neg(neg(x)) for x: 1x2", "rule a replaces x, which is any tensor; allowed: an operator"),
        ("sum: neg(x) => neg(x) for x: 1x2", "there are two rules sum"),
    ],
)
def test_a_line_that_is_no_rule_is_named(text: str, says: str) -> None:
    with pytest.raises(RuleError) as error:
        list(read([LINES[0], "", text], "here.txt"))
    assert str(error.value).startswith("here.txt:3: ") and says in str(error.value)


def test_schemas_of_a_text() -> None:
    lines = ["# all", "", f"  {LINES[0]}  # TASO 2", "t: neg(neg(x)) => x for x: 1*m*n", LINES[3], "#"]
    found = list(schemas(lines, "here"))
    assert [str(s) for s in found] == [LINES[0], lines[3], LINES[3]]
    assert [s.proof for s in found] == ["TASO 2", "", ""]
    assert list(schemas([], "here")) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("add(x, y)", "allowed: name: source => destination for variable: type"),
        ("a: neg(neg(x)) => x for x", "'x' of rule a; allowed: variable: type, each once, parameter=example"),
        ("a: neg(x) => neg(x) for x: 1*m, i=m/2", "'i=m/2' of rule a; allowed: variable: type"),
        ("a: neg(x) => add(x) for x: 1*m", "add with 0 parameters and 1 operands"),
        ("a: x => neg(neg(x)) for x: 1*m", "rule a replaces x, which is any tensor; allowed: an operator"),
    ],
)
def test_a_line_that_is_no_schema_is_named(text: str, says: str) -> None:
    with pytest.raises(RuleError) as error:
        list(schemas(["# all", LINES[0], "", text], "here.txt"))
    assert str(error.value).startswith("here.txt:4: ") and says in str(error.value)


def test_all_schemas_are_known_by_name_those_for_programs_among_them() -> None:
    assert sum(1 for path in files() for _ in schemas(path.read_text().splitlines(), path.name)) == len(known())
    assert all(name == schema.name for name, schema in known().items())
    texts = (files()[0].parent / "programs.txt").read_text().splitlines()
    written = [text for text in texts if text and not text.startswith("#")]
    assert [f"{s}  # {s.proof}" for s in for_programs()] == written
    for schema in for_programs():
        assert str(known()[schema.name]) == str(schema)


def test_a_rule_of_several_results_is_no_line() -> None:
    rule = rule_of(LINES[0])
    with pytest.raises(RuleError, match="rule both has 2 results; allowed: one"):
        line(Rule("both", rule.source * 2, rule.destination * 2))


def test_every_rule_that_pcg_has_is_read_and_few_are_verified() -> None:
    """All of them under the marker below: here a tenth."""
    rules = [rule for path in files() for rule in read(path.read_text().splitlines(), path.name)]
    assert len(rules) > 900 and len({r.name for r in rules}) == len(rules)
    for rule in rules[::10]:
        assert verify(rule).verdict == PROVED, rule


@pytest.mark.slow
def test_every_rule_that_pcg_has_is_proved_and_generated() -> None:
    for path in files():
        text = path.read_text()
        assert all(verify(rule).verdict == PROVED for rule in read(text.splitlines(), path.name)), path.name
    found = generate(SPACES["products"])
    lines = [line.partition("  #")[0] for line in (files()[0]).read_text().splitlines() if not line.startswith("#")]
    assert files()[0].name == "products.txt" and [line(rule) for rule in found.rules] == lines
