"""Rules: two programs with the same inputs and as many results of the same types."""

from __future__ import annotations

import pytest

from pcg.substitute.errors import TermError
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Term, apply, variable


def x(name: str = "x", *shape: int) -> Term:
    return variable(name, TensorType.of(shape or (1, 2, 4)))


def relu(term: Term) -> Term:
    return apply("unary", ("relu",), (term,))


def test_a_rule_prints_result_by_result() -> None:
    rule = Rule("r", (relu(x()), x("y")), (x(), x("y")))
    assert str(rule) == "unary['relu'](x) => x; y => y"


def test_the_destination_may_leave_inputs_out_and_has_none_of_its_own() -> None:
    assert Rule("r", (apply("mul", (), (x(), x("y"))),), (x(),)).destination == (x(),)
    with pytest.raises(TermError, match="the destination reads y, z; allowed: inputs of the source"):
        Rule("r", (x(),), (apply("add", (), (apply("add", (), (x("y"), x())), x("z"))),))


def test_there_are_as_many_results_and_one_at_least() -> None:
    with pytest.raises(TermError, match="2 results for 1; allowed: as many, and one at least"):
        Rule("r", (x(), x()), (x(),))
    with pytest.raises(TermError, match="0 results for 0; allowed: as many, and one at least"):
        Rule("r", (), ())


def test_results_have_equal_types() -> None:
    with pytest.raises(TermError, match="result 0 is 1x2x4 of the source and 1x4x2 of the destination"):
        Rule("r", (x(),), (apply("transpose", (1, 2), (x(),)),))
    with pytest.raises(TermError, match="result 1 is 1x2x4 of the source and 1x2.2.x4 of the destination"):
        Rule("r", (x(), x()), (x(), apply("partition", (1, 2), (x(),))))


def test_a_name_is_of_one_type() -> None:
    """An input has the same type on both sides, wherever it is read."""
    with pytest.raises(TermError):
        Rule("r", (x("x", 1, 2, 4),), (apply("transpose", (1, 2), (x("x", 1, 4, 2),)),))
    both = apply("concat", (1,), (x("x", 1, 2, 4), x("x", 1, 3, 4)))
    with pytest.raises(TermError):
        Rule("r", (both,), (both,))
