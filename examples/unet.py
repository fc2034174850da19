"""A denoising U-Net (Rombach et al. 2022): residual blocks of convolutions with group norm, self- and cross-attention,
skip connections; the loss is the squared error of the predicted noise, AdamW.

`sd1` is the U-Net of Stable Diffusion 1: latents 64 x 64 x 4, 77 text tokens of width 768, 320 channels times 1, 2, 4,
4, four images per device in the published run. NHWC. Float32 weights; `dtype` is that of products. With `remat` every
residual block and every transformer keeps only its input for the backward pass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import layers, training
from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. Level i has `width * factors[i]` channels, transformers if `attend[i]`, half the image of level i - 1."""

    image: int = 8
    latent: int = 4
    width: int = 16
    factors: tuple[int, ...] = (1, 2)
    attend: tuple[bool, ...] = (True, False)
    blocks: int = 1
    groups: int = 8
    heads: int = 4
    context: int = 8
    context_width: int = 16
    steps: int = 1000
    batch: int = 8
    rate: float = 1e-3
    remat: bool = False
    dtype: str = "float32"


SIZES = {
    "small": Config(),
    "sd1": Config(
        64, 4, 320, (1, 2, 4, 4), (True, True, True, False), 2, 32, 8, 77, 768, 1000, 4, 1e-4, True, "bfloat16"
    ),
}


def conv_shapes(inputs: int, outputs: int, kernel: int = 3) -> Tree:
    """Kernel and bias of a convolution."""
    return {"conv": f32(kernel, kernel, inputs, outputs), "bias": f32(outputs)}


def dense_shapes(inputs: int, outputs: int) -> Tree:
    """Weight and bias of a dense layer."""
    return {"weight": f32(inputs, outputs), "bias": f32(outputs)}


def norm_shapes(width: int) -> Tree:
    """Scale and bias of a normalisation."""
    return {"scale": f32(width), "bias": f32(width)}


def residual_shapes(c: Config, inputs: int, outputs: int) -> Tree:
    """A residual block, which also takes the time embedding."""
    skip = {"skip": conv_shapes(inputs, outputs, 1)} if inputs != outputs else {}
    return {
        "norm1": norm_shapes(inputs), "conv1": conv_shapes(inputs, outputs), "time": dense_shapes(4 * c.width, outputs),
        "norm2": norm_shapes(outputs), "conv2": conv_shapes(outputs, outputs), **skip,
    }  # fmt: skip


def transformer_shapes(c: Config, n: int) -> Tree:
    """Self-attention, cross-attention to the context, gated feed-forward network, between two projections."""

    def attention(width: int) -> Tree:
        return {"query": f32(n, n), "key": f32(width, n), "value": f32(width, n), "out": dense_shapes(n, n)}

    return {
        "norm": norm_shapes(n), "enter": dense_shapes(n, n), "leave": dense_shapes(n, n),
        "norm1": norm_shapes(n), "self": attention(n), "norm2": norm_shapes(n), "cross": attention(c.context_width),
        "norm3": norm_shapes(n), "up": dense_shapes(n, 8 * n), "down": dense_shapes(4 * n, n),
    }  # fmt: skip


def param_shapes(c: Config) -> Tree:
    """Everything on the way down, in the middle, and on the way up.

    An entry of `down` and `up` is a residual block, perhaps a transformer, perhaps a convolution that changes the size.
    """
    n, embed = c.width, 4 * c.width
    down: list[Tree] = []
    up: list[Tree] = []
    skips, inputs, last = [n], n, len(c.factors) - 1
    for level, factor in enumerate(c.factors):
        outputs = n * factor
        for index in range(c.blocks):
            entry = {"residual": residual_shapes(c, inputs, outputs)}
            if c.attend[level]:
                entry["transformer"] = transformer_shapes(c, outputs)
            inputs = outputs
            skips.append(inputs)
            if level < last and index == c.blocks - 1:
                entry["shrink"] = conv_shapes(inputs, inputs)
                skips.append(inputs)
            down.append(entry)
    residual = residual_shapes(c, inputs, inputs)
    middle = {"residual1": residual, "transformer": transformer_shapes(c, inputs), "residual2": residual}
    for level, factor in reversed(list(enumerate(c.factors))):
        outputs = n * factor
        for index in range(c.blocks + 1):
            entry = {"residual": residual_shapes(c, inputs + skips.pop(), outputs)}
            if c.attend[level]:
                entry["transformer"] = transformer_shapes(c, outputs)
            inputs = outputs
            if level and index == c.blocks:
                entry["grow"] = conv_shapes(inputs, inputs)
            up.append(entry)
    return {
        "time1": dense_shapes(n, embed), "time2": dense_shapes(embed, embed), "enter": conv_shapes(c.latent, n),
        "down": down, "middle": middle, "up": up, "norm": norm_shapes(n), "leave": conv_shapes(n, c.latent),
    }  # fmt: skip


