"""The half of a controller that a client in another process has: programs are lowered here, and run in the cluster.

Imports jax.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pcg.controller.errors import ResourceError
from pcg.controller.faults import Cancelled, ClusterUnavailable, RunError
from pcg.controller.slices import Shape, Slice
from pcg.controller.streams import Call, IslandProgram
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.cluster.connection import Connection
from pcg.runtime.cluster.messages import (
    Devices,
    Leave,
    LoadProgram,
    NewSlice,
    Placements,
    ReleaseSlice,
    Submit,
)
from pcg.runtime.cluster.results import ClusterRun, ClusterValue, described
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.backend import Function, refuse_host_calls
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.protocol import HostArray
from pcg.runtime.islands.remote_backend import RemoteDevice
from pcg.runtime.islands.remote_value import host_array

#: Numbers of values, programs and device programs of this process.
_keys = itertools.count()


class ClusterResources:
    """Islands and slices of a cluster, as this process knows them: the cluster says when they change."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._slices: weakref.WeakValueDictionary[int, Slice] = weakref.WeakValueDictionary()
        self.islands: dict[str, list[RemoteDevice]] = {}
        """Stand-ins of devices, by island."""
        self.numbers: dict[str, int] = {}
        """Of slices, by the names that they have in programs."""

    def connect(self, connection: Connection) -> None:
        """Use a connection."""
        self._connection = connection
        self._set_islands(connection.first.islands)

    def _set_islands(self, islands: Sequence[Devices]) -> None:
        self.islands = {i.island: [RemoteDevice(*d) for d in i.devices] for i in islands}

    def request(
        self, shape: Shape, *, kind: str | None = None, memory: int | None = None, island: str | None = None,
        topology: str = "any", client: str = "", shared: bool = False,
    ) -> Slice:  # fmt: skip
        """See `pcg.controller.resources.ResourceManager.request`."""
        assert self._connection is not None
        message = NewSlice(client, shape, kind, memory, island, topology, shared)
        return self.known(self._connection.query(message))

    def release(self, slice: Slice) -> None:
        """The devices are free again; so they are if the cluster is gone."""
        assert self._connection is not None
        with contextlib.suppress(ClusterUnavailable):
            self._connection.query(ReleaseSlice(slice.number))

    def known(self, slice: Slice) -> Slice:
        """The one object that stands for a slice here."""
        with self._lock:
            own = self._slices.setdefault(slice.number, slice)
            if slice.placement.version > own.placement.version:
                own.placement = slice.placement
            return own

    def update(self, message: Placements) -> None:
        """Slices have other devices, or islands have come or gone."""
        self._set_islands(message.islands)
        with self._lock:
            for number, placement in message.slices.items():
                slice = self._slices.get(number)
                if slice is not None and placement.version > slice.placement.version:
                    slice.placement = placement


