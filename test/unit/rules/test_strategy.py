"""Strategies as slices per dimension: layouts, meshes, text, errors."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh, ShardSpec
from pcg.rules.dot import dot_rule
from pcg.rules.factor import Factor, FactorRule
from pcg.rules.strategy import (
    StrategyError,
    TensorLayout,
    derive,
    factorise,
    format_strategy,
    matrix_axes,
    parse_strategy,
)
from pcg.search.table import Tables

DOT = dot_rule((64, 32), (32, 16), (), (), (1,), (0,), True)


@pytest.mark.parametrize("text", ["((2,1),(1,4))", "((4))", "((2,4),(4))", "((2,1,3))", "()"])
def test_text_round_trips(text):
    assert format_strategy(parse_strategy(text)) == text


def test_python_drops_parentheses_around_one_number():
    assert parse_strategy(((2, 4), (4))) == ((2, 4), (4,)) == parse_strategy([[2, 4], [4]])


@pytest.mark.parametrize(
    "given, message",
    [
        ("((2,1", "cannot read strategy"),
        ("x", "cannot read strategy"),
        (4, "one tuple of slices per operand"),
        (((2, 0),), "have 0; expected a positive integer"),
        (((2, "x"),), "have 'x'"),
        (((True, 1),), "have True"),
        (({"a": 1},), "expected a positive integer per dimension"),
    ],
)
def test_malformed(given, message):
    with pytest.raises(StrategyError, match=message.replace("(", r"\(")):
        parse_strategy(given)


def test_matrix_product():
    """MindSpore's own: device matrix (2,1,4), maps (2,1), (1,0) and (2,0); one slice is no cut."""
    made = derive(parse_strategy(((2, 1), (1, 4))), DOT, 8)
    assert made.device_matrix == (2, 1, 4)
    assert [x.slices for x in (*made.operands, *made.results)] == [(2, 1), (1, 4), (2, 4)]
    assert made.operands[0].tensor_map == ((2,), ()) and made.results[0].tensor_map == ((2,), (0,))
    assert str(made.results[0]) == "device matrix (2,1,4), tensor map (2,0)"
    mesh = Mesh.of({"data": 2, "model": 4})
    assert [str(x.spec(mesh)) for x in made.operands] == ["[data, -]", "[-, model]"]
    assert made.reduced == ()


def test_a_contracted_factor_leaves_partial_sums():
    made = derive(parse_strategy(((2, 4), (4, 1))), DOT, 8)
    assert made.device_matrix == (2, 4, 1)
    assert made.reduced == (1,)
    assert made.results[0].slices == (2, 1)


def test_devices_that_repeat_the_work_come_last():
    made = derive(parse_strategy(((2, 1), (1, 2))), DOT, 8)
    assert made.device_matrix == (2, 1, 2, 2)
    assert made.operands[1].tensor_map == ((), (1,))


@pytest.mark.parametrize(
    "strategy, devices, message",
    [
        (((2, 1),), 8, "is for 1 operands; the operation has 2"),
        (((2, 1, 1), (1, 4)), 8, "has 3 dimensions for operand 0; it has 2"),
        (((3, 1), (1, 1)), 6, "dimension 0 of operand 0 of size 64 into 3, which does not divide it"),
        (((2, 1), (1, 4)), 12, "makes 8 slices (2 * 1 * 4), which does not divide 12 devices"),
        (((2, 4), (2, 1)), 8, "dimension 0 of operand 1 into 2 and dimension 1 of operand 0, which is the same factor"),
    ],
)
def test_what_does_not_fit(strategy, devices, message):
    with pytest.raises(StrategyError) as caught:
        derive(parse_strategy(strategy), DOT, devices)
    assert message in str(caught.value)


