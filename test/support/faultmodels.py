"""Six training steps, small and spread over four devices, for faults to be planted in."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

from support.training import mlp

MESH = "data=2,model=2"


@dataclass(frozen=True)
class Model:
    """A step, its arguments, and how they are split: `split` says it of one argument by its path and shape."""

    make: Callable[[], tuple[Callable[..., Any], Sequence[Any]]]
    split: Callable[[str, tuple[int, ...]], P]
    mesh: str = MESH
    options: dict[str, Any] = field(default_factory=dict)

    def shardings(self, args: Sequence[Any]) -> list[P]:
        """One per leaf of the arguments."""
        leaves = jax.tree_util.tree_leaves_with_path(tuple(args))
        return [self.split(jax.tree_util.keystr(path), np.shape(x)) for path, x in leaves]


def _example(name: str, **overrides: Any) -> Callable[[], Any]:
    return lambda: importlib.import_module(f"examples.{name}").make("small", 0, **overrides)


def _mlp() -> Any:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32) / 4

    params = {"first": normal(16, 32), "second": normal(32, 8)}
    return mlp, (params, jax.tree.map(np.zeros_like, params), normal(16, 16), normal(16, 8))


def _by_batch_and_columns(path: str, shape: tuple[int, ...]) -> P:
    """The batch over the first axis, matrices by columns over the second."""
    if path.startswith("[2]") or path.startswith("[3]"):
        return P("data") if shape and shape[0] % 2 == 0 and shape[0] > 2 else P()
    if len(shape) >= 2 and shape[-1] % 2 == 0:
        return P(*[None] * (len(shape) - 1), "model")
    return P()


def _by_rows(path: str, shape: tuple[int, ...]) -> P:
    """The batch over the first axis, experts and matrices by rows over the second."""
    if path.startswith("[2]"):
        return P("data") if shape and shape[0] % 2 == 0 and shape[0] > 2 else P()
    return P("model") if len(shape) >= 2 and shape[0] % 2 == 0 else P()


def _images(path: str, shape: tuple[int, ...]) -> P:
    """Images by batch and by height; weights everywhere."""
    if "images" in path:
        return P("data", "model")
    return P("data") if "labels" in path else P()


MODELS: dict[str, Model] = {
    "MLP": Model(_mlp, _by_batch_and_columns),
    "transformer": Model(
        _example("gpt", layers=1, hidden=16, heads=2, vocab=32, seq=8, batch=4, dropout=0.0), _by_batch_and_columns
    ),
    "CNN, batch norm": Model(
        _example("resnet", image=8, classes=4, stem=4, widths=(4,), blocks=(1,), batch=4), _images
    ),
    "LSTM": Model(_example("rnn", vocab=16, width=8, hidden=8, seq=5, batch=4), _by_batch_and_columns),
    "mixture of experts": Model(_example("moe"), _by_rows),
    "ResNet": Model(
        _example("resnet", image=8, classes=4, stem=4, widths=(4, 8), blocks=(1, 1), batch=6), _by_batch_and_columns
    ),
}
