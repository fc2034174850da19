"""Causes of collectives in programs that are placed in part."""

from __future__ import annotations

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.dist_explain import ExplainPass

PARTLY = """
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> loc("a")) -> tensor<8x4xf32> {
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
  %1 = "pcg.combine"(%0) {axes = ["data"], dim = 0 : i64, dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.tanh %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
"""


def test_without_a_measure_no_other_choice_is_estimated():
    module = load_module(PARTLY, make_context(), "<test>")
    done = ExplainPass()
    done.run(module.operation)
    (text,) = [t for _, t in done.remarks if t.startswith("all_gather over data")]
    assert "64 bytes sent" in text and "taken as it is" not in text
