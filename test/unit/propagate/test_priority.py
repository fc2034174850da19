"""Propagation by priorities on hand-made problems: no MLIR."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh, ShardSpec
from pcg.propagate import PropagationProblem, PropagationResult, propagate
from pcg.propagate.priority import op_priority
from pcg.rules.build import pointwise
from pcg.rules.dot import dot_rule
from pcg.rules.factor import Factor, FactorRule

MESH = Mesh.of({"a": 2, "b": 2, "c": 2})
N = 16
NEG = pointwise((N, N), ((N, N),))
ADD = pointwise((N, N), ((N, N), (N, N)))
DOT = dot_rule((N, N), (N, N), (), (), (1,), (0,), True)
#: A row to all rows: data moves, nothing is computed.
ROWS = FactorRule((Factor(N), Factor(N)), (((1,),),), (((0,), (1,)),))


class Program:
    def __init__(self) -> None:
        self.problem = PropagationProblem(MESH)

    def value(self, spec: str = "", *, open: tuple[int, ...] = (), priorities: tuple[int, ...] = (), size: float = 1.0) -> int:
        fixed = ShardSpec.parse(spec) if spec else None
        return self.problem.value((N, N), size, fixed, spec, open, priorities)

    def op(self, rule: FactorRule, *operands: int, size: float = 1.0) -> int:
        result = self.value(size=size)
        self.problem.node(rule, operands, (result,))
        return result

    def solve(self) -> PropagationResult:
        return propagate(self.problem, engine="priority")


@pytest.mark.parametrize(("priorities", "wins"), [((), "[a, -]"), ((1, 0), "[-, a]")])
def test_user_priorities_decide_who_comes_first(priorities: tuple[int, ...], wins: str) -> None:
    p = Program()
    x, y = p.value("[a, -]", priorities=priorities), p.value("[-, a]")
    z = p.op(NEG, p.op(ADD, x, y))
    s = p.solve()
    assert str(s.specs[z]) == wins
    assert str(s.specs[x]) == "[a, -]", "what a user gives is kept, whatever its priority"


def test_a_later_round_adds_to_what_earlier_ones_did() -> None:
    """Batch first, then the weights: both spread, each by itself would too."""
    p = Program()
    x, w = p.value("[a, -]"), p.value("[-, b]", priorities=(0, 1))
    y = p.op(NEG, p.op(DOT, x, w))
    assert str(p.solve().specs[y]) == "[a, b]"


def test_a_hidden_dimension_keeps_its_axis() -> None:
    """In round 0 nothing may put "a" on the second dimension of a value whose first has it in round 1."""
    p = Program()
    x = p.value("[a, -]", open=(1,), priorities=(1, 0))
    p.op(ADD, x, p.value("[-, a+b]"))
    assert str(p.solve().specs[x]) == "[a, -]"


def test_open_dimensions_are_extended_and_closed_ones_are_not() -> None:
    p = Program()
    opened, closed = p.value("[a, -]", open=(0, 1)), p.value("[a, -]")
    source = p.value("[a+b, c]")
    p.op(ADD, opened, source)
    p.op(ADD, closed, source)
    s = p.solve()
    assert str(s.specs[opened]) == "[a+b, c]" and str(s.specs[closed]) == "[a, -]"


def test_along_a_factor_only_what_all_tensors_agree_on_spreads() -> None:
    """Shardy's example: [c, d] against [c, e] gives [c]; [f] against [g] gives nothing."""
    p = Program()
    z = p.op(ADD, p.value("[a+b, -]"), p.value("[a+c, -]"))
    nothing = p.op(ADD, p.value("[-, b]"), p.value("[-, c]"))
    s = p.solve()
    assert str(s.specs[z]) == "[a, -]" and str(s.specs[nothing]) == "[-, -]"


def test_between_factors_that_claim_one_axis_the_larger_tensor_wins() -> None:
    for large, expected in ((0, "[a, -]"), (1, "[-, a]")):
        p = Program()
        x, w = (p.value(t, size=4.0 if i == large else 1.0) for i, t in enumerate(("[a, -]", "[-, a]")))
        y = p.op(DOT, x, w)
        assert str(p.solve().specs[y]) == expected


def test_pass_through_then_data_movement_then_contractions() -> None:
    nodes = Program()
    row = nodes.problem.value((N,), 1.0)
    nodes.op(NEG, nodes.value())
    nodes.op(ROWS, row)
    nodes.op(DOT, nodes.value(), nodes.value())
    assert [op_priority(n) for n in nodes.problem.nodes] == [0, 1, 2]
    # The product comes first in the program and its operand is larger, but the sum has its turn before it.
    p = Program()
    y = p.op(DOT, p.value("[a, -]", size=9.0), p.value())
    p.op(ADD, y, p.value("[-, a]"))
    assert str(p.solve().specs[y]) == "[-, a]"


def test_the_dataflow_engine_extends_open_dimensions_too() -> None:
    p = Program()
    x = p.value("[a, -]", open=(1,))
    p.op(ADD, x, p.value("[-, b]"))
    assert str(propagate(p.problem, engine="dataflow").specs[x]) == "[a, b]"
