"""What the deep models share: layers written out or scanned, recomputation, mixed precision, attention, AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from examples import training
from examples.training import Tree, f32


def repeated(layer: Tree, count: int, scan: bool) -> Tree:
    """Parameters of `count` layers: a list, or with `scan` one layer with a leading dimension."""
    if scan:
        return jax.tree.map(lambda s: f32(count, *s.shape), layer)
    return [layer] * count


def run(block: Callable[[Any, Tree], Any], x: Any, layers: Tree, scan: bool, remat: bool) -> Any:
    """Apply `block(x, parameters)` for every layer of `layers` as `repeated` arranges them.

    With `remat` a layer keeps only its input for the backward pass and recomputes the rest there. `x` may be a tree.
    """
    if remat:
        block = jax.checkpoint(block, prevent_cse=not scan)
    if scan:
        x, _ = jax.lax.scan(lambda carry, p: (block(carry, p), None), x, layers)
        return x
    for p in layers:
        x = block(x, p)
    return x


def cast(tree: Tree, dtype: str) -> Tree:
    """The floating-point leaves of a tree in `dtype`: master weights stay float32, products are made in `dtype`."""
    return jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)


def norm(x: jax.Array, p: Tree, name: str, eps: float = 1e-5) -> jax.Array:
    """Layer normalisation in float32 with the parameters `scale_<name>` and `bias_<name>`; result as x."""
    scale, bias = (p[f"{kind}_{name}"].astype(jnp.float32) for kind in ("scale", "bias"))
    return training.layer_norm(x.astype(jnp.float32), scale, bias, eps).astype(x.dtype)


def norm_shapes(name: str, width: int) -> dict[str, jax.ShapeDtypeStruct]:
    """The parameters of `norm`."""
    return {f"scale_{name}": f32(width), f"bias_{name}": f32(width)}


def attend(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool = False) -> jax.Array:
    """Multi-head attention: q [batch, seq, heads, width], k and v [batch, keys, groups, width]; result as q.

    `groups` divides `heads`: consecutive query heads share a key and value head. The softmax is in float32.
    """
    b, s, h, d = q.shape
    grouped = q.reshape(b, s, k.shape[2], h // k.shape[2], d)
    scores = jnp.einsum("bsgrd,btgd->bgrst", grouped, k).astype(jnp.float32) / math.sqrt(d)
    if causal:
        scores = jnp.where(jnp.arange(s)[:, None] >= jnp.arange(k.shape[1])[None, :], scores, -1e9)
    weights = jax.nn.softmax(scores, -1).astype(v.dtype)
    return jnp.einsum("bgrst,btgd->bsgrd", weights, v).reshape(b, s, h, d)


def adamw(
    params: Tree, state: Tree, grads: Tree, rate: float, decay: float, b2: float, limit: float | None = None
) -> tuple[Tree, Tree]:
    """Adam with decoupled weight decay of all but norms and biases; gradients clipped to a global norm of `limit`."""
    if limit is not None:
        grads = training.clip_by_global_norm(grads, limit)
    new, state = training.adam(params, state, grads, rate, b2=b2)

    def shrink(path: tuple[Any, ...], updated: jax.Array, p: jax.Array) -> jax.Array:
        name = str(getattr(path[-1], "key", path[-1]))
        return updated if name.startswith(("scale", "bias")) else updated - rate * decay * p

    return jax.tree_util.tree_map_with_path(shrink, new, params), state
