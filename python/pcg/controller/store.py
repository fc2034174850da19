"""Logical buffers: one handle per sharded array, owned by a client and a run."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClientUse:
    """What a client uses at a moment."""

    queued: int
    """Programs that wait to be launched."""
    in_flight: int
    """Programs in the queues of devices, once for each of their islands."""
    handles: int
    """Buffers that it owns."""
    nbytes: Mapping[str, int]
    """By island, bytes per device of these."""


class Entry:
    """A logical buffer: the value of one result of a run, on one island.

    `value` is what the backend keeps: an array, or a `RunError` where there is none.
    """

    __slots__ = ("handle", "client", "run", "island", "nbytes", "value", "kept")

    def __init__(self, handle: int, client: str, run: int, island: str, nbytes: int) -> None:
        self.handle, self.client, self.run, self.island, self.nbytes = handle, client, run, island, nbytes
        self.value: Any = None
        self.kept = False
        """Whether its run is done, so that its bytes are counted until it is freed."""


class ObjectStore:
    """All entries of a controller.  Its caller has a lock, except for `drop`, which any thread may call at any time."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.entries: dict[int, Entry] = {}
        self._dropped: deque[Entry] = deque()

    def put(self, client: str, run: int, island: str, nbytes: int) -> Entry:
        """A buffer that a run will write; one future refers to it, which all that need it share."""
        entry = Entry(next(self._numbers), client, run, island, nbytes)
        self.entries[entry.handle] = entry
        return entry

    def drop(self, entry: Entry) -> None:
        """Nobody refers to a buffer.  Counted by `freed`, since this may be called by the garbage collector."""
        entry.value = None
        self._dropped.append(entry)

    def freed(self) -> Iterator[Entry]:
        """The buffers that were dropped since the last call; they are gone now."""
        while self._dropped:
            entry = self._dropped.popleft()
            if self.entries.pop(entry.handle, None) is not None:
                entry.value = None
                yield entry

    def remove(self, entry: Entry, value: Any = None) -> bool:
        """Free a buffer whatever refers to it; those find `value`.  False if it is gone already."""
        if self.entries.pop(entry.handle, None) is None:
            return False
        entry.value = value
        return True

    def of_client(self, client: str) -> list[Entry]:
        """The buffers that a client owns."""
        return [e for e in self.entries.values() if e.client == client]

    def nbytes(self, island: str, client: str | None = None) -> int:
        """Bytes per device on an island, of all clients or of one."""
        return sum(
            e.nbytes for e in self.entries.values() if e.island == island and (client is None or e.client == client)
        )
