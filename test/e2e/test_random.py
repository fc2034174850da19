"""JAX's random numbers on eight devices: split, the same bits as on one device, and nothing gathered for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from bench.collectives import of_stablehlo_text
from support.training import SLOW_DEVICES

MESH = {"data": 2, "model": 4}
X = np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32)


def dropout(key: jax.Array, x: jax.Array) -> jax.Array:
    keep = jax.random.bernoulli(key, 0.8, x.shape)
    return jnp.where(keep, x / 0.8, 0.0)


#: Functions of a key and an array [16, 32]; the layout of what they return.
DRAWS: dict[str, tuple[Callable[..., Any], P]] = {
    "bits": (lambda key, x: jax.random.bits(key, (16, 32)), P("data", "model")),
    "bits of 8": (lambda key, x: jax.random.bits(key, (16, 32), jnp.uint8), P("model", "data")),
    "uniform": (lambda key, x: jax.random.uniform(key, (16, 32)), P(None, ("data", "model"))),
    "normal": (lambda key, x: jax.random.normal(key, (16, 32)), P(("model", "data"))),
    "integers": (lambda key, x: jax.random.randint(key, (16, 32), -5, 1000), P("data", "model")),
    "gumbel": (lambda key, x: jax.random.gumbel(key, (16, 32), jnp.bfloat16), P("data", "model")),
    "dropout": (dropout, P("data", "model")),
    "a key for every row": (
        lambda key, x: jax.vmap(lambda k: jax.random.uniform(k, (32,)))(jax.random.split(key, 16)), P("data", "model")
    ),
    "folded": (lambda key, x: dropout(jax.random.fold_in(key, 7), x), P("data", "model")),
}  # fmt: skip


def compare(function: Callable[..., Any], out: P, *args: Any, inputs: Any, **options: Any) -> dict[str, int]:
    """Run both ways; the collectives of the lowered program."""
    compiled = pcg.compile(function, MESH, in_shardings=inputs, out_shardings=out, **options)
    got = compiled(*args)
    assert got.sharding.spec == out
    want = jax.jit(function)(*args)
    np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.asarray(want).view(np.uint8))
    return of_stablehlo_text(compiled.lower(*args).as_text("local")).counts()


@pytest.mark.parametrize("which", DRAWS)
def test_every_device_draws_its_part(which: str) -> None:
    function, out = DRAWS[which]
    assert compare(function, out, jax.random.key(3), X, inputs=(P(), out)) == {}


def test_categorical_sends_only_what_it_compares() -> None:
    """Logits split along the classes: a maximum and its place per row travel, not the noise."""
    def sample(key: jax.Array, logits: jax.Array) -> jax.Array:
        return jax.random.categorical(key, logits, axis=-1)

    assert compare(sample, P("data"), jax.random.key(3), X, inputs=(P(), P("data"))) == {}
    compiled = pcg.compile(sample, MESH, in_shardings=(P(), P("data", "model")), out_shardings=P("data"))
    np.testing.assert_array_equal(compiled(jax.random.key(3), X), jax.jit(sample)(jax.random.key(3), X))
    moved = of_stablehlo_text(compiled.lower(jax.random.key(3), X).as_text("local"))
    assert max(c.elements for c in moved.collectives) <= 8 * 4  # 8 rows a device, one candidate of each of 4 devices


def test_permutation_of_a_split_vector() -> None:
    """It sorts random keys: elements are exchanged, and no device holds them all."""
    def shuffle(key: jax.Array, x: jax.Array) -> jax.Array:
        return jax.random.permutation(key, x)

    x = np.arange(1 << 14, dtype=np.int32)
    every = P(("data", "model"))
    sent = compare(shuffle, every, jax.random.key(3), x, inputs=(P(), every), machine=SLOW_DEVICES)
    assert sent["all_to_all"] == sent["collective_permute"] == 12  # two rounds of keys, values and indices
