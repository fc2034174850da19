"""The two counters of `bench/` against programs whose traffic is known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from bench.collectives import of_stablehlo_text
from bench.hlo import of_hlo

REDUCER = """({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8x4xf32>) -> tensor<8x4xf32>"""
ALL_REDUCE = (
    '"stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,'
    " replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> " + REDUCER
)
LOOP = f"""
module attributes {{mhlo.num_partitions = 8 : i32}} {{
  func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {{
    %c = stablehlo.constant dense<2> : tensor<i32>
    %limit = stablehlo.constant dense<11> : tensor<i32>
    %one = stablehlo.constant dense<3> : tensor<i32>
    %0:3 = stablehlo.while(%i = %c, %n = %limit, %x = %arg0) : tensor<i32>, tensor<i32>, tensor<8x4xf32>
     cond {{
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %y = func.call @reduce(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %n, %y : tensor<i32>, tensor<i32>, tensor<8x4xf32>
    }}
    return %0#2 : tensor<8x4xf32>
  }}
  func.func private @reduce(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {{
    %0 = {ALL_REDUCE}
    return %0 : tensor<8x4xf32>
  }}
}}
"""
SLICED = f"""
module attributes {{mhlo.num_partitions = 8 : i32}} {{
  func.func @main(%x: tensor<8x4xf32>, %i: tensor<i32>) -> tensor<2x4xf32> {{
    %0 = {ALL_REDUCE}
    %1 = stablehlo.dynamic_slice %0, %i, %i, sizes = [2, 4]
      : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }}
}}
"""


def test_stablehlo_counts_loops_and_calls() -> None:
    traffic = of_stablehlo_text(LOOP)
    assert traffic.counts() == {"all_reduce": 3}
    assert traffic.wire_bytes == 3 * 2 * 3 / 4 * 8 * 4 * 4
    assert traffic.unknown_loops == 0


def test_stablehlo_counts_a_sliced_all_reduce_as_reduce_scatter() -> None:
    traffic = of_stablehlo_text(SLICED)
    assert traffic.counts() == {"reduce_scatter": 1}
    assert traffic.wire_bytes == 3 * 2 * 4 * 4


@pytest.mark.parametrize("scan", [False, True])
def test_hlo_counts_partitioned_jax(scan: bool) -> None:
    """Column then row split: one all-reduce of the output, per iteration when it is a loop."""
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model"))

    def layer(x: jax.Array, w: tuple[jax.Array, jax.Array]) -> jax.Array:
        return jnp.tanh(x @ w[0]) @ w[1]

    def stack(x: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
        if scan:
            return jax.lax.scan(lambda c, w: (layer(c, w), None), x, (w1, w2))[0]
        for i in range(5):
            x = layer(x, (w1[i], w2[i]))
        return x

    specs = (P("data"), P(None, None, "model"), P(None, "model", None))
    shardings = [NamedSharding(mesh, s) for s in specs]
    args = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((16, 32), (5, 32, 64), (5, 64, 32))]
    text = jax.jit(stack, in_shardings=shardings, out_shardings=shardings[0]).lower(*args).compile().as_text()
    traffic = of_hlo(text, 8)
    assert traffic.counts() == {"all_reduce": 5}
    assert traffic.wire_bytes == 5 * 2 * 3 / 4 * (8 * 32 * 4)
    assert traffic.unknown_loops == 0
