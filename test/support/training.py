"""Training a step twice, on one device and through pcg, and comparing everything it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.collectives import Traffic, of_stablehlo_text
from pcg.machine import DeviceKind, Link, Machine
from support.close import assert_close

#: A machine on which even toy models are worth splitting: slow arithmetic and memory, links without latency.
SLOW_DEVICES = Machine(DeviceKind("slow", {}, 1e8, 1e8, 1e12), Link(bandwidth=1e9, latency=1e-9))


def mlp(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
    """A step of two layers with momentum."""

    def loss(p: Any) -> jax.Array:
        return jnp.mean((jax.nn.relu(x @ p["first"]) @ p["second"] - y) ** 2)

    value, g = jax.value_and_grad(loss)(params)
    state = jax.tree.map(lambda v, d: 0.9 * v + d, state, g)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, state), state, value


def train(step: Callable[..., Any], args: tuple[Any, Any, Any], steps: int) -> tuple[Any, Any, list[float]]:
    """Parameters, optimizer state and losses after `steps` calls."""
    params, state, batch = args
    losses = []
    for _ in range(steps):
        params, state, loss = step(params, state, batch)
        losses.append(float(loss))
    return params, state, losses


def assert_trees_close(got: Any, want: Any, rtol: float, slack: float = 0.0) -> None:
    """Every leaf of `got` within `rtol` of the largest magnitude of that leaf, plus `slack`; integers exactly."""
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(want), strict=True):
        name = jax.tree_util.keystr(path)
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, name
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(a, b, err_msg=name)
        elif a.size:
            assert_close(a, b, rtol, slack, name)


def assert_updates_close(got: Any, want: Any, start: Any, rtol: float, slack: float = 0.0) -> None:
    """Parameters of `got` within `rtol` of the largest change that training from `start` made to that leaf.

    Five roundings of the parameter itself come on top, and `slack`.
    """
    trees = jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(want), jax.tree.leaves(start)
    for (path, a), b, first in zip(*trees, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        change, size = float(np.max(np.abs(b - first))), float(np.max(np.abs(b)))
        bound = rtol * change + 5e-7 * size + slack
        np.testing.assert_allclose(a, b, rtol=0, atol=bound, err_msg=jax.tree_util.keystr(path))


def largest(tree: Any) -> float:
    """The largest magnitude among the floating-point leaves of a tree."""
    leaves = [np.asarray(x) for x in jax.tree.leaves(tree)]
    return max((float(np.max(np.abs(x))) for x in leaves if x.dtype.kind == "f" and x.size), default=0.0)


def traffic(executable: Any) -> Traffic:
    """What the lowered program of a compilation moves."""
    return of_stablehlo_text(executable.as_text("local"))
