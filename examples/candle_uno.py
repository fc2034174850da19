"""CANDLE-Uno, the drug response model, as the Unity paper's artifact trains it: a tower of dense layers for each
feature, concatenation, a dense head; squared loss, SGD.

`unity` is the artifact's network (towers and head of width 4192, no biases, no sharing between the two drugs); `ecp` is
the original of the ECP-CANDLE benchmarks (three layers of 1000, biases). The paper's batch is 256 per device.
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
    """Sizes. `features` have towers; the two `doses`, one number each, go straight into the concatenation.

    `tower` and `head` count the hidden layers of width `width`.
    """

    cell: int = 24
    descriptors: int = 40
    fingerprints: int = 32
    width: int = 32
    tower: int = 2
    head: int = 2
    bias: bool = False
    batch: int = 16
    rate: float = 0.02


SIZES = {
    "small": Config(),
    "unity": Config(942, 5270, 2048, 4192, 8, 4, False, 256, 0.01),
    "ecp": Config(942, 5270, 2048, 1000, 3, 3, True, 256, 0.01),
}


def features(c: Config) -> dict[str, int]:
    """The inputs in the order of the concatenation, with their widths."""
    return {
        "cell_rnaseq": c.cell, "dose1": 1, "dose2": 1,
        "drug1_descriptors": c.descriptors, "drug1_fingerprints": c.fingerprints,
        "drug2_descriptors": c.descriptors, "drug2_fingerprints": c.fingerprints,
    }  # fmt: skip


def is_dose(name: str) -> bool:
    """Whether an input has no tower."""
    return name.startswith("dose")


def dense_shapes(c: Config, inputs: int, outputs: int) -> Tree:
    """Weight and, if the model has them, bias of a dense layer."""
    return {"weight": f32(inputs, outputs)} | ({"bias": f32(outputs)} if c.bias else {})


def stack_shapes(c: Config, inputs: int, count: int) -> Tree:
    """`count` dense layers of the model's width."""
    return [dense_shapes(c, inputs if not i else c.width, c.width) for i in range(count)]


def param_shapes(c: Config) -> Tree:
    """Towers, head, output layer."""
    named = features(c)
    joined = sum(1 if is_dose(name) else c.width for name in named)
    return {
        "towers": {name: stack_shapes(c, size, c.tower) for name, size in named.items() if not is_dose(name)},
        "head": stack_shapes(c, joined, c.head),
        "out": dense_shapes(c, c.width, 1),
    }


def dense(x: jax.Array, p: Tree) -> jax.Array:
    """One dense layer."""
    y = x @ p["weight"]
    return y + p["bias"] if "bias" in p else y


def stack(x: jax.Array, layers: Tree) -> jax.Array:
    """Dense layers, each followed by relu."""
    for p in layers:
        x = jax.nn.relu(dense(x, p))
    return x


def predict(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """The growth [batch]; every input is [batch, its width]."""
    towers = params["towers"]
    encoded = [stack(batch[name], towers[name]) if name in towers else batch[name] for name in features(c)]
    return dense(stack(jnp.concatenate(encoded, axis=1), params["head"]), params["out"])[:, 0]


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Mean squared error of the prediction."""
    return jnp.mean(jnp.square(predict(c, params, batch) - batch["growth"]))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    batch = {name: f32(c.batch, width) for name, width in features(c).items()} | {"growth": f32(c.batch)}
    return train_step(c), (param_shapes(c), (), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(s.shape, np.float32) for name, s in batch.items()}
    return step, (training.materialise(params, seed), opt_state, values)
