"""Rules and local forms of constant, iota and get_dimension_size, by execution."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh
from pcg.rules import Assignment
from support.rulecheck import check_op

MESH = Mesh.of({"x": 2, "y": 2})


def source(op: str, type_: str) -> str:
    return f"func.func @main() -> {type_} {{ %0 = {op} : {type_} return %0 : {type_} }}"


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("dense<1.5>", "tensor<4x8xf32>"), ("dense<true>", "tensor<4x2xi1>"), ("dense<3>", "tensor<4xui32>"),
        ("dense<[[1.0, 2.0], [3.0, 4.0]]>", "tensor<2x2xf32>"), ("dense<[true, false, true, true]>", "tensor<4xi1>"),
        ('dense<"0x0000803F000000400000404000008040">', "tensor<4xf32>"), ("dense<0xFF800000>", "tensor<f32>"),
        ("dense<(1.0, 2.0)>", "tensor<4xcomplex<f32>>"), ("dense<1.5>", "tensor<4x8xbf16>"),
        ("dense<[1.5, 2.0]>", "tensor<2xbf16>"),
    ],
)  # fmt: skip
def test_constant(value: str, type_: str) -> None:
    checked = check_op(source(f"stablehlo.constant {value}", type_), MESH)
    assert len(checked.strategies) >= (1 if type_ == "tensor<f32>" else 3)


@pytest.mark.parametrize("type_", ["i32", "f32", "ui8", "bf16", "i64"])
def test_iota(type_: str) -> None:
    for dim in (0, 1):
        checked = check_op(source(f"stablehlo.iota dim = {dim}", f"tensor<4x8x{type_}>"), MESH)
        assert str(checked.rule) == "->(i,j)"


def test_axes_in_any_order_place_the_shards() -> None:
    text = source("stablehlo.iota dim = 0", "tensor<8xi32>")
    rule = check_op(text, MESH).rule
    check_op(text, MESH, assignments=[Assignment((("y", "x"),))])
    assert rule.factors[0].splittable


def test_dimension_size_is_the_global_one() -> None:
    text = """func.func @main(%a: tensor<4x6xf32>) -> tensor<i32> {
      %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4x6xf32>) -> tensor<i32> return %0 : tensor<i32> }"""
    assert len(check_op(text, MESH).strategies) > 4
