"""Runs whose results do not exist yet as futures of their devices, and those that wait for that.

Where it depends on data what moves between islands, a run is put into the queues by and by: it is open until all of it
is there.  Runs that read its results are parked meanwhile, as are later ones of a client that has one parked, and those
that are given a buffer which an open run still reads.  All others go on.  Imports no jax.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pcg.runtime.islands.backend import Loaded, Unfinished
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.run import Run


class OpenRuns:
    """The open and the parked runs of a dispatcher, which has a lock.

    Args:
      unparked: called with runs that need not wait any more, in order.
    """

    def __init__(self, unparked: Callable[[Run], None]) -> None:
        self.unfinished: dict[Run, Unfinished] = {}
        """Open runs that are launched."""
        self.parked: list[Run] = []
        self.going_on: list[Run] = []
        """Unfinished runs of which more may be put into the queues now."""
        self._reads: dict[Run, set[weakref.ref[Any]]] = {}
        """Of each open run its arguments that are futures."""
        self._unparked = unparked

    def __bool__(self) -> bool:
        return bool(self._reads or self.parked)

    def __contains__(self, run: Run) -> bool:
        return run in self._reads

    def open(self, run: Run) -> None:
        """A run is open from now on."""
        self._reads[run] = _futures(run.arguments)

    def close(self, run: Run) -> None:
        """It is no more: it has results, or errors in their places.  Those that wait for it may go on."""
        if self._reads.pop(run, None) is None:
            return
        self.unfinished.pop(run, None)
        waiting, self.parked = self.parked, []
        ready = []
        for other in waiting:
            if self._waits(other.client, other.loaded, other.arguments, self.parked):
                self.parked.append(other)
            else:
                ready.append(other)
                if other.loaded.exchanges:
                    self.open(other)  # those behind it see that
        for other in ready:
            self._unparked(other)

    def on(self, island: str) -> bool:
        """Whether there are some whose first island this is; whose deadlines it looks after."""
        return any(run.loaded.islands[0] == island for run in (*self._reads, *self.parked))

    def waits(self, client: str, loaded: Loaded, arguments: Sequence[Any]) -> bool:
        """Whether a run has to be parked."""
        return bool(self) and self._waits(client, loaded, arguments, self.parked)

    def _waits(self, client: str, loaded: Loaded, arguments: Sequence[Any], parked: Sequence[Run]) -> bool:
        if any(p.client == client for p in parked):
            return True
        before = {*self._reads, *parked}
        if any(type(a) is ShardedFuture and a._run in before for a in arguments):
            return True
        gone = _futures(arguments[i] for i in loaded.donated if i < len(arguments))
        if not gone:
            return False
        reads = [*self._reads.values(), *(_futures(p.arguments) for p in parked)]
        return any(not gone.isdisjoint(own) for own in reads)


def _futures(arguments: Iterable[Any]) -> set[weakref.ref[Any]]:
    return {weakref.ref(a) for a in arguments if type(a) is ShardedFuture}
