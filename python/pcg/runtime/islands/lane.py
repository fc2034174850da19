"""What is in the queues of an island's devices, and when it is done.  Imports no jax."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from pcg.controller.queues import IslandQueue
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.run import QuickRuns, Run

#: Runs of the short path that get one token, at most; and that are launched until they are counted, if they are over.
_AT_ONCE, _UNCOUNTED = 16, 128


class Lane:
    """The runs in flight on an island, in the order of their launch.

    Those of the short path are counted in `pending` first; several then get one token.  `pending` changes only by who
    launches, all else with the dispatcher's lock.
    """

    __slots__ = (
        "name", "queue", "runs", "most", "idle_since", "wake", "thread", "room", "pending", "over", "quick",
        "client", "swift", "impatient", "soon", "gone",
    )  # fmt: skip

    def __init__(self, queue: IslandQueue, lock: threading.Lock) -> None:
        self.name, self.queue = queue.name, queue
        self.runs: deque[tuple[Run | QuickRuns, Any, int]] = deque()
        """Runs with their tokens; a token of the short path is of several."""
        self.most = 0
        """Programs in flight at once, the most so far."""
        self.idle_since = time.perf_counter()
        self.wake = threading.Condition(lock)
        """Something waits for the island, or it is gone."""
        self.thread: threading.Thread | None = None
        """What launches runs that have waited."""
        self.room = 0
        """Runs that the short path may have launched before it looks again."""
        self.pending = 0
        """Runs that the short path has launched since it counted."""
        self.over = 0
        """Of these those that are over."""
        self.quick: QuickRuns | None = None
        """What one of these is a run of."""
        self.client = ""
        """Whose runs they are."""
        self.swift = False
        """They were over when they were counted last."""
        self.impatient = 0
        """Calls that are not to wait themselves for room, since that was in vain."""
        self.soon: Loaded | None = None
        """A program that was over soon when a call waited for room."""
        self.gone = False

    def add(self, run: Run, token: Any) -> None:
        """A run with a ticket is in the queues."""
        self.runs.append((run, token, 1))
        self.most = max(self.most, self.queue.in_flight)

    @property
    def in_flight(self) -> int:
        """Runs in the queues, those that are not counted yet included."""
        return self.queue.in_flight + self.pending - self.over

    def renew(self, quick: QuickRuns) -> bool:
        """Room for a few more without counting, if all that the short path has launched is over; by who launches."""
        if not self.room or self.runs or self.client is not quick.client or self.pending >= _UNCOUNTED:
            return False
        self.quick = quick
        if not quick.loaded.ready((quick.island.newest, quick.island)):
            return False
        self.most = max(self.most, self.pending - self.over)
        self.over = self.pending
        self.room = self.pending + min(self.queue.cap, _AT_ONCE)
        return True

    def flush(self) -> None:
        """Count the runs of the short path; by who launches."""
        self.room = 0
        count, quick = self.pending - self.over, self.quick
        if not self.pending or quick is None:
            return
        quick.island.launched += self.pending
        self.pending = self.over = 0
        if self.queue.in_flight + count > self.most:
            self.most = self.queue.in_flight + count
        token = quick.island.newest, quick.island
        self.swift = not self.runs and quick.loaded.ready(token)
        if not self.swift:
            self.runs.append((quick, token, count))
            self.queue.in_flight += count

    def allow(self, quick: QuickRuns) -> bool:
        """Whether the short path may launch; by who launches, when what is done is counted."""
        left = self.queue.cap - self.queue.in_flight
        # Programs that are not over at once get one token for half of the queue: while it is waited for the other half
        # keeps the devices busy.
        most = left if self.swift else max(self.queue.cap // 2, 1)
        self.room, self.quick, self.client = min(left, most, _AT_ONCE), quick, quick.client
        return left > 0

    def done(self) -> list[tuple[Run | QuickRuns, Any, int]]:
        """Take those that are done, in order; what is behind one that is not may be done, too: CPU devices overtake."""
        runs, found = self.runs, []
        while runs and runs[0][0].loaded.ready(runs[0][1]):
            found.append(runs.popleft())
        if self.queue.in_flight >= self.queue.cap and len(runs) > 1:
            behind = [r[0].loaded.ready(r[1]) for r in runs]
            if any(behind):
                found += [r for r, done in zip(runs, behind, strict=True) if done]
                left = [r for r, done in zip(runs, behind, strict=True) if not done]
                runs.clear()
                runs.extend(left)
        return found
