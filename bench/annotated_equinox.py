"""A decoder of equinox's own layers (Embedding, MultiheadAttention, Linear, LayerNorm), trained with optax's AdamW."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from examples.training import cross_entropy, i32

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes."""

    layers: int = 2
    hidden: int = 64
    heads: int = 8
    vocab: int = 128
    seq: int = 16
    batch: int = 8
    rate: float = 1e-3


SIZES = {"small": Config(), "medium": Config(layers=2, hidden=512, heads=8, vocab=16384, seq=256, batch=32)}


class Block(eqx.Module):
    """A pre-norm block on one sequence [seq, hidden]."""

    norm_1: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    norm_2: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, c: Config, key: jax.Array) -> None:
        a, b, d = jax.random.split(key, 3)
        self.norm_1, self.norm_2 = eqx.nn.LayerNorm(c.hidden), eqx.nn.LayerNorm(c.hidden)
        self.attention = eqx.nn.MultiheadAttention(c.heads, c.hidden, key=a)
        self.up = eqx.nn.Linear(c.hidden, 4 * c.hidden, key=b)
        self.down = eqx.nn.Linear(4 * c.hidden, c.hidden, key=d)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = jax.vmap(self.norm_1)(x)
        x = x + self.attention(y, y, y, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return x + jax.vmap(lambda t: self.down(jax.nn.gelu(self.up(self.norm_2(t)))))(x)


class Decoder(eqx.Module):
    """Token and position embeddings, blocks, tied output projection."""

    token: eqx.nn.Embedding
    position: jax.Array
    blocks: list[Block]
    norm: eqx.nn.LayerNorm

    def __init__(self, c: Config, key: jax.Array) -> None:
        first, second, *keys = jax.random.split(key, c.layers + 2)
        self.token = eqx.nn.Embedding(c.vocab, c.hidden, key=first)
        self.position = 0.02 * jax.random.normal(second, (c.seq, c.hidden))
        self.blocks = [Block(c, k) for k in keys]
        self.norm = eqx.nn.LayerNorm(c.hidden)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = jax.vmap(self.token)(tokens) + self.position
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.norm)(x) @ self.token.weight.T / x.shape[-1] ** 0.5


def _static(c: Config) -> Tree:
    """The part of the model that is not arrays."""
    return eqx.partition(eqx.filter_eval_shape(Decoder, c, jax.random.PRNGKey(0)), _is_array)[1]


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct) or eqx.is_array(x)


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step on the arrays of the model."""
    static, optimizer = _static(c), optax.adamw(c.rate, eps=1e-6)

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            tokens = batch["tokens"]
            return cross_entropy(jax.vmap(eqx.combine(p, static))(tokens[:, :-1]), tokens[:, 1:])

        value, grads = jax.value_and_grad(loss)(params)
        updates, new = optimizer.update(grads, opt_state, params)
        return eqx.apply_updates(params, updates), new, value

    return step


def start(c: Config, key: jax.Array) -> tuple[Tree, Tree]:
    """Parameters and optimizer state."""
    params = eqx.filter(Decoder(c, key), eqx.is_array)
    return params, optax.adamw(c.rate, eps=1e-6).init(params)


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.eval_shape(lambda key: start(c, key), jax.random.PRNGKey(0))
    return train_step(c), (params, state, {"tokens": i32(c.batch, c.seq + 1)})


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, state = jax.tree.map(np.asarray, jax.jit(lambda key: start(c, key))(jax.random.PRNGKey(seed)))
    tokens = np.random.default_rng(seed + 1).integers(0, c.vocab, (c.batch, c.seq + 1), np.int32)
    return train_step(c), (params, state, {"tokens": tokens})
