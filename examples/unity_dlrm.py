"""Click models as the Unity paper trains them: DLRM with concatenation, and XDL. Squared loss, SGD, no biases.

Each sparse feature looks up `bag` rows of its own table and sums them; the sums and what the bottom MLP makes of the
dense features are concatenated; the top MLP follows. Relu throughout, sigmoid at the end. XDL has no dense features.
(`dlrm` is the model of Naumov et al., with dot products between features.)

  default   the artifact's default            summit    the artifact's run on Summit, the paper's: 8 tables of a million
  criteo    the rows of Criteo Kaggle         xdl       the artifact's XDL

Batches are the paper's per device. Ids are int32 (int64 in the artifact).
"""

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
    """Sizes. `dense` features enter the bottom MLP, whose layers are `bottom`; 0 and () for none.

    `stacked`: the tables, of one length, are one array [tables, rows, width], so that a layout can say which devices
    have which table.
    """

    tables: tuple[int, ...] = (64, 128, 32, 256)
    width: int = 16
    bag: int = 1
    dense: int = 16
    bottom: tuple[int, ...] = (32, 16)
    top: tuple[int, ...] = (32, 32, 8)
    batch: int = 16
    rate: float = 0.5
    stacked: bool = False


_CRITEO = (
    1396, 550, 1761917, 507795, 290, 21, 11948, 608, 3, 58176, 5237, 1497287, 3127, 26, 12153, 1068715, 10, 4836, 2085,
    4, 1312273, 17, 15, 110946, 91, 72655,
)  # fmt: skip
SIZES = {
    "small": Config(),
    "default": Config((1_000_000,) * 4, 64, 1, 4, (64, 64), (64, 2), 1024, 0.01),
    "summit": Config((1_000_000,) * 8, 256, 1, 1024, (1024,) * 8, (1024,) * 4, 1024, 0.01),
    "criteo": Config(_CRITEO, 16, 1, 13, (512, 256, 64, 16), (512, 256, 1), 256, 0.01),
    "xdl": Config((1_000_000,) * 4, 64, 1, 0, (), (256, 256, 2), 1024, 0.01),
}


def mlp_shapes(sizes: tuple[int, ...]) -> Tree:
    """Weights of a stack of dense layers, `sizes` including the input."""
    return [f32(i, o) for i, o in zip(sizes, sizes[1:], strict=False)]


def param_shapes(c: Config) -> Tree:
    """Tables and the two MLPs."""
    joined = len(c.tables) * c.width + (c.bottom[-1] if c.bottom else 0)
    tables = {f"table{i}": f32(rows, c.width) for i, rows in enumerate(c.tables)}
    return {
        "tables": f32(len(c.tables), c.tables[0], c.width) if c.stacked else tables,
        "bottom": mlp_shapes((c.dense, *c.bottom)),
        "top": mlp_shapes((joined, *c.top)),
    }


def batch_shapes(c: Config) -> Tree:
    """Dense features (if any), the rows to look up, the values to predict."""
    dense = {"dense": f32(c.batch, c.dense)} if c.bottom else {}
    return {**dense, "sparse": i32(c.batch, len(c.tables), c.bag), "target": f32(c.batch, c.top[-1])}


def predict(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """The prediction [batch, top[-1]] for dense [batch, dense] and sparse [batch, tables, bag]."""
    if c.stacked:
        found = jax.vmap(lambda table, ids: table[ids].sum(1), (0, 1), 1)(params["tables"], batch["sparse"])
        features = [found.reshape(found.shape[0], -1)]
    else:
        features = [params["tables"][f"table{i}"][batch["sparse"][:, i]].sum(1) for i in range(len(c.tables))]
    if c.bottom:
        x = batch["dense"]
        for weight in params["bottom"]:
            x = jax.nn.relu(x @ weight)
        features.insert(0, x)
    x = jnp.concatenate(features, axis=1)
    for weight in params["top"][:-1]:
        x = jax.nn.relu(x @ weight)
    return jax.nn.sigmoid(x @ params["top"][-1])


def loss(c: Config, params: Tree, batch: Tree) -> jax.Array:
    """Mean squared error of the prediction."""
    return jnp.mean(jnp.square(predict(c, params, batch) - batch["target"]))


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; there is no optimizer state."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(lambda p: loss(c, p, batch))(params)
        return training.sgd(params, grads, c.rate), opt_state, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    if bool(c.dense) != bool(c.bottom):
        raise ValueError(f"dense={c.dense} with bottom={c.bottom}: expected both, or 0 and () for a model without")
    if c.stacked and len(set(c.tables)) > 1:
        raise ValueError(f"stacked=True with tables={c.tables}: expected tables of one length")
    return train_step(c), (param_shapes(c), (), batch_shapes(c))


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (params, opt_state, batch) = shapes(size, **overrides)
    rng = np.random.default_rng(seed + 1)
    values = {
        "sparse": np.stack([rng.integers(0, rows, (c.batch, c.bag), np.int32) for rows in c.tables], axis=1),
        "target": rng.integers(0, 2, batch["target"].shape).astype(np.float32),
    }
    if "dense" in batch:
        values["dense"] = rng.standard_normal(batch["dense"].shape, np.float32)
    return step, (training.materialise(params, seed), opt_state, values)
