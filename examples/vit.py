"""Vision Transformer (Dosovitskiy et al. 2020): patches, class token, pre-norm encoder, classifier; AdamW.

`h14` is ViT-H/14 at 224 x 224: 32 layers, 1280 wide, patches of 14, the paper's batch of 4096 in all. It scans over the
layers, keeps float32 master weights, computes in bfloat16 and recomputes each layer in the backward pass.
(`flax_model` is a small vision transformer made of flax's layers.)
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
    """Sizes, and how the layers are run: see `examples.layers`. `dtype` is that of products."""

    image: int = 16
    patch: int = 4
    layers: int = 2
    hidden: int = 32
    ffn: int = 128
    heads: int = 8
    classes: int = 16
    batch: int = 8
    rate: float = 1e-3
    scan: bool = False
    remat: bool = False
    dtype: str = "float32"

    @property
    def tokens(self) -> int:
        """Patches of an image, and the class token."""
        return (self.image // self.patch) ** 2 + 1


SIZES = {
    "small": Config(),
    "h14": Config(224, 14, 32, 1280, 5120, 16, 1000, 4096, 1e-3, True, True, "bfloat16"),
}


def layer_shapes(c: Config) -> Tree:
    """Parameters of one encoder layer."""
    h, f = c.hidden, c.ffn
    return {
        **layers.norm_shapes("attention", h), "qkv": f32(h, 3 * h), "bias_qkv": f32(3 * h),
        "out": f32(h, h), "bias_out": f32(h),
        **layers.norm_shapes("ffn", h), "up": f32(h, f), "bias_up": f32(f), "down": f32(f, h), "bias_down": f32(h),
    }  # fmt: skip


def param_shapes(c: Config) -> Tree:
    """Patch embedding, class token, positions, layers, final norm, classifier."""
    h = c.hidden
    return {
        "conv_patch": f32(c.patch, c.patch, 3, h), "bias_patch": f32(h), "table_class": f32(1, 1, h),
        "table_position": f32(c.tokens, h), "layers": layers.repeated(layer_shapes(c), c.layers, c.scan),
        **layers.norm_shapes("final", h), "dense": f32(h, c.classes), "bias_dense": f32(c.classes),
    }  # fmt: skip


def block(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """One encoder layer on x [batch, tokens, hidden]."""
    p = layers.cast(p, c.dtype)
    b, s, h = x.shape
    qkv = layers.norm(x, p, "attention", 1e-6) @ p["qkv"] + p["bias_qkv"]
    q, k, v = (t.reshape(b, s, c.heads, h // c.heads) for t in jnp.split(qkv, 3, axis=-1))
    x = x + layers.attend(q, k, v).reshape(b, s, h) @ p["out"] + p["bias_out"]
    inner = jax.nn.gelu(layers.norm(x, p, "ffn", 1e-6) @ p["up"] + p["bias_up"], approximate=False)
    return x + inner @ p["down"] + p["bias_down"]


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Cross entropy of the class of images [batch, height, width, 3]."""
    outer = layers.cast({k: v for k, v in params.items() if k != "layers"}, c.dtype)
    x = jax.lax.conv_general_dilated(
        batch["images"].astype(c.dtype), outer["conv_patch"], (c.patch, c.patch), "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    x = (x + outer["bias_patch"]).reshape(x.shape[0], -1, c.hidden)
    first = jnp.broadcast_to(outer["table_class"], (x.shape[0], 1, c.hidden))
    x = jnp.concatenate([first, x], axis=1) + outer["table_position"]
    x = layers.run(lambda y, p: block(c, y, p), x, params["layers"], c.scan, c.remat)
    logits = layers.norm(x[:, 0], params, "final", 1e-6) @ outer["dense"] + outer["bias_dense"]
    return training.cross_entropy(logits.astype(jnp.float32), batch["labels"])


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        params, opt_state = layers.adamw(params, opt_state, grads, c.rate, decay=0.1, b2=0.999, limit=1.0)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = param_shapes(c)
    batch = {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)}
    return train_step(c), (params, training.adam_state(params), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "images": rng.standard_normal((c.batch, c.image, c.image, 3), np.float32),
        "labels": rng.integers(0, c.classes, (c.batch,), np.int32),
    }
    return step, (training.materialise(params, seed), training.zeros(opt_state), batch)
