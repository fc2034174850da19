"""ResNeXt-50 (32x4d) without normalisation, as the Unity paper's artifact trains it: cross entropy, SGD.

`50` is the network of the paper's figures, with a residual connection around every block; `residual=False` is the chain
that the published artifact builds by default. Images and kernels are NHWC and HWIO here, NCHW there. Paddings are
explicit and symmetric. The paper's batch is 64 per device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import training
from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. `widths` are those of the grouped convolutions; a block puts out twice as many channels."""

    image: int = 32
    classes: int = 16
    stem: int = 16
    widths: tuple[int, ...] = (16, 32)
    blocks: tuple[int, ...] = (2, 1)
    groups: int = 8
    residual: bool = True
    batch: int = 8
    rate: float = 0.02


SIZES = {
    "small": Config(),
    "50": Config(224, 1000, 64, (128, 256, 512, 1024), (3, 4, 6, 3), 32, True, 64, 0.01),
}


def conv_shapes(kernel: int, inputs: int, outputs: int, groups: int = 1) -> Tree:
    """Kernel and bias of a square convolution."""
    return {"conv": f32(kernel, kernel, inputs // groups, outputs), "bias": f32(outputs)}


def strides(c: Config) -> list[int]:
    """The stride of every block: each stage but the first halves the image in its first block."""
    return [2 if stage and not index else 1 for stage, count in enumerate(c.blocks) for index in range(count)]


def param_shapes(c: Config) -> Tree:
    """Stem, one entry for each block, classifier."""
    blocks, inputs = [], c.stem
    widths = [width for width, count in zip(c.widths, c.blocks, strict=True) for _ in range(count)]
    for width, stride in zip(widths, strides(c), strict=True):
        block = {
            "reduce": conv_shapes(1, inputs, width),
            "grouped": conv_shapes(3, width, width, c.groups),
            "expand": conv_shapes(1, width, 2 * width),
        }
        if c.residual and (stride > 1 or inputs != 2 * width):
            block["project"] = conv_shapes(1, inputs, 2 * width)
        blocks.append(block)
        inputs = 2 * width
    return {
        "stem": conv_shapes(7, 3, c.stem), "blocks": blocks,
        "dense": f32(inputs, c.classes), "bias_dense": f32(c.classes),
    }  # fmt: skip


def conv(x: jax.Array, p: Tree, stride: int = 1, padding: int = 0, groups: int = 1) -> jax.Array:
    """Convolution with a bias."""
    y = jax.lax.conv_general_dilated(
        x, p["conv"], (stride, stride), [(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups,
    )  # fmt: skip
    return y + p["bias"]


def block(c: Config, x: jax.Array, p: Tree, stride: int) -> jax.Array:
    """Narrow, convolve in groups, widen; add the (projected) input."""
    y = jax.nn.relu(conv(x, p["reduce"]))
    y = jax.nn.relu(conv(y, p["grouped"], stride, 1, c.groups))
    y = conv(y, p["expand"])
    if not c.residual:
        return y
    if "project" in p:
        x = jax.nn.relu(conv(x, p["project"], stride))
    return jax.nn.relu(x + y)


def logits(c: Config, params: Tree, images: jax.Array) -> jax.Array:
    """Logits [batch, classes] of images [batch, height, width, 3]."""
    x = jax.nn.relu(conv(images, params["stem"], 2, 3))
    around = ((0, 0), (1, 1), (1, 1), (0, 0))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), around)
    for p, stride in zip(params["blocks"], strides(c), strict=True):
        x = block(c, x, p, stride)
    return jnp.mean(jax.nn.relu(x), (1, 2)) @ params["dense"] + params["bias_dense"]


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            return training.cross_entropy(logits(c, p, batch["images"]), batch["labels"])

        value, grads = jax.value_and_grad(loss)(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    batch = {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)}
    return train_step(c), (param_shapes(c), (), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "images": rng.standard_normal((c.batch, c.image, c.image, 3), np.float32),
        "labels": rng.integers(0, c.classes, (c.batch,), np.int32),
    }
    return step, (training.materialise(params, seed), opt_state, batch)
