"""A hand-written per-device module inside one jitted jax call."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from pcg.layout import Mesh
from pcg.runtime import jax_compat
from support.close import assert_close

MESH = Mesh.parse("data=2,model=4")
S = jax.ShapeDtypeStruct
#: x is split over data, w over model; gathers the product over model, then adds it up over data.
TEXT = """"builtin.module"() ({
"func.func"() ({^bb0(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>):
 %0 = "func.call"(%x, %w) {callee = @dot} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
 %1 = "stablehlo.all_gather"(%0) {all_gather_dim = 1 : i64,
   channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
   replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}
   : (tensor<4x4xf32>) -> tensor<4x16xf32>
 %2 = "stablehlo.all_reduce"(%1) ({^bb0(%a: tensor<f32>, %b: tensor<f32>):
     %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
     "stablehlo.return"(%s) : (tensor<f32>) -> ()})
   {channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
    replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}
   : (tensor<4x16xf32>) -> tensor<4x16xf32>
 %p = "stablehlo.partition_id"() : () -> tensor<ui32>
 %q = "stablehlo.reshape"(%p) : (tensor<ui32>) -> tensor<1xui32>
 "func.return"(%1, %2, %q) : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<1xui32>) -> ()
}) {sym_name = "main", function_type = (tensor<4x8xf32>, tensor<8x4xf32>)
      -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<1xui32>)} : () -> ()
"func.func"() ({^bb0(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>):
 %0 = "stablehlo.dot_general"(%x, %w) {dot_dimension_numbers =
   #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}
   : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
 "func.return"(%0) : (tensor<4x4xf32>) -> ()
}) {sym_name = "dot", sym_visibility = "private",
    function_type = (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>} : () -> ()
}) : () -> ()"""
PROGRAM = jax_compat.LocalProgram(TEXT, (S((4, 16), np.float32), S((4, 16), np.float32), S((1,), np.uint32)))


def run(devices, calls: int = 1):
    mesh = jax_compat.jax_mesh(MESH, devices)

    def body(x, w):
        for _ in range(calls):
            out = jax_compat.inline_call(PROGRAM, x, w)
            x = out[0][:, :8]
        return out

    specs = [P("data"), P(), P(("data", "model"))]
    f = jax_compat.shard_map(body, mesh, (P("data"), P(None, "model")), specs)
    named = [NamedSharding(mesh, s) for s in specs]
    inputs = (NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model")))
    return jax.jit(f, in_shardings=inputs, out_shardings=named)


@pytest.mark.parametrize("order", [1, -1], ids=["devices in order", "devices reversed"])
def test_collectives_speak_of_mesh_positions(order):
    x, w = np.random.default_rng(0).normal(size=(2, 8, 16)).astype(np.float32)
    x = x[:, :8]
    gathered, added, position = run(jax.devices()[::order])(x, w)
    assert_close(gathered, x @ w, 1e-5)
    assert_close(added, (x @ w)[:4] + (x @ w)[4:], 1e-5)
    np.testing.assert_array_equal(position, np.arange(8))


def test_the_same_program_twice_is_merged_once():
    f = run(jax.devices(), calls=2)
    text = f.lower(np.ones((8, 8), np.float32), np.ones((8, 16), np.float32)).as_text()
    assert text.count(f"func.func private @{PROGRAM.key}_main") == 1
    assert text.count(f"call @{PROGRAM.key}_main") == 2


def test_a_module_on_one_device():
    one = """"builtin.module"() ({ "func.func"() ({^bb0(%x: tensor<3xf32>):
      %0 = "stablehlo.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
      "func.return"(%0) : (tensor<3xf32>) -> ()
    }) {sym_name = "main", function_type = (tensor<3xf32>) -> tensor<3xf32>} : () -> () }) : () -> ()"""
    f = jax_compat.plain_function(one, [S((3,), np.float32)])
    assert_close(f(np.ones(3, np.float32))[0], np.tanh(np.ones(3)), 1e-6)


def test_wide_values_only_inside_the_context():
    with jax_compat.x64(True):
        assert jax.numpy.ones(2, np.float64).dtype == np.float64
    assert jax.numpy.asarray(np.ones(2)).dtype == np.float32


def test_keys():
    key = jax.random.key(0)
    assert jax_compat.is_key(key.dtype) and not jax_compat.is_key(np.dtype(np.float32))
    assert jax_compat.key_impl(key.dtype) == "threefry2x32"
    assert jax_compat.key_data_shape(key.dtype) == (2,)
