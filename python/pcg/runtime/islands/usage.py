"""What is under way on islands and what clients have there, at one moment.  Needs no jax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Protocol

from pcg.controller.scheduler import Scheduler
from pcg.controller.store import ObjectStore


class Submitted(Protocol):
    """A run that waits."""

    client: str


@dataclass(frozen=True, slots=True)
class IslandUse:
    """An island: programs in flight and waiting; bytes per device of results, and how many there may be."""

    in_flight: int
    waiting: int
    nbytes: int
    limit: int | None


@dataclass(slots=True)
class ClientUse:
    """A client: programs that wait; its results, and their bytes per device, added over islands."""

    queued: int = 0
    handles: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Islands and clients by name."""

    islands: Mapping[str, IslandUse]
    clients: Mapping[str, ClientUse]


def usage(
    scheduler: Scheduler, store: ObjectStore, in_flight: Mapping[str, Sized], runs: Iterable[Submitted]
) -> Usage:
    """What there is; the caller has the lock of all of them.

    Args:
      in_flight: runs that are launched and not done, by island.
      runs: those that wait.
    """
    clients: dict[str, ClientUse] = {}
    kept = dict.fromkeys(scheduler.queues, 0)
    for entry in store.entries.values():
        own = clients.setdefault(entry.client, ClientUse())
        own.handles += 1
        own.nbytes += entry.nbytes
        if entry.island in kept:
            kept[entry.island] += entry.nbytes
    for run in runs:
        clients.setdefault(run.client, ClientUse()).queued += 1
    islands = {
        name: IslandUse(len(in_flight.get(name, ())), sum(map(len, q.waiting.values())), kept[name], q.memory)
        for name, q in scheduler.queues.items()
    }
    return Usage(islands, clients)
