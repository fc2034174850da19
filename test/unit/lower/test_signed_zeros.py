"""What one device has and the others add nothing to keeps the sign of its zeros, which `1 / x` shows.

By the emulator alone: XLA:CPU starts every sum over devices from +0.0, so there no sum can be -0.0.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.lowercheck import check, mesh_op, spec

X = np.where(np.arange(12) % 3 == 0, -0.0, np.arange(12)).astype(np.float32)
GATHER = """%g = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, dist.specs = [SPEC]}
    : (tensor<12xf32>, tensor<5xi32>) -> tensor<5xf32>"""
SLICE = """%z = stablehlo.slice %i [1:2] : (tensor<5xi32>) -> tensor<1xi32>
  %s = stablehlo.reshape %z : (tensor<1xi32>) -> tensor<i32>
  %g = "stablehlo.dynamic_slice"(%x, %s) {slice_sizes = array<i64: 5>, dist.specs = [SPEC]}
    : (tensor<12xf32>, tensor<i32>) -> tensor<5xf32>"""
SCATTER = """%g = "stablehlo.scatter"(%y, %i, %u) ({^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>})
    {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>, dist.specs = [SPEC]} : (tensor<5xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5xf32>"""


@pytest.mark.parametrize("op", [GATHER, SLICE, SCATTER], ids=["gather", "dynamic_slice", "scatter"])
def test_signs_stay(op: str) -> None:
    partial, split, whole = spec("-", x="sum"), spec("x"), spec("-")
    text = f"""{mesh_op(x=3)}
func.func @main(%x: tensor<12xf32> {{dist.spec = {split}}}, %i: tensor<5xi32> {{dist.spec = {whole}}},
    %y: tensor<5xf32> {{dist.spec = {whole}}}, %u: tensor<5xf32> {{dist.spec = {split if op is SCATTER else whole}}})
    -> (tensor<5xf32> {{dist.spec = {whole}}}) {{
  {op.replace("SPEC", partial)}
  %one = stablehlo.constant dense<1.0> : tensor<5xf32>
  %d = stablehlo.divide %one, %g {{dist.specs = [{whole}]}} : tensor<5xf32>
  return %d : tensor<5xf32>
}}
"""
    nothing = np.full(5, -0.0, np.float32)
    check(text, [X, np.array([0, 3, 9, 5, 11], np.int32), nothing, nothing], devices=False)
