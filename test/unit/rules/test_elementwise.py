"""Elementwise rules and their local forms, by execution."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.rules import rule_for
from pcg.rules.build import linear
from support.rulecheck import Checked, check_op, context, last_op

MESH = Mesh.of({"x": 2, "y": 2})
UNARY = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_afz "
    "round_nearest_even rsqrt sign sine sqrt tan tanh"
).split()
BINARY = "add subtract multiply divide maximum minimum power remainder atan2".split()
INTEGER = "add subtract multiply divide maximum minimum and or xor shift_left shift_right_arithmetic remainder".split()
CHLO = "acos asinh atan bessel_i1e cosh digamma erf erf_inv erfc lgamma sinh square tan".split()


def unary(name: str, t: str = "tensor<4x6xf32>") -> str:
    return f'func.func @main(%a: {t}) -> {t} {{ %0 = "{name}"(%a) : ({t}) -> {t} return %0 : {t} }}'


def binary(name: str, t: str = "tensor<4x6xf32>") -> str:
    return f'func.func @main(%a: {t}, %b: {t}) -> {t} {{ %0 = "{name}"(%a, %b) : ({t}, {t}) -> {t} return %0 : {t} }}'


def linears(checked: Checked) -> list[tuple[str, list[int]]]:
    return [(x.kind, sorted(x.operands)) for x in checked.rule.linear]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    checked = check_op(unary(f"stablehlo.{name}"), MESH)
    assert str(checked.rule) == "(i,j)->(i,j)"
    assert linears(checked) == ([("sum", [0])] if name == "negate" else [])


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    nonzero = np.array([[1, -2, 4, 0.5, 3, 5]] * 4)
    checked = check_op(binary(f"stablehlo.{name}"), MESH, inputs=[None, nonzero if name == "divide" else None])
    want = {
        "add": [("sum", [0, 1])], "subtract": [("sum", [0, 1])], "multiply": [("sum", [0]), ("sum", [1])],
        "divide": [("sum", [0])], "maximum": [("max", [0, 1]), ("max", [0]), ("max", [1])],
        "minimum": [("min", [0, 1]), ("min", [0]), ("min", [1])],
    }  # fmt: skip
    assert linears(checked) == want.get(name, [])


@pytest.mark.parametrize("type_", ["i32", "ui8", "i64"])
@pytest.mark.parametrize("name", INTEGER)
def test_integer_binary(name: str, type_: str) -> None:
    t = f"tensor<4x2x{type_}>"
    ones = np.arange(1, 9).reshape(4, 2)
    inputs = [None, ones if name in ("divide", "remainder") or "shift" in name else None]
    checked = check_op(binary(f"stablehlo.{name}", t), MESH, inputs=inputs)
    if name == "divide":
        assert linears(checked) == []


@pytest.mark.parametrize("name", ["and", "or", "xor", "add", "multiply", "maximum"])
def test_boolean_binary(name: str) -> None:
    checked = check_op(binary(f"stablehlo.{name}", "tensor<4x2xi1>"), MESH)
    if name not in ("and", "or"):
        assert linears(checked) == []


@pytest.mark.parametrize("name", ["count_leading_zeros", "popcnt", "not", "abs", "negate", "sign"])
def test_integer_unary(name: str) -> None:
    check_op(unary(f"stablehlo.{name}", "tensor<4x2xi32>"), MESH)


@pytest.mark.parametrize("name", CHLO)
def test_chlo_unary(name: str) -> None:
    check_op(unary(f"chlo.{name}"), MESH, max_strategies=4)


@pytest.mark.parametrize("name", ["next_after", "polygamma", "zeta"])
def test_chlo_binary(name: str) -> None:
    check_op(binary(f"chlo.{name}"), MESH, max_strategies=4, inputs=[np.full((4, 6), 2.0), np.full((4, 6), 3.0)])


@pytest.mark.parametrize("name", ["is_inf", "is_neg_inf", "is_pos_inf"])
def test_chlo_predicate(name: str) -> None:
    text = f"""func.func @main(%a: tensor<4xf32>) -> tensor<4xi1> {{
      %0 = "chlo.{name}"(%a) : (tensor<4xf32>) -> tensor<4xi1> return %0 : tensor<4xi1> }}"""
    check_op(text, MESH, inputs=[np.array([1, np.inf, -np.inf, np.nan])])


def test_chlo_broadcasting_aligns_trailing_dimensions() -> None:
    text = """func.func @main(%a: tensor<4x6xf32>, %b: tensor<1x6xf32>) -> tensor<4x6xf32> {
      %0 = chlo.broadcast_add %a, %b : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32> }"""
    assert str(check_op(text, MESH).rule) == "(i,j),(1,j)->(i,j)"
    text = """func.func @main(%a: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
      %0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 1>}
        : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32> }"""
    assert str(check_op(text, MESH).rule) == "(i,j),(j)->(i,j)"


def test_compare_is_finite() -> None:
    text = """func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> tensor<4x6xi1> {
      %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
      return %0 : tensor<4x6xi1> }"""
    assert linears(check_op(text, MESH)) == []
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xi1> {
      %0 = stablehlo.is_finite %a : (tensor<4xf32>) -> tensor<4xi1> return %0 : tensor<4xi1> }"""
    check_op(text, MESH)


