"""What is in the queues of an island's devices, and when it is done.  Imports no jax."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from pcg.controller.queues import IslandQueue
from pcg.runtime.islands.run import QuickRuns, Run


class Lane:
    """The runs in flight on an island, in the order of their launch.

    Those of the short path are counted in `pending` first; several then get one token.  `pending` changes only by who
    launches, all else with the dispatcher's lock.
    """

    __slots__ = (
        "name", "queue", "runs", "most", "idle_since", "wake", "thread", "room", "pending", "quick", "newest",
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
        self.newest: Any = None
        """A result of the last one."""
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
        if not self.pending:
            return
        quick, count, token = self.quick, self.pending, self.newest
        assert quick is not None
        self.pending, self.newest = 0, None
        quick.island.launched += count
        self.most = max(self.most, self.queue.in_flight + count)
        if self.runs or not quick.loaded.ready((token, quick.island)):
            self.runs.append((quick, (token, quick.island), count))
            self.queue.in_flight += count

    def allow(self, quick: QuickRuns) -> bool:
        """Whether the short path may launch; by who launches, when what is done is counted."""
        left = self.queue.cap - self.queue.in_flight
        # One token for half of what may be in flight: when it is done the other half is still in the queues.
        self.room, self.quick = min(left, max(self.queue.cap // 2, 1)), quick
        return self.room > 0

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
