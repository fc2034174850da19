"""Values shard by shard, where an island's devices are in several processes: each has arrays of one device.

A process takes the shards that it is to send out of what it has of a value, once the value is in the receiver's layout;
where the receiver has another number of devices each process has all of the value first.  What it takes is a copy.
Imports jax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Sharding, SingleDeviceSharding

from pcg.controller.routes import Route
from pcg.controller.streams import Value
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh, ShardSpec
from pcg.runtime import array_copies, jax_compat
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.computation import sharding_of
from pcg.runtime.placement import DeviceMesh


class Absent:
    """A value on devices of other processes of this island; `key`: the generator, if it is an array of random keys."""

    __slots__ = ("sharding", "key")

    def __init__(self, sharding: Sharding, key: str | None = None) -> None:
        self.sharding, self.key = sharding, key

    def block_until_ready(self) -> Absent:
        return self

    def is_deleted(self) -> bool:
        return False


def is_here(devices: Sequence[Any]) -> bool:
    """Whether some of these are this process's."""
    own = jax.process_index()
    return any(d.process_index == own for d in devices)


def takes(
    value: Value, mesh: Mesh, devices: Sequence[Any], route: Route
) -> Callable[[Any], dict[int, jax.Array]]:  # fmt: skip
    """What takes the shards that are this process's to send out of a value.

    Args:
      value, mesh: as the receiver has it.
      devices: of the sender's slice.
    """
    own = {i: devices[p] for i, p in enumerate(route.sources) if is_here([devices[p]])}
    if not is_here(devices):
        return lambda x: {}
    # Others may have all to send: what changes the layout is done by all that have a part of the value.
    if route.aligned:
        layout, copy = sharding_of(value, mesh, devices), array_copies.copies(list(own.values()))

        def aligned(x: Any) -> dict[int, jax.Array]:
            x = _integers(x)
            shards = {s.device: s.data for s in jax.device_put(x, layout).addressable_shards}
            return dict(zip(own, copy([shards[d] for d in own.values()]), strict=True))

        return aligned
    everywhere = DeviceMesh.of(Mesh((("all", len(devices)),)), devices).sharding(ShardSpec.replicated(len(value.shape)))
    parts = {i: jax.jit(_part(value, mesh, i)) for i in own}

    def replicated(x: Any) -> dict[int, jax.Array]:
        x = _integers(x)
        shards = {s.device: s.data for s in jax.device_put(x, everywhere).addressable_shards}
        return {i: parts[i](shards[device]) for i, device in own.items()}

    return replicated


def joins(
    value: Value, mesh: Mesh, devices: Sequence[Any]
) -> Callable[[dict[int, jax.Array], str | None], Any]:  # fmt: skip
    """What makes one array of the shards that this process has received, as (shards by number, generator of keys).

    Args:
      devices: of the receiver's slice.
    """
    layout = sharding_of(value, mesh, devices)
    own = [(i, d) for i, d in enumerate(devices) if is_here([d])]
    if not own:
        return lambda pieces, key: Absent(layout, key)
    together = _together([d for _, d in own])

    def join(pieces: dict[int, jax.Array], key: str | None) -> Any:
        arrays = together([pieces[i] for i, _ in own])
        x = jax.make_array_from_single_device_arrays(value.shape, layout, arrays)
        return x if key is None else jax.random.wrap_key_data(x, impl=key)

    return join


def kinds(value: Value, mesh: Mesh, devices: Sequence[Any], which: Sequence[int]) -> list[jax.ShapeDtypeStruct]:
    """The types of some shards, one on each of these devices."""
    shape, dtype = value.spec.local_shape(value.shape, mesh), np_dtype(ELEMENT_DTYPES[value.dtype])
    return [
        jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(device))
        for device, _ in zip(devices, which, strict=True)
    ]


def _integers(x: Any) -> Any:
    return jax.random.key_data(x) if jax_compat.is_key(x.dtype) else x


def _part(value: Value, mesh: Mesh, position: int) -> Callable[[Any], Any]:
    """What copies the shard of a position out of an array."""
    sizes = value.spec.local_shape(value.shape, mesh)
    starts = [mesh.index(position, axes) * n if axes else 0 for axes, n in zip(value.spec.dims, sizes, strict=True)]
    limits = [start + n for start, n in zip(starts, sizes, strict=True)]
    return lambda x: jnp.copy(jax.lax.slice(x, starts, limits))


def _together(devices: Sequence[Any]) -> Callable[[list[jax.Array]], list[jax.Array]]:
    """Shards of this process are there, or lost, all at once; see `edges`."""
    if len(devices) == 1:
        return lambda arrays: arrays
    mark = jax.jit(lambda x: jnp.int8(0), keep_unused=True)
    join = jax.jit(lambda *marks: jnp.int8(0), keep_unused=True)
    gate = jax.jit(
        lambda x, mark: jax.lax.optimization_barrier((x, mark))[0], donate_argnums=0, keep_unused=True
    )  # fmt: skip
    to_one, to_each = array_copies.copies([devices[0]] * len(devices)), array_copies.copies(devices)

    def together(arrays: list[jax.Array]) -> list[jax.Array]:
        joined = join(*to_one([mark(x) for x in arrays]))
        return [gate(x, m) for x, m in zip(arrays, to_each([joined] * len(devices)), strict=True)]

    return together
