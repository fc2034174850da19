"""Islands with a clock and no devices: the same tracer, passes, scheduler and store, on machines that are not there.

What a computation takes is what pcg estimates; hosts, messages and what they take are counted here.  An island has a
host for every few devices.  The controller tells each island of a run with one message; the island's hosts prepare the
nodes of the run, each for as long as `host_work`, and put them into the queues of their devices, which run one after
another.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcg.controller.faults import RunError
from pcg.controller.stream_use import exchanges, most_bytes
from pcg.controller.streams import Call, Collect, Copy, Dispatch, Free, IslandProgram, Receive, Send, order
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.islands.backend import Function
from pcg.runtime.islands.future import Placed

#: How islands prepare: all at once, or each when those before it in the program's order have put theirs into queues.
DISPATCH = ("parallel", "sequential")


@dataclass(frozen=True)
class SimulatedDevice:
    """A device that is not there."""

    id: int
    platform: str = "cpu"
    device_kind: str = "simulated"


def devices(count: int) -> list[SimulatedDevice]:
    """So many of them."""
    return [SimulatedDevice(i) for i in range(count)]


class SimulatedValue:
    """A value that nobody computes, and when it would be there."""

    __slots__ = ("_backend", "ready_at", "_deleted")

    def __init__(self, backend: SimulatedBackend, ready_at: float) -> None:
        self._backend, self.ready_at, self._deleted = backend, ready_at, False

    def is_deleted(self) -> bool:
        return self._deleted

    def delete(self) -> None:
        self._deleted = True

    def is_ready(self) -> bool:
        return self._backend.now >= self.ready_at

    def block_until_ready(self) -> SimulatedValue:
        self._backend.advance(self.ready_at)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RunError("a simulated program computes no values")


class SimulatedBackend:
    """Islands of devices that are not there.

    Args:
      per_host: devices of a host.
      message: seconds of a message from the controller to an island, or between islands.
      host_work: seconds for which hosts prepare a node.
      bandwidth: bytes per second from one device to its counterpart on another island.
      dispatch: one of `DISPATCH`.

    Raises:
      ValueError: another one.
    """

    def __init__(
        self, per_host: int = 8, message: float = 100e-6, host_work: float = 20e-6, bandwidth: float = 10e9,
        dispatch: str = "parallel",
    ) -> None:  # fmt: skip
        if dispatch not in DISPATCH:
            raise ValueError(f"dispatch {dispatch!r}; allowed: {', '.join(DISPATCH)}")
        self.per_host, self.message, self.host_work = per_host, message, host_work
        self.bandwidth, self.dispatch = bandwidth, dispatch
        self.islands: dict[str, Sequence[Any]] = {}
        self.exchanged: Counter[str] = Counter()
        self.on_failure: Callable[[str, str], None] | None = None
        self.now = 0.0
        """Seconds of the simulated clock."""
        self.messages: Counter[str] = Counter()
        """From the controller, by island."""
        self.transfers = 0
        """Messages between islands."""
        self.host_free: dict[str, float] = {}
        self.device_free: dict[str, float] = {}
        self._lock = threading.Lock()
        self._seconds: dict[int, tuple[Any, float]] = {}

    def clock(self) -> float:
        """Now."""
        return self.now

    def advance(self, time: float) -> None:
        """Let time pass until then."""
        self.now = max(self.now, time)

    def add_island(self, name: str, devices: Sequence[Any]) -> None:
        self.islands[name] = devices
        self.host_free[name] = self.device_free[name] = self.now

    def remove_island(self, name: str) -> None:
        del self.islands[name]

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]:
        own = self.islands[island]
        return [own[i] for i in numbers]

    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any:
        return jax_compat.jax_mesh(mesh, self.devices(island, numbers))

    def hosts(self, island: str) -> int:
        """Hosts of an island."""
        return -(-len(self.islands[island]) // self.per_host)

    def seconds(self, function: Function) -> float:
        """What a computation takes by estimate."""
        key = id(function.code)
        if key not in self._seconds:
            self._seconds[key] = function.code, function.seconds
        return self._seconds[key][1]

    def load(
        self, program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> SimulatedProgram:  # fmt: skip
        return SimulatedProgram(self, program, functions, outputs)

    def close(self) -> None:
        self.islands.clear()


class SimulatedProgram:
    """A program whose runs take time and nothing else."""

    direct = None

    def __init__(
        self, backend: SimulatedBackend, program: IslandProgram, functions: Mapping[str, Function],
        outputs: Sequence[Placed],
    ) -> None:  # fmt: skip
        self._backend, self.program, self.name = backend, program, program.name
        self.islands = tuple(program.streams)
        self.outputs = [
            (placed, program.island_of(v), program.values[v].nbytes)
            for placed, v in zip(outputs, program.results, strict=True)
        ]
        self.nbytes = {name: most_bytes(program, name, lambda f: 0) for name in self.islands}
        self.donated, self.exchanges = program.donated, exchanges(program)
        self._order = order(program)
        self.began: dict[str, float] = {}
        """When each island began to compute in the last run."""
        self._seconds = {f: backend.seconds(function) for f, function in functions.items()}

    def launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        with self._backend._lock:
            return self._launch(arguments)

    def _launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        b, program = self._backend, self.program
        slots: dict[str, list[float]] = {name: [0.0] * s.slots for name, s in program.streams.items()}
        for name, stream in program.streams.items():
            b.messages[name] += 1
            for number, slot in stream.arguments:
                x = arguments[number] if number < len(arguments) else None
                slots[name][slot] = x.ready_at if isinstance(x, SimulatedValue) else b.now
        self.began = {}
        crossing: dict[int, float] = {}
        prepared: dict[str, float] = {}
        begin = b.now + b.message
        for name, what in self._order:
            if name not in prepared:
                # One after another: an island hears of the run when the one before it is prepared.
                first = b.dispatch == "parallel" or not prepared
                begins = begin if first else max(prepared.values()) + b.message
                prepared[name] = max(begins, b.host_free[name])
            own = slots[name]
            if isinstance(what, Call):
                prepared[name] += b.host_work
                seconds = self._seconds[what.function]
                start = max([prepared[name], b.device_free[name], *(own[i] for i in what.reads)])
                b.device_free[name] = end = start + seconds
                self.began.setdefault(name, start)
                for slot in what.writes:
                    own[slot] = end
            elif isinstance(what, Copy):
                own[what.target] = own[what.source]
            elif isinstance(what, Send):
                b.transfers += 1
                crossing[what.tag] = own[what.slot] + b.message + program.values[what.value].nbytes / b.bandwidth
            elif isinstance(what, Dispatch):
                # Nobody knows which rows go where; this is as if each sender had its share for each receiver.
                b.transfers += 1
                there = max(own[s] for s in what.reads) + b.message
                crossing[what.tag] = there + program.values[what.values[0]].nbytes / b.bandwidth
            elif isinstance(what, Collect):
                # The island's hosts go on when all has come.
                came = max(crossing.pop(what.tag), *(own[s] for s in what.reads), 0.0)
                prepared[name] = max(prepared[name], came)
                for slot in what.writes:
                    own[slot] = came
            elif isinstance(what, Receive):
                own[what.slot] = crossing.pop(what.tag)
            else:
                assert isinstance(what, Free)
        b.host_free.update(prepared)
        results = {n: slots[i][slot] for i, s in program.streams.items() for n, slot in s.results}
        tokens = {name: SimulatedValue(b, b.device_free[name]) for name in self.islands}
        return [SimulatedValue(b, results[n]) for n in range(len(program.results))], tokens

    def ready(self, token: SimulatedValue) -> bool:
        return token.is_ready()

    def wait(self, token: SimulatedValue) -> None:
        token.block_until_ready()
