"""A training step with a scale of the loss, AdamW, a clip by the global norm and a check that all gradients are finite."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import pcg

LIMIT, LAYERS, WIDTH, BATCH = 0.5, 4, 8, 8
#: Forms of the clip: a factor that is at most 1, or a select between gradients and clipped ones, as optax has it.
FORMS = ("factor", "select")


def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    h = x
    for i, (w, b) in enumerate(params):
        h = jnp.tanh(h @ w + b)
        if i < LAYERS - 1:
            h = pcg.stage_boundary(h)
    return jnp.mean((h - y) ** 2)


def gradients(params: Any, scale: jax.Array, batch: Any) -> tuple[jax.Array, Any]:
    """The loss and the gradients of it times the scale."""
    value, g = jax.value_and_grad(lambda p: loss(p, *batch) * scale)(params)
    return value, g


def updated(params: Any, state: Any, g: Any, scale: jax.Array, form: str = "factor") -> tuple[Any, Any, jax.Array]:
    """(new parameters, new state, norm) from gradients that are `scale` too large; nothing new where one is not finite."""
    g = jax.tree.map(lambda a: a / scale, g)
    leaves = jax.tree.leaves(g)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(a)) for a in leaves]))
    norm = jnp.sqrt(sum(jnp.sum(a * a) for a in leaves))
    if form == "select":
        g = jax.tree.map(lambda a: jax.lax.select(norm < LIMIT, a, (a / norm) * LIMIT), g)
    else:
        factor = jnp.minimum(1.0, LIMIT / (norm + 1e-12))
        g = jax.tree.map(lambda a: a * factor, g)
    count = state["count"] + 1
    mean = jax.tree.map(lambda m, a: 0.9 * m + 0.1 * a, state["mean"], g)
    square = jax.tree.map(lambda s, a: 0.95 * s + 0.05 * a * a, state["square"], g)
    time = count.astype(jnp.float32)
    one, two = 1 - 0.9**time, 1 - 0.95**time
    new = jax.tree.map(
        lambda p, m, s: p - 1e-2 * (m / one / (jnp.sqrt(s / two) + 1e-8) + 0.1 * p), params, mean, square
    )  # fmt: skip

    def choose(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(finite, a, b)

    old = {key: state[key] for key in ("count", "mean", "square")}
    state = jax.tree.map(choose, {"count": count, "mean": mean, "square": square}, old) | {
        "scale": jnp.where(finite, state["scale"], state["scale"] * 0.5)
    }
    return jax.tree.map(choose, new, params), state, norm


@functools.cache
def step(form: str = "factor") -> Callable[..., Any]:
    def train(params: Any, batch: Any, state: Any) -> Any:
        value, g = gradients(params, state["scale"], batch)
        params, new, norm = updated(params, state, g, state["scale"], form)
        return value / state["scale"], params, new, norm

    return train


def two_versions(old: Any, scale: jax.Array, params: Any, batch: Any, state: Any) -> Any:
    """The step whose gradients are those of old parameters, with an old scale, which they are divided by."""
    value, g = gradients(old, scale, batch)
    params, new, norm = updated(params, state, g, scale)
    return value / scale, params, new, norm


def initial() -> tuple[Any, Any]:
    """Parameters and state."""
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return (0.1 * rng.standard_normal(shape)).astype(np.float32)

    params = [(random(WIDTH, WIDTH), random(WIDTH)) for _ in range(LAYERS)]
    zeros = jax.tree.map(np.zeros_like, params)
    return params, {"count": np.int32(0), "mean": zeros, "square": zeros, "scale": np.float32(8)}


def batches(count: int, clipped: Sequence[int] = (), infinite: Sequence[int] = ()) -> Iterator[Any]:
    """Batches; of steps `clipped` the norm of the gradients exceeds the limit, of `infinite` they are not finite."""
    rng = np.random.default_rng(1)
    for i in range(count):
        x, y = (rng.standard_normal((BATCH, WIDTH)).astype(np.float32) for _ in range(2))
        y = 0.01 * y + 50 * (i in clipped)
        if i in infinite:
            x[3, 2] = np.inf
        yield x, y.astype(np.float32)
