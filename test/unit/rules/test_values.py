"""What the program text says about values."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.rules.values import free_values, is_zero, splat
from support.rulecheck import context

TEXT = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %p = "pcg.partition"(%b) {dim = 0 : i64, axes = ["x"]} : (tensor<4xf32>) -> tensor<4xf32>
  %r = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<2x2xf32>
  %i = stablehlo.constant dense<7> : tensor<3xi32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %half = stablehlo.constant dense<0.5> : tensor<bf16>
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %dense = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<4xcomplex<f32>>
  %sum = stablehlo.add %a, %b : tensor<4xf32>
  return %sum : tensor<4xf32> }"""


@pytest.mark.parametrize(
    ("position", "value"),
    [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 7), (5, True), (6, 0.5), (7, float("-inf")), (8, None), (9, 0),
     (10, None)],
)  # fmt: skip
def test_splat(position: int, value: object) -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        block = module.body.operations[0].regions[0].blocks[0]
        result = block.operations[position].operation.results[0]
        assert splat(result) == value
        assert is_zero(result) == (value == 0 and value is not None)
        assert splat(block.arguments[0]) is None


def test_free_values_depend_on_no_argument() -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        block = module.body.operations[0].regions[0].blocks[0]
        results = [op.operation.results[0] for op in block.operations if len(op.operation.results)]
        free = free_values(block)
        # Neither the operator of another dialect nor the sum of an argument and a constant.
        assert [n for n, v in enumerate(results) if v not in free] == [2, 10]
