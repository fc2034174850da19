"""A small ResNet with batch normalisation (statistics of the batch, running averages kept), momentum SGD."""

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
    """Sizes. `widths` and `blocks` are per stage; every stage after the first halves the image."""

    image: int = 16
    classes: int = 16
    stem: int = 16
    widths: tuple[int, ...] = (16, 32)
    blocks: tuple[int, ...] = (1, 1)
    batch: int = 16
    rate: float = 0.05


SIZES = {
    "small": Config(),
    "resnet18": Config(224, 1000, 64, (64, 128, 256, 512), (2, 2, 2, 2), 64),
}


def norm_shapes(width: int) -> Tree:
    """Parameters of one batch normalisation."""
    return {"scale": f32(width), "bias": f32(width)}


def param_shapes(c: Config) -> Tree:
    """Parameters: stem, stages of residual blocks, classifier."""
    stages, width = [], c.stem
    for stage, (out, count) in enumerate(zip(c.widths, c.blocks, strict=True)):
        blocks = []
        for index in range(count):
            block = {
                "conv1": f32(3, 3, width, out), "norm1": norm_shapes(out),
                "conv2": f32(3, 3, out, out), "norm2": norm_shapes(out),
            }  # fmt: skip
            if width != out or (stage and not index):
                block |= {"conv_skip": f32(1, 1, width, out), "norm_skip": norm_shapes(out)}
            blocks.append(block)
            width = out
        stages.append(blocks)
    return {
        "conv_stem": f32(3, 3, 3, c.stem), "norm_stem": norm_shapes(c.stem), "stages": stages,
        "dense": f32(width, c.classes), "bias_dense": f32(c.classes),
    }  # fmt: skip


def conv(x: jax.Array, kernel: jax.Array, stride: int = 1) -> jax.Array:
    """Same-padded convolution, NHWC by HWIO."""
    return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x: jax.Array, p: Tree, running: Tree) -> tuple[jax.Array, Tree]:
    """Normalise by the statistics of this batch; returns the new running averages too."""
    mean = jnp.mean(x, (0, 1, 2))
    variance = jnp.mean(jnp.square(x - mean), (0, 1, 2))
    y = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]
    new = {"scale": 0.9 * running["scale"] + 0.1 * variance, "bias": 0.9 * running["bias"] + 0.1 * mean}
    return y, new


def residual_block(x: jax.Array, p: Tree, running: Tree, stride: int) -> tuple[jax.Array, Tree]:
    """Two convolutions and a skip connection."""
    new = {}
    y, new["norm1"] = batch_norm(conv(x, p["conv1"], stride), p["norm1"], running["norm1"])
    y, new["norm2"] = batch_norm(conv(jax.nn.relu(y), p["conv2"]), p["norm2"], running["norm2"])
    if "conv_skip" in p:
        x, new["norm_skip"] = batch_norm(conv(x, p["conv_skip"], stride), p["norm_skip"], running["norm_skip"])
    return jax.nn.relu(x + y), new


def forward(params: Tree, running: Tree, images: jax.Array) -> tuple[jax.Array, Tree]:
    """Logits and the new running averages. images: [batch, height, width, 3]."""
    x, stem = batch_norm(conv(images, params["conv_stem"]), params["norm_stem"], running["norm_stem"])
    x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    stages = []
    for stage, (blocks, averages) in enumerate(zip(params["stages"], running["stages"], strict=True)):
        new_blocks = []
        for index, (p, r) in enumerate(zip(blocks, averages, strict=True)):
            x, new = residual_block(x, p, r, 2 if stage and not index else 1)
            new_blocks.append(new)
        stages.append(new_blocks)
    logits = jnp.mean(x, (1, 2)) @ params["dense"] + params["bias_dense"]
    return logits, {"norm_stem": stem, "stages": stages}


def running_shapes(params: Tree) -> Tree:
    """The running averages belonging to the batch normalisations of `params`: same structure, norms only."""

    def norms(block: Tree) -> Tree:
        return {name: value for name, value in block.items() if name.startswith("norm")}

    return {"norm_stem": params["norm_stem"], "stages": [[norms(b) for b in blocks] for blocks in params["stages"]]}


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; `opt_state` holds the velocity and the running averages."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> tuple[jax.Array, Tree]:
            logits, running = forward(p, opt_state["running"], batch["images"])
            return training.cross_entropy(logits, batch["labels"]), running

        (value, running), grads = jax.value_and_grad(loss, has_aux=True)(params)
        params, velocity = training.momentum(params, opt_state["velocity"], grads, c.rate)
        return params, {"velocity": velocity, "running": running}, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = param_shapes(c)
    batch = {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)}
    return train_step(c), (params, {"velocity": params, "running": running_shapes(params)}, batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "images": rng.standard_normal((c.batch, c.image, c.image, 3), np.float32),
        "labels": rng.integers(0, c.classes, (c.batch,), np.int32),
    }
    state = {"velocity": training.zeros(params), "running": training.materialise(opt_state["running"], seed)}
    return step, (training.materialise(params, seed), state, batch)
