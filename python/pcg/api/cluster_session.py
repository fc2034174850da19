"""The cluster's end of one connection: what its clients have, and what they say, carried out in order.  Imports jax.

One thread reads messages and carries them out, one after another; some wait for values; one says where slices are, and
that the cluster is alive.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import jax
import numpy as np

from pcg.api.client import Client, ClientSlice
from pcg.api.controller import Controller
from pcg.controller.errors import PlacementChanged, ResourceError
from pcg.controller.faults import Cancelled, ClusterUnavailable, IslandFailed, RunError
from pcg.controller.slices import Placement
from pcg.controller.streams import Call
from pcg.driver.program import ELEMENT_DTYPES
from pcg.runtime import jax_compat
from pcg.runtime.cluster import messages as m
from pcg.runtime.cluster.failures import Failure
from pcg.runtime.cluster.results import aval_of, described
from pcg.runtime.cluster.wire import Wire
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.node import CompiledNode
from pcg.runtime.islands.protocol import HostArray

#: Seconds between signs of life.
_BEAT = 2.0
#: Bytes per device of values that are copied at once.
_SMALL = 1 << 16
#: Seconds after which what waits looks whether its client is still there.
_OFTEN = 0.5


class Host(Protocol):
    """The server of a session."""

    controller: Controller
    lock: threading.Lock
    """While clients come and go."""
    stopping: str
    """Why nothing more is run, if so."""
    address: str

    def status(self) -> dict[str, Any]: ...
    def stop(self, now: bool) -> None: ...
    def gone(self, session: Session) -> None: ...
    def devices(self) -> tuple[m.Devices, ...]: ...


class LoadedProgram:
    """A client's program, ready to run: where its slices have to be, and what its arguments are."""

    def __init__(self, loaded: Loaded, where: Mapping[ClientSlice, int], arguments: list[tuple[Any, Any]]) -> None:
        self.loaded, self._where, self.arguments = loaded, where, arguments

    def check_place(self) -> None:
        """Raises IslandFailed if a slice is elsewhere now: what was there is lost, and the client lowers again."""
        for slice, version in self._where.items():
            if slice.version != version:
                gone = ", ".join(self.loaded.islands)
                raise IslandFailed(gone, f"of {self.loaded.name}", f"slice {slice.name} was placed elsewhere")