def conv(x: jax.Array, p: Tree, stride: int = 1) -> jax.Array:
    """Convolution that keeps the image, or halves it."""
    around = [(size // 2, size // 2) for size in p["conv"].shape[:2]]
    y = jax.lax.conv_general_dilated(
        x, p["conv"].astype(x.dtype), (stride, stride), around, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return y + p["bias"].astype(x.dtype)


def dense(x: jax.Array, p: Tree) -> jax.Array:
    """Dense layer over the last dimension."""
    return x @ p["weight"].astype(x.dtype) + p["bias"].astype(x.dtype)


def layer_norm(x: jax.Array, p: Tree) -> jax.Array:
    """Layer normalisation in float32."""
    return training.layer_norm(x.astype(jnp.float32), p["scale"], p["bias"], 1e-5).astype(x.dtype)


def group_norm(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """Normalise x [batch, height, width, channels] over the image and groups of channels, in float32."""
    grouped = x.astype(jnp.float32).reshape(*x.shape[:3], c.groups, -1)
    mean = jnp.mean(grouped, (1, 2, 4), keepdims=True)
    variance = jnp.mean(jnp.square(grouped - mean), (1, 2, 4), keepdims=True)
    y = ((grouped - mean) * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape)
    return (y * p["scale"] + p["bias"]).astype(x.dtype)


def residual(c: Config, x: jax.Array, time: jax.Array, p: Tree) -> jax.Array:
    """Two convolutions with the time embedding between them, and a skip connection."""
    y = conv(jax.nn.silu(group_norm(c, x, p["norm1"])), p["conv1"])
    y = y + dense(jax.nn.silu(time), p["time"])[:, None, None, :]
    y = conv(jax.nn.silu(group_norm(c, y, p["norm2"])), p["conv2"])
    return (conv(x, p["skip"]) if "skip" in p else x) + y


def attention(c: Config, x: jax.Array, context: jax.Array, p: Tree) -> jax.Array:
    """Attention from x [batch, pixels, channels] to context [batch, tokens, width]."""

    def heads(y: jax.Array, weight: jax.Array) -> jax.Array:
        z = y @ weight.astype(y.dtype)
        return z.reshape(*z.shape[:2], c.heads, -1)

    mixed = layers.attend(heads(x, p["query"]), heads(context, p["key"]), heads(context, p["value"]))
    return dense(mixed.reshape(x.shape), p["out"])


def transformer(c: Config, x: jax.Array, context: jax.Array, p: Tree) -> jax.Array:
    """A transformer block over the pixels of x [batch, height, width, channels]."""
    y = dense(group_norm(c, x, p["norm"]).reshape(x.shape[0], -1, x.shape[3]), p["enter"])
    pixels = layer_norm(y, p["norm1"])
    y = y + attention(c, pixels, pixels, p["self"])
    y = y + attention(c, layer_norm(y, p["norm2"]), context, p["cross"])
    value, gate = jnp.split(dense(layer_norm(y, p["norm3"]), p["up"]), 2, axis=-1)
    y = y + dense(value * jax.nn.gelu(gate, approximate=False), p["down"])
    return x + dense(y, p["leave"]).reshape(x.shape)


def embed_time(c: Config, params: Tree, time: jax.Array) -> jax.Array:
    """Sines and cosines of the time steps [batch] through two dense layers."""
    half = c.width // 2
    angle = time[:, None] * jnp.exp(-jnp.log(10_000.0) * jnp.arange(half, dtype=jnp.float32) / half)
    waves = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], -1).astype(c.dtype)
    return dense(jax.nn.silu(dense(waves, params["time1"])), params["time2"])


def denoise(c: Config, params: Tree, x: jax.Array, time: jax.Array, context: jax.Array) -> jax.Array:
    """The noise in x [batch, height, width, latent] at steps time [batch], given context [batch, tokens, width]."""
    embedded, text = embed_time(c, params, time.astype(jnp.float32)), context.astype(c.dtype)
    kept = jax.checkpoint if c.remat else lambda f: f
    resnet = kept(lambda x, p: residual(c, x, embedded, p))
    attend = kept(lambda x, p: transformer(c, x, text, p))
    x = conv(x.astype(c.dtype), params["enter"])
    skips = [x]
    for p in params["down"]:
        x = resnet(x, p["residual"])
        x = attend(x, p["transformer"]) if "transformer" in p else x
        skips.append(x)
        if "shrink" in p:
            x = conv(x, p["shrink"], 2)
            skips.append(x)
    x = resnet(x, params["middle"]["residual1"])
    x = resnet(attend(x, params["middle"]["transformer"]), params["middle"]["residual2"])
    for p in params["up"]:
        x = resnet(jnp.concatenate([x, skips.pop()], axis=3), p["residual"])
        x = attend(x, p["transformer"]) if "transformer" in p else x
        if "grow" in p:
            x = conv(jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2), p["grow"])
    return conv(jax.nn.silu(group_norm(c, x, params["norm"])), params["leave"]).astype(jnp.float32)


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Mean squared error of the noise that was added at the given steps (betas from 0.00085 to 0.012, by root)."""
    betas = jnp.square(jnp.linspace(0.00085**0.5, 0.012**0.5, c.steps))
    kept = jnp.cumprod(1 - betas)[batch["time"]][:, None, None, None]
    noisy = jnp.sqrt(kept) * batch["latents"] + jnp.sqrt(1 - kept) * batch["noise"]
    return jnp.mean(jnp.square(denoise(c, params, noisy, batch["time"], batch["context"]) - batch["noise"]))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        params, opt_state = layers.adamw(params, opt_state, grads, c.rate, decay=0.01, b2=0.999)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, x = param_shapes(c), f32(c.batch, c.image, c.image, c.latent)
    batch = {"latents": x, "noise": x, "time": i32(c.batch), "context": f32(c.batch, c.context, c.context_width)}
    return train_step(c), (params, training.adam_state(params), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {name: rng.standard_normal(batch[name].shape, np.float32) for name in ("latents", "noise", "context")}
    values["time"] = rng.integers(0, c.steps, (c.batch,), np.int32)
    return step, (training.materialise(params, seed), training.zeros(opt_state), values)