def test_a_factor_that_must_be_whole_says_why():
    rule = FactorRule((Factor(8, splittable=False, reason="it is sorted"),), (((0,), ()),), (((0,), ()),))
    with pytest.raises(StrategyError, match="cannot be split: it is sorted"):
        derive(((2, 1),), rule, 2)
    with pytest.raises(StrategyError, match="cannot be split: its size is 1"):
        derive(((1, 2),), rule, 2)


def test_a_merged_dimension_is_cut_major_factor_first():
    rule = FactorRule((Factor(4), Factor(8)), (((0, 1),),), (((0,), (1,)),))
    made = derive(((8,),), rule, 8)
    assert made.device_matrix == (4, 2)
    assert made.results[0].slices == (4, 2)


@pytest.mark.parametrize(
    "devices, matrices, mesh",
    [
        (8, [(2, 1, 4)], "d0=2,d1=4"),
        (8, [(2, 1, 4), (2, 4, 1)], "d0=2,d1=4"),
        (8, [(2, 4), (4, 2)], "d0=2,d1=2,d2=2"),
        (8, [(2, 2)], "d0=2,d1=2,d2=2"),
        (6, [(2, 3), (3, 2)], "d0=2,d1=3"),
        (8, [], "d0=8"),
        (1, [], "d0=1"),
    ],
)
def test_the_mesh_that_strategies_need(devices, matrices, mesh):
    assert str(factorise(devices, matrices)) == mesh


def test_no_mesh():
    with pytest.raises(StrategyError, match=r"device matrix \(3\) does not divide 8 devices"):
        factorise(8, [(3,)])
    with pytest.raises(StrategyError, match=r"no axes of mesh data=2,model=4 make the device matrix \(8,2\)"):
        matrix_axes((8, 2), Mesh.of({"data": 2, "model": 4}))


def test_axes_in_any_order_if_they_must():
    assert matrix_axes((4, 2), Mesh.of({"data": 2, "model": 4})) == (("model",), ("data",))
    assert matrix_axes((8, 1), Mesh.of({"data": 2, "model": 4})) == (("data", "model"), ())


def test_specs_in_this_form_and_back():
    mesh = Mesh.of({"a": 2, "b": 3, "c": 2})
    spec = ShardSpec.parse("[c+a, -, b]")
    layout = TensorLayout.of(spec, mesh)
    assert layout.device_matrix == (2, 3, 2)
    assert layout.tensor_map == ((0, 2), (), (1,))
    assert str(layout) == "device matrix (2,3,2), tensor map ((0,2),-1,1)"
    assert layout.slices == (4, 1, 3)


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.tuples(*[st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16])] * 3), min_size=2, max_size=2),
    mesh=st.sampled_from(["a=2,b=2,c=2", "a=2,b=4", "a=3,b=2", "a=8"]),
    windows=st.booleans(),
)
def test_rules_of_equal_legality_have_the_same_strategies(sizes, mesh, windows):
    """Also as tables: those of a rule that was seen after another are those that it has alone."""
    on = Mesh.parse(mesh)
    rules = []
    for m, k, n in sizes:
        rule = dot_rule((m, k), (k, n), (), (), (1,), (0,), True)
        pads = [Factor(x.size, x.reduce, padding="sum", least=2 if windows else 1) for x in rule.factors]
        rules.append(replace(rule, factors=tuple(pads)) if windows else rule)
    first, second = (list(r.strategies(on, uneven=True)) for r in rules)
    if rules[0].legality(on) == rules[1].legality(on):
        assert first == second
    tables = Tables(on)
    for rule, found in zip(rules, (first, second), strict=True):
        table, alone = tables.of_rule(rule), Tables(on).of_rule(rule)
        assert list(table.assignments) == found
        assert (table.parts == alone.parts).all()
        for ports in zip((*table.ins, *table.outs), (*alone.ins, *alone.outs), strict=True):
            assert [p[k] for p in ports[:1] for k in range(len(table))] == [ports[1][k] for k in range(len(alone))]
    assert len({tables.of_rule(r).index for r in rules}) == len(set(rules))
