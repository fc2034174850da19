"""Rule of reduce, by execution."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh
from support.rulecheck import Checked, check_op

MESH = Mesh.of({"x": 2, "y": 2})


def reduce(op: str, init: str, t: str = "f32", dims: str = "[1]") -> str:
    return f"""func.func @main(%a: tensor<4x8x{t}>) -> tensor<4x{t}> {{
      %i = stablehlo.constant dense<{init}> : tensor<{t}>
      %0 = stablehlo.reduce(%a init: %i) applies stablehlo.{op} across dimensions = {dims}
        : (tensor<4x8x{t}>, tensor<{t}>) -> tensor<4x{t}>
      return %0 : tensor<4x{t}> }}"""


def kind(checked: Checked) -> str | None:
    return checked.rule.factors[1].reduce


@pytest.mark.parametrize(
    ("op", "init", "type_", "want"),
    [
        ("add", "0.0", "f32", "sum"), ("add", "-0.0", "f32", "sum"), ("maximum", "0xFF800000", "f32", "max"),
        ("minimum", "0x7F800000", "f32", "min"), ("multiply", "1.0", "f32", "prod"), ("add", "0", "i32", "sum"),
        ("and", "true", "i1", "and"), ("or", "false", "i1", "or"), ("and", "-1", "i32", "and"),
        ("maximum", "0", "ui8", "max"), ("add", "false", "i1", "or"), ("multiply", "true", "i1", "and"),
        ("maximum", "false", "i1", "or"), ("minimum", "true", "i1", "and"), ("add", "0.0", "bf16", "sum"),
        ("maximum", "2.0", "f32", "max"), ("minimum", "-1", "i32", "min"),
    ],
)  # fmt: skip
def test_reducers(op: str, init: str, type_: str, want: str) -> None:
    checked = check_op(reduce(op, init, type_), MESH)
    assert str(checked.rule) == "(i,j),()->(i)"
    assert kind(checked) == want
    assert checked.rule.flops == 32


@pytest.mark.parametrize(
    ("op", "init", "type_", "want"),
    [("add", "1.0", "f32", "sum"), ("multiply", "2.0", "f32", "prod"), ("add", "(1.0, 0.0)", "complex<f32>", "sum")],
)
def test_initial_value_that_counts_is_put_in_by_one_device(op: str, init: str, type_: str, want: str) -> None:
    checked = check_op(reduce(op, init, type_), MESH)
    assert kind(checked) == want and not checked.rule.linear


def test_unknown_initial_value() -> None:
    text = """func.func @main(%a: tensor<4x8xf32>, %i: tensor<f32>) -> tensor<4xf32> {
      %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> }"""
    checked = check_op(text, MESH)
    assert kind(checked) == "sum" and not checked.rule.linear


def test_whole_tensor_to_scalar() -> None:
    text = """func.func @main(%a: tensor<4x8xf32>) -> tensor<f32> {
      %i = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32> }"""
    assert str(check_op(text, MESH).rule) == "(i,j),()->()"


def two(body: str, second: str = "i32") -> str:
    return f"""func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8x{second}>) -> (tensor<4xf32>, tensor<4x{second}>) {{
      %i = stablehlo.constant dense<0.0> : tensor<f32>
      %j = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.reduce(%a init: %i), (%b init: %{"j" if second == "i32" else "i"}) across dimensions = [1]
        : (tensor<4x8xf32>, tensor<4x8x{second}>, tensor<f32>, tensor<{second}>) -> (tensor<4xf32>, tensor<4x{second}>)
        reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<{second}>, %q: tensor<{second}>) {{ {body} }}
      return %0#0, %0#1 : tensor<4xf32>, tensor<4x{second}> }}"""


def test_several_operands_reduced_alike() -> None:
    text = two("""%1 = stablehlo.add %x, %y : tensor<f32> %2 = stablehlo.add %q, %p : tensor<f32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>""", "f32")  # fmt: skip
    checked = check_op(text, MESH)
    assert kind(checked) == "sum" and [sorted(x.operands) for x in checked.rule.linear] == [[0, 1]]


def test_argmax_gathers_what_the_shards_found() -> None:
    text = two("""%1 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %x, %y : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>""")
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,j),(i,j),(),()->(i),(i)"
    assert checked.rule.factors[1].splittable and kind(checked) is None
    assert [(e.factor, e.kind, e.elements) for e in checked.rule.exchanges] == [(1, "all_gather", 8.0)]


def test_operands_reduced_differently() -> None:
    text = two("""%1 = stablehlo.add %x, %y : tensor<f32> %2 = stablehlo.maximum %q, %p : tensor<f32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>""", "f32")  # fmt: skip
    assert check_op(text, MESH).rule.exchanges
    text = text.replace("%i = stablehlo.constant dense<0.0>", "%i = stablehlo.constant dense<1.0>")
    assert "in different ways (sum, max)" in check_op(text, MESH).rule.factors[1].reason
