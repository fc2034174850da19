"""JAX's sorts of a split dimension on eight devices: the bits of one device, and nobody gathers the whole."""

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
from support.training import SLOW_DEVICES

MESH = {"x": 2, "y": 4}
VECTOR, ROWS = P(("x", "y")), P("x", "y")
SORTS: dict[str, tuple[Callable[..., Any], P, tuple[int, ...]]] = {
    "sort": (jnp.sort, VECTOR, (1600,)),
    "descending": (lambda x: jnp.sort(x, descending=True), VECTOR, (1600,)),
    "argsort": (jnp.argsort, VECTOR, (1600,)),
    "descending argsort": (lambda x: jnp.argsort(x, descending=True), VECTOR, (1600,)),
    "several keys": (
        lambda x: jax.lax.sort((jnp.round(x), jnp.abs(x), x * 2), num_keys=2), VECTOR, (1600,)
    ),
    "lexsort": (lambda x: jnp.lexsort((x, jnp.round(x))), VECTOR, (1600,)),
    "rows": (lambda x: jnp.sort(jax.lax.bitcast_convert_type(x, jnp.int32)), ROWS, (6, 160)),
    "rows and places": (lambda x: jnp.argsort(x, axis=1), ROWS, (6, 160)),
    "median of a sorted vector": (lambda x: jnp.sort(x)[798:802].mean(), VECTOR, (1600,)),
}  # fmt: skip


@pytest.mark.parametrize("which", SORTS)
def test_sort_of_a_split_dimension(which: str) -> None:
    function, spec, shape = SORTS[which]
    x = np.random.default_rng(0).integers(-40, 40, shape).astype(np.float32) / 4
    x.reshape(-1)[::37], x.reshape(-1)[1::53], x.reshape(-1)[2::41] = np.nan, -np.nan, -0.0
    out = jax.tree.map(lambda s: spec if s.ndim else P(), jax.eval_shape(function, x))
    compiled = pcg.compile(function, MESH, in_shardings=spec, out_shardings=out, machine=SLOW_DEVICES)
    for got, want in zip(jax.tree.leaves(compiled(x)), jax.tree.leaves(jax.jit(function)(x)), strict=True):
        np.testing.assert_array_equal(np.asarray(got).view(np.uint32), np.asarray(want).view(np.uint32))
    traffic = of_stablehlo_text(compiled.lower(x).as_text("local"))
    assert max(c.elements for c in traffic.collectives) <= x.size / 4
    assert "all_gather" not in traffic.counts()


def test_the_machine_decides() -> None:
    """A small vector is gathered where links are slow to start and sorting is fast."""
    x = np.random.default_rng(0).normal(size=1600).astype(np.float32)
    compiled = pcg.compile(jnp.sort, MESH, in_shardings=VECTOR, out_shardings=VECTOR)
    np.testing.assert_array_equal(compiled(x), np.sort(x))
    assert of_stablehlo_text(compiled.lower(x).as_text("local")).counts() == {"all_gather": 1}


@pytest.mark.parametrize("strategy", ["search", "dataflow"])
def test_a_custom_call_with_a_comparison(strategy: str) -> None:
    """The function that the call is given is part of it: nothing in it has a layout."""
    x = np.random.default_rng(0).normal(size=(12, 9)).astype(np.float32)

    def largest(x: jax.Array) -> Any:
        return lax.approx_max_k(x, 3), lax.approx_min_k(x, 2, reduction_dimension=0)

    got = pcg.compile(largest, {"a": 3}, strategy=strategy, in_shardings=(P("a"),))(x)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(largest)(x)), strict=True):
        assert np.array_equal(g, w)
