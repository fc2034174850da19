"""Gradients added up over microbatches: partial sums stay on their devices until the loop is over, and are reduced once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.module_program import entry_function
from pcg.driver.signature import mark_state
from pcg.driver.state import state_of
from pcg.frontend import jax_program
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.passes.pipeline import Pipeline
from pcg.runtime import jax_compat
from support.close import assert_close

STEPS, TOKENS, WIDTH = 4, 512, 256


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)


def step(w, xs, ys):
    def body(total, batch):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(w, *batch)), None

    total, _ = jax.lax.scan(body, jax.tree.map(jnp.zeros_like, w), (xs, ys))
    return jax.tree.map(lambda a, g: a - 0.1 * g, w, total)


def test_gradients_are_reduced_once() -> None:
    rng = np.random.default_rng(0)
    w = tuple(jnp.asarray(rng.standard_normal((WIDTH, WIDTH)), jnp.float32) * 0.05 for _ in range(2))
    xs, ys = (jnp.asarray(rng.standard_normal((STEPS, TOKENS, WIDTH)), jnp.float32) for _ in range(2))
    split = P(None, "data")
    compiled = pcg.compile(
        step, {"data": 8}, in_shardings=((P(), P()), split, split), out_shardings=(P(), P())
    )
    lowered = compiled.lower(w, xs, ys)
    reduced = [
        op for op in walk(lowered.compilation.modules["collectives"].operation)
        if op.name in ("dist.all_reduce", "dist.reduce_scatter")
    ]  # fmt: skip
    assert len(reduced) == 2
    assert all(op.parent.name == "func.func" for op in reduced)
    for got, want in zip(compiled(w, xs, ys), jax.jit(step)(w, xs, ys), strict=True):
        assert_close(got, want, 1e-4)


def test_a_whole_start_joins_the_sum_once() -> None:
    """What the sum starts from is counted on one device only."""

    def total(start, xs, w):
        return jax.lax.scan(lambda s, x: (s + x.T @ (x @ w), None), start, xs)[0]

    rng = np.random.default_rng(1)
    start, w = (jnp.asarray(rng.standard_normal((64, 64)), jnp.float32) for _ in range(2))
    xs = jnp.asarray(rng.standard_normal((STEPS, 4096, 64)), jnp.float32)
    compiled = pcg.compile(total, {"data": 8}, in_shardings=(P(), P(None, "data"), P()), out_shardings=P())
    assert "pcg.mask" in compiled.lower(start, xs, w).as_text("pcg")
    assert_close(compiled(start, xs, w), jax.jit(total)(start, xs, w), 2e-3)


# -- random bits in steps that run in microbatches -----------------------------------------------------

BATCH, WIDE, LAYERS = 8, 16, 2


def dropout(key, h):
    return jnp.where(jax.random.bernoulli(key, 0.5, h.shape), h / 0.5, 0)


def keys_as_data(w, key, h):
    keys = jax.random.split(key, LAYERS)
    return jax.lax.scan(lambda h, p: (dropout(p[1], jnp.tanh(h @ p[0])), None), h, (w, keys))[0]


def key_carried(w, key, h):
    def body(carry, w):
        h, key = carry
        key, own = jax.random.split(key)
        return (dropout(own, jnp.tanh(h @ w)), key), None

    return jax.lax.scan(jax.checkpoint(body), (h, key), w)[0][0]


def folded_in_nested_loops(w, key, h):
    def body(carry, w):
        h, i = carry
        own = jax.random.fold_in(key, i)
        h = jax.lax.scan(lambda h, j: (dropout(jax.random.fold_in(own, j), jnp.tanh(h @ w)), None), h, jnp.arange(2))[0]
        return (h, i + 1), None

    return jax.lax.scan(body, (h, 0), w)[0][0]


@jax.custom_vjp
def tanh(x):
    return jnp.tanh(x)


tanh.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (1.5 * g * (1 - jnp.tanh(x) ** 2),))


def noise_and_a_condition(w, key, h):
    def body(carry, w):
        h, key = carry
        key, own, other = jax.random.split(key, 3)
        # The condition is the same for every example, and what it chooses between are not examples.
        scale = jax.lax.cond(jax.random.bits(other, dtype=jnp.uint32) % 2 == 0, lambda: 0.1, lambda: 0.3)
        return (tanh(h @ w) + scale * jax.random.normal(own, h.shape), key), None

    return jax.lax.scan(body, (h, key), w)[0][0]


def noisy_step(forward):
    def step(state, key, x, y):
        def loss(state):
            return jnp.mean((forward(state["w"], key, x) + state["b"] - y) ** 2)

        value, grads = jax.value_and_grad(loss)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads), value

    return step


def in_microbatches(step, args, count):
    """What a step gives after pcg-accumulate, on one device."""
    program = jax_program.trace(step, args, {})
    module = load_module(program.source, make_context())
    Pipeline("sdy-import,pcg-normalize,pcg-reassociate").run(module)
    mark_state(entry_function(module), state_of(program))
    Pipeline(f"pcg-accumulate{{microbatches={count}}},dist-strip").run(module)
    text = module.operation.get_asm(print_generic_op_form=True)
    flat = [jax.random.key_data(x) if jax_compat.is_key(x.dtype) else x for x in jax.tree.leaves(args)]
    return jax_compat.plain_function(text, program.results)(*flat)


def noisy_arguments(impl):
    rng = np.random.default_rng(0)
    state = {
        "b": np.zeros(WIDE, np.float32),
        "w": rng.standard_normal((LAYERS, WIDE, WIDE)).astype(np.float32) / 6,
    }
    x, y = (rng.standard_normal((BATCH, WIDE)).astype(np.float32) for _ in range(2))
    return state, jax.random.key(3, impl=impl), x, y


FORWARD = [keys_as_data, key_carried, folded_in_nested_loops, noise_and_a_condition]


@pytest.mark.parametrize(
    ("forward", "impl"),
    [
        (key_carried, "threefry2x32"), (keys_as_data, "rbg"),
        *(pytest.param(f, i, marks=pytest.mark.exhaustive) for f in FORWARD for i in ("threefry2x32", "rbg")),
    ],
)  # fmt: skip
def test_microbatches_have_the_bits_of_the_whole_batch(forward, impl) -> None:
    step, args = noisy_step(forward), noisy_arguments(impl)
    want = jax.tree.leaves(jax.jit(step)(*args))
    for got, whole in zip(in_microbatches(step, args, 4), want, strict=True):
        np.testing.assert_allclose(got, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.exhaustive
def test_dropout_in_a_scan_under_a_memory_limit() -> None:
    """The search may choose microbatches for such a step, and XLA's results are those of one device."""
    step, (state, key, _, _) = noisy_step(key_carried), noisy_arguments("threefry2x32")
    x, y = (np.random.default_rng(i).standard_normal((2048, WIDE)).astype(np.float32) for i in (1, 2))
    peak = pcg.compile(step, {"d": 2}).lower(state, key, x, y).allocated()
    compiled = pcg.compile(step, {"d": 2}, memory_limit=int(peak * 0.8), recompute=False)
    assert compiled.lower(state, key, x, y).compilation.plan.memory["microbatches"] > 1
    got, want = compiled(state, key, x, y), jax.jit(step)(state, key, x, y)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("what", ["prints", "has a condition"])
def test_what_microbatches_would_repeat_is_refused(what) -> None:
    def forward(w, key, h):
        if what == "prints":
            jax.debug.callback(lambda v: None, h.sum())
            return h @ w[0]
        return jax.lax.cond(jax.random.bits(key) % 2 == 0, lambda: h, lambda: h @ w[0])

    reason = "side effect" if what == "prints" else "reads the data"
    with pytest.raises(PcgError, match=rf"test_accumulation.py:\d+:\d+: .*{reason}"):
        in_microbatches(noisy_step(forward), noisy_arguments("threefry2x32"), 4)
