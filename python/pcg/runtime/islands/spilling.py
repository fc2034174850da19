"""Buffers in host memory: which ones go there, how, and how they come back.  Imports jax.

Where devices have pinned memory of the host that is where copies are, since devices read it by themselves; else they
are numpy arrays, one for each shard that differs from the others.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pcg.controller.queues import Ticket
from pcg.controller.store import Entry, ObjectStore
from pcg.runtime import jax_compat

_PINNED = "pinned_host"
Victim = tuple[weakref.ref[Any], Entry, Any]


class Spilled:
    """A value that was on devices and is in host memory."""

    __slots__ = ("shape", "sharding", "_pinned", "_shards", "nbytes")

    def __init__(self, x: jax.Array) -> None:
        self.shape, self.sharding = x.shape, x.sharding
        self._pinned: jax.Array | None = None
        self._shards: dict[Any, np.ndarray] = {}
        if _has_pinned(x):
            self._pinned = jax.device_put(x, self.sharding.with_memory_kind(_PINNED))
            self._pinned.block_until_ready()
        else:
            for shard in x.addressable_shards:
                if (key := str(shard.index)) not in self._shards:
                    # What numpy shows of an array of a CPU device is the device's own buffer.
                    self._shards[key] = np.array(shard.data, copy=True)
        self.nbytes = host_bytes(x)

    def is_deleted(self) -> bool:
        return False

    def is_ready(self) -> bool:
        return True

    def block_until_ready(self) -> Spilled:
        return self

    def local(self) -> jax.Array:
        """An array on the devices, as it was."""
        if self._pinned is not None:
            return jax.device_put(self._pinned, self.sharding)
        return jax.make_array_from_callback(self.shape, self.sharding, lambda index: self._shards[str(index)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._pinned is not None:
            found = np.asarray(self._pinned)
        else:
            indices = self.sharding.addressable_devices_indices_map(self.shape).values()
            by_key = {str(index): index for index in indices if index is not None}
            some = next(iter(self._shards.values()))
            found = np.empty(self.shape, some.dtype)
            for key, data in self._shards.items():
                found[by_key[key]] = data
        return found if dtype is None else found.astype(dtype)


def host_bytes(x: jax.Array) -> int:
    """Bytes that a copy takes in host memory."""
    size = int(np.prod(x.sharding.shard_shape(x.shape))) * x.dtype.itemsize
    if _has_pinned(x):
        return size * len(x.sharding.addressable_devices)
    return size * len({str(i) for i in x.sharding.addressable_devices_indices_map(x.shape).values()})


def _has_pinned(x: jax.Array) -> bool:
    device = next(iter(x.sharding.addressable_devices))
    return device.platform != "cpu" and any(m.kind == _PINNED for m in device.addressable_memories())


def restored(value: Any, store: ObjectStore) -> Any:
    """A value on its devices, which may be in host memory."""
    if not isinstance(value, Spilled):
        return value
    store.restored += value.nbytes
    return value.local()


def victims(store: ObjectStore, ticket: Ticket, missing: Mapping[str, int], room: int) -> list[Victim]:
    """Buffers that make room for a run when they are on the host; none if they do not.

    Those that no run under way reads and that `ticket` does not read: first what was donated, of which there is nothing
    to copy, then the ones whose last use is the longest time ago.

    Args:
      missing: by island, bytes per device.
      room: bytes of host memory.
    """
    found: list[Victim] = []
    for island, needed in missing.items():
        left = needed
        for victim in _candidates(store, ticket, island):
            if left <= 0:
                break
            _, entry, value = victim
            if not value.is_deleted():  # else it takes no host memory
                room -= host_bytes(value)
                if room < 0:
                    return []
            left -= entry.nbytes
            found.append(victim)
        if left > 0:
            return []
    return found


def _candidates(store: ObjectStore, ticket: Ticket, island: str) -> list[Victim]:
    found: list[tuple[bool, int, Victim]] = []
    for reference in store.of_island(island):
        entry = store.entries[reference]
        if not entry.kept or not entry.nbytes or entry.readers or entry in ticket.reads:
            continue
        value = getattr(reference(), "_value", None)
        if isinstance(value, jax.Array) and not jax_compat.is_key(value.dtype):
            found.append((not value.is_deleted(), entry.used, (reference, entry, value)))
    return [victim for _, _, victim in sorted(found, key=lambda x: x[:2])]
