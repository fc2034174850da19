"""BERT encoder pre-training step: post-layer-norm blocks, gelu, masked language model loss, Adam.

`large` is BERT-Large: 24 layers, hidden 1024, feed-forward 4096, 16 heads, sequence 512. With `scan=True` the layers
are stacked and run by `jax.lax.scan`, otherwise they are written out one after another.
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
    """Sizes. `masked` is the number of positions per sequence whose token is predicted."""

    layers: int = 2
    hidden: int = 64
    ffn: int = 256
    heads: int = 8
    vocab: int = 128
    seq: int = 16
    batch: int = 8
    masked: int = 4
    rate: float = 1e-3
    scan: bool = False


SIZES = {
    "small": Config(),
    "medium": Config(layers=2, hidden=512, ffn=2048, heads=8, vocab=8192, seq=256, batch=16, masked=32),
    "large": Config(
        layers=24, hidden=1024, ffn=4096, heads=16, vocab=30528, seq=512, batch=32, masked=76, rate=1e-4
    ),
}


def layer_shapes(c: Config) -> Tree:
    """Parameters of one encoder layer."""
    h, f = c.hidden, c.ffn
    return {
        "query": f32(h, h), "bias_query": f32(h), "key": f32(h, h), "bias_key": f32(h),
        "value": f32(h, h), "bias_value": f32(h), "out": f32(h, h), "bias_out": f32(h),
        "scale_attention": f32(h), "bias_attention": f32(h),
        "up": f32(h, f), "bias_up": f32(f), "down": f32(f, h), "bias_down": f32(h),
        "scale_ffn": f32(h), "bias_ffn": f32(h),
    }  # fmt: skip


def param_shapes(c: Config) -> Tree:
    """All parameters; `layers` is a list of layers, or one layer with a leading dimension when scanned."""
    layer = layer_shapes(c)
    if c.scan:
        layers: Tree = jax.tree.map(lambda s: f32(c.layers, *s.shape), layer)
    else:
        layers = [layer] * c.layers
    h = c.hidden
    return {
        "table_word": f32(c.vocab, h), "table_position": f32(c.seq, h), "table_type": f32(2, h),
        "scale_embed": f32(h), "bias_embed": f32(h), "layers": layers,
        "transform": f32(h, h), "bias_transform": f32(h), "scale_head": f32(h), "bias_head": f32(h),
        "bias_vocab": f32(c.vocab),
    }  # fmt: skip


def batch_shapes(c: Config) -> Tree:
    """Token ids, segment ids, 1 where a token is real, the masked positions and their true tokens."""
    whole, masked = i32(c.batch, c.seq), i32(c.batch, c.masked)
    return {"tokens": whole, "segments": whole, "real": f32(c.batch, c.seq), "positions": masked, "labels": masked}


def make_batch(c: Config, seed: int) -> Tree:
    """A random batch; the last eighth of some sequences is padding."""
    rng = np.random.default_rng(seed)
    real = np.ones((c.batch, c.seq), np.float32)
    real[::2, c.seq - c.seq // 8 :] = 0
    positions = np.argsort(rng.random((c.batch, c.seq - c.seq // 8)), axis=1)[:, : c.masked]
    return {
        "tokens": rng.integers(0, c.vocab, (c.batch, c.seq), np.int32),
        "segments": (np.arange(c.seq, dtype=np.int32) >= c.seq // 2) * np.ones((c.batch, 1), np.int32),
        "real": real,
        "positions": np.sort(positions, axis=1).astype(np.int32),
        "labels": rng.integers(0, c.vocab, (c.batch, c.masked), np.int32),
    }


def encoder_layer(c: Config, x: jax.Array, mask: jax.Array, p: Tree) -> jax.Array:
    """One post-norm layer: x [batch, seq, hidden], mask [batch, 1, 1, seq] added to the scores."""
    b, s, h = x.shape

    def heads(t: jax.Array) -> jax.Array:
        return t.reshape(b, s, c.heads, h // c.heads)

    q = heads(x @ p["query"] + p["bias_query"])
    k = heads(x @ p["key"] + p["bias_key"])
    v = heads(x @ p["value"] + p["bias_value"])
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / math.sqrt(h // c.heads) + mask
    context = jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, -1), v).reshape(b, s, h)
    attended = context @ p["out"] + p["bias_out"]
    x = training.layer_norm(x + attended, p["scale_attention"], p["bias_attention"])
    inner = jax.nn.gelu(x @ p["up"] + p["bias_up"], approximate=False)
    return training.layer_norm(x + inner @ p["down"] + p["bias_down"], p["scale_ffn"], p["bias_ffn"])


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Cross entropy of the true tokens at the masked positions; the output projection is the word table."""
    x = params["table_word"][batch["tokens"]] + params["table_type"][batch["segments"]] + params["table_position"]
    x = training.layer_norm(x, params["scale_embed"], params["bias_embed"])
    mask = (1.0 - batch["real"])[:, None, None, :] * -1e9
    if c.scan:
        x, _ = jax.lax.scan(lambda carry, p: (encoder_layer(c, carry, mask, p), None), x, params["layers"])
    else:
        for p in params["layers"]:
            x = encoder_layer(c, x, mask, p)
    x = jnp.take_along_axis(x, batch["positions"][..., None], axis=1)
    x = jax.nn.gelu(x @ params["transform"] + params["bias_transform"], approximate=False)
    x = training.layer_norm(x, params["scale_head"], params["bias_head"])
    logits = x @ params["table_word"].T + params["bias_vocab"]
    return training.cross_entropy(logits, batch["labels"])


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
    return train_step(c), (params, training.adam_state(params), batch_shapes(c))


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    return step, (training.materialise(params, seed), training.zeros(opt_state), make_batch(c, seed + 1))
