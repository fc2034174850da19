"""Ops that cut, join, flip or slide along a split dimension whose sizes the devices do not divide."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import pcg
from support.close import assert_close

ROWS = ("d",)


def split(x: jax.Array) -> jax.Array:
    """`x` with its first dimension split over all devices."""
    return pcg.shard(x, ROWS + (None,) * (x.ndim - 1))


def convolve(x: jax.Array, k: jax.Array) -> jax.Array:
    """Valid, of the rows of `x`; columns are the batch."""
    return lax.conv_general_dilated(x.T[:, None], k, (1,), "VALID", dimension_numbers=("NCH", "OIH", "NCH"))[:, 0].T


def pool(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, np.float32(-np.inf), lax.max, (2, 1), (2, 1), "VALID")


def identity(x: jax.Array) -> jax.Array:
    return x


#: Op, with `cut` around whatever must be split; shapes of arguments; elements that a device sends.
CASES: dict[str, tuple[Callable[..., jax.Array], list[tuple[int, ...]], int]] = {
    "all but the first": (lambda cut, x: cut(cut(x)[1:]), [(4096, 3)], 3),
    "all but the last": (lambda cut, x: cut(cut(x)[:-1]), [(4096, 3)], 0),
    "differences": (lambda cut, x: cut(cut(cut(x)[1:]) - cut(cut(x)[:-1])), [(4096,)], 1),
    "one more in front": (lambda cut, x, y: cut(jnp.concatenate([y, cut(x)])), [(4095, 3), (1, 3)], 3),
    "one more behind": (lambda cut, x, y: cut(jnp.concatenate([cut(x), y])), [(4095, 3), (1, 3)], 0),
    "one more on either side": (lambda cut, x: cut(jnp.pad(cut(x), ((1, 1), (0, 0)))), [(30, 3)], 3),
    "backwards": (lambda cut, x: cut(cut(x)[::-1]), [(17, 2)], 3 * 2),
    "valid convolution": (lambda cut, x, k: cut(convolve(cut(x), k)), [(32, 3), (1, 1, 3)], 2 * 3),
    "pooling": (lambda cut, x: cut(pool(cut(x))), [(34, 2)], 5 * 2),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_changes_hands_is_sent(name: str) -> None:
    function, shapes, elements = CASES[name]
    rng = np.random.default_rng(0)
    arguments = [jnp.asarray(rng.standard_normal(s), jnp.float32) for s in shapes]
    specs = tuple(P("d") if i == 0 and s[0] % 8 == 0 else P() for i, s in enumerate(shapes))
    compiled = pcg.compile(lambda *a: function(split, *a).sum(), {"d": 8}, in_shardings=specs)
    text = compiled.lower(*arguments).as_text("local")
    assert not re.search("all_gather|all_to_all|reduce_scatter", text), text
    sent = re.findall(r"collective_permute.*-> tensor<([0-9x]*)xf32>", text)
    assert sum(prod(map(int, s.split("x"))) for s in sent) == elements, text
    want = function(identity, *arguments).sum()
    assert_close(compiled(*arguments), want, 1e-4)


def test_the_search_keeps_differences_split() -> None:
    """What is sent is one element a device, beside the sum."""
    from support.training import SLOW_DEVICES

    def f(x):
        return jnp.sum(jnp.sin(x[1:] - x[:-1]) ** 2)

    x = jnp.asarray(np.random.default_rng(0).standard_normal(4096), jnp.float32)
    compiled = pcg.compile(f, {"d": 8}, machine=SLOW_DEVICES, in_shardings=(P("d"),))
    text = compiled.lower(x).as_text("local")
    assert "all_gather" not in text and "tensor<4095xf32>" not in text, text
    assert_close(compiled(x), f(x), 1e-5)
