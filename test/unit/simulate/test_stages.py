"""Stages on several meshes in the simulator: what waits, what overlaps, and whose memory it is."""

from __future__ import annotations

import json

import pytest
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.stages import stages_of
from pcg.ir.walk import entry
from pcg.lower.lower_processes import lower_stages
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.pcg_simulate import SimulatePass
from pcg.passes.pipeline import Pipeline
from pcg.simulate.stages import StagedSimulation, simulate_stages
from support.processcheck import mesh, spec

#: One byte of memory and one byte sent take a second each; work takes none.
UNIT = Machine(DeviceKind("unit", {}, 1e30, 1.0, 1e12, kernel_overhead=0.0), Link(bandwidth=1.0, latency=0.0))
A, B = spec("a", "-"), spec("b", "-")
MESHES = mesh("a", [0], x=1) + mesh("b", [1], x=1)


def staged(text: str, machine: Machine = UNIT) -> StagedSimulation:
    module = load_module(MESHES + text, make_context(), "<test>")
    Pipeline("dist-propagate-meshes,pcg-split-meshes,pcg-place-stages").run(module)
    func = entry(module)
    keep, local = lower_stages(SimulatePass(), module.operation, stages_of(func), machine)
    found = simulate_stages(func, local, machine)
    assert keep
    return found


def program(body: str) -> str:
    return f"""
func.func @main(%x: tensor<100xf32> {{dist.spec = {A}}}, %y: tensor<200xf32> {{dist.spec = {B}}})
    -> (tensor<100xf32> {{dist.spec = {B}}}, tensor<200xf32> {{dist.spec = {B}}}) {{
{body}
}}"""


CHAIN = program(f"""
  %a = stablehlo.tanh %x {{dist.specs = [{A}]}} : tensor<100xf32>
  %b = stablehlo.exponential %a {{dist.specs = [{B}]}} : tensor<100xf32>
  %c = stablehlo.exponential %y {{dist.specs = [{B}]}} : tensor<200xf32>
  return %b, %c : tensor<100xf32>, tensor<200xf32>""")


def test_a_stage_waits_for_a_transfer_while_others_compute():
    found = staged(CHAIN)
    # @a: 800 bytes read and written, then 400 bytes cross, then 800 on @b; meanwhile @b does 1600 of its own.
    assert found.busy == pytest.approx({"a": 800.0, "b": 2400.0})
    assert found.transfers == pytest.approx(400.0) and found.transfer_bytes == 400.0
    assert found.seconds == pytest.approx(2400.0)  # 1600 of its own until 1600, and the other 800 from 1600 on


def test_memory_is_counted_where_it_is():
    found = staged(CHAIN)
    assert found.peak_bytes["a"] == pytest.approx(800.0)
    assert 2000.0 <= found.peak_bytes["b"] <= 2400.0


def test_what_both_have_does_not_travel():
    text = f"""
func.func @main(%x: tensor<100xf32> {{dist.spec = {spec("all", "-")}}}) -> (tensor<100xf32> {{dist.spec = {A}}}, tensor<100xf32> {{dist.spec = {B}}}) {{
  %a = stablehlo.tanh %x {{dist.specs = [{A}]}} : tensor<100xf32>
  %b = stablehlo.exponential %x {{dist.specs = [{B}]}} : tensor<100xf32>
  return %a, %b : tensor<100xf32>, tensor<100xf32>
}}"""
    found = staged(mesh("all", [0, 1], x=2) + text)
    assert found.transfers == found.transfer_bytes == 0.0
    assert found.seconds == pytest.approx(800.0)


def test_the_trace_has_every_stage_and_transfer(tmp_path):
    staged(CHAIN).write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {(e["pid"], e["cat"]) for e in events if e["ph"] == "X"} == {(0, "compute"), (0, "transfer"), (1, "compute")}
    assert any("transfer" in e["name"] for e in events)


def test_the_pass_says_what_it_finds():
    module = load_module(MESHES + CHAIN, make_context(), "<test>")
    p = SimulatePass(machine=UNIT)
    Pipeline(["dist-propagate-meshes", "pcg-split-meshes", "pcg-place-stages", p]).run(module)
    text = "\n".join(t for _, t in p.remarks)
    assert isinstance(module, ir.Module) and "@b computes" in text and "transfers" in text
