"""A character-level recurrent net: LSTM or GRU cells in `jax.lax.scan` over time, clipped momentum SGD."""

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
    """Sizes. `cell` is "lstm" or "gru"."""

    cell: str = "lstm"
    vocab: int = 64
    width: int = 32
    hidden: int = 64
    seq: int = 12
    batch: int = 8
    rate: float = 0.1


SIZES = {
    "small": Config(),
    "medium": Config(vocab=1024, width=256, hidden=512, seq=64, batch=64),
}

GATES = {"lstm": 4, "gru": 3}


def param_shapes(c: Config) -> Tree:
    """Embedding, recurrent cell, output layer."""
    gates = GATES[c.cell] * c.hidden
    return {
        "table": f32(c.vocab, c.width),
        "input": f32(c.width, gates), "recurrent": f32(c.hidden, gates), "bias": f32(gates),
        "output": f32(c.hidden, c.vocab), "bias_output": f32(c.vocab),
    }  # fmt: skip


def lstm_cell(params: Tree, carry: tuple[jax.Array, jax.Array], x: jax.Array) -> tuple[Any, jax.Array]:
    """One step of an LSTM: x [batch, width], carry (hidden, memory)."""
    hidden, memory = carry
    gates = x @ params["input"] + hidden @ params["recurrent"] + params["bias"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    memory = jax.nn.sigmoid(f + 1.0) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
    return (hidden, memory), hidden


def gru_cell(params: Tree, carry: tuple[jax.Array], x: jax.Array) -> tuple[Any, jax.Array]:
    """One step of a GRU: x [batch, width], carry (hidden,)."""
    (hidden,) = carry
    ri, zi, ni = jnp.split(x @ params["input"] + params["bias"], 3, axis=-1)
    rh, zh, nh = jnp.split(hidden @ params["recurrent"], 3, axis=-1)
    update = jax.nn.sigmoid(zi + zh)
    candidate = jnp.tanh(ni + jax.nn.sigmoid(ri + rh) * nh)
    hidden = update * hidden + (1 - update) * candidate
    return (hidden,), hidden


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Next-token cross entropy. tokens: [batch, seq + 1]."""
    inputs = params["table"][batch["tokens"][:, :-1]].swapaxes(0, 1)
    start = jnp.zeros((c.batch, c.hidden), jnp.float32)
    if c.cell == "lstm":
        _, hidden = jax.lax.scan(lambda carry, x: lstm_cell(params, carry, x), (start, start), inputs)
    else:
        _, hidden = jax.lax.scan(lambda carry, x: gru_cell(params, carry, x), (start,), inputs)
    logits = hidden @ params["output"] + params["bias_output"]
    return training.cross_entropy(logits, batch["tokens"][:, 1:].T)


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration; `opt_state` is the velocity."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        grads = training.clip_by_global_norm(grads, 1.0)
        params, opt_state = training.momentum(params, opt_state, grads, c.rate)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    if c.cell not in GATES:
        raise ValueError(f"cell {c.cell!r} is not one of {sorted(GATES)}")
    params = param_shapes(c)
    return train_step(c), (params, params, {"tokens": i32(c.batch, c.seq + 1)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    tokens = np.random.default_rng(seed + 1).integers(0, c.vocab, (c.batch, c.seq + 1), np.int32)
    return step, (training.materialise(params, seed), training.zeros(opt_state), {"tokens": tokens})
