"""Propagation on hand-made problems: no MLIR."""

import random

import pytest

from pcg.layout import Mesh, ShardSpec
from pcg.propagate import PropagationProblem, propagate
from pcg.rules.factor import Factor, FactorRule, Linear

MESH = Mesh.of({"data": 2, "model": 4})


def pointwise(*shape, operands=1, linear=()):
    dims = tuple((i,) for i in range(len(shape)))
    return FactorRule(tuple(map(Factor, shape)), (dims,) * operands, (dims,), tuple(linear), 1.0)


def dot(i, k, j):
    factors = (Factor(i), Factor(k, "sum"), Factor(j))
    rows = (((0,), (1,)), ((1,), (2,)))
    return FactorRule(factors, rows, (((0,), (2,)),), (Linear("sum", frozenset({0})),), 2.0 * i * j * k)


def add(*shape):
    return pointwise(*shape, operands=2, linear=[Linear("sum", frozenset({0, 1}))])


class Program:
    """Builds a `PropagationProblem` with values named by what they are."""

    def __init__(self, mesh=MESH):
        self.problem = PropagationProblem(mesh)

    def value(self, *shape, spec=None, name=""):
        size = 4.0
        for s in shape:
            size *= s
        return self.problem.value(shape, size, ShardSpec.parse(spec) if spec else None, name)

    def op(self, rule, *operands):
        shape = tuple(rule.factors[d[0]].size for d in rule.results[0])
        result = self.value(*shape)
        self.problem.node(rule, operands, (result,))
        return result

    def solve(self, **options):
        return propagate(self.problem, **options)


def test_column_row_split_from_one_annotation():
    p = Program()
    x, w1, w2 = p.value(64, 64, spec="[data, -]"), p.value(64, 64, spec="[-, model]"), p.value(64, 64)
    h = p.op(dot(64, 64, 64), x, w1)
    h = p.op(pointwise(64, 64), h)
    y = p.op(dot(64, 64, 64), h, w2)
    s = p.solve()
    assert str(s.specs[h]) == "[data, model]"
    assert str(s.specs[w2]) == "[model, -]"
    assert str(s.specs[y]) == "[data, -]"
    assert str(s.natives[y]) == "[data, -] sum(model)"


def test_backwards_from_a_result():
    p = Program()
    x = p.value(8, 8)
    y = p.op(pointwise(8, 8), p.op(pointwise(8, 8), x))
    out = p.value(8, 8, spec="[-, data]", name="the result")
    p.problem.tie(y, out)
    s = p.solve()
    assert str(s.specs[x]) == "[-, data]"
    assert s.why(p.problem, x, "data") == "the result"
    assert s.why(p.problem, x, "model") == ""


def test_annotated_values_never_change_and_win_over_larger_ones():
    p = Program()
    fixed = p.value(8, 8, spec="[-, data]", name="fixed")
    other = p.value(8, 8, spec="[data, -]")
    left = p.op(pointwise(8, 8), other)
    out = p.op(add(8, 8), left, fixed)
    s = p.solve()
    assert str(s.specs[fixed]) == "[-, data]"
    assert str(s.specs[other]) == "[data, -]"
    assert str(s.specs[out]) in ("[-, data]", "[data, -]")
    again = p.solve()
    assert again.specs == s.specs and again.assignments == s.assignments


def test_the_larger_tensor_wins_a_conflict():
    p = Program()
    big, small = p.value(64, 8, spec="[data, -]"), p.value(8, 64, spec="[-, data]")
    out = p.op(FactorRule(
        (Factor(64), Factor(8), Factor(64)), (((0,), (1,)), ((1,), (2,))), (((0,), (2,)),), (), 1.0,
    ), big, small)  # fmt: skip
    assert str(p.solve().specs[out]) == "[data, -]"


def test_longest_compatible_prefix():
    p = Program()
    a, b = p.value(8, 8, spec="[data, -]"), p.value(8, 8, spec="[data+model, -]")
    out = p.op(add(8, 8), a, b)
    assert str(p.solve().specs[out]) == "[data+model, -]"


def test_indivisible_dimensions_are_not_split():
    p = Program()
    x = p.value(8, 8, spec="[data+model, -]")
    rule = FactorRule((Factor(2), Factor(4), Factor(8)), (((0, 1), (2,)),), (((0,), (1,), (2,)),), (), 1.0)
    out = p.op(rule, x)
    assert str(p.solve().specs[out]) == "[data, model, -]"
    y = p.value(6, spec="[data]")
    short = p.op(pointwise(6), y)
    assert str(p.solve().specs[short]) == "[data]"


