"""Llama 3 (Dubey et al. 2024): RMS norm, rotary positions, grouped-query attention, SwiGLU, untied output; AdamW.

Dimensions are those of the published models. Large sizes scan over the layers, keep float32 master weights, compute in
bfloat16, and recompute each layer in the backward pass. The batch is in sequences of 8192 tokens, four million tokens
together, which is where the published run of the largest model starts.
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
    """Sizes; `groups` key and value heads serve `heads` query heads. `dtype` is that of products."""

    layers: int = 2
    hidden: int = 64
    heads: int = 8
    groups: int = 4
    ffn: int = 96
    vocab: int = 64
    seq: int = 16
    batch: int = 8
    theta: float = 500_000.0
    rate: float = 1e-3
    scan: bool = False
    remat: bool = False
    dtype: str = "float32"


_LARGE: dict[str, Any] = {"vocab": 128_256, "seq": 8192, "batch": 512, "scan": True, "remat": True, "dtype": "bfloat16"}
SIZES = {
    "small": Config(),
    "8b": Config(layers=32, hidden=4096, heads=32, groups=8, ffn=14_336, rate=3e-4, **_LARGE),
    "70b": Config(layers=80, hidden=8192, heads=64, groups=8, ffn=28_672, rate=1.5e-4, **_LARGE),
}


def attention_shapes(hidden: int, heads: int, groups: int) -> Tree:
    """Parameters of the attention of one layer, with its norm."""
    kept = hidden // heads * groups
    return {
        "scale_attention": f32(hidden), "query": f32(hidden, hidden), "key": f32(hidden, kept),
        "value": f32(hidden, kept), "out": f32(hidden, hidden),
    }  # fmt: skip


def layer_shapes(c: Config) -> Tree:
    """Parameters of one layer."""
    ffn = {"gate": f32(c.hidden, c.ffn), "up": f32(c.hidden, c.ffn), "down": f32(c.ffn, c.hidden)}
    return {**attention_shapes(c.hidden, c.heads, c.groups), "scale_ffn": f32(c.hidden), **ffn}


def param_shapes(c: Config) -> Tree:
    """Token table, layers, final norm, output projection."""
    return {
        "table_token": f32(c.vocab, c.hidden), "layers": layers.repeated(layer_shapes(c), c.layers, c.scan),
        "scale_final": f32(c.hidden), "output": f32(c.hidden, c.vocab),
    }  # fmt: skip


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Scale x by its root mean square over the last dimension, in float32."""
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5)
    return (y * scale.astype(jnp.float32)).astype(x.dtype)


def rotary(x: jax.Array, theta: float) -> jax.Array:
    """Turn the pairs (i, i + width/2) of x [batch, seq, heads, width] by angles that grow with the position."""
    half = x.shape[-1] // 2
    frequency = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None, None] * frequency
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def attention(x: jax.Array, p: Tree, heads: int, groups: int, theta: float) -> jax.Array:
    """Causal attention with its norm and residual connection on x [batch, seq, hidden]."""
    b, s, h = x.shape
    y = rms_norm(x, p["scale_attention"])
    q = rotary((y @ p["query"]).reshape(b, s, heads, h // heads), theta)
    k = rotary((y @ p["key"]).reshape(b, s, groups, h // heads), theta)
    v = (y @ p["value"]).reshape(b, s, groups, h // heads)
    return x + layers.attend(q, k, v, causal=True).reshape(b, s, h) @ p["out"]


def block(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """One layer on x [batch, seq, hidden]."""
    p = layers.cast(p, c.dtype)
    x = attention(x, p, c.heads, c.groups, c.theta)
    y = rms_norm(x, p["scale_ffn"])
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


def next_token_loss(x: jax.Array, params: Tree, tokens: jax.Array) -> jax.Array:
    """Cross entropy of the tokens that follow, from the last layer's x [batch, seq, hidden]."""
    logits = rms_norm(x, params["scale_final"]) @ params["output"].astype(x.dtype)
    return training.cross_entropy(logits.astype(jnp.float32), tokens[:, 1:])


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Next-token cross entropy of tokens [batch, seq + 1]."""
    tokens = batch["tokens"]
    x = params["table_token"][tokens[:, :-1]].astype(c.dtype)
    x = layers.run(lambda y, p: block(c, y, p), x, params["layers"], c.scan, c.remat)
    return next_token_loss(x, params, tokens)


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        params, opt_state = layers.adamw(params, opt_state, grads, c.rate, decay=0.1, b2=0.95, limit=1.0)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = param_shapes(c)
    return train_step(c), (params, training.adam_state(params), {"tokens": i32(c.batch, c.seq + 1)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    tokens = np.random.default_rng(seed + 1).integers(0, c.vocab, (c.batch, c.seq + 1), np.int32)
    return step, (training.materialise(params, seed), training.zeros(opt_state), {"tokens": tokens})
