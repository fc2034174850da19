"""Lowered programs as tasks: kernels, bytes, collectives, loops, branches."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import DeviceKind, Link, Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile, Rates
from pcg.simulate import simulate

#: One FLOP, one byte of memory and one byte sent take a second each, kernels and messages start at once.
UNIT = Machine(DeviceKind("unit", {}, 1.0, 1.0, 1e12, kernel_overhead=0.0), Link(bandwidth=1.0, latency=0.0))
MODEL = CostModel(UNIT, Mesh.parse("x=2,y=2"))


def found(text: str, model: CostModel = MODEL, **options):
    return simulate(load_module(text, make_context(), "test"), model, **options)


def events(text: str, **options) -> list[tuple[str, int]]:
    return [(e.name, e.times) for e in found(text, **options).events]


ALL_REDUCE = """"stablehlo.all_reduce"({operand}) <{{channel_handle = #stablehlo.channel_handle<handle = {n}, type = 0>,
    replica_groups = dense<{groups}> : tensor<2x2xi64>, use_global_device_ids}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : ({type}) -> {type}"""


def all_reduce(operand: str, n: int, groups: str = "[[0, 1], [2, 3]]", type: str = "tensor<4xf32>") -> str:
    return ALL_REDUCE.format(operand=operand, n=n, groups=groups, type=type)


def test_an_elementwise_chain_is_one_kernel_that_reads_and_writes_once():
    text = """func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %y : tensor<8xf32>
      %1 = stablehlo.tanh %0 : tensor<8xf32>
      %2 = stablehlo.multiply %1, %x : tensor<8xf32>
      return %2 : tensor<8xf32>
    }"""
    (event,) = found(text).events
    assert (event.name, event.bytes, event.flops) == ("multiply +2", 3 * 32, 24)
    assert event.seconds == 96


def test_contractions_are_kernels_of_their_own():
    text = """func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
      %0 = stablehlo.tanh %x : tensor<4x8xf32>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %2 = stablehlo.negate %1 : tensor<4x2xf32>
      return %2 : tensor<4x2xf32>
    }"""
    simulation = found(text)
    assert [(e.name, e.flops, e.bytes) for e in simulation.events] == [
        ("tanh", 32, 256), ("dot_general", 2 * 4 * 8 * 2, 128 + 64 + 32), ("negate", 8, 64)
    ]  # fmt: skip
    assert simulation.seconds == simulation.compute == 256 + 224 + 64


def test_every_kernel_has_the_overhead_of_the_device():
    slow = Machine(DeviceKind("slow", {}, 1.0, 1.0, 1e12, kernel_overhead=0.5), UNIT.link)
    text = """func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      return %0, %1 : tensor<8xf32>, tensor<f32>
    }"""
    fast, delayed = found(text), found(text, CostModel(slow, MODEL.mesh))
    assert len(fast.events) == 2
    assert delayed.seconds == fast.seconds + 2 * 0.5


def test_collectives_have_axes_bytes_and_their_own_stream():
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<64xf32>) -> (tensor<4xf32>, tensor<64xf32>) {{
      %0 = {all_reduce("%x", 1)}
      %1 = {all_reduce("%x", 2, "[[0, 2], [1, 3]]")}
      %2 = stablehlo.tanh %y : tensor<64xf32>
      %3 = stablehlo.add %0, %1 : tensor<4xf32>
      return %3, %2 : tensor<4xf32>, tensor<64xf32>
    }}"""
    simulation = found(text)
    sent = [(e.name, e.detail["axes"], e.bytes) for e in simulation.events if e.kind == "collective"]
    assert sent == [("all_reduce", ("y",), 16.0), ("all_reduce", ("x",), 16.0)]
    each = MODEL.link(("x",), 16.0, "all_reduce")
    assert simulation.communication == 2 * each and simulation.communication_bytes == 32
    assert simulation.seconds == 512 + 48 and simulation.exposed == 0
    apart = found(text, overlap=False)
    assert apart.seconds == pytest.approx(512 + 48 + 2 * each)
    assert apart.exposed == apart.communication


def test_independent_all_reduces_are_sent_as_one():
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
      %0 = {all_reduce("%x", 1)}
      %1 = {all_reduce("%y", 2)}
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }}"""
    (one,) = found(text).events
    assert (one.bytes, one.detail["combined"]) == (32.0, 2)
    assert len(found(text, combined=0).events) == len(found(text, combined=20).events) == 2
    chain = text.replace('"stablehlo.all_reduce"(%y)', '"stablehlo.all_reduce"(%0)')
    assert len(found(chain).events) == 2


def test_on_cpus_what_is_sent_as_one_takes_as_long_as_one_by_one():
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
      %0 = {all_reduce("%x", 1)}
      %1 = {all_reduce("%y", 2)}
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }}"""
    (one,) = found(text, backend="cpu").events
    assert one.detail["combined"] == 2
    assert one.seconds == pytest.approx(found(text, backend="cpu", combined=0).seconds)
    assert one.seconds > found(text).events[0].seconds  # one start for both


