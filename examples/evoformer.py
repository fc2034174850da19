"""AlphaFold's trunk (Jumper et al. 2021): Evoformer blocks on an MSA and a pair representation, with masked-MSA and
distogram losses; Adam with clipped gradients.

A block is, in the paper's order: MSA row attention biased by the pairs, MSA column attention, MSA transition, outer
product mean, triangle multiplication by outgoing and by incoming edges, triangle attention around the starting and
around the ending node, pair transition (algorithms 7 to 15 of its supplement). Dropout, templates, the extra MSA stack
and the structure module are left out. `alphafold` is the first training stage: 48 blocks, 256 residues, 128 sequences,
one protein per device; it scans over the blocks, computes in bfloat16 and recomputes each block in the backward pass.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import layers, training
from examples.layers import norm, norm_shapes
from examples.training import Tree, f32, i32

#: Amino acids with unknown and gap; with the mask token; channels of an MSA feature.
_TARGET, _TOKENS, _FEATURES = 21, 23, 49


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes: channels of the MSA and of the pairs, heads of their attentions, channels of the outer product."""

    blocks: int = 2
    sequences: int = 8
    residues: int = 8
    msa: int = 32
    pair: int = 16
    msa_heads: int = 4
    pair_heads: int = 4
    outer: int = 8
    bins: int = 16
    batch: int = 8
    rate: float = 1e-3
    scan: bool = False
    remat: bool = False
    dtype: str = "float32"


SIZES = {
    "small": Config(),
    "alphafold": Config(48, 128, 256, 256, 128, 8, 4, 32, 64, 1, 1e-3, True, True, "bfloat16"),
}


def gated_shapes(width: int, heads: int, pair: int | None = None) -> Tree:
    """A gated attention without biases at its projections; `pair` channels, if any, bias its scores."""
    bias = {"pair_bias": f32(pair, heads)} if pair else {}
    return {
        **norm_shapes("input", width), "query": f32(width, width), "key": f32(width, width), "value": f32(width, width),
        "gate": f32(width, width), "bias_gate": f32(width), "out": f32(width, width), "bias_out": f32(width), **bias,
    }  # fmt: skip


def transition_shapes(width: int) -> Tree:
    """A feed-forward network four times as wide."""
    return {
        **norm_shapes("input", width), "up": f32(width, 4 * width), "bias_up": f32(4 * width),
        "down": f32(4 * width, width), "bias_down": f32(width),
    }  # fmt: skip


def triangle_shapes(z: int) -> Tree:
    """A triangle multiplication: two gated edges, gate and projection of the result."""
    names = ("left", "left_gate", "right", "right_gate", "gate", "out")
    dense = {name: f32(z, z) for name in names} | {f"bias_{name}": f32(z) for name in names}
    return {**norm_shapes("input", z), **norm_shapes("center", z), **dense}


def block_shapes(c: Config) -> Tree:
    """Parameters of one block."""
    m, z, o = c.msa, c.pair, c.outer
    return {
        "row": {**gated_shapes(m, c.msa_heads, z), **norm_shapes("pair", z)},
        "column": gated_shapes(m, c.msa_heads),
        "msa_transition": transition_shapes(m),
        "outer": {
            **norm_shapes("input", m), "left": f32(m, o), "bias_left": f32(o), "right": f32(m, o),
            "bias_right": f32(o), "out": f32(o * o, z), "bias_out": f32(z),
        },
        "outgoing": triangle_shapes(z), "incoming": triangle_shapes(z),
        "starting": gated_shapes(z, c.pair_heads, z), "ending": gated_shapes(z, c.pair_heads, z),
        "pair_transition": transition_shapes(z),
    }  # fmt: skip


def param_shapes(c: Config) -> Tree:
    """Embeddings of the features, blocks, heads of the two losses."""

    def dense(name: str, inputs: int, outputs: int) -> Tree:
        return {name: f32(inputs, outputs), f"bias_{name}": f32(outputs)}

    return {
        **dense("left", _TARGET, c.pair), **dense("right", _TARGET, c.pair), **dense("relative", 65, c.pair),
        **dense("features", _FEATURES, c.msa), **dense("target", _TARGET, c.msa),
        "blocks": layers.repeated(block_shapes(c), c.blocks, c.scan),
        **dense("tokens", c.msa, _TOKENS), **dense("distogram", c.pair, c.bins),
    }  # fmt: skip


def dense(x: jax.Array, p: Tree, name: str) -> jax.Array:
    """The dense layer of this name."""
    return x @ p[name] + p[f"bias_{name}"]


