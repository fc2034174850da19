"""GPT-3 (Brown et al. 2020): pre-norm decoder, learned positions, gelu, tied embeddings; AdamW, next-token loss.

Hyperparameters are the paper's (weight decay 0.1, gradients clipped at 1); attention is dense in every layer, as in
GPT-3's open reproductions, whose widths are used where the paper's table does not divide (1.3B: 16 heads of 128; 13B:
5120 wide). Large sizes scan over the layers, keep float32 master weights, compute in bfloat16, and recompute each layer
in the backward pass. The batch of a million tokens (1.3B) is 512 sequences, that of two million (13B) is 1024.
(`gpt` is the small decoder with dropout.)
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

    layers: int = 2
    hidden: int = 32
    heads: int = 8
    vocab: int = 64
    seq: int = 16
    batch: int = 8
    rate: float = 1e-3
    scan: bool = False
    remat: bool = False
    dtype: str = "float32"


_LARGE: dict[str, Any] = {"vocab": 50257, "seq": 2048, "scan": True, "remat": True, "dtype": "bfloat16"}
SIZES = {
    "small": Config(),
    "1.3b": Config(layers=24, hidden=2048, heads=16, batch=512, rate=2e-4, **_LARGE),
    "13b": Config(layers=40, hidden=5120, heads=40, batch=1024, rate=1e-4, **_LARGE),
}


def layer_shapes(c: Config) -> Tree:
    """Parameters of one layer."""
    h = c.hidden
    return {
        **layers.norm_shapes("attention", h), "qkv": f32(h, 3 * h), "bias_qkv": f32(3 * h),
        "out": f32(h, h), "bias_out": f32(h),
        **layers.norm_shapes("ffn", h), "up": f32(h, 4 * h), "bias_up": f32(4 * h),
        "down": f32(4 * h, h), "bias_down": f32(h),
    }  # fmt: skip


def param_shapes(c: Config) -> Tree:
    """Tables, layers, final norm; the output projection is the token table."""
    return {
        "table_token": f32(c.vocab, c.hidden), "table_position": f32(c.seq, c.hidden),
        "layers": layers.repeated(layer_shapes(c), c.layers, c.scan), **layers.norm_shapes("final", c.hidden),
    }  # fmt: skip


def block(c: Config, x: jax.Array, p: Tree) -> jax.Array:
    """One layer on x [batch, seq, hidden]."""
    p = layers.cast(p, c.dtype)
    b, s, h = x.shape
    qkv = layers.norm(x, p, "attention") @ p["qkv"] + p["bias_qkv"]
    q, k, v = (t.reshape(b, s, c.heads, h // c.heads) for t in jnp.split(qkv, 3, axis=-1))
    x = x + layers.attend(q, k, v, causal=True).reshape(b, s, h) @ p["out"] + p["bias_out"]
    inner = jax.nn.gelu(layers.norm(x, p, "ffn") @ p["up"] + p["bias_up"])
    return x + inner @ p["down"] + p["bias_down"]


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Next-token cross entropy of tokens [batch, seq + 1]."""
    tokens = batch["tokens"]
    x = params["table_token"][tokens[:, :-1]] + params["table_position"]
    x = layers.run(lambda y, p: block(c, y, p), x.astype(c.dtype), params["layers"], c.scan, c.remat)
    logits = layers.norm(x, params, "final") @ params["table_token"].astype(c.dtype).T
    return training.cross_entropy(logits.astype(jnp.float32), tokens[:, 1:])


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
