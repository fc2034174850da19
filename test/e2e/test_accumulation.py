"""Gradients added up over microbatches: addends stay on their devices until the loop is over, and are reduced once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import pcg
from pcg.ir.walk import walk
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
