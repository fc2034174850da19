"""A mixture-of-experts layer: top-1 or top-2 gating, capacity, dispatch and combine as one-hot einsums, Adam.

Tokens are routed within their own sequence (a group), so expert capacity is per sequence and tokens over it are
dropped. The regression target makes it a training step; a load-balancing term keeps the experts busy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import training
from examples.training import Tree, f32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. An expert takes at most `capacity` tokens of each sequence."""

    batch: int = 8
    seq: int = 16
    hidden: int = 32
    ffn: int = 64
    experts: int = 8
    top: int = 2
    capacity: int = 6
    rate: float = 1e-3


SIZES = {
    "small": Config(),
    "medium": Config(16, 256, 512, 2048, 16, 2, 48),
}


def param_shapes(c: Config) -> Tree:
    """Gate and stacked experts."""
    e, h, f = c.experts, c.hidden, c.ffn
    return {"gate": f32(h, e), "up": f32(e, h, f), "bias_up": f32(e, 1, f), "down": f32(e, f, h)}


def route(c: Config, probabilities: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Combine weights [batch, seq, experts, capacity] and the load-balancing loss, from gate probabilities."""
    weights, chosen = jax.lax.top_k(probabilities, c.top)
    if c.top > 1:
        weights = weights / jnp.sum(weights, -1, keepdims=True)
    taken = jnp.zeros((c.batch, 1, c.experts), jnp.float32)
    combine = jnp.zeros((c.batch, c.seq, c.experts, c.capacity), jnp.float32)
    for rank in range(c.top):
        mask = jax.nn.one_hot(chosen[..., rank], c.experts, dtype=jnp.float32)
        position = jnp.cumsum(mask, axis=1) - mask + taken
        taken = taken + jnp.sum(mask, axis=1, keepdims=True)
        kept = mask * (position < c.capacity)
        slot = jax.nn.one_hot(jnp.sum(position * kept, -1).astype(jnp.int32), c.capacity, dtype=jnp.float32)
        combine = combine + weights[..., rank, None, None] * kept[..., None] * slot[:, :, None, :]
    fraction = jnp.mean(jax.nn.one_hot(chosen[..., 0], c.experts, dtype=jnp.float32), axis=1)
    balance = jnp.mean(fraction * jnp.mean(probabilities, axis=1)) * c.experts**2
    return combine, balance


def layer(c: Config, params: Tree, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The layer's output for x [batch, seq, hidden], and the load-balancing loss."""
    combine, balance = route(c, jax.nn.softmax(x @ params["gate"], -1))
    dispatch = (combine > 0).astype(x.dtype)
    inputs = jnp.einsum("bsec,bsh->ebch", dispatch, x).reshape(c.experts, c.batch * c.capacity, c.hidden)
    inner = jax.nn.relu(jnp.einsum("eth,ehf->etf", inputs, params["up"]) + params["bias_up"])
    outputs = jnp.einsum("etf,efh->eth", inner, params["down"])
    outputs = outputs.reshape(c.experts, c.batch, c.capacity, c.hidden)
    return x + jnp.einsum("bsec,ebch->bsh", combine, outputs), balance


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            y, balance = layer(c, p, batch["x"])
            return jnp.mean(jnp.square(y - batch["y"])) + 0.01 * balance

        value, grads = jax.value_and_grad(loss)(params)
        params, opt_state = training.adam(params, opt_state, grads, c.rate)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = param_shapes(c)
    x = f32(c.batch, c.seq, c.hidden)
    return train_step(c), (params, training.adam_state(params), {"x": x, "y": x})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(s.shape, np.float32) for name, s in batch.items()}
    return step, (training.materialise(params, seed), training.zeros(opt_state), values)
