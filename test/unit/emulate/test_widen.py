"""A widened program computes what the program means, without its rounding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pcg.emulate.rounding import Noise, perturbed
from pcg.emulate.widen import is_wide, widen
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.runtime import check
from pcg.runtime.check import Unsharded
from pcg.tools.op_samples import SAMPLES
from support.checks import inputs_of, text_of


def program(function, *args):
    out = jax.eval_shape(function, *args)
    leaves = [check.Leaf(f"r{i}", x.shape, _ELEMENTS[x.dtype.name]) for i, x in enumerate(jax.tree.leaves(out))]
    ins = [check.Leaf(f"a{i}", np.shape(x), _ELEMENTS[x.dtype.name]) for i, x in enumerate(args)]
    return Unsharded(text_of(function, args), ins, leaves)


_ELEMENTS = {
    "float32": "f32", "float64": "f64", "bfloat16": "bf16", "int32": "i32", "uint32": "ui32", "complex64": "complex<f32>",
    "bool": "i1",
}  # fmt: skip


def wide(function, *args):
    one = program(function, *args)
    return [np.asarray(x) for x in one.run_wide([np.asarray(a, _wider(a.dtype)) for a in args])]


def _wider(dtype):
    return {"f": np.float64, "c": np.complex128, "V": np.float64}.get(dtype.kind, dtype)


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_sums_and_products_are_those_of_float64():
    x, w = normal(64, 300), normal(300, 5, seed=1)
    product, total = wide(lambda x, w: (x @ w, jnp.tanh(x).sum(0)), x, w)
    np.testing.assert_allclose(product, x.astype(np.float64) @ w.astype(np.float64), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(total, np.tanh(x.astype(np.float64)).sum(0), rtol=1e-13, atol=1e-13)


def test_a_conversion_that_rounded_changes_nothing():
    x = normal(100)
    (found,) = wide(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32) + jnp.float32(0.1), x)
    np.testing.assert_allclose(found, x.astype(np.float64) + np.float64(np.float32(0.1)), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
def test_constants_are_the_numbers_that_they_were_rounded_to(dtype):
    c = np.array([0.1, 1 / 3, 2.0], jnp.dtype(dtype))
    (found,) = wide(lambda x: x * jnp.asarray(c), np.ones(3, jnp.dtype(dtype)))
    np.testing.assert_array_equal(found, c.astype(np.complex128 if dtype == "complex64" else np.float64))


def test_random_numbers_made_from_bits_stay_the_same():
    key = np.array([1, 2], np.uint32)

    def f(key):
        k = jax.random.wrap_key_data(key)
        return jax.random.uniform(k, (50,)), jax.random.bernoulli(k, 0.3, (50,)), jax.random.bits(k, (50,))

    uniform, kept, bits = wide(f, key)
    expected = jax.jit(f)(key)
    np.testing.assert_allclose(uniform, np.asarray(expected[0], np.float64), rtol=1e-15, atol=2e-7)
    np.testing.assert_array_equal(kept, expected[1])
    np.testing.assert_array_equal(bits, expected[2])


def test_loops_branches_and_bodies_are_widened():
    x = normal(8, 16)

    def f(x):
        def body(c, a):
            return jnp.tanh(c + a), jax.lax.cond(a[0] > 0, lambda: c.sum(), lambda: c.max())

        return jax.lax.scan(body, x[0], x)

    last, each = wide(f, x)
    c, want = x[0].astype(np.float64), []
    for a in x.astype(np.float64):
        want.append(c.sum() if a[0] > 0 else c.max())
        c = np.tanh(c + a)
    np.testing.assert_allclose(last, c, rtol=1e-13)
    np.testing.assert_allclose(each, want, rtol=1e-13)


def test_linear_algebra_is_called_in_double_precision():
    a = normal(6, 6)
    a = (a @ a.T + np.eye(6)).astype(np.float32)
    (found,) = wide(lambda a: jnp.linalg.cholesky(a), a)
    np.testing.assert_allclose(found, np.linalg.cholesky(a.astype(np.float64)), rtol=1e-12, atol=1e-12)


def test_a_lowered_program_keeps_its_collectives():
    text = """module attributes {pcg.in_specs = ["[x]"], pcg.mesh = "x=2", pcg.out_specs = ["[]"]} {
      func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
        %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }"""
    module = load_module(text, make_context(), "test")
    assert not is_wide(module)
    widen(module)
    assert is_wide(module) and "f32" not in str(module) and "all_reduce" in str(module)


def test_every_op_can_be_widened_and_perturbed():
    context = make_context()
    for name, text in SAMPLES.items():
        if "quant." not in text:
            for change in (widen, perturbed):
                module = load_module(text, context, name)
                change(module)
                assert is_wide(module) or any(n in text for n in ("stablehlo.rng", "constant", "bitcast")), module


def test_quantised_values_are_refused():
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0>>
      %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    with pytest.raises(PcgError, match="uniform_quantize.*quantized values, which have no wider type"):
        widen(load_module(text, make_context(), "test"))


# -- with rounding ---------------------------------------------------------------------------------


def spread(function, *args, scale=1.0, double=False, runs=5):
    """How far perturbed runs lie from the unperturbed one, each result's largest."""
    one = program(function, *args)
    values = [np.asarray(a, _wider(a.dtype)) for a in args]
    base = [np.asarray(x) for x in one.run_perturbed(values)]
    for x, y in zip(base, one.run_wide(values), strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-12, atol=1e-12)
    rng = np.random.default_rng(0)
    found = [0.0] * len(base)
    for _ in range(runs):
        out = one.run_perturbed([*values, *(k.draw(rng, scale, double) for k in one.kinds)])
        found = [max(f, float(np.max(np.abs(np.asarray(x, float) - b)))) for f, x, b in zip(found, out, base, strict=True)]
    return found