def select(prologue: str, a: str, b: str, pred: str = "tensor<4x6xi1>") -> str:
    t = "tensor<4x6xf32>"
    return f"""func.func @main(%p: {pred}, %a: {t}, %b: {t}) -> {t} {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %zero = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {t}
      {prologue}
      %0 = stablehlo.select %p, {a}, {b} : {pred}, {t} return %0 : {t} }}"""


def test_select_passes_sums_of_both_cases_or_beside_zero() -> None:
    assert linears(check_op(select("", "%a", "%b"), MESH)) == [("sum", [1, 2])]
    assert linears(check_op(select("", "%a", "%zero"), MESH)) == [("sum", [1])]
    assert linears(check_op(select("", "%zero", "%b"), MESH)) == [("sum", [2])]


def test_select_sees_zero_through_pcg_operators() -> None:
    t = "tensor<4x6xf32>"
    moved = f'%m = "pcg.partition"(%zero) {{dim = 0 : i64, axes = ["x"]}} : ({t}) -> {t}'
    with context(), ir.Location.unknown():
        module = ir.Module.parse(select(moved, "%a", "%m"))
        assert rule_for(last_op(module)).linear == (linear("sum", 1),)


def test_select_and_clamp_with_scalars() -> None:
    assert str(check_op(select("", "%a", "%b", "tensor<i1>"), MESH).rule) == "(),(i,j),(i,j)->(i,j)"
    for low, high in (("tensor<f32>", "tensor<f32>"), ("tensor<4x6xf32>", "tensor<4x6xf32>")):
        text = f"""func.func @main(%l: {low}, %a: tensor<4x6xf32>, %h: {high}) -> tensor<4x6xf32> {{
          %0 = stablehlo.clamp %l, %a, %h : ({low}, tensor<4x6xf32>, {high}) -> tensor<4x6xf32>
          return %0 : tensor<4x6xf32> }}"""
        shapes = (4, 6) if "x" in low else ()
        check_op(text, MESH, inputs=[np.full(shapes, -1), None, np.full(shapes, 2)])


@pytest.mark.parametrize(
    ("source", "target", "passes"),
    [
        ("f32", "f64", True), ("bf16", "f32", True), ("f32", "bf16", True), ("f16", "f32", True),
        ("f32", "f16", False), ("f64", "f32", False), ("f32", "i32", False), ("i32", "f32", False),
        ("i1", "f32", False),
    ],
)  # fmt: skip
def test_convert_passes_sums_between_floats_that_cannot_overflow(source: str, target: str, passes: bool) -> None:
    text = f"""func.func @main(%a: tensor<4x2x{source}>) -> tensor<4x2x{target}> {{
      %0 = stablehlo.convert %a : (tensor<4x2x{source}>) -> tensor<4x2x{target}> return %0 : tensor<4x2x{target}> }}"""
    assert bool(check_op(text, MESH).rule.linear) == passes


def test_bitcast_convert() -> None:
    text = """func.func @main(%a: tensor<4x2xf32>) -> tensor<4x2xi32> {
      %0 = stablehlo.bitcast_convert %a : (tensor<4x2xf32>) -> tensor<4x2xi32> return %0 : tensor<4x2xi32> }"""
    assert linears(check_op(text, MESH)) == []
    text = """func.func @main(%a: tensor<4x2xi32>) -> tensor<4x2x2xi16> {
      %0 = stablehlo.bitcast_convert %a : (tensor<4x2xi32>) -> tensor<4x2x2xi16> return %0 : tensor<4x2x2xi16> }"""
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,j)->(i,j,k)"
    assert not checked.rule.factors[2].splittable


def test_complex_real_imag() -> None:
    text = """func.func @main(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<4x2xcomplex<f32>> {
      %0 = stablehlo.complex %a, %b : tensor<4x2xcomplex<f32>> return %0 : tensor<4x2xcomplex<f32>> }"""
    assert linears(check_op(text, MESH)) == [("sum", [0, 1])]
    for name in ("real", "imag"):
        text = f"""func.func @main(%a: tensor<4x2xcomplex<f32>>) -> tensor<4x2xf32> {{
          %0 = stablehlo.{name} %a : (tensor<4x2xcomplex<f32>>) -> tensor<4x2xf32> return %0 : tensor<4x2xf32> }}"""
        assert linears(check_op(text, MESH)) == [("sum", [0])]


def test_reduce_precision() -> None:
    text = """func.func @main(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
      %0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4x2xf32> return %0 : tensor<4x2xf32> }"""
    assert linears(check_op(text, MESH)) == []


def test_dimensions_of_size_one_have_no_factor() -> None:
    assert str(check_op(unary("stablehlo.abs", "tensor<4x1x2xf32>"), MESH).rule) == "(i,1,j)->(i,1,j)"


def test_equal_ops_share_one_rule() -> None:
    first = check_op(unary("stablehlo.abs"), MESH).rule
    assert check_op(unary("stablehlo.ceil"), MESH).rule is first
