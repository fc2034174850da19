"""Breadth-first propagation on hand-made problems: no MLIR."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh, ShardSpec
from pcg.propagate import PropagationProblem, propagate
from pcg.rules.build import pointwise
from pcg.rules.dot import dot_rule
from pcg.rules.factor import Factor, FactorRule

MESH = Mesh.of({"x": 2, "y": 4})
SQUARE = dot_rule((64, 64), (64, 64), (), (), (1,), (0,), True)
ADD = pointwise((64, 64), ((64, 64), (64, 64)))
RELU = pointwise((64, 64), ((64, 64),))
BIAS = FactorRule((Factor(64), Factor(64)), (((1,),),), (((0,), (1,)),))


class Program:
    def __init__(self):
        self.problem = PropagationProblem(MESH)

    def value(self, *shape, spec=None):
        size = 4.0
        for s in shape:
            size *= s
        return self.problem.value(shape, size, ShardSpec.parse(spec) if spec else None, spec or "")

    def op(self, rule, *operands, spec=None):
        result = self.value(64, 64, spec=spec)
        self.problem.node(rule, operands, (result,))
        return result


def test_the_published_example():
    """Configured: the first product.  Everything else follows, op by op."""
    p = Program()
    x, w1 = p.value(64, 64, spec="[x, -]"), p.value(64, 64, spec="[-, y]")
    b1, w2, b2 = p.value(64), p.value(64, 64), p.value(64)
    first = p.op(SQUARE, x, w1)
    h = p.op(RELU, p.op(ADD, first, p.op(BIAS, b1)))
    second = p.op(SQUARE, h, w2)
    y = p.op(ADD, second, p.op(BIAS, b2))
    s = propagate(p.problem, engine="bfs")
    assert [str(s.specs[v]) for v in (first, h, w2, b1, b2, y)] == [
        "[x, y]", "[x, y]", "[y, -]", "[y]", "[y]", "[x, y]",
    ]  # fmt: skip
    assert str(s.natives[second]) == "[x, -] sum(y)" and str(s.specs[second]) == "[x, -]"
    assert s.why(p.problem, y, "x") in ("[x, -]", "[-, y]")
    again = propagate(p.problem, engine="bfs")
    assert again.specs == s.specs and again.assignments == s.assignments


def test_backwards_and_stopping_at_what_is_configured():
    p = Program()
    x = p.value(64, 64)
    a = p.op(RELU, x)
    b = p.op(RELU, a, spec="[x, y]")
    c = p.op(RELU, b, spec="[-, x+y]")
    d = p.op(RELU, c)
    s = propagate(p.problem, engine="bfs")
    assert [str(s.specs[v]) for v in (x, a, b, c, d)] == ["[x, y]", "[x, y]", "[x, y]", "[-, x+y]", "[-, x+y]"]


def test_every_device_has_work():
    """An op that computes takes all devices although its neighbour is split over two; a transpose follows it."""
    p = Program()
    x = p.value(64, 64, spec="[x, -]")
    transposed = p.op(FactorRule((Factor(64), Factor(64)), (((0,), (1,)),), (((1,), (0,)),)), x)
    out = p.op(RELU, x)
    s = propagate(p.problem, engine="bfs")
    assert str(s.specs[transposed]) == "[-, x]"
    assert str(s.specs[out]) == "[x, y]"


def test_axes_in_an_order_of_the_users():
    p = Program()
    x = p.value(64, 64, spec="[y+x, -]")
    out = p.op(RELU, x)
    assert str(propagate(p.problem, engine="bfs").specs[out]) == "[y+x, -]"


def test_nothing_annotated_nothing_split():
    p = Program()
    out = p.op(RELU, p.value(64, 64))
    s = propagate(p.problem, engine="bfs")
    assert str(s.specs[out]) == "[-, -]" and s.assignments[0] is not None


def test_ties_hand_layouts_on_in_both_directions():
    p = Program()
    x, carry, out = p.value(64, 64), p.value(64, 64), p.value(64, 64, spec="[x+y, -]")
    p.problem.tie(x, carry)
    p.problem.tie(carry, out)
    assert str(propagate(p.problem, engine="bfs").specs[x]) == "[x+y, -]"


def test_unknown_engine():
    with pytest.raises(ValueError, match="engine 'dfs'; expected one of dataflow, bfs"):
        propagate(PropagationProblem(MESH), engine="dfs")
