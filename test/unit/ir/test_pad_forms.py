"""Shifts and rotations as pads compute what they did as slices and concatenations."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.passes.pcg_normalize import NormalizePass
from support.rulecheck import context, run

A, B = "tensor<8x3xf32>", "tensor<8x3xi32>"
ZERO = "%z = stablehlo.constant dense<0.0> : tensor<f32>"


def normalized(body: str, type_: str = A, result: str = "") -> list[str]:
    """Names of the ops after normalisation; fails if they compute something else."""
    text = f"func.func @main(%a: {type_}) -> {result or type_} {{ {body} func.return %r : {result or type_} }}"
    x = np.arange(24).reshape(8, 3).astype(np.float32 if "f32" in type_ else np.int32) + 1
    with context():
        module = ir.Module.parse(text)
        NormalizePass().run(module.operation)
        module.operation.verify()
        np.testing.assert_array_equal(run(str(module), [x])[0], run(text, [x])[0])
        names = [op.name.removeprefix("stablehlo.") for op in walk(module.operation)]
    return [n for n in names if n in ("slice", "pad", "concatenate", "select", "select_and_scatter")]


def part(name: str, start: int, limit: int, of: str = "%a", rows: int = 8, element: str = "f32") -> str:
    return f"""%{name} = stablehlo.slice {of} [{start}:{limit}, 0:3]
      : (tensor<{rows}x3x{element}>) -> tensor<{limit - start}x3x{element}>"""


@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize("k", [1, 4, 7])
def test_a_rotation_is_two_shifts(k: int, element: str) -> None:
    body = f"""{part("p", 8 - k, 8, element=element)} {part("q", 0, 8 - k, element=element)}
      %r = stablehlo.concatenate %p, %q, dim = 0
        : (tensor<{k}x3x{element}>, tensor<{8 - k}x3x{element}>) -> tensor<8x3x{element}>"""
    assert normalized(body, f"tensor<8x3x{element}>") == ["pad", "pad", "select"]


def test_zeros_before_a_slice_are_a_shift() -> None:
    body = f"""{ZERO} %zz = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
      {part("p", 0, 6)}
      %r = stablehlo.concatenate %zz, %p, dim = 0 : (tensor<2x3xf32>, tensor<6x3xf32>) -> {A}"""
    assert normalized(body) == ["pad"]


def test_a_slice_of_a_pad_is_a_pad() -> None:
    body = f"""{ZERO} %p = stablehlo.pad %a, %z, low = [1, 0], high = [0, 2], interior = [1, 0]
        : ({A}, tensor<f32>) -> tensor<16x5xf32>
      %r = stablehlo.slice %p [0:8, 1:4] : (tensor<16x5xf32>) -> {A}"""
    assert normalized(body) == ["pad"]


def test_what_was_cut_and_is_padded_again_stays() -> None:
    body = f"""{ZERO} {part("p", 1, 8)}
      %r = stablehlo.pad %p, %z, low = [1, 0], high = [0, 0], interior = [0, 0]
        : (tensor<7x3xf32>, tensor<f32>) -> {A}"""
    assert normalized(body) == ["slice", "pad"]


def test_slices_of_a_larger_tensor_stay_joined() -> None:
    body = f"""{part("p", 0, 1)} {part("q", 4, 7)}
      %r = stablehlo.concatenate %p, %q, dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>"""
    assert normalized(body, A, "tensor<4x3xf32>") == ["slice", "slice", "concatenate"]


def test_slices_that_move_other_dimensions_stay() -> None:
    """Only places along the concatenated dimension may differ."""
    body = """%p = stablehlo.slice %a [0:4, 0:2] : (tensor<8x3xf32>) -> tensor<4x2xf32>
      %q = stablehlo.slice %a [4:8, 1:3] : (tensor<8x3xf32>) -> tensor<4x2xf32>
      %r = stablehlo.concatenate %p, %q, dim = 0 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>"""
    assert normalized(body, A, "tensor<8x2xf32>") == ["slice", "slice", "concatenate"]


@pytest.mark.parametrize(("compare", "fill", "joined"), [("GE", "0xFF800000", True), ("LT", "0x7F800000", True),
                                                        ("GE", "0.0", False), ("LT", "0xFF800000", False)])  # fmt: skip
def test_the_gradient_of_a_padded_pooling(compare: str, fill: str, joined: bool) -> None:
    body = f"""%f = stablehlo.constant dense<{fill}> : tensor<f32> {ZERO}
      %p = stablehlo.pad %a, %f, low = [1, 0], high = [0, 0], interior = [0, 0] : ({A}, tensor<f32>) -> tensor<9x3xf32>
      %u = stablehlo.slice %a [2:6, 0:3] : ({A}) -> tensor<4x3xf32>
      %s = "stablehlo.select_and_scatter"(%p, %u, %z) <{{window_dimensions = array<i64: 3, 1>,
        window_strides = array<i64: 2, 1>}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.compare {compare}, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }}, {{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }}) : (tensor<9x3xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<9x3xf32>
      %r = stablehlo.slice %s [1:9, 0:3] : (tensor<9x3xf32>) -> {A}"""
    kept = ["pad", "slice", "select_and_scatter", "slice"]
    assert normalized(body) == (["slice", "select_and_scatter"] if joined else kept)
