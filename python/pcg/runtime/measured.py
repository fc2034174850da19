"""The devices that are measured, and arrays on them.  Imports jax."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


@dataclass
class Devices:
    """Devices of one kind, which all work at once.

    Arrays are split along their first dimension, with the same random numbers on every device; shapes are local.
    """

    devices: Sequence[Any]
    _kept: dict[Any, Any] = field(default_factory=dict, init=False)

    def mesh(self, group: int = 1) -> tuple[Mesh, PartitionSpec]:
        """The devices in groups of `group`, and the spec that splits an array over all of them."""
        return Mesh(np.array(self.devices).reshape(-1, group), ("rest", "group")), PartitionSpec(("rest", "group"))

    def array(self, mesh: Mesh, shape: Sequence[int], dtype: Any, number: int) -> Any:
        """An array that is only read: the same one every time, until `forget`."""
        key = (tuple(shape), jnp.dtype(dtype).name, number, mesh)
        if key not in self._kept:
            self._kept[key] = self.drawn(mesh, shape, dtype, number)
        return self._kept[key]

    def drawn(self, mesh: Mesh, shape: Sequence[int], dtype: Any, number: int) -> Any:
        """A new array, the `number`th."""
        rng = np.random.default_rng(number)
        part = rng.integers(0, 1 << 20, shape) if jnp.issubdtype(dtype, jnp.integer) else rng.random(shape, "f4")
        tiled = np.tile(part.astype(dtype), (len(self.devices), *[1] * (len(shape) - 1)))
        return jax.device_put(tiled, NamedSharding(mesh, PartitionSpec(("rest", "group"))))

    def forget(self) -> None:
        """Free the arrays that are kept."""
        self._kept.clear()


def timed(call: Callable[..., Any], *args: Any) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start
