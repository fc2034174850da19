"""jax functions that cut, pad, join, flip or roll a split dimension: results, and what is sent, on 8 CPU devices."""

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
from bench.collectives import of_stablehlo_text
from support.close import assert_close

ROWS, HERE = P("d"), P()
A, IMAGE = (4096, 64), (4, 256, 64, 16)


def pool(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], P, P, float]] = {
    "x[8:]": (lambda x: x[8:], [A], ROWS, ROWS, 7 * 64),
    "x[::2]": (lambda x: x[::2], [A], ROWS, ROWS, 0),
    "x[3]": (lambda x: x[3], [A], ROWS, HERE, 2 * 64),
    "gradient of x[::2]": (jax.grad(lambda x: (x[::2] ** 2).sum()), [A], ROWS, ROWS, 0),
    "shift": (lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:-1], [A], ROWS, ROWS, 64),
    "pad": (lambda x: jnp.pad(x, ((16, 0), (0, 0)), constant_values=2.0), [A], ROWS, ROWS, 14 * 64),
    "roll": (lambda x: jnp.roll(x, 1, 0), [A], ROWS, ROWS, 64),
    "roll far": (lambda x: jnp.roll(x, -1000, 0), [A], ROWS, ROWS, 512 * 64),
    "flip": (lambda x: jnp.flip(x, 0), [A], ROWS, ROWS, 512 * 64),
    "concatenate": (lambda x, y: jnp.concatenate([x, y]), [A, (2048, 64)], ROWS, ROWS, 1024 * 64),
    "dynamic_update_slice": (
        lambda x, u: lax.dynamic_update_slice(x, u, (jnp.argmax(u[:, 0]) + 510, 0)), [A, (8, 64)], ROWS, ROWS, 8 * 64
    ),
    "gradient of max-pooling": (jax.grad(lambda x: (pool(x) ** 2).sum()), [IMAGE], P(None, "d"), P(None, "d"), 18432),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_pieces_only(name: str) -> None:
    function, shapes, given, wanted, most = CASES[name]
    arguments = [np.random.default_rng(i).normal(size=s).astype(np.float32) for i, s in enumerate(shapes)]
    step = pcg.compile(function, {"d": 8}, in_shardings=(given,) * len(shapes), out_shardings=wanted)
    text = step.lower(*[jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]).as_text("local")
    assert of_stablehlo_text(text).wire_elements <= most
    want = function(*map(jnp.asarray, arguments))
    assert_close(step(*arguments), want, 1e-6)
