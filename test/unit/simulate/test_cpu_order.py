"""What XLA's CPU backend does to order and memory."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile, Rates
from pcg.simulate import simulate
from pcg.simulate.cpu_order import reorder_for_cpu
from pcg.simulate.task_graph import Task, TaskGraph


def program(*tasks: tuple[str, tuple[int, ...], tuple[int, ...]], arguments: int = 0, **more) -> TaskGraph:
    """Tasks as (name, values read, values written); the first values are the arguments, all of one byte."""
    p = TaskGraph(**more)
    p.sizes = [1.0] * (1 + max(v for _, r, w in tasks for v in (*r, *w)))
    p.arguments = tuple(range(arguments))
    p.tasks = [Task(name, "compute", 1.0, reads=r, writes=w) for name, r, w in tasks]
    return p


def names(p: TaskGraph) -> list[str]:
    return [t.name for t in p.tasks]


def test_kernels_run_in_the_order_in_which_they_become_ready():
    p = program(
        ("a", (0,), (1,)), ("b", (1,), (2,)), ("c", (2,), (3,)), ("d", (0,), (4,)), ("e", (4,), (5,)), arguments=1
    )
    reorder_for_cpu(p, lambda size: 0.0)
    assert names(p) == ["a", "d", "b", "e", "c"]


def test_what_reads_nothing_comes_after_the_users_of_arguments():
    p = program(("made", (), (1,)), ("a", (0,), (2,)), ("b", (1, 2), (3,)), arguments=1)
    reorder_for_cpu(p, lambda size: 0.0)
    assert names(p) == ["a", "made", "b"]


def test_an_update_that_another_reader_may_follow_is_of_a_copy():
    """The new weight does not depend on what reads the old one for the backward pass."""
    p = program(
        ("forward", (0, 1), (2,)), ("backward", (0, 2), (3,)), ("update", (0, 2), (4,)), arguments=2,
        donated=frozenset({0}), results=(4, 3), aliases={0: 0},
    )  # fmt: skip
    reorder_for_cpu(p, lambda size: 0.5 * size)
    assert names(p) == ["copy", "forward", "backward", "update"]
    copied = p.tasks[0].writes[0]
    assert all(copied in t.reads and 0 not in t.reads for t in p.tasks[1:])
    assert p.tasks[0].seconds == 0.5


def test_an_update_after_all_readers_is_in_place():
    p = program(
        ("forward", (0, 1), (2,)), ("update", (0, 2), (3,)), arguments=2, donated=frozenset({0}), results=(3,),
        aliases={0: 0},
    )  # fmt: skip
    reorder_for_cpu(p, lambda size: 0.5 * size)
    assert names(p) == ["forward", "update"]


def kernels(text: str, backend: str) -> list[str]:
    model = CostModel(Machine.default(), Mesh.parse("x=2"))
    found = simulate(load_module(text, make_context(), "test"), model, backend=backend)
    return sorted(e.name for e in found.events)


def test_nothing_but_a_product_is_fused_into_a_reduction():
    text = """func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<f32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.exponential %x : tensor<64xf32>
      %1 = stablehlo.multiply %0, %y : tensor<64xf32>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
      return %2 : tensor<f32>
    }"""
    assert kernels(text, "accelerator") == ["reduce +2"]
    assert kernels(text, "cpu") == ["exponential", "reduce +1"]
    sums = text.replace("stablehlo.multiply", "stablehlo.add")
    assert kernels(sums, "cpu") == ["add +1", "reduce"]


def product(x: str, y: str, out: str, numbers: str) -> str:
    return f"""func.func @main(%x: {x}, %y: {y}) -> {out} {{
      %0 = stablehlo.dot_general %x, %y, {numbers} : ({x}, {y}) -> {out}
      return %0 : {out}
    }}"""


def test_operands_of_contractions_are_reordered_into_matrices():
    batch = "tensor<4x8x16xf32>"
    gradient = product(batch, "tensor<4x8x32xf32>", "tensor<16x32xf32>", "contracting_dims = [0, 1] x [0, 1]")
    assert kernels(gradient, "accelerator") == ["dot_general"]
    # The rows of the left become its columns; the right is (contracted, columns) as it lies.
    assert kernels(gradient, "cpu") == ["dot_general", "transpose"]
    forward = product(batch, "tensor<16x32xf32>", "tensor<4x8x32xf32>", "contracting_dims = [2] x [0]")
    assert kernels(forward, "cpu") == ["dot_general"]
    matrices = product("tensor<8x16xf32>", "tensor<8x32xf32>", "tensor<16x32xf32>", "contracting_dims = [0] x [0]")
    assert kernels(matrices, "cpu") == ["dot_general"]


@pytest.mark.parametrize(
    ("left", "right", "numbers", "packs"),
    [
        ("8x16", "8x32", "contracting_dims = [0] x [0]", True),
        ("16x8", "8x32", "contracting_dims = [1] x [0]", False),
        ("16x8", "32x8", "contracting_dims = [1] x [1]", False),
        ("8x1", "8x32", "contracting_dims = [0] x [0]", False),  # a vector lies in any order
        ("4x8x16", "4x8x32", "batching_dims = [0] x [0], contracting_dims = [1] x [1]", True),
        ("4x16x8", "4x8x32", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", False),
    ],
)
def test_a_left_matrix_whose_rows_are_contracted_is_packed(left, right, numbers, packs):
    def rate(seconds: float) -> Curve:
        return Curve((1.0, 1e6), (seconds, 1e6 * seconds))

    rates = {
        ("contraction", "f32"): Rates(((1.0, rate(1.0)),)), ("elementwise", "f32"): Rates((), rate(0.25)),
        ("reorder", "f32"): Rates((), rate(1.0)),
    }  # fmt: skip
    kind = replace(Machine.default().device, profile=Profile("cpu", 2, 0.0, 0.0, 0.0, rates, {}))
    model = CostModel(replace(Machine.default(), device=kind), Mesh.parse("x=2"))
    batch, k = (4, 8) if left.startswith("4x") else (1, 8)
    free = math.prod(map(int, left.split("x"))) // batch // k
    out = f"tensor<{'4x' if batch == 4 else ''}{free}x32xf32>"
    text = product(f"tensor<{left}xf32>", f"tensor<{right}xf32>", out, numbers)
    flops, size = 2.0 * batch * free * k * 32, 4.0 * batch * free * k
    for backend in ("accelerator", "cpu"):
        step = simulate(load_module(text, make_context(), "test"), model, backend=backend)
        # A loop over two operands and a result that reads one of them down the columns, instead of all as they lie.
        more = 3 * size * (1.0 - 0.25) if packs and backend == "cpu" else 0.0
        assert step.seconds == pytest.approx(flops + more)


def test_operands_of_convolutions_are_copied_into_one_order_of_dimensions():
    text = """func.func @main(%x: tensor<2x3x8x8xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<2x8x8x4xf32> {
      %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, 0, 1, f],
        window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<2x3x8x8xf32>, tensor<3x3x3x4xf32>) -> tensor<2x8x8x4xf32>
      return %0 : tensor<2x8x8x4xf32>
    }"""
    assert kernels(text, "accelerator") == ["convolution"]
    assert kernels(text, "cpu") == ["convolution", "transpose"]
    canonical = text.replace("2x3x8x8", "2x8x8x3").replace("[b, f, 0, 1]", "[b, 0, 1, f]")
    assert kernels(canonical, "cpu") == ["convolution"]


def test_a_transposed_product_is_written_the_other_way_round():
    text = """func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %p: tensor<2x8xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2x8xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x2xf32>) -> tensor<2x8xf32>
      %2 = stablehlo.subtract %p, %1 : tensor<2x8xf32>
      return %2 : tensor<2x8xf32>
    }"""
    assert kernels(text, "accelerator") == ["dot_general", "subtract"]
