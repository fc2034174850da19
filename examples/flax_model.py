"""A small vision transformer built from flax's own layers, trained with optax's AdamW.

Nothing here is written for this project but the wiring: convolution, attention, normalisations, embedding, dense
layers and optimizer are the libraries'.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import numpy as np
import optax

from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes."""

    image: int = 16
    patch: int = 4
    hidden: int = 32
    heads: int = 4
    layers: int = 2
    classes: int = 16
    batch: int = 8
    rate: float = 1e-3


SIZES = {
    "small": Config(),
    "medium": Config(64, 8, 256, 8, 4, 64, 64),
}


class EncoderBlock(nn.Module):
    """Attention and MLP of a pre-norm transformer block."""

    heads: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads)(nn.LayerNorm()(x))
        y = nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(y))


class VisionTransformer(nn.Module):
    """Patches by convolution, batch norm, position embedding, encoder blocks, mean pooling, classifier."""

    config: Config

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        c = self.config
        # Batch norm takes the mean off again: a bias would have no gradient but rounding, which AdamW makes steps of.
        x = nn.Conv(c.hidden, (c.patch, c.patch), strides=(c.patch, c.patch), use_bias=False)(images)
        x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
        x = x.reshape(x.shape[0], -1, c.hidden)
        x = x + nn.Embed(x.shape[1], c.hidden)(np.arange(x.shape[1]))
        for _ in range(c.layers):
            x = EncoderBlock(c.heads)(x)
        return nn.Dense(c.classes)(nn.LayerNorm()(x).mean(axis=1))


def build(c: Config) -> tuple[VisionTransformer, optax.GradientTransformation]:
    """The model and its optimizer. `eps` is 1e-6 for the reason given at `training.adam`."""
    return VisionTransformer(c), optax.adamw(c.rate, eps=1e-6)


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; `opt_state` holds optax's state and the batch statistics."""
    model, optimizer = build(c)

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> tuple[jax.Array, Tree]:
            variables = {"params": p, "batch_stats": opt_state["batch_stats"]}
            logits, new = model.apply(variables, batch["images"], mutable=["batch_stats"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean(), new["batch_stats"]

        (value, statistics), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, opt_state["optimizer"], params)
        return optax.apply_updates(params, updates), {"optimizer": state, "batch_stats": statistics}, value

    return step


def start(c: Config, key: jax.Array) -> tuple[Tree, Tree]:
    """Parameters and state as the libraries initialise them."""
    model, optimizer = build(c)
    variables = model.init(key, np.zeros((c.batch, c.image, c.image, 3), np.float32))
    state = {"optimizer": optimizer.init(variables["params"]), "batch_stats": variables["batch_stats"]}
    return variables["params"], state


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.eval_shape(lambda key: start(c, key), jax.random.PRNGKey(0))
    batch = {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)}
    return train_step(c), (params, state, batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.jit(lambda key: start(c, key))(jax.random.PRNGKey(seed))
    rng = np.random.default_rng(seed + 1)
    batch = {
        "images": rng.standard_normal((c.batch, c.image, c.image, 3), np.float32),
        "labels": rng.integers(0, c.classes, (c.batch,), np.int32),
    }
    params, state = jax.tree.map(np.asarray, (params, state))
    return train_step(c), (params, state, batch)
