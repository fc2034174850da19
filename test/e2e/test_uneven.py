"""Sizes that the devices do not divide: padded shards inside the program, whole arrays at its ends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from support.close import assert_close
from support.training import SLOW_DEVICES

RNG = np.random.default_rng(0)


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(RNG.standard_normal(shape), jnp.float32)


def test_a_layout_that_does_not_divide() -> None:
    def f(x, w):
        h = pcg.shard(jnp.tanh(x @ w), ("data", None))
        return h.sum(0), h.max(), h

    x, w = normal(17, 12), normal(12, 5)
    compiled = pcg.compile(f, {"data": 8})
    assert "tensor<3x5xf32>" in compiled.lower(x, w).as_text("local")
    for got, want in zip(compiled(x, w), f_plain(x, w), strict=True):
        assert_close(got, want, 1e-5)


def f_plain(x, w):
    h = jnp.tanh(x @ w)
    return h.sum(0), h.max(), h


def test_the_search_splits_an_odd_vocabulary() -> None:
    """Cross entropy over 1,003 words: the logits are never whole anywhere."""

    def loss(table, x, labels):
        logits = x @ table.T
        picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, 1) - picked)

    table, x = normal(1003, 32), normal(16, 32)
    labels = jnp.asarray(RNG.integers(0, 1003, 16), jnp.int32)
    step = jax.value_and_grad(loss)
    compiled = pcg.compile(step, {"model": 8}, machine=SLOW_DEVICES, in_shardings=(P(), P(), P()))
    text = compiled.lower(table, x, labels).as_text("local")
    assert "x126xf32>" in text and "tensor<16x1003xf32>" not in text
    got, want = compiled(table, x, labels), jax.jit(step)(table, x, labels)
    assert_close(got[0], want[0], 1e-5)
    assert_close(got[1], want[1], 1e-4)


def test_arguments_are_cut_evenly_or_not_at_all() -> None:
    with pytest.raises(pcg.PcgError, match=r"argument x \(f32\[17,4\]\): dimension 0 of size 17 is not divisible by 8"):
        pcg.compile(lambda x: x * 2, {"data": 8}, in_shardings=(P("data"),)).lower(normal(17, 4))


def test_a_loop_over_uneven_shards() -> None:
    def f(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: pcg.shard(jnp.sin(y) + y.sum(), ("data",)), x)

    x = normal(13)
    want = jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) + y.sum(), x)
    assert_close(pcg.compile(f, {"data": 4})(x), want, 1e-5)
