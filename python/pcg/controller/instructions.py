"""What the runtime executes for a program on islands: one stream of instructions per island.

One instruction stands for a computation, or a message, of all shards together: neither the size of a program nor the
number of its messages depends on how many devices a slice has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pcg.layout import Mesh, ShardSpec


class StreamError(ValueError):
    """A program that cannot run as it is; `island` and `place` are where in its streams, if that is known."""

    def __init__(self, message: str, island: str | None = None, place: int | None = None) -> None:
        super().__init__(message)
        self.island, self.place = island, place


@dataclass(frozen=True, slots=True)
class Value:
    """What a slot may contain: an array of a type, in a layout on a slice."""

    shape: tuple[int, ...]
    dtype: str
    """The element type as MLIR writes it: `f32`, `bf16`, `i1`."""
    slice: str
    spec: ShardSpec
    nbytes: int
    """Bytes on each device of the slice."""

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}] on {self.slice} {self.spec}"


@dataclass(frozen=True, slots=True)
class Call:
    """Run a function on all devices of a slice."""

    function: str
    slice: str
    reads: tuple[int, ...]
    """Slots of its arguments."""
    writes: tuple[int, ...]
    """Slots of its results; they may be among those that it empties."""
    donates: tuple[int, ...]
    """Those of `reads` whose buffers it may take over; they are empty behind it."""
    values: tuple[int, ...]
    """What it writes: an index of `Streams.values` for each of `writes`."""

    def __str__(self) -> str:
        return f"Call @{self.function} on {self.slice}"


@dataclass(frozen=True, slots=True)
class Copy:
    """Bring a value to another layout or slice of the same island."""

    source: int
    target: int
    value: int
    """What it is in `target`: an index of `Streams.values`."""

    def __str__(self) -> str:
        return f"Copy slot {self.source} to slot {self.target}"


@dataclass(frozen=True, slots=True)
class Send:
    """Give a value to another island, in the layout that it has there; never waits."""

    slot: int
    tag: int
    """Unique in a program; the same on both ends."""
    peer: str
    value: int
    """What the peer receives: an index of `Streams.values`."""

    def __str__(self) -> str:
        return f"Send {self.tag} of slot {self.slot} to {self.peer}"


@dataclass(frozen=True, slots=True)
class Receive:
    """Take the value that another island sends under the same tag; waits for it."""

    slot: int
    tag: int
    peer: str
    value: int

    def __str__(self) -> str:
        return f"Receive {self.tag} from {self.peer} in slot {self.slot}"


@dataclass(frozen=True, slots=True)
class Free:
    """Nothing reads this slot any more."""

    slot: int

    def __str__(self) -> str:
        return f"Free slot {self.slot}"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Give rows to the shards of another slice that data says; never waits.

    Each shard of the first of `reads` sends a part of its rows to each shard of the `target`, if it has any for it.
    """

    reads: tuple[int, int]
    """Slots of the rows, and of what says where they go: destinations, or (`back`) how many came from each shard."""
    tag: int
    peer: str
    """The island that collects them; it may be this one."""
    values: tuple[int, int]
    """What is in `reads`."""
    target: int
    """What the peer makes of the rows: an index of `Streams.values`."""
    back: bool
    """Whether rows return to where an exchange took them from."""
    source: str = ""
    """File and line of the user's call."""

    def __str__(self) -> str:
        return f"Dispatch {self.tag} of slot {self.reads[0]} by slot {self.reads[1]} to {self.peer}"


@dataclass(frozen=True, slots=True)
class Collect:
    """Take the rows that another slice dispatches under the same tag; waits until each of its shards has ended."""

    reads: tuple[int, ...]
    """Of rows that return, the slot of the destinations by which they left."""
    writes: tuple[int, ...]
    """Slots of the rows and, unless they return, of how many came from each shard."""
    tag: int
    peer: str
    values: tuple[int, ...]
    """What it writes: indices of `Streams.values`."""
    origin: int
    """What the rows are where they come from: an index of `Streams.values`."""
    back: bool
    drop: bool = False
    """Whether rows beyond the capacity are left out; else they are an error."""
    source: str = ""

    def __str__(self) -> str:
        return f"Collect {self.tag} from {self.peer} in slot {self.writes[0]}"


Instruction = Call | Copy | Send | Receive | Dispatch | Collect | Free


@dataclass(frozen=True)
class Stream:
    """What one island does for a program, one instruction after another."""

    island: str
    slots: int
    """How many there are; a slot contains one value at a time."""
    arguments: tuple[tuple[int, int], ...]
    """(number of the argument in the program, slot that contains it at the begin)."""
    results: tuple[tuple[int, int], ...]
    """(number of the result in the program, slot that contains it at the end)."""
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Streams:
    """The streams of a program on several islands, and what their slots may contain.

    At the end of a stream its results are there, and the arguments that are not donated, and nothing else.
    """

    name: str
    slices: Mapping[str, tuple[str, Mesh]]
    """Slice -> its island, and its mesh of devices of the island."""
    values: tuple[Value, ...]
    """The types and layouts that there are, each once."""
    arguments: tuple[int, ...]
    """What each argument is: an index of `values`."""
    results: tuple[int, ...]
    streams: Mapping[str, Stream]
    """By island; an island that has nothing to do has none."""
    donated: tuple[int, ...] = ()
    """Arguments that the caller gives up."""

    def island_of(self, value: int) -> str:
        """The island of a value, by its index."""
        return self.slices[self.values[value].slice][0]


def nbytes(shape: tuple[int, ...], element_bytes: float, spec: ShardSpec, mesh: Mesh) -> int:
    """Bytes on each device of an array of global `shape`, padding of uneven shards included."""
    return math.ceil(math.prod(spec.local_shape(shape, mesh)) * element_bytes)
