"""A decoder of flax.nnx's own layers (Embed, MultiHeadAttention, Linear, LayerNorm), trained with optax's AdamW."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

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


class Block(nnx.Module):
    """A pre-norm block on [batch, seq, hidden]."""

    def __init__(self, c: Config, rngs: nnx.Rngs) -> None:
        self.norm_1, self.norm_2 = nnx.LayerNorm(c.hidden, rngs=rngs), nnx.LayerNorm(c.hidden, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(c.heads, c.hidden, decode=False, rngs=rngs)
        self.up = nnx.Linear(c.hidden, 4 * c.hidden, rngs=rngs)
        self.down = nnx.Linear(4 * c.hidden, c.hidden, rngs=rngs)

    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        x = x + self.attention(self.norm_1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.norm_2(x))))


class Decoder(nnx.Module):
    """Token and position embeddings, blocks, output projection tied to the token embedding."""

    def __init__(self, c: Config, rngs: nnx.Rngs) -> None:
        self.token = nnx.Embed(c.vocab, c.hidden, rngs=rngs)
        self.position = nnx.Embed(c.seq, c.hidden, rngs=rngs)
        self.blocks = nnx.List([Block(c, rngs) for _ in range(c.layers)])
        self.norm = nnx.LayerNorm(c.hidden, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = self.token(tokens) + self.position(jnp.arange(tokens.shape[1]))
        mask = nnx.make_causal_mask(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.token.attend(self.norm(x))


def start(c: Config, key: jax.Array) -> tuple[Tree, Tree]:
    """Parameters as a plain dict and the optimizer's state."""
    params = nnx.to_pure_dict(nnx.state(Decoder(c, nnx.Rngs(key)), nnx.Param))
    return params, optax.adamw(c.rate, eps=1e-6).init(params)


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step."""
    optimizer = optax.adamw(c.rate, eps=1e-6)
    graph, abstract, rest = nnx.split(nnx.eval_shape(lambda: Decoder(c, nnx.Rngs(0))), nnx.Param, ...)
    if jax.tree.leaves(rest):
        raise ValueError("the model has state besides its parameters")

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> jax.Array:
            state = jax.tree.unflatten(jax.tree.structure(abstract), jax.tree.leaves(p))
            tokens = batch["tokens"]
            return cross_entropy(nnx.merge(graph, state, rest)(tokens[:, :-1]), tokens[:, 1:])

        value, grads = jax.value_and_grad(loss)(params)
        updates, new = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), new, value

    return step


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