LOOP = """func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %e = stablehlo.exponential %w : tensor<8xf32>
  %0:2 = "stablehlo.while"(%z, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>):
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>):
    %b = stablehlo.add %a, %e : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<8xf32>
  }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
  func.return %0#1 : tensor<8xf32>
}"""


def test_loops_count_their_iterations_and_see_what_is_around_them():
    simulation = found(LOOP)
    assert [(e.name, e.times, e.depth) for e in simulation.events] == [
        ("exponential", 1, 0), ("while", 1, 0), ("compare", 5, 1), ("add", 5, 1), ("add", 5, 1)
    ]  # fmt: skip
    # compare reads 4 bytes and writes 1, the counter is read and written, the sum reads 64 bytes and writes 32.
    # The loop starts from a copy of x, which the caller keeps: 32 bytes read and written.
    assert simulation.seconds == 64 + 5 * (5 + 8 + 96) + 64
    # Two arguments, the exponential, the carries; the condition of an iteration.
    assert simulation.peak_bytes == 64 + 32 + 32 + 4 + 1


def test_what_loops_turn_costs_nothing_unless_a_collective_made_it():
    body = """func.func @main(%g: tensor<4x4xf32>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %n = stablehlo.constant dense<5> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.while"(%z, %x) ({{
  ^bb0(%i: tensor<i32>, %a: tensor<4x4xf32>):
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%i: tensor<i32>, %a: tensor<4x4xf32>):
    %d = stablehlo.sine %g : tensor<4x4xf32>
    %s = {summed}
    %e = stablehlo.cosine %s : tensor<4x4xf32>
    %t = stablehlo.transpose {transposed}, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = stablehlo.add %t, %e : tensor<4x4xf32>
    %b = stablehlo.add %a, %u : tensor<4x4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4x4xf32>
  }}) : (tensor<i32>, tensor<4x4xf32>) -> (tensor<i32>, tensor<4x4xf32>)
  func.return %0#1 : tensor<4x4xf32>
}}"""
    stream, slow = Rates((), Curve((1.0, 1e3), (1.0, 1e3))), Rates((), Curve((1.0, 1e3), (10.0, 1e4)))
    rates = {("elementwise", "f32"): stream, ("transcendental", "f32"): stream, ("regroup", "f32"): slow}
    profile = Profile("cpu", 4, 0.0, 0.0, 0.0, rates, {})
    machine = replace(UNIT, device=replace(UNIT.device, profile=profile))

    def adds(transposed: str) -> float:
        text = body.format(summed=all_reduce("%d", 1, type="tensor<4x4xf32>"), transposed=transposed)
        events = found(text, CostModel(machine, MODEL.mesh), backend="cpu").events
        return sum(e.seconds for e in events if e.kind == "compute")

    # 64 bytes in, 64 out: as rows in another order take, not as a stream does.
    assert adds("%s") - adds("%e") == pytest.approx((10 - 1) * 2 * 64)


ALL_GATHER = """"stablehlo.all_gather"({operand}) <{{all_gather_dim = {dim} : i64,
    channel_handle = #stablehlo.channel_handle<handle = 9, type = 0>,
    replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}}> : ({type}) -> {gathered}"""


@pytest.mark.parametrize("order", ["0, 2, 1", "1, 0, 2", "2, 1, 0"])
def test_what_is_gathered_as_it_lay_before_a_transpose_is_transposed_behind_it(order: str):
    sizes = [(2, 3, 4)[int(d)] for d in order.split(",")]
    made, gathered = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (sizes, [2 * sizes[0], *sizes[1:]]))
    reduced = all_reduce("%t", 1, type=made)
    gather = ALL_GATHER.format(operand="%r", dim=0, type=made, gathered=gathered)
    text = f"""func.func @main(%x: tensor<2x3x4xf32>) -> {gathered} {{
      %a = stablehlo.sine %x : tensor<2x3x4xf32>
      %t = stablehlo.transpose %a, dims = [{order}] : (tensor<2x3x4xf32>) -> {made}
      %r = {reduced}
      %g = {gather}
      return %g : {gathered}
    }}"""
    (there,) = (e for e in found(text, backend="cpu").events if e.name == "all_gather")
    (accelerator,) = (e for e in found(text).events if e.name == "all_gather")
    # Only the first leaves the gathered dimension outermost, and 192 bytes are then read and written once more.
    assert there.seconds - accelerator.seconds == pytest.approx(2 * 192 if order == "0, 2, 1" else 0.0)


@pytest.mark.parametrize(("made", "beside"), [("add %x, %y", 48 + 48 - 48), ("negate %x", 0), ("dot", 0)])
def test_a_loop_that_makes_what_is_gathered_innermost_turns_all_that_it_reads(made: str, beside: int):
    dot = "dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>"
    gather = ALL_GATHER.format(operand="%s", dim=1, type="tensor<3x4xf32>", gathered="tensor<3x8xf32>")
    text = f"""func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x8xf32> {{
      %s = stablehlo.{dot if made == "dot" else made + " : tensor<3x4xf32>"}
      %g = {gather}
      return %g : tensor<3x8xf32>
    }}"""
    (there,) = (e for e in found(text, backend="cpu").events if e.name == "all_gather")
    (accelerator,) = (e for e in found(text).events if e.name == "all_gather")
    # The part and the whole are read and written in transposed order, and so is what the loop reads beside.
    assert there.seconds - accelerator.seconds == pytest.approx(2 * (48 + 96 + beside))


