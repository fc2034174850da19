"""The emulator against numpy, on programs written by hand for one device."""

import numpy as np
import pytest
from torch_mlir import ir

from pcg.emulate import emulate_in_place
from pcg.ir.errors import PcgError
from pcg.layout import Mesh, ShardSpec
from pcg.passes.pcg_emulate import EmulatePass
from support import rulecheck
from support.rulecheck import context

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
GROUPS = "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"
ADD = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %s : tensor<f32> })"""
MESH = Mesh.parse("a=2,b=2")
ROWS = ShardSpec((("a", "b"), ()))


def emulated(body: str, local: str, result: str, ins=(ROWS,), outs=(ROWS,), check=False) -> str:
    text = f"func.func @main(%x: {local}) -> {result} {{ {body}\n func.return %0 : {result} }}"
    with context():
        module = ir.Module.parse(text)
        emulate_in_place(module, MESH, ins, outs, check)
        module.operation.verify()
    return str(module)


def run(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    with context():
        return rulecheck.run(text, inputs)


def all_reduce(x: str, y: str) -> str:
    types = "(tensor<2x4xf32>) -> tensor<2x4xf32>"
    return f'%{y} = "stablehlo.all_reduce"(%{x}) <{{{CHANNEL}, {GROUPS}, use_global_device_ids}}> {ADD} : {types}'


X = np.arange(32, dtype=np.float32).reshape(8, 4)
SHARDS = X.reshape(4, 2, 4)
SUMS = np.stack([SHARDS[0] + SHARDS[2], SHARDS[1] + SHARDS[3]] * 2)


def collective(name: str, attributes: str, result: str, region: str = "") -> str:
    head = f'%0 = "stablehlo.{name}"(%x) <{{{CHANNEL}, {attributes}}}> {region}'
    return f"{head} : (tensor<2x4xf32>) -> {result}"


@pytest.mark.parametrize("body,result,want", [
    (all_reduce("x", "0"), "tensor<2x4xf32>", SUMS),
    (collective("all_gather", f"{GROUPS}, all_gather_dim = 1 : i64", "tensor<2x8xf32>"), "tensor<2x8xf32>",
     np.stack([np.concatenate([SHARDS[i % 2], SHARDS[i % 2 + 2]], 1) for i in range(4)])),
    (collective("reduce_scatter", f"{GROUPS}, scatter_dimension = 0 : i64", "tensor<1x4xf32>", ADD), "tensor<1x4xf32>",
     np.stack([SUMS[0][:1], SUMS[1][:1], SUMS[0][1:], SUMS[1][1:]])),
    (collective("all_to_all", f"{GROUPS}, split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64",
                "tensor<4x2xf32>"), "tensor<4x2xf32>",
     np.stack([np.concatenate([SHARDS[i % 2][:, c], SHARDS[i % 2 + 2][:, c]])
               for i, c in enumerate([slice(0, 2), slice(0, 2), slice(2, 4), slice(2, 4)])])),
    (collective("collective_permute", "source_target_pairs = dense<[[0, 1], [3, 0]]> : tensor<2x2xi64>",
                "tensor<2x4xf32>"), "tensor<2x4xf32>", np.stack([SHARDS[3], SHARDS[0], 0 * X[:2], 0 * X[:2]])),
    (collective("collective_broadcast", GROUPS, "tensor<2x4xf32>"), "tensor<2x4xf32>",
     np.stack([SHARDS[0], SHARDS[1], SHARDS[0], SHARDS[1]])),
])  # fmt: skip
def test_each_collective(body, result, want):
    (got,) = run(emulated(body, "tensor<2x4xf32>", result), [X])
    np.testing.assert_array_equal(got, want.reshape(-1, want.shape[-1]))


def test_partition_id():
    body = """%p = stablehlo.partition_id : tensor<ui32>
      %f = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
      %0 = stablehlo.add %x, %b : tensor<2x4xf32>"""
    (got,) = run(emulated(body, "tensor<2x4xf32>", "tensor<2x4xf32>"), [X])
    np.testing.assert_array_equal(got, X + np.repeat(np.arange(4), 2)[:, None])


def test_collective_in_a_loop_that_uses_a_value_from_outside():
    body = f"""%c = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%k = %c, %y = %x) : tensor<i32>, tensor<2x4xf32> cond {{
        %n = stablehlo.constant dense<3> : tensor<i32>
        %l = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %l : tensor<i1>
      }} do {{
        %o = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %k, %o : tensor<i32>
        {all_reduce("y", "z")}
        %w = stablehlo.add %z, %x : tensor<2x4xf32>
        stablehlo.return %j, %w : tensor<i32>, tensor<2x4xf32>
      }}
      %0 = stablehlo.negate %r#1 : tensor<2x4xf32>"""
    (got,) = run(emulated(body, "tensor<2x4xf32>", "tensor<2x4xf32>"), [X])
    y = SHARDS
    for _ in range(3):
        y = np.stack([y[0] + y[2], y[1] + y[3]] * 2) + SHARDS
    np.testing.assert_array_equal(got, -y.reshape(8, 4))


def test_collective_in_one_branch():
    body = f"""%c = stablehlo.constant dense<true> : tensor<i1>
      %0 = "stablehlo.if"(%c) ({{ {all_reduce("x", "z")}\n stablehlo.return %z : tensor<2x4xf32> }},
        {{ stablehlo.return %x : tensor<2x4xf32> }}) : (tensor<i1>) -> tensor<2x4xf32>"""
    (got,) = run(emulated(body, "tensor<2x4xf32>", "tensor<2x4xf32>"), [X])
    np.testing.assert_array_equal(got, SUMS.reshape(8, 4))


@pytest.mark.parametrize("dtype", ["f32", "i1", "i32", "ui8", "bf16", "complex<f32>"])
def test_replicas_that_disagree_are_found(dtype):
    whole = ShardSpec.replicated(2)
    body = "%0 = stablehlo.optimization_barrier %x : tensor<2x4xT>".replace("T", dtype)
    text = emulated(body, f"tensor<2x4x{dtype}>", f"tensor<2x4x{dtype}>", outs=(whole,), check=True)
    kind = {"i1": np.bool_, "i32": np.int32, "ui8": np.uint8, "complex<f32>": np.complex64}.get(dtype, np.float32)
    if dtype == "bf16":
        import ml_dtypes

        kind = ml_dtypes.bfloat16
    same = np.tile(np.array([[0, 1, 0, 1], [1, 1, 0, 0]]), (4, 1)).astype(kind)
    other = same.copy()
    other[5, 2] = 1
    assert bool(run(text, [same])[-1])
    assert not bool(run(text, [other])[-1])


def test_nan_replicas_agree():
    text = emulated("%0 = stablehlo.negate %x : tensor<2x4xf32>", "tensor<2x4xf32>", "tensor<2x4xf32>",
                    outs=(ShardSpec.replicated(2),), check=True)  # fmt: skip
    assert bool(run(text, [np.full((8, 4), np.nan, np.float32)])[-1])


def test_layouts_must_match_the_function():
    with pytest.raises(PcgError, match="1 arguments and 1 results, but layouts of 2 and 1"):
        emulated("%0 = stablehlo.negate %x : tensor<2x4xf32>", "tensor<2x4xf32>", "tensor<2x4xf32>", ins=(ROWS, ROWS))


def test_a_program_that_was_not_lowered_is_refused():
    with context():
        module = ir.Module.parse("func.func @main() { func.return }")
        with pytest.raises(PcgError, match=r"no pcg\.mesh"):
            EmulatePass().run(module.operation)
