"""Windowed ops: dimensions outside the window are factors."""

import pytest

from pcg.layout import Mesh
from pcg.rules import Assignment
from support.rulecheck import check_op

MESH = Mesh.of({"data": 2, "model": 2})


def pool(op, init, attributes, result, operand="4x8x8x4xf32"):
    return f"""
func.func @main(%x: tensor<{operand}>) -> tensor<{result}> {{
  %z = stablehlo.constant dense<{init}> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{{{attributes}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.{op}"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<{operand}>, tensor<f32>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


@pytest.mark.parametrize(
    ("op", "init", "kind"), [("add", "0.0", "sum"), ("maximum", "0xFF800000", "max"), ("add", "1.0", None)]
)
def test_pooling(op, init, kind):
    attributes = "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>"
    checked = check_op(pool(op, init, attributes, "4x4x4x4xf32"), MESH)
    # Windows of two that step by two never cross a shard: one factor per dimension, sized like the result.
    assert [f.size for f in checked.rule.factors if f.splittable] == [4, 4, 4, 4]
    assert all(x.padded for x in checked.rule.exchanges)
    assert not any(x.wire_elements(a, MESH) for x in checked.rule.exchanges for a in checked.strategies)
    assert [x.kind for x in checked.rule.linear] == ([kind] if kind else [])
    assert checked.ran > 6


def test_cumulative_sum():
    attributes = "window_dimensions = array<i64: 1, 8>, padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>"
    checked = check_op(pool("add", "0.0", attributes, "4x8xf32", "4x8xf32"), MESH)
    assert str(checked.rule) == "(i,j),()->(i,j)"
    (exchange,) = checked.rule.exchanges
    assert (exchange.factor, exchange.kind, exchange.elements) == (1, "all_gather", 4)


def test_a_window_that_crosses_shards_exchanges_halos():
    attributes = "window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>"
    checked = check_op(pool("add", "0.0", attributes, "4x8xf32", "4x8xf32"), MESH)
    assert [(e.factor, e.kind, e.elements) for e in checked.rule.exchanges] == [(1, "permute", 2 * 4)]


def test_windows_that_do_not_line_up_with_blocks_fetch_what_they_read():
    attributes = "window_dimensions = array<i64: 1, 3>"
    checked = check_op(pool("add", "0.0", attributes, "4x6xf32", "4x8xf32"), MESH)
    assert str(checked.rule) == "(i,j),()->(i,j)" and checked.rule.factors[1].sizes == (8, 6)
    (window,) = checked.rule.exchanges
    # Both devices make 3 outputs of 5 elements, of which each has 4.
    assert window.wire_elements(Assignment(((), ("data",))), MESH) == 4 * 1


def test_sizes_without_a_common_divisor_are_cut_by_themselves():
    attributes = "window_dimensions = array<i64: 1, 2>"
    checked = check_op(pool("add", "0.0", attributes, "4x7xf32", "4x8xf32"), MESH)
    assert checked.rule.factors[1].sizes == (8, 7) and checked.rule.may_pad(1)
    (window,) = checked.rule.exchanges
    # Blocks of 4 and 3 outputs, of 4 and 4 inputs: the first device lacks one element of its 5.
    assert window.wire_elements(Assignment(((), ("data",))), MESH) == 4 * 1
    assert not any(a.axes[1] for a in checked.strategies)
    assert any(a.axes[1] for a in checked.rule.strategies(MESH, uneven=True))


def test_one_window_keeps_a_dimension_whole():
    checked = check_op(pool("add", "0.0", "window_dimensions = array<i64: 1, 8>", "4x1xf32", "4x8xf32"), MESH)
    assert "all of it is one window" in checked.rule.factors[1].reason


def test_padding_on_both_sides_moves_nothing():
    attributes = "window_dimensions = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>"
    checked = check_op(pool("add", "0.0", attributes, "4x8xf32", "4x6xf32"), MESH)
    assert [f.size for f in checked.rule.factors if f.splittable] == [4, 6]
    assert checked.rule.exchanges[0].wire_elements(Assignment(((), ("data",))), MESH) == 0


def test_select_and_scatter():
    text = """
func.func @main(%x: tensor<4x4x4x2xf32>, %s: tensor<4x2x2x2xf32>) -> tensor<4x4x4x2xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1, 2, 2, 1>,
      window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x4x4x2xf32>, tensor<4x2x2x2xf32>, tensor<f32>) -> tensor<4x4x4x2xf32>
  return %0 : tensor<4x4x4x2xf32>
}"""
    checked = check_op(text, MESH)
    assert [set(x.operands) for x in checked.rule.linear] == [{1}]
    assert checked.ran > 6
