"""What the processes of placed stages send each other, and what each of them needs."""

from __future__ import annotations

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.lower.traffic import traffic_of
from pcg.machine.traffic import Messages, Need
from pcg.passes.pipeline import Pipeline
from support.processcheck import mesh, spec

SPLIT, LAST = spec("a", "x"), spec("b", "-")
PROGRAM = f"""{mesh("a", [3, 1], x=2)}{mesh("b", [5], x=1)}
func.func @main(%x: tensor<100xf32> {{dist.spec = {SPLIT}}}, %y: tensor<30xf32> {{dist.spec = {LAST}}})
    -> (tensor<100xf32> {{dist.spec = {LAST}}}, tensor<30xf32> {{dist.spec = {LAST}}}) {{
  %a = stablehlo.tanh %x {{dist.specs = [{SPLIT}]}} : tensor<100xf32>
  %b = stablehlo.exponential %a {{dist.specs = [{LAST}]}} : tensor<100xf32>
  %c = stablehlo.exponential %y {{dist.specs = [{LAST}]}} : tensor<30xf32>
  return %b, %c : tensor<100xf32>, tensor<30xf32>
}}"""


def test_two_devices_send_to_a_third():
    """Processes are numbered by their devices; each needs its kind, and memory for its part of the arguments."""
    module = load_module(PROGRAM, make_context(), "<test>")
    Pipeline("dist-propagate-meshes,pcg-split-meshes,pcg-place-stages").run(module)
    processes, traffic = traffic_of(entry(module), {}, {1: "gpu", 3: None, 5: "cpu"})
    assert processes == (1, 3, 5)
    assert [traffic.need(p) for p in range(3)] == [Need("gpu", 200.0), Need(None, 200.0), Need("cpu", 120.0)]
    (sent,) = traffic.exchanges
    assert isinstance(sent, Messages) and sorted(sent.transfers) == [(0, 2, 200.0), (1, 2, 200.0)]
