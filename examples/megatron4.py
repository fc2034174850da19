"""A stack of plain transformer blocks (no norms, no biases, relu), squared loss, SGD: the shape of Megatron's argument.

`large` is four blocks at batch 16, sequence 256, hidden 1024, feed-forward 4096, 16 heads, whose best known plan on a
2 x 4 mesh moves 228 MiB per device and step (48 MiB for a single block).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import training
from examples.training import Tree, f32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes."""

    layers: int = 2
    batch: int = 8
    seq: int = 16
    hidden: int = 64
    ffn: int = 256
    heads: int = 8
    rate: float = 1e-3
    scan: bool = False


SIZES = {
    "small": Config(),
    "large": Config(layers=4, batch=16, seq=256, hidden=1024, ffn=4096, heads=16),
}


def block(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """Attention and MLP, each with a residual connection, on x [batch, seq, hidden]."""
    b, s, h = x.shape

    def heads(t: jax.Array) -> jax.Array:
        return t.reshape(b, s, c.heads, h // c.heads)

    q, k, v = heads(x @ p["query"]), heads(x @ p["key"]), heads(x @ p["value"])
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / math.sqrt(h // c.heads)
    context = jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, -1), v).reshape(b, s, h)
    x = x + context @ p["out"]
    return x + jax.nn.relu(x @ p["up"]) @ p["down"]


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            x = batch["x"]
            if c.scan:
                x, _ = jax.lax.scan(lambda carry, layer: (block(c, carry, layer), None), x, p)
            else:
                for layer in p:
                    x = block(c, x, layer)
            return jnp.mean(jnp.square(x - batch["y"]))

        value, grads = jax.value_and_grad(loss)(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    h, f = c.hidden, c.ffn
    layer = {"query": (h, h), "key": (h, h), "value": (h, h), "out": (h, h), "up": (h, f), "down": (f, h)}
    params: Tree = [{name: f32(*shape) for name, shape in layer.items()}] * c.layers
    if c.scan:
        params = {name: f32(c.layers, *shape) for name, shape in layer.items()}
    x = f32(c.batch, c.seq, h)
    return train_step(c), (params, (), {"x": x, "y": x})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(s.shape, np.float32) for name, s in batch.items()}
    return step, (training.materialise(params, seed), opt_state, values)
