"""The rule of several ops together."""

from pcg.rules.build import pointwise
from pcg.rules.compose import compose
from pcg.rules.dot import dot_rule
from pcg.rules.factor import Factor, FactorRule

DOT = dot_rule((8, 4), (4, 6), (), (), (1,), (0,), True)


def test_a_dense_layer():
    """x(0) @ w(1) = 3, bias(2) broadcast = 4, add = 5."""
    broadcast = FactorRule((Factor(8), Factor(6)), (((1,),),), (((0,), (1,)),))
    steps = [(DOT, (0, 1), (3,)), (broadcast, (2,), (4,)), (pointwise((8, 6), ((8, 6), (8, 6))), (3, 4), (5,))]
    rule = compose(steps, (0, 1, 2), (5,), [(8, 4), (4, 6), (6,), (8, 6), (8, 6), (8, 6)])
    assert str(rule) == "(i,j),(j,k),(k)->(i,k)"
    assert [f.reduce for f in rule.factors] == [None, "sum", None]


def test_reshape_keeps_the_major_part_and_reasons_are_kept():
    merge = FactorRule((Factor(8), Factor(4)), (((0,), (1,)),), (((0, 1),),))
    stuck = FactorRule((Factor(32, splittable=False, reason="sorted"),), (((0,),),), (((0,),),))
    rule = compose([(merge, (0,), (1,))], (0,), (1,), [(8, 4), (32,)])
    assert str(rule) == "(i,j)->(i)" and rule.factors[0].size == 8
    rule = compose([(merge, (0,), (1,)), (stuck, (1,), (2,))], (0,), (2,), [(8, 4), (32,), (32,)])
    assert not rule.factors[0].splittable and rule.factors[0].reason == "sorted"


def test_what_no_op_connects_is_a_factor_of_its_own():
    rule = compose([], (0,), (1,), [(8, 1), (4,)])
    assert str(rule) == "(i,1)->(j)"


def test_padding_that_reaches_nothing_must_reach_nothing_in_any_op():
    free, held = Factor(8, padding="any"), Factor(8, padding="own")
    copy, other = FactorRule((free,), (((0,),),), (((0,),),)), FactorRule((held,), (((0,),),), (((0,),),))
    for rules, padding in (((copy, copy), "any"), ((copy, other), ""), ((other, copy), "")):
        steps = [(rule, (n,), (n + 1,)) for n, rule in enumerate(rules)]
        assert compose(steps, (0,), (2,), [(8,)] * 3).factors[0].padding == padding
