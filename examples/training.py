"""What the example models share: optimizers, and arguments drawn from shapes."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Tree = Any


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    """The shape of a float32 array."""
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape: int) -> jax.ShapeDtypeStruct:
    """The shape of an int32 array."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def materialise(shapes: Tree, seed: int) -> Tree:
    """Draw numpy parameters for a tree of shapes.

    By the last name on the path of a leaf: `scale*` is ones, `bias*` zeros, `table*` normal with deviation 0.02,
    `conv*` normal scaled by the square root of 2 over its fan-in (all dimensions but the last), anything else
    normal scaled by one over the square root of its fan-in (its second last dimension, so stacked layers work too).
    """
    rng = np.random.default_rng(seed)

    def draw(path: tuple[Any, ...], leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        name = str(getattr(path[-1], "key", path[-1])) if path else ""
        if name.startswith("scale"):
            return np.ones(leaf.shape, leaf.dtype)
        if name.startswith("bias"):
            return np.zeros(leaf.shape, leaf.dtype)
        if name.startswith("table"):
            deviation = 0.02
        elif name.startswith("conv"):
            deviation = math.sqrt(2 / math.prod(leaf.shape[:-1]))
        else:
            deviation = 1 / math.sqrt(leaf.shape[-2] if len(leaf.shape) > 1 else leaf.shape[0])
        return (deviation * rng.standard_normal(leaf.shape)).astype(leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, shapes)


def zeros(shapes: Tree) -> Tree:
    """Numpy zeros for a tree of shapes."""
    return jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes)


def shapes_of(tree: Tree) -> Tree:
    """The shapes of a tree of arrays."""
    return jax.tree.map(lambda a: jax.ShapeDtypeStruct(np.shape(a), a.dtype), tree)


def sgd(params: Tree, grads: Tree, rate: float) -> Tree:
    """Plain gradient descent."""
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def momentum(params: Tree, velocity: Tree, grads: Tree, rate: float, decay: float = 0.9) -> tuple[Tree, Tree]:
    """Gradient descent with momentum: (new parameters, new velocity)."""
    velocity = jax.tree.map(lambda v, g: decay * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - rate * v, params, velocity), velocity


def adagrad(params: Tree, squares: Tree, grads: Tree, rate: float, eps: float = 1e-6) -> tuple[Tree, Tree]:
    """Adagrad: (new parameters, new sums of squared gradients)."""
    squares = jax.tree.map(lambda s, g: s + g * g, squares, grads)
    return jax.tree.map(lambda p, s, g: p - rate * g / (jnp.sqrt(s) + eps), params, squares, grads), squares


def adam_state(shapes: Tree) -> dict[str, Tree]:
    """The shapes of Adam's state for parameters of these shapes."""
    return {"count": i32(), "mean": shapes, "square": shapes}


def adam(
    params: Tree,
    state: dict[str, Tree],
    grads: Tree,
    rate: float,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
) -> tuple[Tree, dict[str, Tree]]:
    """Adam with bias correction: (new parameters, new state).

    `eps` is 1e-6, as in the BERT paper's code: a parameter whose true gradient is zero (the key bias of attention)
    then stays put, where 1e-8 would turn rounding noise into full-size steps.
    """
    count = state["count"] + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mean"], grads)
    square = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g * g, state["square"], grads)
    time = count.astype(jnp.float32)
    unbias1, unbias2 = 1 / (1 - b1**time), 1 / (1 - b2**time)

    def update(p: jax.Array, m: jax.Array, s: jax.Array) -> jax.Array:
        return p - rate * (m * unbias1) / (jnp.sqrt(s * unbias2) + eps)

    return jax.tree.map(update, params, mean, square), {"count": count, "mean": mean, "square": square}


def clip_by_global_norm(grads: Tree, limit: float) -> Tree:
    """Scale gradients so that the norm of all of them together is at most `limit`."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    factor = jnp.minimum(1.0, limit / (norm + 1e-12))
    return jax.tree.map(lambda g: g * factor, grads)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean negative log likelihood of integer `labels` (shape [...]) under `logits` (shape [..., classes])."""
    log_probs = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_probs, labels[..., None], axis=-1))


def layer_norm(x: jax.Array, scale: jax.Array, bias: jax.Array, eps: float = 1e-6) -> jax.Array:
    """Layer normalisation over the last dimension."""
    mean = jnp.mean(x, -1, keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, -1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + eps) * scale + bias