class ClusterBackend:
    """What lowers programs for the islands of a cluster: see `pcg.runtime.islands.backend.Backend`."""

    def __init__(self, connection: Connection, resources: ClusterResources) -> None:
        self._connection, self._resources = connection, resources
        self._lock = threading.Lock()
        self._code: dict[int, int] = {}

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]:
        own = self._resources.islands.get(island)
        if own is None:
            raise ResourceError(f"island {island!r} is gone; islands: {', '.join(self._resources.islands) or 'none'}")
        return [own[i] for i in numbers]

    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any:
        return jax_compat.jax_mesh(mesh, self.devices(island, numbers))

    def load(
        self, program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> ClusterProgram:  # fmt: skip
        """Send a program.

        Raises:
          ProgramError: it calls Python functions on the host.
          PlacementChanged: its slices are no longer where it was lowered for.
        """
        called = {w.function for s in program.streams.values() for w in s.instructions if isinstance(w, Call)}
        refuse_host_calls(
            [functions[name] for name in called],
            ", which is another process here (allowed: with a pcg.Controller of this process)",
        )
        loaded = ClusterProgram(program, outputs, len(constants))
        numbers = {name: self._resources.numbers[name] for name in program.slices}
        fixed = tuple(loaded.on_host(i, x) for i, x in enumerate(constants, loaded.count))
        with self._lock:
            code, new = {}, {}
            for name in called:
                own = functions[name].code
                number, known = self._number_of(own)
                code[name] = number, functions[name].source
                if not known:
                    new[number] = own
            results = tuple(map(described, outputs))
            try:
                self._connection.query(LoadProgram(loaded.key, program, numbers, code, new, results, fixed))
            except BaseException:
                for own in new.values():
                    self._code.pop(id(own), None)
                raise
        weakref.finalize(loaded, self._connection.release_program, loaded.key).atexit = False
        return loaded

    def _number_of(self, code: DeviceProgram) -> tuple[int, bool]:
        """The number under which the cluster knows what devices run, and whether it does already."""
        known = self._code.get(id(code))
        if known is not None:
            return known, True
        number = self._code[id(code)] = next(_keys)
        weakref.finalize(code, _forget, self._code, id(code), self._connection, number).atexit = False
        return number, False


def _forget(known: dict[int, int], own: int, connection: Connection, number: int) -> None:
    if known.get(own) == number:
        del known[own]
        connection.release_code(number)


class ClusterProgram:
    """A program that a cluster has.

    Args:
      fixed: how many of the last arguments are constants.
    """

    def __init__(self, program: IslandProgram, outputs: Sequence[Placed], fixed: int) -> None:
        self.name, self.outputs = program.name, outputs
        self.key = next(_keys)
        self.count = len(program.arguments) - fixed
        """How many arguments a run has."""
        self.donated = frozenset(program.donated)
        self._dtypes = [np_dtype(ELEMENT_DTYPES[program.values[v].dtype]) for v in program.arguments]
        self.run = ClusterRun(self.name)
        """What futures know of their runs."""

    def on_host(self, number: int, x: Any) -> HostArray:
        """An argument as it is sent."""
        found = host_array(x, self._dtypes[number])
        return found if found.data.flags.c_contiguous else HostArray(np.ascontiguousarray(found.data), found.impl)


class ClusterDispatcher:
    """Runs of programs in a cluster: one message each.  See `pcg.runtime.islands.dispatcher.Dispatcher`."""

    #: Temporaries are counted where the devices are.
    limited = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def submit(
        self, client: str, loaded: Any, arguments: list[Any], seconds: float, into: Sequence[ShardedFuture] = ()
    ) -> list[ShardedFuture]:  # fmt: skip
        """Run a program; returns its results, which are `into`, if given.

        Raises:
          ClusterUnavailable: the cluster is gone.
        """
        values: list[int | HostArray] = []
        taken: list[ClusterValue] = []
        for n, a in enumerate(arguments):
            if type(a) is not ShardedFuture:
                values.append(loaded.on_host(n, a))
                continue
            x = a._value
            if isinstance(x, ClusterValue) and x.connection is self._connection and not x.is_deleted():
                values.append(x.key)
                if n in loaded.donated:
                    taken.append(x)
            elif isinstance(x, RunError):
                return _futures(loaded, [x] * len(loaded.outputs), into)
            elif x is not None and x.is_deleted():
                lost = Cancelled(f"program {loaded.name}: an argument was donated to an earlier program, or freed")
                return _futures(loaded, [lost] * len(loaded.outputs), into)
            else:  # of another controller
                values.append(loaded.on_host(n, a.array()))
        keys = tuple(next(_keys) for _ in loaded.outputs)
        gone = tuple(x.key for x in taken)
        released = self._connection.released_values()
        self._connection.submit(Submit(client, loaded.key, tuple(values), gone, keys, released, seconds))
        for x in taken:
            x.take()
        return _futures(loaded, [ClusterValue(self._connection, k, loaded.name) for k in keys], into)

    def quick(
        self, front: Any, loaded: Any, arguments: Sequence[ShardedFuture], slice: Slice, version: int, tree: Any
    ) -> Callable[..., Any] | None:
        return None

    def forget(self, client: str) -> None:
        """A client is closed."""
        with contextlib.suppress(ClusterUnavailable):
            self._connection.query(Leave(client))


def future_of(run: Any, placed: Placed, value: Any, known: ShardedFuture | None = None) -> ShardedFuture:
    """What stands for a value."""
    found = ShardedFuture.of(run, placed, known)
    found._value = value
    return found


def _futures(loaded: ClusterProgram, values: Sequence[Any], into: Sequence[ShardedFuture]) -> list[ShardedFuture]:
    known = into or (None,) * len(values)
    outputs = zip(loaded.outputs, values, known, strict=True)
    return [future_of(loaded.run, placed, value, k) for placed, value, k in outputs]
