"""Reductions whose reducer no collective knows, along a split dimension, by execution."""

from __future__ import annotations

import numpy as np
import pytest

from support.lowercheck import check, mesh_op, spec

BODIES = {
    "argmax, lower index first": """%g = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %m = stablehlo.and %e, %l : tensor<i1>
      %n = stablehlo.or %g, %m : tensor<i1>
      %v = stablehlo.select %g, %x, %y : tensor<i1>, tensor<f32>
      %w = stablehlo.select %n, %p, %q : tensor<i1>, tensor<i32>""",
    "each in its own way": """%v = stablehlo.add %x, %y : tensor<f32>
      %w = stablehlo.maximum %p, %q : tensor<i32>""",
    # Composition of x -> 2^v x + w is associative and has a neutral element, but does not commute.
    "in order": """%v = stablehlo.add %x, %y : tensor<f32>
      %k = stablehlo.convert %y : (tensor<f32>) -> tensor<i32>
      %s = stablehlo.shift_left %p, %k : tensor<i32>
      %w = stablehlo.add %s, %q : tensor<i32>""",
}


def program(body: str, layout: str, dims: str) -> str:
    """`(values, numbers)` of shape 4x8x2 reduced over `dims`, laid out by `layout`."""
    left = [d for d in range(3) if str(d) not in dims]
    shape = "".join(f"{(4, 8, 2)[d]}x" for d in left)
    out = spec(",".join(layout.split(",")[d] for d in left))
    v, p, one = f"tensor<{shape}f32>", f"tensor<{shape}i32>", f"dist.specs = [{spec('')}]"
    return mesh_op(x=2, y=2) + f"""
func.func @main(%a: tensor<4x8x2xf32> {{dist.spec = {spec(layout)}}}, %b: tensor<4x8x2xi32> {{dist.spec = {spec(layout)}}})
    -> ({v} {{dist.spec = {out}}}, {p} {{dist.spec = {out}}}) {{
  %i = stablehlo.constant {{{one}}} dense<0.0> : tensor<f32>
  %j = stablehlo.constant {{{one}}} dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce"(%a, %b, %i, %j) ({{
  ^bb0(%x: tensor<f32>, %p: tensor<i32>, %y: tensor<f32>, %q: tensor<i32>):
      {body}
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }}) {{dimensions = array<i64: {dims}>, dist.specs = [{out}, {out}]}}
    : (tensor<4x8x2xf32>, tensor<4x8x2xi32>, tensor<f32>, tensor<i32>) -> ({v}, {p})
  func.return %0#0, %0#1 : {v}, {p}
}}"""


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    ("layout", "dims", "want"),
    [
        ("-,x,-", "1", {"all_gather": 2}), ("y,x,-", "1", {"all_gather": 2}), ("-,x+y,-", "1", {"all_gather": 2}),
        ("-,y+x,-", "1", {"all_gather": 2}), ("x,-,y", "1", {}),
        # Only the first reduced dimension is split: the other's axis moves there, or somewhere else.
        ("-,x,y", "1, 2", {"all_gather": 2, "all_to_all": 2}), ("x,y,-", "0, 1, 2", {"all_gather": 2, "all_to_all": 2}),
    ],
)  # fmt: skip
def test_split_reductions(body: str, layout: str, dims: str, want: dict[str, int]) -> None:
    rng = np.random.default_rng(0)
    # Few different values, so that many are equal; exponents small enough for 32 bits.
    values = [rng.integers(0, 2, (4, 8, 2)).astype(np.float32), rng.integers(0, 9, (4, 8, 2)).astype(np.int32)]
    if "order" in body and dims != "1":
        values[0][:] = 0
    counts, _ = check(program(BODIES[body], layout, dims), values)
    assert dict(counts) == want