def test_cancellation_inside_of_the_program_is_noise():
    x = (1000 + normal(64)).astype(np.float32)
    (variance,) = spread(lambda x: (x * x).mean() - x.mean() ** 2, x)
    assert 0.01 < variance < 1  # a rounding of a million; moving the arguments by a rounding moves it by 1e-4
    (double,) = spread(lambda x: (x * x).mean() - x.mean() ** 2, x, double=True)
    assert double < 1e-8


def test_what_is_computed_twice_errs_the_same_twice():
    x = normal(64)

    def f(x):
        return jnp.exp(x) - jax.lax.optimization_barrier(jnp.exp(x)), jnp.exp(x)

    difference, value = spread(f, x)
    assert value > 1e-7
    assert difference == 0


def test_indices_made_of_nothing_but_counting_do_not_err():
    def f(x):
        at = jnp.floor(jnp.arange(8, dtype=jnp.float32) * 1.0 + 0.0).astype(jnp.int32)
        return x[at], at

    values, indices = spread(f, normal(8), scale=1e3)
    assert indices == 0 and 0 < values < 1e-3


def test_integers_in_floats_do_not_err():
    """A queue: positions are counted by sums of masks that depend on what does err."""

    def f(x):
        mask = jax.nn.one_hot(jnp.argmax(x, -1), x.shape[-1])
        position = jnp.sum(jnp.cumsum(mask, 0) * mask, -1)
        last, _ = jax.lax.scan(lambda c, a: (c + a, None), mask[0], mask)
        return position.astype(jnp.int32), position < 3, last, jnp.floor(jnp.round(x) * 2), x.sum()

    *exact, total = spread(f, normal(32, 4), scale=4)
    assert exact == [0, 0, 0, 0] and total > 1e-7


def test_what_no_argument_has_touched_errs_where_it_is_summed():
    def f(x):
        wave = jnp.sin(jnp.arange(64, dtype=jnp.float32) * 0.1)
        return wave.sum(), wave, x

    total, wave, _ = spread(f, normal(4))
    assert total > 1e-7 and wave == 0


def test_narrow_types_err_by_their_own_rounding():
    x = np.linspace(1, 2, 32, dtype=np.float32)
    narrow, own = spread(lambda x: (x.astype(jnp.bfloat16).astype(jnp.float32), x * 1), x)
    assert 1e-3 < narrow < 1e-2 and own < 1e-6


def test_programs_without_floats_have_no_noise():
    one = program(lambda i: i * 2, np.arange(4, dtype=np.int32))
    one.run_perturbed([np.arange(4, dtype=np.int32)])
    assert one.kinds == []


def test_noise_is_between_half_and_the_whole_of_the_scale():
    e = np.abs(Noise("bf16", False, 1000).draw(np.random.default_rng(0), 1.0, False) - 1)
    assert 0.5 <= e.min() * 2**8 and e.max() * 2**8 <= 1
    assert np.abs(Noise("f32", True, 9).draw(np.random.default_rng(0), 1.0, True) - 1).min() > 2.0**-26


def test_calls_are_inlined_first_so_that_they_err_too():
    x = (1000 + normal(64)).astype(np.float32)
    inner = jax.jit(lambda x: (x * x).mean() - x.mean() ** 2)
    (found,) = spread(lambda x: inner(x), x)
    assert found > 0.01
    module = load_module(text_of(lambda x: inner(x), [x]), make_context(), "test")
    Pipeline("stablehlo-legalize-composite-to-call,inline,symbol-dce").run(module)
    assert [k.element for k in perturbed(module)] == ["f32"]


def test_inputs_reach_through_layouts():
    text = """
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
    func.func @main(%t: tensor<5x2xf32>, %i: tensor<400xi32>) -> tensor<400x2xf32> {
      %0 = "pcg.partition"(%i) {axes = ["x"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["x"]], {}>]}
        : (tensor<400xi32>) -> tensor<400xi32>
      %1 = "stablehlo.gather"(%t, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
        slice_sizes = array<i64: 1, 2>}> : (tensor<5x2xf32>, tensor<400xi32>) -> tensor<400x2xf32>
      return %1 : tensor<400x2xf32>
    }"""
    leaves = [check.Leaf("t", (5, 2), "f32"), check.Leaf("i", (400,), "i32")]
    _, i = inputs_of(text, leaves)(0)
    assert i.min() == 0 and i.max() == 4
