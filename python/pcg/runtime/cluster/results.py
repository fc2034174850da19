"""Values in a cluster, as clients in other processes have them: numbers.  Imports jax."""

from __future__ import annotations

import jax
import numpy as np

from pcg.runtime import jax_compat
from pcg.runtime.cluster.connection import Connection
from pcg.runtime.cluster.messages import Fetch, IsReady, Output, WaitFor
from pcg.runtime.islands.future import Placed
from pcg.runtime.islands.protocol import HostArray
from pcg.runtime.islands.remote_value import Elsewhere


class ClusterValue(Elsewhere):
    """A value in a cluster; the last reference frees it there."""

    __slots__ = ("connection", "key", "what", "_gone", "_ready", "_computed", "__weakref__")

    def __init__(self, connection: Connection, key: int, what: str) -> None:
        self.connection, self.key, self.what = connection, key, what
        self._gone = self._ready = self._computed = False

    def __del__(self) -> None:
        if not self._gone:
            self.connection.release_value(self.key)

    def take(self) -> None:
        """The cluster has been told with a run that the value is given up."""
        self._gone = True

    def is_deleted(self) -> bool:
        return self._gone

    def is_ready(self) -> bool:
        self._ready = self._ready or self.connection.lost is not None or bool(self.connection.query(IsReady(self.key)))
        return self._ready

    def check(self) -> None:
        """Raise the error that is in its place, if it is lost already."""
        if not (self._gone or self._ready) and self.is_ready():
            self.block_until_ready()

    def block_until_ready(self) -> ClusterValue:
        """Wait until it is computed.

        Raises:
          RunError: there is an error in its place, or the cluster is gone.
        """
        if not self._computed:
            self.connection.query(WaitFor(self.key))
            self._ready = self._computed = True
        return self

    def host(self) -> HostArray:
        """A copy on the host.

        Raises:
          RunError: there is an error in its place, or the cluster is gone.
        """
        found = self.connection.query(Fetch(self.key))
        assert isinstance(found, HostArray)
        return found


class ClusterRun:
    """The run of a value, as far as it is known here: the cluster launches it.

    Args:
      program: what it is a run of, for errors.
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.ticket = self
        self.launched = True

    def waiter(self) -> None:
        """Nothing here waits for its launch."""


def described(placed: Placed) -> Output:
    """What a result is, as data."""
    key = jax_compat.is_key(placed.dtype)
    dtype = f"key:{jax_compat.key_impl(placed.dtype)}" if key else np.dtype(placed.dtype).name
    return Output(placed.shape, dtype, placed.slice.name, placed.spec)


def aval_of(output: Output) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a result.

    Raises:
      ValueError: no such dtype.
    """
    if output.dtype.startswith("key:"):
        return jax.ShapeDtypeStruct(output.shape, jax_compat.key_dtype(output.dtype.removeprefix("key:")))
    try:
        return jax.ShapeDtypeStruct(output.shape, jax.numpy.dtype(output.dtype))
    except TypeError:
        raise ValueError(f"dtype {output.dtype!r} of a result; allowed: those of arrays, and key:GENERATOR") from None
