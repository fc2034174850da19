"""A GPT-style decoder: pre-layer-norm, causal mask, dropout, tied embeddings, next-token loss, Adam.

Dropout draws from a threefry key that comes with the batch (two uint32, what `jax.random.PRNGKey` makes).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import training
from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes."""

    layers: int = 2
    hidden: int = 64
    heads: int = 8
    vocab: int = 128
    seq: int = 16
    batch: int = 8
    dropout: float = 0.1
    rate: float = 1e-3


SIZES = {
    "small": Config(),
    "medium": Config(layers=4, hidden=256, heads=8, vocab=2048, seq=64, batch=16),
    "gpt2": Config(layers=12, hidden=768, heads=12, vocab=50304, seq=1024, batch=16, rate=1e-4),
}


def param_shapes(c: Config) -> Tree:
    """Parameters; the output projection is the token table."""
    h = c.hidden
    layer = {
        "scale_1": f32(h), "bias_1": f32(h), "qkv": f32(h, 3 * h), "bias_qkv": f32(3 * h),
        "out": f32(h, h), "bias_out": f32(h), "scale_2": f32(h), "bias_2": f32(h),
        "up": f32(h, 4 * h), "bias_up": f32(4 * h), "down": f32(4 * h, h), "bias_down": f32(h),
    }  # fmt: skip
    return {
        "table_token": f32(c.vocab, h), "table_position": f32(c.seq, h), "layers": [layer] * c.layers,
        "scale_final": f32(h), "bias_final": f32(h),
    }  # fmt: skip


def dropout(x: jax.Array, rate: float, key: jax.Array) -> jax.Array:
    """Zero a fraction `rate` of x and scale the rest up."""
    kept = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0.0)


def block(c: Config, x: jax.Array, p: Tree, key: jax.Array) -> jax.Array:
    """One decoder block on x [batch, seq, hidden]."""
    b, s, h = x.shape
    keys = jax.random.split(key, 3)
    qkv = training.layer_norm(x, p["scale_1"], p["bias_1"]) @ p["qkv"] + p["bias_qkv"]
    q, k, v = (t.reshape(b, s, c.heads, h // c.heads) for t in jnp.split(qkv, 3, axis=-1))
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / math.sqrt(h // c.heads)
    causal = jnp.arange(s)[:, None] >= jnp.arange(s)[None, :]
    weights = dropout(jax.nn.softmax(jnp.where(causal, scores, -1e9), -1), c.dropout, keys[0])
    context = jnp.einsum("bhst,bthd->bshd", weights, v).reshape(b, s, h)
    x = x + dropout(context @ p["out"] + p["bias_out"], c.dropout, keys[1])
    inner = jax.nn.gelu(training.layer_norm(x, p["scale_2"], p["bias_2"]) @ p["up"] + p["bias_up"])
    return x + dropout(inner @ p["down"] + p["bias_down"], c.dropout, keys[2])


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Next-token cross entropy. tokens: [batch, seq + 1]."""
    keys = jax.random.split(batch["key"], c.layers + 1)
    x = params["table_token"][batch["tokens"][:, :-1]] + params["table_position"]
    x = dropout(x, c.dropout, keys[-1])
    for index, p in enumerate(params["layers"]):
        x = block(c, x, p, keys[index])
    x = training.layer_norm(x, params["scale_final"], params["bias_final"])
    return training.cross_entropy(x @ params["table_token"].T, batch["tokens"][:, 1:])


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        params, opt_state = training.adam(params, opt_state, grads, c.rate)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params = param_shapes(c)
    batch = {"tokens": i32(c.batch, c.seq + 1), "key": jax.ShapeDtypeStruct((2,), jnp.uint32)}
    return train_step(c), (params, training.adam_state(params), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "tokens": rng.integers(0, c.vocab, (c.batch, c.seq + 1), np.int32),
        "key": np.array([0, seed], np.uint32),
    }
    return step, (training.materialise(params, seed), training.zeros(opt_state), batch)
