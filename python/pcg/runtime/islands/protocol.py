"""What a controller and the processes of an island say to each other.  Needs no jax.

Numbers (`key`) of values, programs and functions are the controller's; a process forgets those that a message releases.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pcg.controller.faults import NodeError, RunError
from pcg.controller.streams import IslandProgram


@dataclass(frozen=True, slots=True)
class Packed:
    """A message as bytes; the arrays in it stay where they are."""

    data: bytes
    arrays: Sequence[memoryview]

    @classmethod
    def of(cls, message: Any) -> Packed:
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        return cls(len(buffers).to_bytes(4, "little") + data, [b.raw() for b in buffers])


class Channel:
    """Messages both ways; arrays in them are sent from where they are, without a copy into the message.

    Raises:
      OSError, EOFError: the other side is gone.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: Any) -> None:
        """Any thread may send."""
        self.send_packed(Packed.of(message))

    def send_packed(self, packed: Packed) -> None:
        """As `send`, of a message for several."""
        with self._lock:
            self._connection.send_bytes(packed.data)
            for array in packed.arrays:
                self._connection.send_bytes(array)

    def receive(self) -> Any:
        """One thread receives."""
        data = self._connection.recv_bytes()
        buffers = [bytearray(self._connection.recv_bytes()) for _ in range(int.from_bytes(data[:4], "little"))]
        return pickle.loads(memoryview(data)[4:], buffers=buffers)


@dataclass(frozen=True, slots=True)
class HostArray:
    """An array of the host; `impl`: the generator of the random keys whose integers these are."""

    data: np.ndarray
    impl: str | None = None

    @classmethod
    def joined(cls, parts: Sequence[HostArray | HostShards]) -> HostArray:
        """What the processes of an island have of an array, in one."""
        shards: list[HostShards] = []
        for part in parts:
            if isinstance(part, HostArray):
                return part
            if part.shards:
                shards.append(part)
        data = np.empty(shards[0].shape, shards[0].dtype)
        for some in shards:
            for index, shard in some.shards:
                data[index] = shard
        return cls(data, shards[0].impl)


@dataclass(frozen=True, slots=True)
class HostShards:
    """The shards of an array that one of several processes has; each shard is in one of them."""

    shape: tuple[int, ...]
    dtype: np.dtype
    shards: Sequence[tuple[tuple[slice, ...], np.ndarray]]
    impl: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in place of a value, in words; a `NodeError` where `node` is given."""

    program: str
    text: str
    node: str = ""
    source: str = ""

    @classmethod
    def of(cls, error: BaseException, program: str) -> Fault:
        """What another process is told of an error."""
        if isinstance(error, NodeError):
            return cls(program, str(error), error.node, error.source)
        return cls(program, str(error) if isinstance(error, RunError) else f"{type(error).__name__}: {error}")

    def error(self) -> RunError:
        """The error again; its text says all that was known where it happened."""
        if not self.node:
            return RunError(self.text if self.program in self.text else f"program {self.program}: {self.text}")
        found = NodeError(self.program, self.node, self.source, "")
        found.args = (self.text,)
        return found


# -- to the process of an island -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """Where the processes of this island meet, to become one group of `jax.distributed`."""

    address: str


@dataclass(frozen=True, slots=True)
class Peers:
    """Addresses of the transfer servers of islands, one for each process; none: it is gone, nothing comes from it."""

    addresses: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Load:
    """A program's part on this island.

    Args:
      program: with the stream of this island only.
      code: by name that calls use, number of a device program, and source line for errors.
      new: device programs that this process has not got yet, by number.
      sizes, processes: how many devices each island has, and processes among which they are divided.
      source_slices: by tag, the slice that the sender has the value on.
      keys: by tag, the generator of the random keys that are received.
      constants: number of an argument, with its value.
      after: tags of messages that are given only behind an exchange.
    """

    key: int
    island: str
    program: IslandProgram
    code: Mapping[str, tuple[int, str]]
    new: Mapping[int, Any]
    sizes: Mapping[str, int]
    processes: Mapping[str, int]
    source_slices: Mapping[int, str]
    keys: Mapping[int, str]
    constants: Mapping[int, HostArray]
    after: frozenset[int]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program: all that an island is told of it."""

    run: int
    program: int
    arguments: Sequence[int | HostArray]
    """In the order of the stream's arguments: the number of a value here, or an array."""
    taken: Sequence[int]
    """Values that are given up with this run."""
    results: Sequence[int]
    """Numbers for the stream's results."""
    released: Sequence[int]
    acknowledge: bool = False
    """Whether to say when everything is in the queues."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """The value behind a number, wanted on the host."""

    request: int
    key: int
    released: Sequence[int]


@dataclass(frozen=True, slots=True)
class Count:
    """How many values are kept here?"""

    request: int
    released: Sequence[int]


@dataclass(frozen=True, slots=True)
class Stop:
    """End."""


# -- to the controller ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """A process of an island that has several; they could meet at this address of its."""

    address: str


@dataclass(frozen=True, slots=True)
class Started:
    """The process is ready; its transfer server has this address."""

    address: str
    pid: int


@dataclass(frozen=True, slots=True)
class Enqueued:
    """All of a run is in the queues, or waits for others only."""

    run: int
    exchanged: Mapping[str, int] = field(default_factory=dict)
    """What its exchanges have given to others."""


@dataclass(frozen=True, slots=True)
class Done:
    """A run is over here; results that are errors instead, by number."""

    run: int
    faults: Mapping[int, Fault]


@dataclass(frozen=True, slots=True)
class Answer:
    """To a `Fetch` a `HostArray`, `HostShards` or a `Fault`, to a `Count` a number."""

    request: int
    value: Any
