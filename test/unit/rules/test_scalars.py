"""Reducers run on their own initial values."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.rules.scalars import idempotent_on
from support.rulecheck import context, last_op

PICK = """%c = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %n = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %m = stablehlo.or %c, %n : tensor<i1>
  %z = stablehlo.select %m, %x, %y : tensor<i1>, tensor<f32>"""
SUM = "%n = stablehlo.negate %x : tensor<f32>\n %z = stablehlo.subtract %y, %n : tensor<f32>"
LOGADDEXP = """%d = stablehlo.subtract %x, %y : tensor<f32>
  %o = stablehlo.compare NE, %d, %d, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %q = stablehlo.add %x, %y : tensor<f32>
  %b = stablehlo.abs %d : tensor<f32>
  %n = stablehlo.negate %b : tensor<f32>
  %e = stablehlo.exponential %n : tensor<f32>
  %l = stablehlo.log_plus_one %e : tensor<f32>
  %m = stablehlo.maximum %x, %y : tensor<f32>
  %t = stablehlo.add %m, %l : tensor<f32>
  %z = stablehlo.select %o, %q, %t : tensor<i1>, tensor<f32>"""
UNKNOWN = "%z = stablehlo.power %x, %y : tensor<f32>"


def told(body: str, init: str) -> bool:
    text = f"""func.func @main(%a: tensor<4x8xf32>, %s: tensor<f32>) -> tensor<4xf32> {{
      {"%i = stablehlo.negate %s : tensor<f32>" if init == "?" else
       f"%i = stablehlo.constant dense<{init}> : tensor<f32>"}
      %0 = "stablehlo.reduce"(%a, %i) <{{dimensions = array<i64: 1>}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        {body}
        stablehlo.return %z : tensor<f32>
      }}) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> }}"""
    with context():
        module = ir.Module.parse(text)
        op = last_op(module)
        return idempotent_on(op.regions[0], list(op.operands)[1:])


@pytest.mark.parametrize(
    ("body", "init", "want"),
    [
        (PICK, "0xFF800000", True), (PICK, "3.0", True), (PICK, "0x7FC00000", True), (PICK, "?", False),
        (LOGADDEXP, "0xFF800000", True), (LOGADDEXP, "0.0", False), (SUM, "0.0", True), (SUM, "3.0", False), (UNKNOWN, "1.0", False),
    ],
)  # fmt: skip
def test_whether_a_reducer_may_meet_its_start_again(body: str, init: str, want: bool) -> None:
    assert told(body, init) == want
