"""What a controller has of a value in the process of an island: its number and its run.  Imports jax."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import jax
import numpy as np

from pcg.controller.faults import RunError
from pcg.runtime import jax_compat
from pcg.runtime.islands.protocol import HostArray


def host_array(x: Any, dtype: Any) -> HostArray:
    """An array, or random keys, as it goes to another process; `dtype` is that of an array."""
    if isinstance(x, jax.Array) and jax_compat.is_key(x.dtype):
        return HostArray(np.asarray(jax.random.key_data(x)), jax_compat.key_impl(x.dtype))
    return HostArray(np.asarray(x, dtype))


def local_array(x: HostArray) -> jax.Array:
    """What came from another process, on this process's devices."""
    with jax_compat.x64(x.data.dtype.itemsize == 8):
        return jax.numpy.asarray(x.data) if x.impl is None else jax.random.wrap_key_data(x.data, impl=x.impl)


class Elsewhere(ABC):
    """A value in another process, of which this one can have copies."""

    __slots__ = ()

    @abstractmethod
    def host(self) -> HostArray:
        """A copy on the host."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.host()
        if found.impl is not None:
            raise TypeError("an array of random keys; jax.random.key_data(future.array()) are its integers")
        return found.data if dtype is None else found.data.astype(dtype)

    def local(self) -> jax.Array:
        """A copy on this process's devices."""
        return local_array(self.host())


class Keeper(Protocol):
    """The island that keeps a value."""

    @property
    def processes(self) -> int:
        """Among which its devices are divided."""

    def fetch(self, key: int) -> HostArray:
        """The value behind a number, copied here.

        Raises:
          RunError: there is none, or the process is gone.
        """

    def release(self, key: int) -> None:
        """Nobody needs it any more; any thread may say so at any time, the garbage collector's too."""

    def wait(self, event: threading.Event, what: str) -> None:
        """Wait for something that the process is to do, until a deadline at most."""


class RunOnIsland:
    """One run of a program, as far as one island is concerned."""

    __slots__ = ("number", "program", "over", "errors", "lost", "enqueued")

    def __init__(self, number: int, program: str) -> None:
        self.number, self.program = number, program
        self.over = threading.Event()
        self.enqueued = threading.Event()
        self.errors: Mapping[int, RunError] = {}
        """Of results that are errors, by their number."""
        self.lost: RunError | None = None
        """Why there is none of the results."""

    def finish(self, errors: Mapping[int, RunError], lost: RunError | None = None) -> None:
        self.errors, self.lost = errors, lost
        self.enqueued.set()
        self.over.set()

    def __str__(self) -> str:
        return f"run {self.number} of {self.program}"


class RemoteValue(Elsewhere):
    """A value in another process; the last reference frees it there.

    Args:
      devices: those that it is on, by their numbers in the island.
    """

    __slots__ = ("keeper", "key", "run", "devices", "_gone", "__weakref__")

    def __init__(self, keeper: Keeper, key: int, run: RunOnIsland, devices: tuple[int, ...]) -> None:
        self.keeper, self.key, self.run, self.devices = keeper, key, run, devices
        self._gone = False

    def __del__(self) -> None:
        if not self._gone:
            self.keeper.release(self.key)

    def take(self) -> None:
        """The process has been told with a run that the value is given up."""
        self._gone = True

    def delete(self) -> None:
        """Free it, whoever refers to it."""
        if not self._gone:
            self._gone = True
            self.keeper.release(self.key)

    def is_deleted(self) -> bool:
        return self._gone

    def is_ready(self) -> bool:
        return self.run.over.is_set()

    def block_until_ready(self) -> RemoteValue:
        """Wait until it is computed.

        Raises:
          RunError: there is an error in its place.
        """
        self.keeper.wait(self.run.over, str(self.run))
        if (error := self.run.lost or self.run.errors.get(self.key)) is not None:
            raise error.again()
        return self

    def host(self) -> HostArray:
        """A copy on the host.

        Raises:
          RunError: there is an error in its place, or it was donated or freed.
        """
        self.block_until_ready()
        if self._gone:
            raise RunError(f"a result of {self.run} was donated to a later program, or freed")
        return self.keeper.fetch(self.key)
