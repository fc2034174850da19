"""dm-haiku's own ResNet-18 (`hk.nets.ResNet18`) with batch normalisation, trained with optax's momentum SGD."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import numpy as np
import optax

from examples.training import f32, i32

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. `blocks` per stage and `channels` after it."""

    image: int = 16
    classes: int = 16
    blocks: tuple[int, ...] = (1, 1, 1, 1)
    channels: tuple[int, ...] = (64, 64, 128, 128)
    batch: int = 16
    rate: float = 0.05


SIZES = {"small": Config(), "resnet18": Config(64, 1024, (2, 2, 2, 2), (64, 128, 256, 512), 128)}


def model(c: Config) -> hk.TransformedWithState:
    """The network as a pair of functions."""

    def forward(images: jax.Array) -> jax.Array:
        settings: dict[str, Any] = {"bottleneck": False, "use_projection": (False, True, True, True)}
        settings |= {"channels_per_group": c.channels, "blocks_per_group": c.blocks, "num_classes": c.classes}
        return hk.nets.ResNet(**settings)(images, is_training=True)

    return hk.without_apply_rng(hk.transform_with_state(forward))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; `opt_state` holds optax's state and haiku's running averages."""
    network, optimizer = model(c), optax.sgd(c.rate, momentum=0.9)

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> tuple[jax.Array, Tree]:
            logits, averages = network.apply(p, opt_state["averages"], batch["images"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean(), averages

        (value, averages), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(grads, opt_state["optimizer"], params)
        return optax.apply_updates(params, updates), {"optimizer": state, "averages": averages}, value

    return step


def start(c: Config, key: jax.Array) -> tuple[Tree, Tree]:
    """Parameters and state."""
    params, averages = model(c).init(key, np.zeros((c.batch, c.image, c.image, 3), np.float32))
    return params, {"optimizer": optax.sgd(c.rate, momentum=0.9).init(params), "averages": averages}


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.eval_shape(lambda key: start(c, key), jax.random.PRNGKey(0))
    return train_step(c), (params, state, {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.tree.map(np.asarray, jax.jit(lambda key: start(c, key))(jax.random.PRNGKey(seed)))
    rng = np.random.default_rng(seed + 1)
    images = rng.standard_normal((c.batch, c.image, c.image, 3), np.float32)
    labels = rng.integers(0, c.classes, (c.batch,), np.int32)
    return train_step(c), (params, state, {"images": images, "labels": labels})
