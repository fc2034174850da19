"""Programs on islands that are in other processes, of this machine or of others.  Imports jax.

All islands of a run are told of it at once, with one message each; they put their parts into the queues of their
devices at the same time, before what they read from each other exists (parallel asynchronous dispatch, Pathways,
MLSys'22, section 4.5).  Values go from island to island directly.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from pcg.controller.faults import IslandFailed
from pcg.controller.routes import source_slices
from pcg.controller.stream_use import after_exchanges, exchanges, most_bytes, waiting_islands
from pcg.controller.streams import Call, Copy, IslandProgram, Receive, order
from pcg.driver.program import ELEMENT_DTYPES, ProgramError
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.backend import Function, Unfinished, refuse_host_calls
from pcg.runtime.islands.future import Placed
from pcg.runtime.islands.launcher import Launcher, parts
from pcg.runtime.islands.protocol import HostArray, Load, Peers, Run
from pcg.runtime.islands.remote_island import RemoteIsland
from pcg.runtime.islands.remote_run import RemoteRun
from pcg.runtime.islands.remote_value import RemoteValue, RunOnIsland, host_array

DISPATCH = ("parallel", "sequential")


@dataclass(frozen=True)
class RemoteDevice:
    """A device that this process does not have."""

    platform: str
    id: int

    @property
    def device_kind(self) -> str:
        return self.platform


class RemoteBackend:
    """Islands in other processes, which a launcher starts when they join.

    Args:
      dispatch: "parallel", or "sequential": an island is told of a run when those before it in the program have put all
        of it into their queues.
      deadline: seconds that a run, once it is launched, or a fetch may take; the processes of an island that takes
        longer are ended.
      hosts: processes of each island, or by island, among which its devices are divided; several are one group of
        `jax.distributed`.
      platform: of devices that are given as a number; None: of this process's.
    """

    def __init__(
        self, launcher: Launcher, dispatch: str, deadline: float, hosts: int | Mapping[str, int], platform: str | None
    ) -> None:  # fmt: skip
        if dispatch not in DISPATCH:
            raise ValueError(f"dispatch {dispatch!r}; allowed: {', '.join(DISPATCH)}")
        self.launcher, self.dispatch, self.deadline = launcher, dispatch, deadline
        self.hosts, self.platform = hosts, platform
        self.workers: dict[str, RemoteIsland] = {}
        self.messages: Counter[str] = Counter()
        """Messages of runs, by island."""
        self.on_failure: Callable[[str, str], None] | None = None
        """Called with (island, cause) when an island is gone unasked."""
        self.lock = threading.RLock()
        """Held while all islands are told of a run, so that they are told of any two in the same order."""
        self.keys = itertools.count()
        """Numbers of values, programs and functions."""
        self.runs = itertools.count()
        self._code: dict[int, int] = {}
        self._connected: set[str] = set()

    @property
    def exchanged(self) -> Counter[str]:
        """What exchanges have moved between these islands so far."""
        return sum((worker.exchanged for worker in self.workers.values()), Counter[str]())

    # -- islands ---------------------------------------------------------------------------------

    def stand_ins(self, count: int, first: int) -> list[RemoteDevice]:
        """So many devices that this process need not have, numbered from the first one."""
        platform = self.platform or jax.default_backend()
        return [RemoteDevice(platform, first + i) for i in range(count)]

    def add_island(self, name: str, devices: Sequence[Any]) -> None:
        """An island joins, and its processes start.

        Raises:
          ResourceError: there is no room for all of them.
          ValueError: its devices cannot be divided among so many.
        """
        stand_ins = [RemoteDevice(d.platform, getattr(d, "id", i)) for i, d in enumerate(devices)]
        hosts = self.hosts if isinstance(self.hosts, int) else self.hosts.get(name, 1)
        wide = {"JAX_ENABLE_X64": "1"} if jax.config.jax_enable_x64 else {}
        launched = self.launcher.launch(name, parts(stand_ins, hosts, name), wide)
        with self.lock:
            self.workers[name] = RemoteIsland(name, stand_ins, launched, self.deadline, self._ended)

    def remove_island(self, name: str) -> None:
        with self.lock:
            worker = self.workers.pop(name, None)
            self._connected.discard(name)
        if worker is not None:
            worker.close()
            self.launcher.release(name)
        with self.lock:
            for other in self._connected:
                self._tell(self.workers[other], Peers({name: ()}))

    def _ended(self, worker: RemoteIsland, cause: str) -> None:
        if self.workers.get(worker.name) is not worker:
            return
        if self.on_failure is not None:
            self.on_failure(worker.name, cause)
        else:
            self.remove_island(worker.name)

    def _tell(self, worker: RemoteIsland, message: Any) -> None:
        try:
            worker.send(message)
        except IslandFailed:
            return  # its own thread says so

    def ready(self, islands: Sequence[str]) -> list[RemoteIsland]:
        """Processes that have started, and are connected with each other.

        Raises:
          IslandFailed: one is gone, or does not start.
        """
        found = []
        for name in islands:
            worker = self.workers.get(name)
            if worker is None:
                raise IslandFailed(name, "none", "it is gone")
            if name not in self._connected:
                worker.wait_until_started()
                for other in self._connected:
                    self._tell(self.workers[other], Peers({name: worker.addresses}))
                self._connected.add(name)
                # Its own, too: a value may go from one of its processes to another.
                self._tell(worker, Peers({o: self.workers[o].addresses for o in self._connected}))
            found.append(worker)
        return found

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]:
        own = self.workers[island].devices
        return [own[i] for i in numbers]

    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any:
        return jax_compat.jax_mesh(mesh, self.devices(island, numbers))

    # -- programs --------------------------------------------------------------------------------

    def load(
        self, program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> RemoteProgram:  # fmt: skip
        refuse_host_calls(
            functions.values(), "; islands in other processes cannot (allowed: with backend='embedded')"
        )
        for name in waiting_islands(program):
            if name in self.workers and (processes := self.workers[name].processes) > 1:
                raise ProgramError(
                    f"program {program.name}: island {name}, which waits for exchanged rows, is of {processes}"
                    " processes; allowed: one"
                )
        return RemoteProgram(self, program, functions, outputs, constants)

    def number_of(self, code: DeviceProgram) -> int:
        """The number under which processes know a device program; they forget it with the last reference here."""
        known = self._code.get(id(code))
        if known is None:
            known = self._code[id(code)] = next(self.keys)
            weakref.finalize(code, self._forget, id(code), known).atexit = False
        return known

    def _forget(self, own: int, number: int) -> None:
        self._code.pop(own, None)
        for worker in list(self.workers.values()):
            if number in worker.known:
                worker.release(number)

    def close(self) -> None:
        workers, self.workers = list(self.workers.values()), {}
        self._connected.clear()
        for worker in workers:
            worker.close()
            self.launcher.release(worker.name)
        self.launcher.close()


class RemoteProgram:
    """A program whose parts are in the processes of its islands."""

    def __init__(
        self, backend: RemoteBackend, program: IslandProgram, functions: Mapping[str, Function],
        outputs: Sequence[Placed], constants: Sequence[Any],
    ) -> None:  # fmt: skip
        self._backend, self.program, self.name = backend, program, program.name
        steps = order(program)
        # An island whose work comes first is told first.
        self.islands = tuple(dict.fromkeys([*(island for island, _ in steps), *program.streams]))
        values = program.values
        self.outputs: Sequence[tuple[Placed, str, int]] = [
            (placed, program.island_of(v), values[v].nbytes) for placed, v in zip(outputs, program.results, strict=True)
        ]
        self.nbytes: Mapping[str, int] = {
            name: most_bytes(program, name, lambda f: functions[f].workspace) for name in self.islands
        }
        meshes = {slice: mesh for slice, (_, mesh) in program.slices.items()}
        self._devices = [tuple(meshes[v.slice].device_ids or range(meshes[v.slice].size)) for v in values]
        self._dtypes = [np_dtype(ELEMENT_DTYPES[values[v].dtype]) for v in program.arguments]
        self._from_caller = len(program.arguments) - len(constants)
        self.donated, self.exchanges = frozenset(program.donated), exchanges(program)
        self.direct = None
        self._key = next(backend.keys)
        with backend.lock:
            workers = backend.ready(self.islands)
            self._workers = dict(zip(self.islands, workers, strict=True))
            numbered = enumerate(constants, self._from_caller)
            self._load(functions, {number: self._on_host(number, x) for number, x in numbered})
        weakref.finalize(self, _release, workers, self._key).atexit = False

    def _load(self, functions: Mapping[str, Function], constants: Mapping[int, HostArray]) -> None:
        program, backend = self.program, self._backend
        keys = _random_keys(program, functions, [placed for placed, _, _ in self.outputs])
        after = after_exchanges(program)
        sizes = {name: len(worker.devices) for name, worker in self._workers.items()}
        processes = {name: worker.processes for name, worker in self._workers.items()}
        sources = source_slices(program)
        for name, worker in self._workers.items():
            stream = program.streams[name]
            called = {what.function: functions[what.function] for what in stream.instructions if isinstance(what, Call)}
            code = {f: (backend.number_of(function.code), function.source) for f, function in called.items()}
            new = {
                code[f][0]: function.code
                for f, function in called.items() if code[f][0] not in worker.known
            }  # fmt: skip
            worker.known.update(new)
            own = {number: constants[number] for number, _ in stream.arguments if number in constants}
            part = replace(program, streams={name: stream})
            worker.send(Load(self._key, name, part, code, new, sizes, processes, sources, keys, own, after))

    def _on_host(self, number: int, x: Any) -> HostArray:
        """An argument as it is sent."""
        return x.host() if isinstance(x, RemoteValue) else host_array(x, self._dtypes[number])

    def launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]] | Unfinished:
        backend, program = self._backend, self.program
        values: list[Any] = [None] * len(program.results)
        tokens: dict[str, Any] = {}
        # Islands that exchange rows cannot put all of their parts into queues one after another.
        sequential = backend.dispatch == "sequential" and not self.exchanges
        hosts: dict[int, HostArray] = {}
        with backend.lock:
            number = next(backend.runs)
            for name, worker in self._workers.items():
                stream = program.streams[name]
                values_here: list[int | HostArray] = []
                taken = []
                for n, _ in stream.arguments:
                    x = arguments[n] if n < self._from_caller else 0  # constants are there
                    if isinstance(x, RemoteValue) and x.keeper is worker and self._is_near(x, n):
                        values_here.append(x.key)
                        if n in self.donated:
                            taken.append(x.key)
                    elif n >= self._from_caller:
                        values_here.append(0)
                    else:
                        if n not in hosts:
                            hosts[n] = self._on_host(n, x)
                        values_here.append(hosts[n])
                keys = [next(backend.keys) for _ in stream.results]
                run = RunOnIsland(number, self.name)
                says = sequential or self.exchanges
                message = Run(number, self._key, values_here, taken, keys, worker.released(), says)
                backend.messages[name] += 1
                worker.start(run, message)
                tokens[name] = worker, run
                for (n, _), key in zip(stream.results, keys, strict=True):
                    values[n] = RemoteValue(worker, key, run, self._devices[program.results[n]])
                if sequential:
                    worker.wait(run.enqueued, f"putting {run} into queues")
            for n in self.donated:
                if n < self._from_caller and isinstance(arguments[n], RemoteValue):
                    arguments[n].take()
        return RemoteRun([*tokens.values()], values, tokens) if self.exchanges else (values, tokens)

    def _is_near(self, x: RemoteValue, number: int) -> bool:
        """Whether an argument on this island can be brought to where it is wanted without the host."""
        return x.keeper.processes == 1 or x.devices == self._devices[self.program.arguments[number]]

    def ready(self, token: tuple[RemoteIsland, RunOnIsland]) -> bool:
        return token[1].over.is_set()

    def wait(self, token: tuple[RemoteIsland, RunOnIsland]) -> None:
        worker, run = token
        worker.wait(run.over, str(run))


def _release(workers: Sequence[RemoteIsland], key: int) -> None:
    for worker in workers:
        worker.release(key)


def _random_keys(
    program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed]
) -> dict[int, str]:
    """By tag of a message, the generator of the random keys in it, which those say who read it."""
    found: dict[int, str] = {}
    for stream in program.streams.values():
        received: dict[int, int] = {}  # by slot, the tag
        for what in stream.instructions:
            if isinstance(what, Call):
                leaves = functions[what.function].code.program.inputs
                for slot, leaf in zip(what.reads, leaves, strict=True):
                    if leaf.key and slot in received:
                        found[received[slot]] = leaf.key
                for slot in what.writes:
                    received.pop(slot, None)
            elif isinstance(what, Copy):
                received.pop(what.target, None)
                if what.source in received:
                    received[what.target] = received[what.source]
            elif isinstance(what, Receive):
                received[what.slot] = what.tag
        for number, slot in stream.results:
            if slot in received and jax_compat.is_key(outputs[number].dtype):
                found[received[slot]] = jax_compat.key_impl(outputs[number].dtype)
    return found
