"""Rules of dot_general and dot, by execution."""

from __future__ import annotations

from pcg.layout import Mesh
from support.rulecheck import check_op

MESH = Mesh.of({"x": 2, "y": 2})


def dot(lhs: str, rhs: str, out: str, numbers: str, t: str = "f32") -> str:
    a, b, r = (f"tensor<{s}{'x' if s else ''}{t}>" for s in (lhs, rhs, out))
    return f"""func.func @main(%a: {a}, %b: {b}) -> {r} {{
      %0 = stablehlo.dot_general %a, %b, {numbers} : ({a}, {b}) -> {r} return %0 : {r} }}"""


def test_matmul() -> None:
    checked = check_op(dot("4x6", "6x8", "4x8", "contracting_dims = [1] x [0]"), MESH)
    assert str(checked.rule) == "(i,k),(k,j)->(i,j)"
    assert checked.rule.factors[2].reduce == "sum"
    assert checked.rule.flops == 2 * 4 * 6 * 8
    assert [sorted(x.operands) for x in checked.rule.linear] == [[0], [1]]
    # Each of two axes: nothing, i, j, k or one of two passes; 4, but not 6, can be split by both.
    assert len(checked.strategies) == 6 * 6 - 1


def test_batch_and_several_contractions() -> None:
    numbers = "batching_dims = [0, 2] x [1, 0], contracting_dims = [3, 1] x [2, 3]"
    checked = check_op(dot("2x6x4x2", "4x2x2x6x5", "2x4x5", numbers), MESH, max_strategies=80)
    assert str(checked.rule) == "(i,m,j,l),(j,i,l,m,k)->(i,j,k)"
    assert checked.rule.flops == 2 * 2 * 6 * 4 * 2 * 5


def test_vectors_and_outer_product() -> None:
    assert str(check_op(dot("8", "8", "", "contracting_dims = [0] x [0]"), MESH).rule) == "(i),(i)->()"
    assert str(check_op(dot("4", "6", "4x6", "contracting_dims = [] x []"), MESH).rule) == "(i),(j)->(i,j)"
    assert str(check_op(dot("1x6", "6x1", "1x1", "contracting_dims = [1] x [0]"), MESH).rule) == "(1,i),(i,1)->(1,1)"


def test_integers_and_bf16() -> None:
    check_op(dot("4x8", "8x2", "4x2", "contracting_dims = [1] x [0]", "i32"), MESH)
    check_op(dot("4x8", "8x2", "4x2", "contracting_dims = [1] x [0]", "bf16"), MESH)


def test_dot() -> None:
    text = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4xf32> {
      %0 = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }"""
    assert str(check_op(text, MESH).rule) == "(i,j),(j)->(i)"
