"""What a cluster and a client in another process say to each other.  Needs no jax.

Numbers (`key`) of values, programs and device programs are chosen by the client; those of values that it looks up,
which are below 0, by the cluster.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import metadata
from typing import Any

from pcg.controller.slices import Placement, Slice
from pcg.controller.streams import IslandProgram
from pcg.layout import ShardSpec
from pcg.runtime.cluster.failures import Failure
from pcg.runtime.islands.protocol import HostArray

#: Runs that a client may be ahead of the cluster, and after how many the cluster says how far it is.
AHEAD, EVERY = 512, 64


def version() -> str:
    """Of pcg; both sides must have the same."""
    return metadata.version("pcg")


class MessageError(ValueError):
    """A message that is not one of these, or has a field of another type."""


# -- to the cluster: queries, which have an answer -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """A client; the answer is its name, which the cluster chooses where it is empty."""

    client: str
    weight: float
    devices: int | None
    nbytes: int | None
    queued: int | None


@dataclass(frozen=True, slots=True)
class Leave:
    """A client gives everything back."""

    client: str


@dataclass(frozen=True, slots=True)
class NewSlice:
    """Virtual devices; the answer is a `Slice`.  `shape`: as for `ResourceManager.request`."""

    client: str
    shape: Any
    kind: str | None
    memory: int | None
    island: str | None
    topology: str
    shared: bool


@dataclass(frozen=True, slots=True)
class ReleaseSlice:
    """A slice, by its number, is given back."""

    slice: int


@dataclass(frozen=True, slots=True)
class Output:
    """A result of a program: shape, dtype by name (`key:GENERATOR` of random keys), slice by name, layout."""

    shape: tuple
    dtype: str
    slice: str
    spec: ShardSpec


@dataclass(frozen=True, slots=True)
class LoadProgram:
    """A lowered program.

    Args:
      slices: the number of each slice, by its name in the program.
      code: by the name of a function that calls use, number of its device program, and source line for errors.
      new: device programs that the cluster has not got yet, by number.
      outputs: what each result is, a tuple of `Output`.
      constants: values of the last arguments, which runs do not have; a tuple of `HostArray`.
    """

    key: int
    program: IslandProgram
    slices: dict
    code: dict
    new: dict
    outputs: tuple
    constants: tuple


@dataclass(frozen=True, slots=True)
class Fetch:
    """The value behind a number, as soon as it is computed: the answer is a `HostArray`."""

    key: int


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Answered when the value behind a number is computed."""

    key: int


@dataclass(frozen=True, slots=True)
class IsReady:
    """Is the value behind a number computed, or lost?"""

    key: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Values that every client may look up by a name, as long as this client is there; `tree` is a pickled treedef."""

    client: str
    name: str
    keys: tuple
    tree: bytes


@dataclass(frozen=True, slots=True)
class Unpublish:
    """The name is free again."""

    client: str
    name: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """What is published under a name, some seconds from now at most; the answer is a `Published`."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RemoveIsland:
    """An island leaves."""

    island: str
    cause: str


@dataclass(frozen=True, slots=True)
class RestartIsland:
    """An island is started anew."""

    island: str


@dataclass(frozen=True, slots=True)
class Status:
    """Islands and clients; the answer is what JSON can have."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The cluster ends: at once, or when what was submitted is done."""

    now: bool


@dataclass(frozen=True, slots=True)
class Query:
    """One of those above; its `Answer` has the same number."""

    number: int
    body: Any


# -- to the cluster: what has no answer ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submit:
    """A run of a program: all that the cluster is told of it.

    Args:
      arguments: the number of a value, or a `HostArray`.
      taken: values that are given up with this run.
      results: numbers for its results.
      seconds: until it must be launched.
    """

    client: str
    program: int
    arguments: tuple
    taken: tuple
    results: tuple
    released: tuple
    seconds: float


@dataclass(frozen=True, slots=True)
class Release:
    """Numbers of values, programs and device programs that the client does not need any more."""

    values: tuple = ()
    programs: tuple = ()
    code: tuple = ()


# -- to the client ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Devices:
    """An island's devices: platform and number of each."""

    island: str
    devices: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Welcome:
    """The first message: version of pcg, and the islands."""

    version: str
    islands: tuple[Devices, ...]


@dataclass(frozen=True, slots=True)
class Placements:
    """Where slices that the client knows are now, by number; and the islands."""

    islands: tuple[Devices, ...]
    slices: Mapping[int, Placement]


@dataclass(frozen=True, slots=True)
class Published:
    """Values under a name: of each its number, and what it is; their slices, with the names that they have there."""

    keys: tuple[int, ...]
    outputs: tuple[Output, ...]
    slices: Mapping[str, Slice]
    tree: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """To a query, or a `Failure`."""

    number: int
    value: Any | Failure


@dataclass(frozen=True, slots=True)
class Submitted:
    """So many runs more have been taken from the connection."""

    count: int


@dataclass(frozen=True, slots=True)
class Alive:
    """Nothing new."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The cluster ends, and why."""

    cause: str


QUERIES = (
    Join, Leave, NewSlice, ReleaseSlice, LoadProgram, Fetch, WaitFor, IsReady, Publish, Unpublish, LookUp,
    RemoveIsland, RestartIsland, Status, Stop,
)  # fmt: skip


def check(message: Any) -> None:
    """Whether a cluster may read a message: its type, and those of its fields.

    Raises:
      MessageError: it may not.
    """
    body = message.body if type(message) is Query else message
    allowed = QUERIES if type(message) is Query else (Submit, Release)
    if type(body) not in allowed:
        raise MessageError(f"message of type {type(body).__name__}; allowed: {', '.join(t.__name__ for t in allowed)}")
    hints = _types(type(body))
    for f in fields(body):
        value, kind = getattr(body, f.name), hints[f.name]
        if kind is not Any and not isinstance(value, kind) and not (kind is float and type(value) is int):
            name = getattr(kind, "__name__", str(kind))
            raise MessageError(
                f"{f.name} of {type(body).__name__} is of type {type(value).__name__}; allowed: {name}"
            )
    if isinstance(body, Submit):
        _check_all(body, "arguments", (int, HostArray))
        for name in ("taken", "results", "released"):
            _check_all(body, name, (int,))
    elif isinstance(body, Release):
        for name in ("values", "programs", "code"):
            _check_all(body, name, (int,))
    elif isinstance(body, LoadProgram):
        _check_all(body, "outputs", (Output,))
        _check_all(body, "constants", (HostArray,))
    elif isinstance(body, Publish):
        _check_all(body, "keys", (int,))


def _check_all(body: Any, name: str, kinds: tuple[type, ...]) -> None:
    for x in getattr(body, name):
        if type(x) not in kinds:
            allowed = ", ".join(k.__name__ for k in kinds)
            raise MessageError(f"{name} of {type(body).__name__} has a {type(x).__name__}; allowed: {allowed}")


_known: dict[type, dict[str, Any]] = {}


def _types(kind: type) -> dict[str, Any]:
    if kind not in _known:
        hints = typing.get_type_hints(kind)
        assert all(h is Any or isinstance(h, type | types.UnionType) for h in hints.values())
        _known[kind] = hints
    return _known[kind]
