"""What is in the queues of an island's devices, and when it is done.  Imports no jax."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from pcg.controller.queues import IslandQueue
from pcg.runtime.islands.run import QuickRuns, Run

#: Runs of the short path that get one token, at most.
_AT_ONCE = 16


class Lane:
    """The runs in flight on an island, in the order of their launch.

    Those of the short path are counted in `pending` first; several then get one token.  `pending` changes only by who
    launches, all else with the dispatcher's lock.
    """

    __slots__ = (
        "name", "queue", "runs", "most", "idle_since", "wake", "thread", "room", "pending", "quick", "swift",
        "impatient", "gone",
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
        """Runs that the short path may launch before it counts again."""
        self.pending = 0
        """Runs that the short path has launched since it counted."""
        self.quick: QuickRuns | None = None
        """What these are runs of."""
        self.swift = False
        """They were over when they were counted last."""
        self.impatient = 0
        """Calls that are not to wait themselves for room, since that was in vain."""
        self.gone = False

    def add(self, run: Run, token: Any) -> None:
        """A run with a ticket is in the queues."""
        self.runs.append((run, token, 1))
        self.most = max(self.most, self.queue.in_flight)

    def flush(self) -> None:
        """Count the runs of the short path; by who launches."""
        self.room = 0
        count, quick = self.pending, self.quick
        if not count or quick is None:
            return
        self.pending = 0
        quick.island.launched += count
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
        self.room, self.quick = min(left, most, _AT_ONCE), quick
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
