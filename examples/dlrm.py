"""A DLRM-like click model: embedding tables, bottom and top MLP, dot-product feature interaction, SGD or Adagrad."""

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
    """Sizes. Each table is looked up `bag` times per example and the rows are summed."""

    tables: tuple[int, ...] = (256, 512, 128, 1024)
    width: int = 16
    bag: int = 2
    dense: int = 16
    bottom: tuple[int, ...] = (32, 16)
    top: tuple[int, ...] = (32, 16, 1)
    batch: int = 16
    rate: float = 0.1
    optimizer: str = "sgd"


SIZES = {
    "small": Config(),
    "medium": Config((100_000,) * 8, 64, 4, 16, (512, 256, 64), (512, 256, 1), 1024),
    "large": Config((1_000_000,) * 26, 128, 1, 16, (512, 256, 128), (1024, 1024, 512, 256, 1), 8192),
}


def mlp_shapes(sizes: tuple[int, ...]) -> Tree:
    """Weights and biases of a stack of dense layers, `sizes` including the input."""
    return [{"weight": f32(i, o), "bias": f32(o)} for i, o in zip(sizes, sizes[1:], strict=False)]


def param_shapes(c: Config) -> Tree:
    """Tables and the two MLPs."""
    features = len(c.tables) + 1
    interactions = features * (features - 1) // 2
    return {
        "tables": {f"table{i}": f32(rows, c.width) for i, rows in enumerate(c.tables)},
        "bottom": mlp_shapes((c.dense, *c.bottom)),
        "top": mlp_shapes((interactions + c.width, *c.top)),
    }


def mlp(x: jax.Array, layers: Tree, last_is_linear: bool) -> jax.Array:
    """Dense layers with relu between them."""
    for index, p in enumerate(layers):
        x = x @ p["weight"] + p["bias"]
        if not (last_is_linear and index == len(layers) - 1):
            x = jax.nn.relu(x)
    return x


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Binary cross entropy of the click prediction. dense: [batch, dense]; sparse: [batch, tables, bag]."""
    dense = mlp(batch["dense"], params["bottom"], last_is_linear=False)
    bags = [params["tables"][f"table{i}"][batch["sparse"][:, i]].sum(1) for i in range(len(c.tables))]
    features = jnp.stack([dense, *bags], axis=1)
    products = jnp.einsum("bid,bjd->bij", features, features)
    rows, columns = np.tril_indices(len(c.tables) + 1, -1)
    inputs = jnp.concatenate([dense, products[:, rows, columns]], axis=1)
    logits = mlp(inputs, params["top"], last_is_linear=True)[:, 0]
    return jnp.mean(jnp.maximum(logits, 0) - logits * batch["clicked"] + jnp.log1p(jnp.exp(-jnp.abs(logits))))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step of this configuration."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        if c.optimizer == "adagrad":
            params, opt_state = training.adagrad(params, opt_state, grads, c.rate)
        else:
            params = training.sgd(params, grads, c.rate)
        return params, opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    if c.optimizer not in ("sgd", "adagrad"):
        raise ValueError(f"optimizer {c.optimizer!r} is not one of 'sgd', 'adagrad'")
    params = param_shapes(c)
    state = params if c.optimizer == "adagrad" else ()
    batch = {"dense": f32(c.batch, c.dense), "sparse": i32(c.batch, len(c.tables), c.bag), "clicked": f32(c.batch)}
    return train_step(c), (params, state, batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, _) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    sparse = [rng.integers(0, rows, (c.batch, 1, c.bag), np.int32) for rows in c.tables]
    batch = {
        "dense": rng.standard_normal((c.batch, c.dense), np.float32),
        "sparse": np.concatenate(sparse, axis=1),
        "clicked": rng.integers(0, 2, c.batch).astype(np.float32),
    }
    state = jax.tree.map(lambda s: np.full(s.shape, 0.1, np.float32), opt_state)
    return step, (training.materialise(params, seed), state, batch)
