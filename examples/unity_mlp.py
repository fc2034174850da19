"""The two-layer perceptron of the Unity paper's first example: batch 64, input 784, hidden 512, output 10, SGD."""

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
    """Sizes."""

    batch: int = 64
    inputs: int = 784
    hidden: int = 512
    outputs: int = 10
    rate: float = 0.1


SIZES = {"small": Config(), "wide": Config(batch=1024, inputs=1024, hidden=4096, outputs=1024)}


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step: dense, relu, dense, cross entropy; no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            logits = jax.nn.relu(batch["x"] @ p["first"]) @ p["second"]
            return training.cross_entropy(logits, batch["labels"])

        value, grads = jax.value_and_grad(loss)(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = {"first": f32(c.inputs, c.hidden), "second": f32(c.hidden, c.outputs)}
    return train_step(c), (params, (), {"x": f32(c.batch, c.inputs), "labels": i32(c.batch)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "x": rng.standard_normal((c.batch, c.inputs), np.float32),
        "labels": rng.integers(0, c.outputs, (c.batch,), np.int32),
    }
    return step, (training.materialise(params, seed), opt_state, batch)
