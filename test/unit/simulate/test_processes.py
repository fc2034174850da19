"""Several processes: messages take both ends, collectives all members, and each has its own device."""

from __future__ import annotations

import json

import pytest

import pcg
from pcg.ir.errors import PcgError
from pcg.machine import Cluster, DeviceKind, Link, Machine
from pcg.simulate import simulate_processes

#: One FLOP, one byte of memory and one byte sent take a second each.
UNIT = Machine(DeviceKind("unit", {}, 1.0, 1.0, 1e12, kernel_overhead=0.0), Link(bandwidth=1.0, latency=0.0))
TWO = """
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [1], [0]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [1], [1]>} : () -> ()
func.func @main(%x: tensor<100xf32> {dist.spec = #dist.shard_spec<@first, [[]], {}>},
                %y: tensor<200xf32> {dist.spec = #dist.shard_spec<@second, [[]], {}>})
    -> (tensor<100xf32> {dist.spec = #dist.shard_spec<@second, [[]], {}>},
        tensor<200xf32> {dist.spec = #dist.shard_spec<@second, [[]], {}>}) {
  %a = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@first, [[]], {}>]} : tensor<100xf32>
  %b = stablehlo.exponential %a {dist.specs = [#dist.shard_spec<@second, [[]], {}>]} : tensor<100xf32>
  %c = stablehlo.exponential %y {dist.specs = [#dist.shard_spec<@second, [[]], {}>]} : tensor<200xf32>
  return %b, %c : tensor<100xf32>, tensor<200xf32>
}
"""


def lowered(text: str):
    return pcg.processes.lower(text)


def test_a_message_takes_both_ends_and_hides_behind_what_does_not_need_it():
    found = lowered(TWO).simulate(UNIT)
    first, second = (found.processes[n] for n in (0, 1))
    link = 400 + 2e-6  # a collective takes 2 us to start on a machine without a cluster
    assert [(e.name, e.start, e.seconds) for e in first.events] == [("tanh", 0, 800), ("send", 800, pytest.approx(link))]
    spans = {(e.name, e.bytes): (e.start, e.seconds) for e in second.events}
    assert spans["recv", 400] == (800, pytest.approx(link))
    assert spans["exponential", 1600] == (0, 1600)
    assert spans["exponential", 800][0] == 1600
    assert found.seconds == second.seconds == 2400 and second.exposed == 0
    assert first.seconds == pytest.approx(800 + link) and first.exposed == pytest.approx(link)
    assert (first.peak_bytes, second.peak_bytes) == (800, 800 + 800 + 400)
    alone = lowered(TWO).simulate(UNIT, overlap=False)
    assert alone.seconds == pytest.approx(800 + link + 800 + 1600)


def test_processes_have_rows_of_their_own_in_the_trace(tmp_path):
    found = lowered(TWO).simulate(UNIT)
    found.write_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "process_name"}
    assert names == {(0, "process 0"), (1, "process 1")}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert "process   1" in str(found)


def test_far_processes_take_longer():
    text = TWO.replace("100xf32", "100000xf32").replace("200xf32", "20xf32")
    summit = Cluster.preset("summit", nodes=2)
    programs = lowered(text)
    near = programs.simulate(summit, devices={0: 0, 1: 1})
    far = programs.simulate(summit, devices={0: 0, 1: 6})
    assert near.seconds < far.seconds


def test_every_process_runs_at_the_pace_of_its_device():
    mixed = Cluster.preset("mixed-v100-ascend910", gpu_nodes=1, gpus=1, npu_nodes=1, boards=1, npus=1)
    found = lowered(TWO.replace("100xf32", "1000000xf32")).simulate(mixed)
    kinds = [mixed.kind_of(d) for d in mixed.devices[:2]]
    assert kinds[0].memory_bandwidth != kinds[1].memory_bandwidth
    for n, kind in enumerate(kinds):
        work = [e for e in found.processes[n].events if e.bytes == 8e6]
        assert work[0].seconds == pytest.approx(8e6 / kind.memory_bandwidth + kind.kernel_overhead, rel=0.01)


def test_a_module_without_processes():
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module

    module = load_module("func.func @main() { return }", make_context(), "test")
    with pytest.raises(PcgError, match="has no pcg.processes"):
        simulate_processes(module, UNIT)
