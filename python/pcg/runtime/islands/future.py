"""Values that are on a slice, or will be: what a program on slices takes and returns."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import jax
import numpy as np

from pcg.controller.faults import NodeError, RunError
from pcg.controller.queues import Ticket
from pcg.runtime import jax_compat

#: Seconds between looks whether a run is launched: its deadline ends the wait, a signal may as well.
_LOOK = 0.1


class Source(Protocol):
    """The run of a future."""

    @property
    def program(self) -> str:
        """What users call the program."""

    @property
    def ticket(self) -> Ticket:
        """Its place in the order of launches."""

    def waiter(self) -> threading.Event | None:
        """What is set when its results have values, or errors in their places; None if they have."""


class Placed:
    """Shape, dtype and layout of a value on a slice; equal ones are one object."""

    __slots__ = ("shape", "dtype", "slice", "spec", "aval")

    def __init__(self, aval: Any, slice: Any, spec: Any) -> None:
        self.shape, self.dtype = tuple(aval.shape), aval.dtype
        self.slice, self.spec = slice, spec
        self.aval = jax.ShapeDtypeStruct(self.shape, self.dtype)


class ShardedFuture:
    """One array on the devices of a slice: a result of a program, which may still be running.

    It stays where it is until it is asked for: `result()` waits and copies it to the host, as `numpy.asarray` and
    conversions to Python numbers do.  Passing it to a program neither waits nor copies.  The last reference frees the
    buffer.
    """

    __slots__ = ("_value", "_run", "placed", "__weakref__")
    _value: Any
    _run: Source
    placed: Placed
    # Without `__init__`, whose call takes longer than all that it would do.

    @classmethod
    def of(cls, run: Source, placed: Placed, known: ShardedFuture | None = None) -> ShardedFuture:
        """A result of a run that is not launched yet; `known`, if that is what the caller has of it."""
        new = cls() if known is None else known
        new.__class__ = cls
        new._value, new._run, new.placed = None, run, placed
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        return self.placed.shape

    @property
    def dtype(self) -> Any:
        return self.placed.dtype

    @property
    def slice(self) -> Any:
        """The slice that it is on."""
        return self.placed.slice

    @property
    def sharding(self) -> Any:
        """The layout on the slice's mesh."""
        return self.placed.spec

    def __repr__(self) -> str:
        return f"<ShardedFuture {self.dtype}{list(self.shape)} {self.sharding} on {self.slice}>"

    def _found(self) -> Any:
        """What its backend has of it, as soon as its program is launched."""
        if self._value is None and (waiter := self._run.waiter()) is not None:
            while not waiter.wait(_LOOK):
                pass
        value = self._value
        if isinstance(value, RunError):
            raise value.again()
        if value is None or value.is_deleted():
            raise RunError(f"{self!r} was donated to a later program, or freed")
        return value

    def array(self) -> jax.Array:
        """The jax array behind it, as soon as its program is launched; it may be computed later.

        Where another process has it, or it is in host memory, this is a copy, which takes until it is computed.

        Raises:
          RunError: there is none: its program failed, its client is gone, or the buffer was donated.
        """
        value = self._found()
        return value if isinstance(value, jax.Array) else value.local()

    def check(self) -> None:
        """Raise the error that is in its place, if it is lost already.

        Raises:
          RunError: its program failed, or its island or client is gone.
        """
        value = self._value
        if isinstance(value, RunError):
            raise value.again()
        if (check := getattr(value, "check", None)) is not None:  # only a cluster knows it
            check()

    def block_until_ready(self) -> ShardedFuture:
        """Wait until it is computed.

        Raises:
          RunError: its program failed.
        """
        value = self._found()
        try:
            value.block_until_ready()
        except RunError:
            raise
        except Exception as error:
            raise NodeError(self._run.program, "", "", error) from error
        return self

    def is_ready(self) -> bool:
        """Whether it is computed, or lost."""
        value = self._value
        return value is not None and (isinstance(value, RunError) or value.is_deleted() or jax_compat.is_ready(value))

    def result(self) -> np.ndarray:
        """The value on the host."""
        self.block_until_ready()
        return np.asarray(self._found())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.result()
        return found if dtype is None else found.astype(dtype)

    def __jax_array__(self) -> jax.Array:
        return self.array()

    def __bool__(self) -> bool:
        return bool(self.result())

    def __int__(self) -> int:
        return int(self.result())

    def __float__(self) -> float:
        return float(self.result())

    def __index__(self) -> int:
        return self.result().__index__()
