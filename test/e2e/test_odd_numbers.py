"""Ops on NaN, infinities and zeros of both signs, cut evenly and not, on XLA's devices: as on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import pcg

INF = np.float32(np.inf)
PLACES = np.array([0, 8, 3, 3, 7, 1, 2, 5])

#: Name -> shapes of the arguments, and the function; `s` cuts dimension 0 of an array, another, or (-1) none.
OPS: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "sum": ([(9, 6)], lambda s, x: s(x).sum(0)),
    "sum of rows": ([(9, 6)], lambda s, x: s(x).sum(1)),
    "maximum": ([(9, 6)], lambda s, x: s(x).max(0)),
    "minimum": ([(9, 6)], lambda s, x: s(x).min()),
    "product": ([(9, 6)], lambda s, x: jnp.prod(s(x), 0)),
    "maximum from NaN": ([(9, 6)], lambda s, x: lax.reduce(s(x), np.float32(np.nan), lax.max, (0,))),
    "sum from -0.0, inverted": ([(9, 6)], lambda s, x: 1 / lax.reduce(s(x * -0.0), np.float32(-0.0), lax.add, (0,))),
    "argmax": ([(8, 6)], lambda s, x: jnp.argmax(s(x), 0)),
    "argmin": ([(8, 6)], lambda s, x: jnp.argmin(s(x), 0)),
    "nanmax": ([(9, 6)], lambda s, x: jnp.nanmax(s(x), 0)),
    "cumsum": ([(9, 6)], lambda s, x: jnp.cumsum(s(x), 0)),
    "cumsum, reversed": ([(9, 6)], lambda s, x: lax.cumsum(s(x), 0, reverse=True)),
    "cummax": ([(9, 6)], lambda s, x: lax.cummax(s(x), 0)),
    "cummin": ([(9, 6)], lambda s, x: lax.cummin(s(x), 0, reverse=True)),
    "cumprod": ([(9, 6)], lambda s, x: jnp.cumprod(s(x), 0)),
    "sort": ([(64, 2)], lambda s, x: jnp.sort(s(x), 0)),
    "top_k": ([(3, 9)], lambda s, x: lax.top_k(s(x, 1), 7)),
    "dot": ([(6, 9), (9, 5)], lambda s, x, y: s(x, 1) @ s(y)),
    "take": ([(9, 6)], lambda s, x: s(x)[PLACES]),
    "scatter, maximum": ([(9, 6), (8, 6)], lambda s, x, y: s(x, -1).at[PLACES].max(s(y))),
    "scatter, minimum": ([(9, 6), (8, 6)], lambda s, x, y: s(x).at[PLACES].min(y)),
    "scatter, sum": ([(9, 6), (8, 6)], lambda s, x, y: s(x, -1).at[PLACES].add(s(y))),
    "segments": ([(8, 6)], lambda s, y: jax.ops.segment_max(s(y), PLACES % 4, 4)),
    "clamp": ([(9, 6)], lambda s, x: s(lax.clamp(x[0, 0], s(x), x[2, 3]))),
    "pad": ([(9, 6)], lambda s, x: s(lax.pad(s(x), np.float32(np.nan), ((-2, 3, 1), (0, 0, 0))))),
    "pad by a computed value": ([(9, 6), ()], lambda s, x, v: s(lax.pad(s(x), v, ((2, -1, 2), (0, 0, 0))))),
    "pooling": ([(9, 6)], lambda s, x: lax.reduce_window(s(x), -INF, lax.max, (3, 1), (2, 1), "SAME")),
    "pooling, sum": ([(8, 6)], lambda s, x: lax.reduce_window(s(x), np.float32(0), lax.add, (3, 1), (1, 1), "SAME")),
    "pooling, backwards": (
        [(8, 6), (8, 6)],
        lambda s, x, g: s(
            jax.vjp(lambda x: lax.reduce_window(s(x), -INF, lax.max, (3, 1), (1, 1), "SAME"), s(x))[1](s(g))[0]
        ),
    ),
    "convolution": ([(2, 3, 9), (4, 3, 3)], lambda s, x, k: lax.conv_general_dilated(s(x, 2), k, (1,), "SAME")),
    "softmax": ([(6, 9)], lambda s, x: jax.nn.softmax(s(x, 1), 1)),
    "logsumexp": ([(6, 9)], lambda s, x: jax.nn.logsumexp(s(x, 1), 1)),
    "roll": ([(9, 6)], lambda s, x: s(jnp.roll(s(x), 3, 0))),
    "every other": ([(17, 6)], lambda s, x: s(s(x)[1::2])),
    "concatenate": ([(9, 6), (4, 6)], lambda s, x, y: s(jnp.concatenate([s(x), s(y)], 0))),
    "update of a slice": ([(9, 6), (3, 6)], lambda s, x, y: s(lax.dynamic_update_slice(s(x), y, (4, 0)))),
    "loop": ([(9, 6)], lambda s, x: lax.fori_loop(0, 3, lambda i, c: jnp.maximum(c, s(x).max(0) + i), x[0])),
    "scan": ([(5, 9)], lambda s, x: lax.associative_scan(jnp.maximum, s(x, 1), axis=1)),
}


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> jax.Array:
    """Small integers, of which sums are exact; one of ten is NaN, infinite, or -0.0."""
    x = rng.integers(-4, 5, shape).astype(np.float32)
    x = np.where(rng.random(shape) < 0.1, rng.choice(np.array([np.nan, INF, -INF, -0.0], np.float32), shape), x)
    return jnp.asarray(x)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mesh", ["a=4", "a=3", "a=2,b=2,c=2"])
@pytest.mark.parametrize("name", OPS)
def test_odd_numbers(name: str, mesh: str) -> None:
    shapes, f = OPS[name]
    axes = ("a", "c") if "c=" in mesh else "a"

    def cut(x: Any, d: int = 0) -> Any:
        return pcg.shard(x, tuple(axes if i == d else None for i in range(x.ndim)))

    step = pcg.compile(lambda *args: f(cut, *args), mesh, strategy="dataflow", in_shardings=(P(),) * len(shapes))
    plain = jax.jit(lambda *args: f(lambda x, d=0: x, *args))
    for seed in range(3):
        args = [numbers(np.random.default_rng([seed, i]), shape) for i, shape in enumerate(shapes)]
        for got, want in zip(jax.tree.leaves(step(*args)), jax.tree.leaves(plain(*args)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=f"{name} on {mesh}, seed {seed}")
