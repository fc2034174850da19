"""The transformer that the Unity paper's artifact runs as BERT: attention and two dense layers, over and over; SGD.

There are no norms, no embedding and no mask; the feed-forward part is as narrow as the rest; the loss is squared.
`unity` is the artifact's default, 12 layers without residual connections or biases; `residual` its version of April
2021, 24 layers with a connection around the attention and biases at the dense layers. The paper's batch is 4 per
device. (`bert` is BERT.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import layers, training
from examples.training import Tree, f32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. `residual` adds the connections and the biases."""

    layers: int = 2
    hidden: int = 32
    heads: int = 8
    seq: int = 16
    batch: int = 8
    residual: bool = False
    rate: float = 0.05
    scan: bool = False
    remat: bool = False


SIZES = {
    "small": Config(),
    "unity": Config(12, 1024, 16, 512, 4, False, 0.01),
    "residual": Config(24, 1024, 16, 512, 4, True, 0.01),
}


def layer_shapes(c: Config) -> Tree:
    """Parameters of one layer."""
    h = c.hidden
    biases = {"bias_up": f32(h), "bias_down": f32(h)} if c.residual else {}
    return {name: f32(h, h) for name in ("query", "key", "value", "out", "up", "down")} | biases


def param_shapes(c: Config) -> Tree:
    """Layers and the output layer, one number for each position."""
    last = {"last": f32(c.hidden, 1)} | ({"bias_last": f32(1)} if c.residual else {})
    return {"layers": layers.repeated(layer_shapes(c), c.layers, c.scan), **last}


def dense(x: jax.Array, p: Tree, name: str) -> jax.Array:
    """The dense layer of this name, with its bias if the model has biases."""
    y = x @ p[name]
    return y + p[f"bias_{name}"] if f"bias_{name}" in p else y


def block(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """One layer on x [batch, seq, hidden]."""
    q, k, v = ((x @ p[name]).reshape(*x.shape[:2], c.heads, -1) for name in ("query", "key", "value"))
    y = layers.attend(q, k, v).reshape(x.shape) @ p["out"]
    if c.residual:
        y = y + x
    return dense(jax.nn.relu(dense(y, p, "up")), p, "down")


def predict(c: Config, params: Tree, x: jax.Array) -> jax.Array:
    """The prediction [batch, seq, 1] for x [batch, seq, hidden]."""
    x = layers.run(lambda y, p: block(c, y, p), x, params["layers"], c.scan, c.remat)
    return dense(x, params, "last")


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Mean squared error of the prediction."""
    return jnp.mean(jnp.square(predict(c, params, batch["x"]) - batch["y"]))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    batch = {"x": f32(c.batch, c.seq, c.hidden), "y": f32(c.batch, c.seq, 1)}
    return train_step(c), (param_shapes(c), (), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(s.shape, np.float32) for name, s in batch.items()}
    return step, (training.materialise(params, seed), opt_state, values)
