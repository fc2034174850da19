"""What a controller and the process of an island say to each other.  Needs no jax.

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
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        raw = [b.raw() for b in buffers]
        with self._lock:
            self._connection.send_bytes(len(raw).to_bytes(4, "little") + data)
            for b in raw:
                self._connection.send_bytes(b)

    def receive(self) -> Any:
        """One thread receives."""
        data = self._connection.recv_bytes()
        buffers = [bytearray(self._connection.recv_bytes()) for _ in range(int.from_bytes(data[:4], "little"))]
        return pickle.loads(memoryview(data)[4:], buffers=buffers)

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True, slots=True)
class HostArray:
    """An array of the host; `impl`: the generator of the random keys whose integers these are."""

    data: np.ndarray
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
class Peers:
    """Addresses of the transfer servers of other islands; None: it is gone, and nothing comes from it any more."""

    addresses: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Load:
    """A program's part on this island.

    Args:
      program: with the stream of this island only.
      code: by name that calls use, number of a device program, and source line for errors.
      new: device programs that this process has not got yet, by number.
      sizes: number of devices of each island.
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
class Started:
    """The process is ready; its transfer server has this address."""

    address: str


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
    """To a `Fetch` a `HostArray` or a `Fault`, to a `Count` a number."""

    request: int
    value: Any
