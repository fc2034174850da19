"""Mixtral 8x7B (Jiang et al. 2024): Llama's attention, eight SwiGLU experts of which a token uses two; AdamW.

Tokens are sent to experts by one-hot products (`moe.route`): each expert takes at most `capacity_factor` times its even
share of the tokens of a sequence, and what is over is dropped; a load-balancing term keeps the experts busy. The large
size scans over the layers, keeps float32 master weights, computes in bfloat16 and recomputes each layer in the backward
pass; its batch, which is not published, is of 1024 sequences of 4096 tokens.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import layers, llama, moe, training
from examples.training import Tree, f32, i32


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes; `groups` key and value heads serve `heads` query heads. `dtype` is that of products."""

    layers: int = 2
    hidden: int = 32
    heads: int = 8
    groups: int = 4
    ffn: int = 48
    experts: int = 8
    top: int = 2
    capacity_factor: float = 1.25
    vocab: int = 64
    seq: int = 16
    batch: int = 8
    theta: float = 1_000_000.0
    balance: float = 0.02
    rate: float = 1e-3
    scan: bool = False
    remat: bool = False
    dtype: str = "float32"

    @property
    def capacity(self) -> int:
        """Tokens of a sequence that an expert takes at most."""
        return math.ceil(self.capacity_factor * self.top * self.seq / self.experts)


SIZES = {
    "small": Config(),
    "8x7b": Config(
        layers=32, hidden=4096, heads=32, groups=8, ffn=14_336, vocab=32_000, seq=4096, batch=1024, rate=3e-4,
        scan=True, remat=True, dtype="bfloat16",
    ),
}  # fmt: skip


def layer_shapes(c: Config) -> Tree:
    """Parameters of one layer; experts are stacked."""
    e, h, f = c.experts, c.hidden, c.ffn
    experts = {"gate": f32(e, h, f), "up": f32(e, h, f), "down": f32(e, f, h)}
    attention = llama.attention_shapes(h, c.heads, c.groups)
    return {**attention, "scale_ffn": f32(h), "router": f32(h, e), "experts": experts}


def param_shapes(c: Config) -> Tree:
    """Token table, layers, final norm, output projection."""
    return {
        "table_token": f32(c.vocab, c.hidden), "layers": layers.repeated(layer_shapes(c), c.layers, c.scan),
        "scale_final": f32(c.hidden), "output": f32(c.hidden, c.vocab),
    }  # fmt: skip


def experts(c: Config, y: jax.Array, p: Tree) -> tuple[jax.Array, jax.Array]:
    """What the experts make of y [batch, seq, hidden], and the load-balancing loss. Routing is in float32."""
    b, _, h = y.shape
    probabilities = jax.nn.softmax((y @ p["router"]).astype(jnp.float32), -1)
    combine, balance = moe.route(moe.Config(b, c.seq, h, c.ffn, c.experts, c.top, c.capacity), probabilities)
    dispatch = (combine > 0).astype(y.dtype)
    inputs = jnp.einsum("bsec,bsh->ebch", dispatch, y)
    gate = jnp.einsum("ebch,ehf->ebcf", inputs, p["experts"]["gate"])
    up = jnp.einsum("ebch,ehf->ebcf", inputs, p["experts"]["up"])
    outputs = jnp.einsum("ebcf,efh->ebch", jax.nn.silu(gate) * up, p["experts"]["down"])
    return jnp.einsum("bsec,ebch->bsh", combine.astype(y.dtype), outputs), balance


def block(c: Config, carry: tuple[jax.Array, jax.Array], p: Tree) -> tuple[jax.Array, jax.Array]:
    """One layer on x [batch, seq, hidden], and the sum of the load-balancing losses so far."""
    x, balance = carry
    p = layers.cast(p, c.dtype)
    x = llama.attention(x, p, c.heads, c.groups, c.theta)
    y, more = experts(c, llama.rms_norm(x, p["scale_ffn"]), p)
    return x + y, balance + more


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Next-token cross entropy of tokens [batch, seq + 1], and the mean load-balancing loss."""
    tokens = batch["tokens"]
    x = params["table_token"][tokens[:, :-1]].astype(c.dtype)
    start = (x, jnp.float32(0))
    x, balance = layers.run(lambda y, p: block(c, y, p), start, params["layers"], c.scan, c.remat)
    return llama.next_token_loss(x, params, tokens) + c.balance * balance / c.layers


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