class Session:
    """One connection."""

    def __init__(self, host: Host, wire: Wire, peer: str) -> None:
        self._host, self._wire, self.peer = host, wire, peer
        self.clients: dict[str, Client] = {}
        self.runs: dict[str, int] = {}
        """Programs run so far, by client."""
        self.open = 0
        """Queries that wait for values."""
        self._slices: dict[int, ClientSlice] = {}
        self._announced: dict[int, Placement] = {}
        self._code: dict[int, DeviceProgram] = {}
        self._programs: dict[int, LoadedProgram] = {}
        self._values: dict[int, ShardedFuture | Exception] = {}
        self._looked_up = 0
        self._submitted = 0
        self._gone = threading.Event()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(32, "pcg query")

    def start(self) -> None:
        """Begin to talk."""
        for work in (self._read, self._beat):
            threading.Thread(target=work, name=f"pcg {work.__name__.strip('_')} {self.peer}", daemon=True).start()

    # -- reading and saying ----------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                message = self._wire.receive()
                if self._wire.is_over():  # what a client that is gone has said before is not wanted
                    break
                m.check(message)
                self._carry_out(message)
        except (OSError, EOFError):
            pass
        except Exception as error:  # what comes is no message of ours
            self.end(f"it does not understand this client: {type(error).__name__}: {error}")
        self.end("")
        with self._host.lock:
            for client in list(self.clients.values()):
                client.close()
        self._values.clear()
        self._programs.clear()
        self._code.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._host.gone(self)

    def send(self, message: Any) -> None:
        """Say something; a client that is gone does not hear it."""
        with contextlib.suppress(OSError):
            self._wire.send(message)
            return
        self.end("")

    def end(self, cause: str) -> None:
        """No more; what the clients had is freed by the thread that carries out."""
        if self._gone.is_set():
            return
        if cause:
            with contextlib.suppress(OSError):
                self._wire.send(m.Ended(cause))
        self._gone.set()
        self._wire.close()

    def _beat(self) -> None:
        """Say where slices are when that changes, and in any case something."""
        resources = self._host.controller.resources
        version = resources.version
        while not self._gone.is_set():
            now = resources.wait_for_change(version, _BEAT)
            if now != version:
                version = now
                while not self._host.controller.wait_for_restarts(_BEAT):
                    self.send(m.Alive())
                self._tell_placements()
            else:
                self.send(m.Alive())

    def _tell_placements(self) -> None:
        self._host.controller.wait_for_restarts()
        with self._lock:
            found = {}
            for number, slice in list(self._slices.items()):
                placement = slice.virtual.placement
                if placement is not self._announced.get(number):
                    found[number] = self._announced[number] = placement
            self.send(m.Placements(self._host.devices(), found))

    # -- carrying out ----------------------------------------------------------------------------

    def _carry_out(self, message: Any) -> None:
        if isinstance(message, m.Submit):
            self._submit(message)
            self._submitted += 1
            if self._submitted % m.EVERY == 0:
                self.send(m.Submitted(m.EVERY))
        elif isinstance(message, m.Release):
            self._release(message)
        else:
            self._answer(message)

    def _answer(self, query: m.Query) -> None:
        body = query.body
        try:
            if type(body) in _WAITING:
                work = _WAITING[type(body)](self, body)
                if type(body) in (m.Fetch, m.WaitFor) and self._is_quick(body):
                    self.send(m.Answer(query.number, work()))
                    return
                with self._lock:
                    self.open += 1
                self._pool.submit(self._later, query.number, work)
                return
            value = _AT_ONCE[type(body)](self, body)
        except Exception as error:
            value = Failure.of(error)
        self.send(m.Answer(query.number, value))

    def _later(self, number: int, work: Callable[[], Any]) -> None:
        try:
            value = work()
        except Exception as error:
            value = Failure.of(error)
        self.send(m.Answer(number, value))
        with self._lock:
            self.open -= 1

    # -- clients and slices ----------------------------------------------------------------------

    def _join(self, body: m.Join) -> str:
        with self._host.lock:
            client = self._host.controller.client(
                body.client, weight=body.weight, devices=body.devices, nbytes=body.nbytes, queued=body.queued
            )
        self.clients[client.name] = client
        self.runs[client.name] = 0
        return client.name

    def _client(self, name: str) -> Client:
        if name not in self.clients:
            raise Cancelled(f"client {name} is closed")
        return self.clients[name]

    def _leave(self, body: m.Leave) -> None:
        client = self.clients.pop(body.client, None)
        if client is not None:
            with self._host.lock:
                client.close()
            del self.runs[body.client]

    def _new_slice(self, body: m.NewSlice) -> Any:
        slice = self._client(body.client).request(
            body.shape, kind=body.kind, memory=body.memory, island=body.island, topology=body.topology,
            shared=body.shared,
        )  # fmt: skip
        with self._lock:
            self._slices[slice.virtual.number] = slice
            self._announced[slice.virtual.number] = slice.virtual.placement
        return slice.virtual

    def _release_slice(self, body: m.ReleaseSlice) -> None:
        with self._lock:
            slice = self._slices.pop(body.slice, None)
            self._announced.pop(body.slice, None)
        if slice is not None and slice.client.name in self.clients:
            slice.release()

    # -- programs --------------------------------------------------------------------------------

    def _load(self, body: m.LoadProgram) -> None:
        program = body.program
        slices: dict[str, ClientSlice] = {}
        versions: dict[ClientSlice, int] = {}
        for name, (island, mesh) in program.slices.items():
            slice = self._slices.get(body.slices.get(name, 0))
            if slice is None:
                raise ResourceError(f"program {program.name}: slice {name} is not one of this client's")
            now = slice.physical()
            if (now.island, now.devices) != (island, tuple(mesh.device_ids or range(mesh.size))):
                self._tell_placements()
                raise PlacementChanged(f"program {program.name}: slice {name} has other devices now")
            slices[name] = slice
            versions[slice] = now.version
        program.check()
        self._code.update(body.new)
        on = {
            what.function: slices[what.slice]
            for stream in program.streams.values() for what in stream.instructions if isinstance(what, Call)
        }  # fmt: skip
        controller = self._host.controller
        functions = {}
        for name, slice in on.items():
            number, source = body.code[name]
            devices = slice.devices
            limited = controller.dispatcher.limited and isinstance(devices[0], jax.Device)
            code = self._code[number]
            functions[name] = CompiledNode(
                name, str(source), code, devices, code.in_specs, code.out_specs, limited, lambda: 0.0
            )  # fmt: skip
        outputs = [Placed(aval_of(o), slices[o.slice], o.spec) for o in body.outputs]
        try:
            loaded = controller.backend.load(program, functions, outputs, [_array(x) for x in body.constants])
        except (KeyError, IslandFailed):
            if all(slice.version == version for slice, version in versions.items()):
                raise
            self._tell_placements()
            raise PlacementChanged(f"program {program.name}: its slices have other devices now") from None
        controller.dispatcher.scheduler.check_fits(loaded.name, loaded.islands, loaded.nbytes)
        taken = program.arguments[: len(program.arguments) - len(body.constants)]
        values = [program.values[v] for v in taken]
        arguments = [(tuple(v.shape), np.dtype(np_dtype(ELEMENT_DTYPES[v.dtype]))) for v in values]
        self._programs[body.key] = LoadedProgram(loaded, versions, arguments)

    def _submit(self, run: m.Submit) -> None:
        try:
            futures: list[Any] = self._started(run)
        except Exception as error:
            error.__traceback__ = None
            futures = [error] * len(run.results)
        self._values.update(zip(run.results, futures, strict=True))
        for key in (*run.taken, *run.released):
            self._values.pop(key, None)

    def _started(self, run: m.Submit) -> list[Any]:
        self._client(run.client)
        program = self._programs.get(run.program)
        if program is None:
            raise m.MessageError(f"there is no program {run.program} of this connection")
        if self._host.stopping:
            raise ClusterUnavailable(self._host.address, self._host.stopping)
        name = program.loaded.name
        if len(run.arguments) != len(program.arguments) or len(run.results) != len(program.loaded.outputs):
            raise m.MessageError(
                f"program {name}: {len(run.arguments)} arguments and {len(run.results)} results; allowed:"
                f" {len(program.arguments)} and {len(program.loaded.outputs)}"
            )
        program.check_place()
        arguments = []
        for x, (shape, dtype) in zip(run.arguments, program.arguments, strict=True):
            if isinstance(x, HostArray):
                if (x.data.shape, x.data.dtype) != (shape, dtype):
                    raise m.MessageError(
                        f"program {name}: an argument is {x.data.dtype}{list(x.data.shape)}; allowed:"
                        f" {dtype}{list(shape)}"
                    )
                arguments.append(_array(x))
                continue
            value = self._value(x)
            if isinstance(value, Exception):
                raise value
            if not _fits(value, shape, dtype):
                raise m.MessageError(f"program {name}: an argument is {value!r}; allowed: {dtype}{list(shape)}")
            arguments.append(value)
        found = self._host.controller.dispatcher.submit(run.client, program.loaded, arguments, run.seconds)
        self.runs[run.client] += 1
        return found

    def _value(self, key: int) -> ShardedFuture | Exception:
        found = self._values.get(key)
        if found is None:
            raise RunError(f"value {key} of this connection was freed, or there never was one")
        return found

    def _future(self, key: int) -> ShardedFuture:
        found = self._value(key)
        if isinstance(found, Exception):
            raise found.again() if isinstance(found, RunError) else found
        return found

    def _release(self, body: m.Release) -> None:
        for numbers, known in (
            (body.values, self._values), (body.programs, self._programs), (body.code, self._code)
        ):  # fmt: skip
            for number in numbers:
                known.pop(number, None)  # type: ignore[attr-defined]

    # -- values ----------------------------------------------------------------------------------

    def _fetch(self, body: m.Fetch) -> Callable[[], Any]:
        future = self._future(body.key)

        def work() -> HostArray:
            found = future.block_until_ready()._found()
            if jax_compat.is_key(future.dtype):
                keys = found if isinstance(found, jax.Array) else found.local()
                return HostArray(np.asarray(jax.random.key_data(keys)), jax_compat.key_impl(future.dtype))
            return HostArray(np.asarray(found))

        return work

    def _is_quick(self, body: m.Fetch | m.WaitFor) -> bool:
        """Whether an answer takes less time than to have another thread give it."""
        future = self._future(body.key)
        return future.is_ready() and (isinstance(body, m.WaitFor) or _nbytes(future) <= _SMALL)

    def _wait_for(self, body: m.WaitFor) -> Callable[[], Any]:
        future = self._future(body.key)

        def work() -> None:
            future.block_until_ready()

        return work

    def _is_ready(self, body: m.IsReady) -> bool:
        found = self._value(body.key)
        return isinstance(found, Exception) or found.is_ready()

    def _publish(self, body: m.Publish) -> None:
        self._client(body.client)
        values = [self._future(key) for key in body.keys]
        self._host.controller.names.publish(body.client, body.name, values, body.tree)

    def _unpublish(self, body: m.Unpublish) -> None:
        self._host.controller.names.remove(body.client, body.name)

    def _look_up(self, body: m.LookUp) -> Callable[[], Any]:
        def work() -> m.Published:
            end = time.monotonic() + body.seconds
            while True:  # for a client that is gone nobody waits
                left = 0.0 if self._gone.is_set() else end - time.monotonic()
                with contextlib.suppress(*((ResourceError,) if left > _OFTEN else ())):
                    found = self._host.controller.names.look_up(body.name, min(left, _OFTEN))
                    break
            slices = {f.slice.name: f.slice for f in found.values}
            outputs = [described(f.placed) for f in found.values]
            with self._lock:
                for slice in slices.values():
                    self._slices.setdefault(slice.virtual.number, slice)
                    self._announced[slice.virtual.number] = slice.virtual.placement
                keys = []
                for future in found.values:
                    self._looked_up -= 1
                    keys.append(self._looked_up)
                    self._values[self._looked_up] = future
            named = {n: s.virtual for n, s in slices.items()}
            return m.Published(tuple(keys), tuple(outputs), named, found.tree)

        return work

    # -- the cluster -----------------------------------------------------------------------------

    def _remove_island(self, body: m.RemoveIsland) -> Callable[[], Any]:
        def work() -> None:
            self._host.controller.remove_island(body.island, body.cause)
            self._tell_placements()  # whoever says it knows it from here on

        return work

    def _restart_island(self, body: m.RestartIsland) -> Callable[[], Any]:
        def work() -> None:
            self._host.controller.restart_island(body.island)
            self._tell_placements()

        return work

    def _status(self, body: m.Status) -> Callable[[], Any]:
        return self._host.status

    def _stop(self, body: m.Stop) -> None:
        self._host.stop(body.now)


