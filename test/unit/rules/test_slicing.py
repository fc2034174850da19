"""Rules and local forms of concatenate, slice, pad, reverse, dynamic_slice, dynamic_update_slice, by execution."""

from __future__ import annotations

import numpy as np
import pytest

from pcg.layout import Mesh
from pcg.rules import Assignment
from support.rulecheck import Checked, check_op

MESH = Mesh.of({"x": 2, "y": 2})
ZERO = "%z = stablehlo.constant dense<0.0> : tensor<f32>"


def passes(checked: Checked) -> list[list[int]]:
    return [sorted(x.operands) for x in checked.rule.linear if x.kind == "sum"]


def program(arguments: str, body: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{ {body} return %0 : {result} }}"


def test_concatenate() -> None:
    body = """%0 = stablehlo.concatenate %a, %b, %a, dim = 1
      : (tensor<4x2xf32>, tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>"""
    checked = check_op(program("%a: tensor<4x2xf32>, %b: tensor<4x4xf32>", body, "tensor<4x8xf32>"), MESH)
    assert str(checked.rule) == "(i,j),(i,j),(i,j)->(i,j)"
    assert (checked.rule.factors[1].size, checked.rule.factors[1].sizes) == (2, (2, 4, 8))
    assert passes(checked) == [[0, 1, 2]]


def test_concatenate_with_a_short_operand() -> None:
    """It is whole: every device has what it needs of it."""
    body = """%0 = stablehlo.concatenate %a, %b, dim = 1
      : (tensor<4x1xf32>, tensor<4x7xf32>) -> tensor<4x8xf32>"""
    checked = check_op(program("%a: tensor<4x1xf32>, %b: tensor<4x7xf32>", body, "tensor<4x8xf32>"), MESH)
    assert str(checked.rule) == "(i,1),(i,j)->(i,j)"
    assert checked.rule.factors[1].sizes == (7, 8) and checked.rule.may_pad(1)
    half = Assignment(((), ("x",)))
    assert checked.rule.exchanges[0].wire_elements(half, MESH) == 4 * 1


def test_concatenate_of_rows() -> None:
    """Operands are whole; each device makes its part of the result."""
    text = program("%a: tensor<1x4xf32>, %b: tensor<1x4xf32>", ROWS, "tensor<2x4xf32>")
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(1,j),(1,j)->(i,j)"
    assert not checked.rule.exchanges


def test_concatenate_with_zeros_passes_sums_of_the_others() -> None:
    body = f"""{ZERO} %zz = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %0 = stablehlo.concatenate %a, %zz, dim = 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>"""
    assert passes(check_op(program("%a: tensor<4x2xf32>", body, "tensor<4x5xf32>"), MESH)) == [[0]]


ROWS = "%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>"


def test_slice() -> None:
    """Dimensions kept, cut short (a reduction), and cut with an exchange."""
    body = "%0 = stablehlo.slice %a [0:4, 1:7:2, 0:6, 0:5] : (tensor<4x8x8x6xf32>) -> tensor<4x3x6x5xf32>"
    checked = check_op(program("%a: tensor<4x8x8x6xf32>", body, "tensor<4x3x6x5xf32>"), MESH)
    assert str(checked.rule) == "(i,j,l,m)->(i,k,l,m)"
    assert [f.splittable for f in checked.rule.factors] == [True, True, False, True, True]
    assert [f.reduce for f in checked.rule.factors] == [None, "sum", None, None, None]
    assert [f.sizes for f in checked.rule.factors[3:]] == [(8, 6), (6, 5)]
    assert passes(checked) == [[0]]
    assert [(e.factor, e.kind) for e in checked.rule.exchanges] == [(3, "permute"), (4, "permute")]


def test_a_slice_that_lines_up_with_blocks_sends_nothing() -> None:
    checked = check_op(program("%a: tensor<16xf32>", STRIDED, "tensor<8xf32>"), MESH)
    assert checked.ran == len(checked.strategies) == 9


STRIDED = "%0 = stablehlo.slice %a [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>"


@pytest.mark.parametrize("value", ["0.0", "1.0"])
def test_pad(value: str) -> None:
    body = f"""%p = stablehlo.constant dense<{value}> : tensor<f32>
      %0 = stablehlo.pad %a, %p, low = [0, 1, -1], high = [0, 0, 1], interior = [0, 2, 0]
        : (tensor<4x3x6xf32>, tensor<f32>) -> tensor<4x8x6xf32>"""
    checked = check_op(program("%a: tensor<4x3x6xf32>", body, "tensor<4x8x6xf32>"), MESH)
    assert str(checked.rule) == "(i,j,l),()->(i,k,l)"
    assert passes(checked) == ([[0]] if value == "0.0" else [])
    assert [f.splittable for f in checked.rule.factors] == [True, False, True, True]
    assert [e.factor for e in checked.rule.exchanges] == [3]


def test_reverse() -> None:
    body = "%0 = stablehlo.reverse %a, dims = [1] : tensor<4x8xf32>"
    checked = check_op(program("%a: tensor<4x8xf32>", body, "tensor<4x8xf32>"), MESH)
    assert [f.splittable for f in checked.rule.factors] == [True, True]
    (exchange,) = checked.rule.exchanges
    half = next(a for a in checked.strategies if a.axes == ((), ("x",)))
    both = next(a for a in checked.strategies if a.axes == (("y",), ("x",)))
    assert exchange.wire_elements(half, MESH) == 4 * 4  # a device sends all it has
    assert exchange.wire_elements(both, MESH) == 2 * 4


def test_dynamic_slice() -> None:
    body = """%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 8]
      : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>"""
    text = program("%a: tensor<4x8xf32>, %i: tensor<i32>, %j: tensor<i32>", body, "tensor<1x8xf32>")
    for start in ((2, 0), (9, 3), (-1, -2)):  # out of bounds is clamped
        checked = check_op(text, MESH, inputs=[None, *map(np.array, start)])
    assert str(checked.rule) == "(i,j),(),()->(1,j)"
    assert [f.reduce for f in checked.rule.factors] == ["sum", None]
    assert passes(checked) == [[0]]


@pytest.mark.parametrize("zeros", [False, True])
def test_dynamic_update_slice(zeros: bool) -> None:
    target = "%zz" if zeros else "%a"
    body = f"""{ZERO} %zz = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
      %0 = stablehlo.dynamic_update_slice {target}, %u, %i, %j
        : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>"""
    arguments = "%a: tensor<4x8xf32>, %u: tensor<2x8xf32>, %i: tensor<i32>, %j: tensor<i32>"
    for start in ((1, 0), (5, 3)):
        checked = check_op(
            program(arguments, body, "tensor<4x8xf32>"), MESH, inputs=[None, None, *map(np.array, start)]
        )
    assert str(checked.rule) == "(i,k),(j,k),(),()->(i,k)"
    assert [f.splittable for f in checked.rule.factors] == [True, False, True]
    assert passes(checked) == ([[1]] if zeros else [[0, 1]])
