"""The MLP of the Unity paper's evaluation: two towers of dense layers, added, softmax; cross entropy, SGD, no biases.

`unity` is the artifact's network: two inputs of 1024, eight layers of 8192 in each tower, the last without relu. The
paper's batch is 256 per device. (`unity_mlp` is the two-layer perceptron of that paper's first example.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from examples import training
from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of a tower: inputs, width of its layers (the last is the logits), number of layers."""

    inputs: int = 32
    width: int = 64
    layers: int = 3
    batch: int = 16
    rate: float = 0.05


SIZES = {"small": Config(), "unity": Config(1024, 8192, 8, 256, 0.01)}


def tower_shapes(c: Config) -> Tree:
    """The weights of one tower."""
    return [f32(c.width if i else c.inputs, c.width) for i in range(c.layers)]


def tower(x: jax.Array, layers: Tree) -> jax.Array:
    """Dense layers with relu between them."""
    for weight in layers[:-1]:
        x = jax.nn.relu(x @ weight)
    return x @ layers[-1]


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            logits = tower(batch["left"], p["left"]) + tower(batch["right"], p["right"])
            return training.cross_entropy(logits, batch["labels"])

        value, grads = jax.value_and_grad(loss)(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    x = f32(c.batch, c.inputs)
    params = {"left": tower_shapes(c), "right": tower_shapes(c)}
    return train_step(c), (params, (), {"left": x, "right": x, "labels": i32(c.batch)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(batch[name].shape, np.float32) for name in ("left", "right")}
    labels = {"labels": rng.integers(0, c.width, (c.batch,), np.int32)}
    return step, (training.materialise(params, seed), opt_state, values | labels)