#: What is carried out before what came later; what waits, and so is done by others: these return what to do.
_AT_ONCE: dict[type, Callable[[Session, Any], Any]] = {
    m.Join: Session._join, m.Leave: Session._leave, m.NewSlice: Session._new_slice,
    m.ReleaseSlice: Session._release_slice, m.LoadProgram: Session._load, m.IsReady: Session._is_ready,
    m.Publish: Session._publish, m.Unpublish: Session._unpublish, m.Stop: Session._stop,
}  # fmt: skip
_WAITING: dict[type, Callable[[Session, Any], Callable[[], Any]]] = {
    m.Fetch: Session._fetch, m.WaitFor: Session._wait_for, m.LookUp: Session._look_up, m.Status: Session._status,
    m.RemoveIsland: Session._remove_island, m.RestartIsland: Session._restart_island,
}  # fmt: skip


def _array(x: HostArray) -> Any:
    return x.data if x.impl is None else jax.random.wrap_key_data(x.data, impl=x.impl)


def _fits(value: ShardedFuture, shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether a value is what a program takes; random keys are integers there, with further dimensions."""
    if jax_compat.is_key(value.dtype):
        return (*value.shape, *jax_compat.key_data_shape(value.dtype)) == shape
    return value.shape == shape and value.dtype == dtype


def _nbytes(future: ShardedFuture) -> int:
    """Bytes of an array on the host."""
    return int(future.dtype.itemsize * np.prod(future.shape))