def gated_attention(x: jax.Array, p: Tree, heads: int, bias: jax.Array | None) -> jax.Array:
    """Attention along the second last dimension of x [batch, rows, length, channels], every row on its own.

    x is normalised already; bias [batch, heads, length, length], if any, is added to the scores of every row.
    """
    b, r, s, n = x.shape

    def split(name: str) -> jax.Array:
        return (x @ p[name]).reshape(b, r, s, heads, n // heads)

    scores = jnp.einsum("brshd,brthd->brhst", split("query"), split("key")) / math.sqrt(n // heads)
    if bias is not None:
        scores = scores + bias[:, None]
    weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(x.dtype)
    mixed = jnp.einsum("brhst,brthd->brshd", weights, split("value")).reshape(b, r, s, n)
    return dense(jax.nn.sigmoid(dense(x, p, "gate")) * mixed, p, "out")


def pair_bias(z: jax.Array, p: Tree) -> jax.Array:
    """What normalised pairs [batch, i, j, channels] add to the scores [batch, heads, i, j]."""
    return jnp.einsum("bijc,ch->bhij", z, p["pair_bias"])


def triangle_attention(z: jax.Array, p: Tree, heads: int) -> jax.Array:
    """Attention of the edges [batch, i, j, channels] that start at the same node i, biased by the third edge."""
    y = norm(z, p, "input")
    return gated_attention(y, p, heads, pair_bias(y, p))


def triangle_multiplication(z: jax.Array, p: Tree, outgoing: bool) -> jax.Array:
    """Update every edge ij from the edges ik and jk (outgoing) or ki and kj (incoming) of all triangles."""
    y = norm(z, p, "input")
    left = jax.nn.sigmoid(dense(y, p, "left_gate")) * dense(y, p, "left")
    right = jax.nn.sigmoid(dense(y, p, "right_gate")) * dense(y, p, "right")
    sums = jnp.einsum("bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc", left, right)
    return jax.nn.sigmoid(dense(y, p, "gate")) * dense(norm(sums, p, "center"), p, "out")


def outer_product_mean(m: jax.Array, p: Tree) -> jax.Array:
    """Pairs from the mean over the sequences of the outer products of MSA columns."""
    y = norm(m, p, "input")
    products = jnp.einsum("bsic,bsjd->bijcd", dense(y, p, "left"), dense(y, p, "right")) / m.shape[1]
    return dense(products.reshape(*products.shape[:3], -1), p, "out")


def transition(x: jax.Array, p: Tree) -> jax.Array:
    """The feed-forward network."""
    return dense(jax.nn.relu(dense(norm(x, p, "input"), p, "up")), p, "down")


def block(c: Config, carry: tuple[jax.Array, jax.Array], p: Tree) -> tuple[jax.Array, jax.Array]:
    """One block on the MSA [batch, sequences, residues, msa] and the pairs [batch, residues, residues, pair]."""
    m, z = carry
    p = layers.cast(p, c.dtype)
    row, column = p["row"], p["column"]
    m = m + gated_attention(norm(m, row, "input"), row, c.msa_heads, pair_bias(norm(z, row, "pair"), row))
    transposed = gated_attention(norm(m, column, "input").swapaxes(1, 2), column, c.msa_heads, None)
    m = m + transposed.swapaxes(1, 2)
    m = m + transition(m, p["msa_transition"])
    z = z + outer_product_mean(m, p["outer"])
    z = z + triangle_multiplication(z, p["outgoing"], outgoing=True)
    z = z + triangle_multiplication(z, p["incoming"], outgoing=False)
    z = z + triangle_attention(z, p["starting"], c.pair_heads)
    z = z + triangle_attention(z.swapaxes(1, 2), p["ending"], c.pair_heads).swapaxes(1, 2)
    return m, z + transition(z, p["pair_transition"])


def embed(c: Config, params: Tree, batch: Tree) -> tuple[jax.Array, jax.Array]:
    """The first MSA and pair representations, from features, target sequence and distances along the chain."""
    p = layers.cast({k: v for k, v in params.items() if k != "blocks"}, c.dtype)
    target = jax.nn.one_hot(batch["target"], _TARGET, dtype=c.dtype)
    z = dense(target, p, "left")[:, :, None] + dense(target, p, "right")[:, None]
    position = jnp.arange(c.residues)
    offset = jnp.clip(position[:, None] - position[None, :], -32, 32) + 32
    z = z + dense(jax.nn.one_hot(offset, 65, dtype=c.dtype), p, "relative")
    m = dense(batch["features"].astype(c.dtype), p, "features") + dense(target, p, "target")[:, None]
    return m, z


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Cross entropy of the masked tokens of the MSA (weight 2) and of the binned distances (weight 0.3)."""
    start = embed(c, params, batch)
    m, z = layers.run(lambda x, p: block(c, x, p), start, params["blocks"], c.scan, c.remat)
    log_probs = jax.nn.log_softmax(dense(m.astype(jnp.float32), params, "tokens"))
    right = jnp.take_along_axis(log_probs, batch["tokens"][..., None], axis=-1)[..., 0]
    masked = -jnp.sum(right * batch["masked"]) / (jnp.sum(batch["masked"]) + 1e-6)
    half = dense(z.astype(jnp.float32), params, "distogram")
    return 2.0 * masked + 0.3 * training.cross_entropy(half + half.swapaxes(1, 2), batch["distances"])


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        grads = training.clip_by_global_norm(grads, 0.1)
        params, opt_state = training.adam(params, opt_state, grads, c.rate)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    b, s, r = c.batch, c.sequences, c.residues
    batch = {
        "target": i32(b, r), "features": f32(b, s, r, _FEATURES), "tokens": i32(b, s, r), "masked": f32(b, s, r),
        "distances": i32(b, r, r),
    }  # fmt: skip
    params = param_shapes(c)
    return train_step(c), (params, training.adam_state(params), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments; a sixth of the MSA is masked."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    distances = rng.integers(0, c.bins, batch["distances"].shape, np.int32)
    values = {
        "target": rng.integers(0, _TARGET, batch["target"].shape, np.int32),
        "features": rng.standard_normal(batch["features"].shape, np.float32),
        "tokens": rng.integers(0, _TOKENS, batch["tokens"].shape, np.int32),
        "masked": (rng.random(batch["masked"].shape) < 1 / 6).astype(np.float32),
        "distances": np.maximum(distances, distances.swapaxes(1, 2)),
    }
    return step, (training.materialise(params, seed), training.zeros(opt_state), values)