def test_of_conditionals_the_slowest_branch_counts():
    text = """func.func @main(%p: tensor<i1>, %x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = "stablehlo.if"(%p) ({
        %a = stablehlo.tanh %x : tensor<8xf32>
        stablehlo.return %a : tensor<8xf32>
      }, {
        %a = stablehlo.constant dense<1.0> : tensor<8xf32>
        stablehlo.return %a : tensor<8xf32>
      }) : (tensor<i1>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert found(text).seconds == 64


def test_calls_are_what_they_call():
    text = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert events(text) == [("tanh", 1), ("tanh", 1)]


def test_updates_in_place_touch_what_they_write():
    text = """func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<64xf32> {
      %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<64xf32>, tensor<2xf32>, tensor<i32>) -> tensor<64xf32>
      return %0 : tensor<64xf32>
    }"""
    simulation = found(text)
    assert simulation.peak_bytes == 256 + 8 + 4
    assert simulation.seconds == 8 + 8
    kept = found(text.replace(" {tf.aliasing_output = 0 : i32}", ""))
    assert kept.peak_bytes == 2 * 256 + 8 + 4 and kept.seconds == 16 + 2 * 256


def test_a_barrier_holds_back_until_all_of_it_is_there():
    text = """func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      %1:2 = stablehlo.optimization_barrier %0, %y : tensor<8xf32>, tensor<8xf32>
      %2 = stablehlo.exponential %1#1 : tensor<8xf32>
      return %1#0, %2 : tensor<8xf32>, tensor<8xf32>
    }"""
    spans = {e.name: (e.start, e.start + e.seconds) for e in found(text).events}
    assert spans["exponential"][0] == spans["tanh"][1]


def test_unknown_backend():
    with pytest.raises(ValueError, match="backend 'tpu'; allowed: accelerator, cpu"):
        found(LOOP, backend="tpu")


def test_the_trace_is_what_perfetto_reads(tmp_path):
    """Complete events in microseconds, inside of their loop, on two named threads, and a counter of memory."""
    simulation = found(LOOP)
    path = tmp_path / "trace.json"
    simulation.write_trace(path)
    trace = json.loads(path.read_text())
    by_phase: dict[str, list[dict]] = {}
    for e in trace["traceEvents"]:
        by_phase.setdefault(e["ph"], []).append(e)
    assert set(by_phase) == {"X", "M", "C"}
    assert {e["args"]["name"] for e in by_phase["M"]} == {"main", "compute", "communication"}
    assert max(e["args"]["bytes"] for e in by_phase["C"]) == simulation.peak_bytes
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in by_phase["X"])
    (loop,) = [e for e in by_phase["X"] if e["name"] == "while"]
    inside = [e for e in by_phase["X"] if e["name"] in ("compare", "add") or "iterations" in e["name"]]
    assert [e["name"] for e in inside].count("compare") == 4 and inside[-1]["name"] == "1 more iterations"
    for e in inside:
        assert loop["ts"] <= e["ts"] and e["ts"] + e["dur"] <= loop["ts"] + loop["dur"] + 1e-6
    top = sorted((e for e in by_phase["X"] if e not in inside), key=lambda e: e["ts"])
    assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in zip(top, top[1:], strict=False))
    assert max(e["ts"] + e["dur"] for e in by_phase["X"]) == pytest.approx(1e6 * simulation.seconds)


def test_the_table_says_what_takes_longest():
    lines = [line.split() for line in str(found(LOOP)).splitlines()]
    assert lines[0] == ["step", "673.00", "s"]
    assert lines[3][:6] == ["memory", "133", "B", "at", "the", "peak,"]
    assert ["add", "at", "test:11", "5", "480.00", "s", "71.3%"] in lines


def test_what_is_in_memory_at_the_peak_is_named():
    simulation = found(LOOP)
    sizes = {(h.name, h.where, h.depth): h.bytes for h in simulation.peak_values}
    assert sizes["arg0", "", 0] == sizes["arg1", "", 0] == sizes["exponential", "test:4", 0] == 32
    assert sizes["carry of a loop, add", "test:11", 0] == 32
    assert sum(sizes.values()) == simulation.peak_bytes
    lines = [line.split() for line in str(simulation).splitlines()]
    assert ["arg0", "32", "B", "24.1%"] in lines


def test_pcg_opt_does_not_load_jax_for_it(tmp_path):
    program = tmp_path / "a.mlir"
    program.write_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n")
    code = (
        "import sys; from pcg.tools.pcg_opt import main\n"
        f"assert main([{str(program)!r}, '-o', {str(tmp_path / 'o')!r}, '--pcg-simulate']) == 1\n"
        "assert 'jax' not in sys.modules"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert "the module has no pcg.mesh: it is not lowered; run --lower first" in out.stderr
