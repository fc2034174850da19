"""Runs whose results do not exist yet as futures of their devices, and those that wait for that.

Where it depends on data what moves between islands, a run is put into the queues by and by: it is open until all of it
is there.  Runs that read its results are parked meanwhile, as are later ones of a client that has one parked, and those
that are given a buffer which an open run still reads.  All others go on.  Imports no jax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pcg.runtime.islands.backend import Loaded, Unfinished
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.run import Run


class OpenRuns:
    """The open and the parked runs of a dispatcher, which has a lock."""

    def __init__(self) -> None:
        self.unfinished: dict[Run, Unfinished] = {}
        """Open runs that are launched."""
        self.parked: list[Run] = []
        self._reads: dict[Run, frozenset[int]] = {}
        """Of each open run the handles of its arguments."""

    def __bool__(self) -> bool:
        return bool(self._reads or self.parked)

    def __contains__(self, run: Run) -> bool:
        return run in self._reads

    def open(self, run: Run) -> None:
        """A run is open from now on."""
        self._reads[run] = frozenset(_handles(run.arguments))

    def close(self, run: Run) -> None:
        """It is no more: it has results, or errors in their places."""
        self._reads.pop(run, None)
        self.unfinished.pop(run, None)

    def waits(self, client: str, loaded: Loaded, arguments: Sequence[Any]) -> bool:
        """Whether a run has to be parked."""
        return bool(self) and self._waits(client, loaded, arguments, self.parked)

    def _waits(self, client: str, loaded: Loaded, arguments: Sequence[Any], parked: Sequence[Run]) -> bool:
        if any(p.client == client for p in parked):
            return True
        before = {*self._reads, *parked}
        if any(type(a) is ShardedFuture and a._run in before for a in arguments):
            return True
        gone = {*_handles(arguments[i] for i in loaded.donated if i < len(arguments))}
        if not gone:
            return False
        reads = [*self._reads.values(), *(_handles(p.arguments) for p in parked)]
        return any(not gone.isdisjoint(own) for own in reads)

    def ready(self) -> Iterator[Run]:
        """Parked runs that need not wait any more, in order; they are parked no longer."""
        waiting, self.parked = self.parked, []
        for run in waiting:
            if self._waits(run.client, run.loaded, run.arguments, self.parked):
                self.parked.append(run)
            else:
                yield run


def _handles(arguments: Iterable[Any]) -> set[int]:
    return {a._entry.handle for a in arguments if type(a) is ShardedFuture}
