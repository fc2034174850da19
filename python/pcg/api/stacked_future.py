"""Arrays that are stacked over layers, of which each slice has its layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from pcg.runtime.islands.future import ShardedFuture


class StackedFuture:
    """One array, whose layers along dimension 0 are on the slices of their stages: state of a pipelined step.

    The next step takes it as it is; `result()`, and what converts it, waits and copies all layers to the host.
    """

    def __init__(self, layers: Sequence[ShardedFuture]) -> None:
        self.layers = tuple(layers)
        first = self.layers[0]
        self.shape = (sum(x.shape[0] for x in self.layers), *first.shape[1:])
        self.dtype = first.dtype
        self.aval = jax.ShapeDtypeStruct(self.shape, self.dtype)

    def __repr__(self) -> str:
        slices = ", ".join(dict.fromkeys(str(x.slice) for x in self.layers))
        return f"<StackedFuture {self.dtype}{list(self.shape)} on {slices}>"

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def check(self) -> None:
        """Raise the error that is in its place, if it is lost already.

        Raises:
          RunError: its program failed, or an island or the client is gone.
        """
        for x in self.layers:
            x.check()

    def block_until_ready(self) -> StackedFuture:
        """Wait until it is computed.

        Raises:
          RunError: its program failed.
        """
        for x in self.layers:
            x.block_until_ready()
        return self

    def is_ready(self) -> bool:
        """Whether it is computed, or lost."""
        return all(x.is_ready() for x in self.layers)

    def result(self) -> np.ndarray:
        """The value on the host."""
        return np.concatenate([x.result() for x in self.layers])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.result()
        return found if dtype is None else found.astype(dtype)
