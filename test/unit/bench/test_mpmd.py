"""`bench/mpmd.py`: the step as named computations, and what is read from the modules of jaxlib's MPMD partitioner."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from bench import mpmd, mpmd_partition, mpmd_program, staged
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from support.close import assert_close

SCHEDULED = """
module {
  func.func public @main(%arg0: !mpmd.mesh_tensor<"mesh0", tensor<8x8xf32>>) {
    %0:7 = mpmd.fragment<mesh="mesh0", origin=["stage0"], stage=0> (%arg0, %arg2) {call_counter = 0 : ui32} (%arg4: tensor<8x8xf32>) {
      %9 = stablehlo.add %arg4, %arg4 : tensor<8x8xf32>
    } : (!mpmd.mesh_tensor<"mesh0", tensor<8x8xf32>>) -> !mpmd.mesh_tensor<"mesh0", tensor<2x8xf32>>
    %1 = mpmd.transfer %0#4 : (!mpmd.mesh_tensor<"mesh0", tensor<2x8xbf16>>) -> !mpmd.mesh_tensor<"mesh1", tensor<2x8xbf16>>
    %2 = mpmd.fragment<mesh="mesh1", origin=["stage1"], stage=1> (%1) {call_counter = 0 : ui32} (%arg4: tensor<2x8xf32>) {
    %3 = mpmd.fragment<mesh="mesh1", origin=["stage1"(1)], stage=1> (%2#1, %2#2) {call_counter = 0 : ui32, split_keep_transferred} (%arg4: tensor<f32>) {
    %4 = mpmd.transfer {origin = "x"} %3#1 : (!mpmd.mesh_tensor<"mesh1", tensor<f32>>) -> !mpmd.mesh_tensor<"mesh0", tensor<f32>>
    %5 = mpmd.fragment<mesh="mesh0", origin=[]> (%arg0) (%arg4: tensor<8x8xf32>) {
    %6 = mpmd.fragment<mesh="mesh1", origin=["stage1"(1)], stage=1> (%3#0) {call_counter = 0 : ui32, split_drop_transferred} (%arg4: tensor<f32>) {
    %7 = mpmd.fragment<mesh="mesh0", origin=["stage0"(1)], stage=0> (%4) {call_counter = 0 : ui32} (%arg4: tensor<f32>) {
    %8 = mpmd.transfer %5 : (!mpmd.mesh_tensor<"mesh0", tensor<3xi32>>) -> !mpmd.mesh_tensor<"mesh0", tensor<3xi32>>
  }
}
"""

CALLS = """
    %0:7 = mpmd.fragment_call<mesh="mesh0", origin=["stage0"]> @p0(%arg2) : () -> ()
    %1:7 = mpmd.fragment_call<mesh="mesh1", origin=["stage1"]> @p1(%arg2) : () -> ()
    %2:7 = mpmd.fragment_call<mesh="mesh0", origin=[]> @p2(%arg2) : () -> ()
    %3:7 = mpmd.fragment_call<mesh="mesh0", origin=["stage0"(1)]> @p3(%arg2) : () -> ()
"""


def test_orders_are_read() -> None:
    orders = mpmd_partition.orders(SCHEDULED, 2)
    assert orders == ("F0 BW0", "F0 B0 W0")
    pipeline = Pipeline.uniform((0, 1), 1, (1.0, 1.0, 1.0, 0.0))
    assert Schedule.parse(pipeline, orders).makespan == 5.0


def test_calls_of_stages_are_read() -> None:
    assert mpmd_partition.directions(CALLS, 2) == ("FB", "F")


def test_bytes_between_meshes_are_counted() -> None:
    copy = mpmd_partition.Copy
    assert mpmd_partition.copies(SCHEDULED) == (copy(0, 1, 32), copy(1, 0, 4))


def test_a_transfer_of_another_form_is_an_error() -> None:
    line = '%1 = mpmd.transfer %0 : (!mpmd.mesh_tensor<"other", tensor<2xf32>>) -> !mpmd.mesh_tensor<"mesh1", tensor<2xf32>>'
    with pytest.raises(mpmd_partition.PartitionerError, match="a transfer that is not understood: %1 = mpmd.transfer"):
        mpmd_partition.copies(line)


def small(name: str) -> staged.Staged:
    sizes: dict[str, Any] = {"mlp": {"blocks": 4, "width": 8}, "translator": {"blocks": 2, "width": 8, "length": 4}}
    return staged.MODELS[name](4, 8, **sizes[name])


@pytest.mark.parametrize(
    ("name", "by_stage"),
    [("mlp", False), ("translator", True), pytest.param("translator", False, marks=pytest.mark.exhaustive)],
)
def test_named_computations_are_the_same_step(name: str, by_stage: bool) -> None:
    model = small(name)
    args = model.values()
    got, want = mpmd_program.step(model, 2, by_stage)(*args), jax.jit(model.step)(*args)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert_close(a, b, 1e-5)


def test_each_stage_has_two_named_computations_per_microbatch() -> None:
    text = mpmd_program.question(small("mlp"), 2).text
    for n in range(4):
        assert text.count(f'mpmd.named_computation<"stage{n}">') == 2
        assert text.count(f'mpmd.named_computation<"stage{n}"(1)>') == 2
    assert "call_counter = 0 : ui32" in text and "call_counter = 1 : ui32" in text


def test_an_activation_and_a_gradient_are_sent_per_boundary() -> None:
    model = small("mlp")
    program = mpmd.divided(model, 2)
    schedule = Schedule.parse(mpmd.clocks(program)["equal"], ["F0 F1 BW0 BW1"] * 4)
    assert mpmd.bytes_sent(program, schedule) == 2 * 3 * 8 * 8 * 4


def test_without_a_partitioner_there_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mpmd, "available", lambda: "ImportError: no _sdy_mpmd")
    monkeypatch.setattr("sys.argv", ["mpmd"])
    with pytest.raises(SystemExit) as found:
        mpmd.main()
    assert found.value.code == 1
    assert "has no MPMD partitioner that can be loaded: ImportError: no _sdy_mpmd" in capsys.readouterr().err


def test_a_failure_is_what_the_partitioner_said() -> None:
    if (reason := mpmd_partition.available()) is not None:
        pytest.skip(f"no partitioner: {reason}")
    question = mpmd_program.Question("module {", {"stage0": 0}, [], [])
    with pytest.raises(mpmd_partition.PartitionerError, match="error"):
        mpmd_partition.partitioned(question, "1f1b")


def test_both_sides_of_a_small_model() -> None:
    if (reason := mpmd_partition.available()) is not None:
        pytest.skip(f"no partitioner: {reason}")
    model = small("mlp")
    theirs = mpmd_partition.partitioned(mpmd_program.question(model, 4), "1f1b")
    found = mpmd.Comparison()
    found.add(["mlp", "4", "4"], theirs, mpmd.divided(model, 4), "1f1b")
    assert found.counts["bytes"] == [0, 1, 0] and found.counts["makespan"] == [0, 2, 0]