def test_minor_factor_is_split_only_inside_a_wholly_split_one():
    p = Program()
    x = p.value(8, 4, spec="[-, model]")
    rule = FactorRule((Factor(8), Factor(4)), (((0,), (1,)),), (((0, 1),),), (), 1.0)
    merged = p.problem.value((32,), 128.0)
    p.problem.node(rule, (x,), (merged,))
    s = p.solve()
    assert str(s.specs[merged]) == "[-]"
    assert s.assignments[0].axes == ((), ())


def test_size_one_axes_and_scalars_do_no_harm():
    p = Program(Mesh.of({"one": 1, "data": 2}))
    x = p.value(8, spec="[one+data]")
    scalar = p.value()
    rule = FactorRule((Factor(8),), (((0,),), ()), (((0,),),), (), 1.0)
    out = p.op(rule, x, scalar)
    assert str(p.solve().specs[out]) == "[one+data]"


def qkv(p, names=3):
    """Gradients with respect to a common input, summed."""
    terms = []
    for _ in range(names):
        d, w = p.value(64, 64, spec="[-, model]"), p.value(64, 64, spec="[model, -]")
        terms.append(p.op(dot(64, 64, 64), d, w))
    total = terms[0]
    for t in terms[1:]:
        total = p.op(add(64, 64), total, t)
    return terms, total


def test_reductions_of_a_sum_are_merged():
    p = Program()
    terms, total = qkv(p)
    out = p.op(pointwise(64, 64), total)
    s = p.solve()
    assert {str(s.natives[t]) for t in (*terms, total)} == {"[-, -] sum(model)"}
    assert s.delayed == 2
    assert str(s.specs[total]) == str(s.natives[out]) == "[-, -]"
    assert p.solve(merge_reductions=False).delayed == 0


def test_a_partial_value_with_another_reader_is_reduced_at_once():
    p = Program()
    terms, total = qkv(p)
    p.op(pointwise(64, 64), terms[0])
    s = p.solve()
    assert s.delayed == 0
    assert not s.natives[total].partial


def test_no_merge_past_a_replicated_term():
    p = Program()
    _, total = qkv(p, 2)
    residual = p.value(64, 64)
    out = p.op(add(64, 64), total, residual)
    s = p.solve()
    assert s.natives[total].partial and not s.natives[out].partial


def test_trailing_ops_do_not_just_postpone_a_reduction():
    p = Program()
    d, w = p.value(64, 64, spec="[-, model]"), p.value(64, 64, spec="[model, -]")
    y = p.op(dot(64, 64, 64), d, w)
    z = p.op(pointwise(64, 64, linear=[Linear("sum", frozenset({0}))]), y)
    s = p.solve()
    assert s.natives[y].partial and not s.natives[z].partial


def test_loop_carry_has_one_layout():
    p = Program()
    init, carry = p.value(8, 8), p.value(8, 8)
    p.problem.tie(init, carry)
    w = p.value(8, 8, spec="[-, model]")
    stepped = p.op(add(8, 8), carry, w)
    p.problem.tie(stepped, carry)
    s = p.solve()
    assert {str(s.specs[v]) for v in (init, carry, stepped)} == {"[-, model]"}


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_legal_and_deterministic(seed):
    rng = random.Random(seed)
    p = Program()
    values = [
        p.value(8, 8, spec=rng.choice([None, "[data, -]", "[-, model]", "[model+data, -]", "[-, -]", "[data, model]"]))
        for _ in range(4)
    ]
    for _ in range(30):
        rule = rng.choice([dot(8, 8, 8), add(8, 8), pointwise(8, 8)])
        values.append(p.op(rule, *rng.choices(values[-8:], k=len(rule.operands))))
    s = p.solve()
    for node, a in zip(p.problem.nodes, s.assignments, strict=True):
        assert node.rule.why_illegal(a, MESH) == ""
        operands = [node.rule.operand_spec(i, a) for i in range(len(node.operands))]
        results = [node.rule.result_spec(i, a) for i in range(len(node.results))]
        for spec in (*operands, *results):
            spec.check(MESH, (8, 8))
        for v, spec in zip(node.operands, operands, strict=True):
            assert set(spec.partial) <= set(s.natives[v].partial)
    for v, spec in zip(p.problem.values, s.specs, strict=True):
        assert v.fixed is None or v.fixed == spec
        spec.check(MESH, v.shape)
    assert p.solve().assignments == s.assignments
