"""Logical buffers: one handle per sharded array, owned by a client and a run; on the devices, or on the host meanwhile.

A buffer is what the client refers to, an object with a `_value`: what the backend has of it, or a `RunError`.  The
store refers to buffers weakly, so that the last reference of the client frees them.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping
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
    """By island, bytes per device of these, those on the host included."""
    spilled: int
    """Bytes of these that are in host memory instead of on their devices."""


class Account:
    """What one client has on one island."""

    __slots__ = ("client", "island", "handles", "nbytes", "spilled")

    def __init__(self, client: str, island: str) -> None:
        self.client, self.island = client, island
        self.handles = self.nbytes = self.spilled = 0


class Entry:
    """What is known of a buffer."""

    __slots__ = ("account", "run", "nbytes", "kept", "spilled", "readers", "used")

    def __init__(self, account: Account, run: int, nbytes: int) -> None:
        self.account, self.run, self.nbytes = account, run, nbytes
        self.kept = False
        """Whether its run is done and it is on its devices, so that its bytes are counted until it is freed."""
        self.spilled = 0
        """Bytes of its copy on the host, if that is where it is."""
        self.readers = 0
        """Runs under way that read it."""
        self.used = 0
        """When a run was launched that reads or writes it: a number that grows with each run."""


class ObjectStore:
    """All buffers of a controller.  Its caller has a lock."""

    def __init__(self) -> None:
        self.entries: dict[weakref.ref[Any], Entry] = {}
        self.spilled = self.restored = 0
        """Bytes that were copied to host memory, and back, so far."""
        self._accounts: dict[tuple[str, str], Account] = {}
        self.new: deque[tuple[weakref.ref[Any], Entry]] = deque()
        """Buffers of the short path, which are entered when something is counted: most are gone by then."""
        self._dropped: deque[weakref.ref[Any]] = deque()
        self._drop = self._dropped.append
        """Called with references whose buffers are gone, by whatever thread the garbage collector runs in."""

    @property
    def on_host(self) -> int:
        """Bytes of copies in host memory now."""
        return sum(a.spilled for a in self._accounts.values())

    def account(self, client: str, island: str) -> Account:
        """Where buffers of a client on an island are counted."""
        found = self._accounts.get((client, island))
        if found is None:
            found = self._accounts[client, island] = Account(client, island)
        return found

    def put(self, buffer: Any, client: str, run: int, island: str, nbytes: int) -> weakref.ref[Any]:
        """A buffer that a run will write."""
        account = self.account(client, island)
        account.handles += 1
        account.nbytes += nbytes
        reference = weakref.ref(buffer, self._drop)
        self.entries[reference] = Entry(account, run, nbytes)
        return reference

    def freed(self) -> list[Entry]:
        """Count the buffers that came and were dropped since the last call; of the latter those that were kept."""
        new, dropped = self.new, self._dropped
        found: list[Entry] = []
        while new:
            reference, entry = new.popleft()
            if (buffer := reference()) is not None:
                self.entries[weakref.ref(buffer, self._drop)] = entry
                entry.account.handles += 1
                entry.account.nbytes += entry.nbytes
                del buffer
        while dropped:
            gone = self.entries.pop(dropped.popleft(), None)
            if gone is not None:
                account = gone.account
                account.handles -= 1
                account.nbytes -= gone.nbytes
                if gone.spilled:
                    account.spilled -= gone.spilled
                elif gone.kept:
                    found.append(gone)
        return found

    def remove(self, reference: weakref.ref[Any], value: Any = None) -> Entry | None:
        """Free a buffer whatever refers to it; those find `value`.  None if it is gone already."""
        entry = self.entries.pop(reference, None)
        if entry is not None:
            entry.account.handles -= 1
            entry.account.nbytes -= entry.nbytes
            entry.account.spilled -= entry.spilled
            if (buffer := reference()) is not None:
                buffer._value = value
        return entry

    def of_client(self, client: str) -> list[weakref.ref[Any]]:
        """The buffers that a client owns."""
        return self._of(lambda account: account.client == client)

    def of_island(self, island: str) -> list[weakref.ref[Any]]:
        """The buffers on an island."""
        return self._of(lambda account: account.island == island)

    def _of(self, wanted: Any) -> list[weakref.ref[Any]]:
        return [r for r, entry in self.entries.items() if wanted(entry.account)]

    def handles(self, client: str) -> int:
        """How many buffers a client owns."""
        return sum(a.handles for a in self._accounts.values() if a.client == client)

    def nbytes(self, island: str, client: str | None = None) -> int:
        """Bytes per device of the buffers of an island, of all clients or of one; those on the host included."""
        return sum(
            a.nbytes
            for a in self._accounts.values() if a.island == island and (client is None or a.client == client)
        )  # fmt: skip

    def forget(self, client: str) -> None:
        """A client is gone, and its buffers are removed."""
        for key in [k for k in self._accounts if k[0] == client]:
            del self._accounts[key]

    def use(self, client: str, queued: int, in_flight: int) -> ClientUse:
        """What a client uses, with what the scheduler knows of its programs."""
        own = [a for a in self._accounts.values() if a.client == client]
        nbytes = {a.island: a.nbytes for a in own if a.handles}
        return ClientUse(queued, in_flight, self.handles(client), nbytes, sum(a.spilled for a in own))
