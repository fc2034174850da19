"""Costs read off the lowered program, and the report."""

from __future__ import annotations

import pytest

from pcg.driver.compile import compile_program, load_program
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options
from pcg.layout import Mesh, ShardSpec
from pcg.machine.units import bytes_text, time_text
from pcg.simulate.collectives import axes_of_groups
from pcg.viz.explain import common, explain, pattern
from pcg.viz.table import table

#: Two equal layers with weights split column-row: one all-reduce per layer and direction of data.
LAYERS = """
func.func @main(%x: tensor<8x16xf32> loc("x"), %a0: tensor<16x32xf32> loc("l[0]['a']"),
    %b0: tensor<32x16xf32> loc("l[0]['b']"), %a1: tensor<16x32xf32> loc("l[1]['a']"),
    %b1: tensor<32x16xf32> loc("l[1]['b']")) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  %2 = stablehlo.dot_general %1, %b0, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %3 = stablehlo.tanh %2 : tensor<8x16xf32>
  %4 = stablehlo.dot_general %3, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %5 = stablehlo.tanh %4 : tensor<8x32xf32>
  %6 = stablehlo.dot_general %5, %b1, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  func.return %6 : tensor<8x16xf32>
}
"""
MESH = Mesh.parse("data=2,model=4")


@pytest.fixture(scope="module")
def compilation():
    specs = ["[data, -]", "[-, model]", "[model, -]", "[-, model]", "[model, -]"]
    fixed = {i: ShardSpec.parse(s) for i, s in enumerate(specs)}
    options = Options("dataflow", in_specs=fixed, out_specs={0: ShardSpec.parse("[data, -]")})
    return compile_program(load_program(LAYERS), MESH, options)


def test_collectives_with_axes_bytes_and_time(compilation):
    cost = cost_of(compilation)
    assert [(c.kind, c.axes, c.type) for c in cost.collectives] == [("all_reduce", ("model",), "f32[4,16]")] * 2
    assert cost.communication_bytes == 2 * (2 * 3 / 4 * 4 * 16 * 4)
    assert cost.communication_seconds > 0 and cost.to_dict()["communication_bytes"] == cost.communication_bytes


def test_memory_of_arguments_and_results(compilation):
    cost = cost_of(compilation)
    assert cost.argument_bytes == 4 * (8 * 16 / 2 + 4 * 16 * 32 / 4)
    assert cost.result_bytes == 4 * 8 * 16 / 2


def test_repeated_layers_are_one_row(compilation):
    text = explain(compilation, cost_of(compilation))
    rows = [line.split() for line in text.splitlines()]
    assert any(r[:3] == ["l[*]['a']", "2", "f32[16,32]"] for r in rows), text
    assert any(r[:3] == ["all_reduce", "model", "2"] for r in rows), text
    assert "on mesh data=2,model=4 (8 devices)" in text


def test_rejected_plans_are_shown():
    compilation = compile_program(load_program(LAYERS), MESH)
    text = explain(compilation, cost_of(compilation))
    assert "Rejected" in text and "replication" in text and "data parallelism" in text


def test_axes_of_groups():
    assert axes_of_groups([[0, 1, 2, 3], [4, 5, 6, 7]], MESH) == ("model",)
    assert axes_of_groups([[0, 4], [1, 5]], MESH) == ("data",)
    assert axes_of_groups([list(range(8))], MESH) == ("data", "model")


def test_texts():
    assert common(["l[0]['w1']", "l[1]['w1']"]) == "l[*]['w1']" and common(["w1"]) == "w1"
    assert pattern("params['layers'][12]['w1']") == "params['layers'][*]['w*']"
    assert [bytes_text(n) for n in (12, 2048, 3 << 20, 5 << 30)] == ["12 B", "2.00 KiB", "3.00 MiB", "5.00 GiB"]
    assert [time_text(s) for s in (2, 2e-3, 2e-6)] == ["2.00 s", "2.00 ms", "2.0 us"]
    assert table(["a", "b"], [["x", "1"]], right=(1,)) == "  a  b\n  -  -\n  x  1"


#: The rows of a product, sorted: nothing splits the dimension that is sorted.
SORTED = """
func.func @main(%x: tensor<8x1024xf32>, %w: tensor<1024x512xf32>) -> (tensor<8x512xf32>, tensor<8x1024xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x1024xf32>, tensor<1024x512xf32>) -> tensor<8x512xf32> loc("dot")
  %1 = stablehlo.custom_call @opaque(%0) : (tensor<8x512xf32>) -> tensor<8x512xf32> loc("model.py":7:3)
  %2 = "stablehlo.fft"(%x) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 1024>} : (tensor<8x1024xf32>) -> tensor<8x513xcomplex<f32>> loc("model.py":8:3)
  %3 = "stablehlo.fft"(%2) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 1024>} : (tensor<8x513xcomplex<f32>>) -> tensor<8x1024xf32> loc("model.py":9:3)
  func.return %1, %3 : tensor<8x512xf32>, tensor<8x1024xf32>
}
"""


@pytest.mark.parametrize("strategy", ["dataflow", "auto"])
def test_nothing_is_replicated_silently(strategy):
    """An op that no split survives is in the report and in the remarks, with reason, place and cost."""
    fixed = {0: ShardSpec.parse("[-, model]"), 1: ShardSpec.parse("[-, model]")}
    done = compile_program(load_program(SORTED), MESH, Options(strategy, in_specs=fixed))
    text = explain(done, cost_of(done))
    section = text[text.index("Replicated (") :].split("\n\n")[0]
    rows = {line.split()[0]: line for line in section.splitlines()[3:]}
    remarks = [t for _, _, t in done.remarks if "runs replicated over" in t]
    names = ["custom_call", "fft"] if strategy == "dataflow" else ["custom_call"]  # the search splits the batch
    reasons = {"custom_call": "custom call @opaque is opaque", "fft": "dimension 1 stays unsplit: it is transformed"}
    places = {"custom_call": "model.py:7", "fft": "model.py:8"}
    for name in names:
        row = rows.pop(name)
        assert all(x in row for x in (" us ", "[-, model]", " model ", reasons[name], places[name])), row
        start = f"'stablehlo.{name}' op runs replicated over model: operand 0 is split as [-, model], but {reasons[name]}"
        assert [t for t in remarks if t.startswith(start) and " us to gather)" in t], remarks
    assert not rows and len(remarks) == len(names)


def test_no_section_where_nothing_is_replicated(compilation):
    assert "Replicated (" not in explain(compilation, cost_of(compilation))
