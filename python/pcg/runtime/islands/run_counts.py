"""What is known of runs in flight, and what they use.  Imports jax."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pcg.controller.faults import RunError
from pcg.controller.queues import Ticket
from pcg.controller.scheduler import Scheduler
from pcg.controller.store import ClientUse, Entry, ObjectStore
from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.launch_lock import LaunchLock
from pcg.runtime.islands.open_runs import OpenRuns
from pcg.runtime.islands.recorder import Recorder
from pcg.runtime.islands.run import QuickRuns, Run
from pcg.runtime.islands.usage import IslandUse


class RunCounts:
    """Scheduler, store, and runs in flight.

    Args:
      host: bytes of host memory for results that make room on devices, where memory is limited.
      unparked: called with a run that was parked, and is not any more.
    """

    def __init__(self, policy: str, cap: int, host: int, unparked: Callable[[Run], None]) -> None:
        self._lock = threading.Lock()
        self._launching = LaunchLock()
        self._idle = threading.Condition(self._lock)
        """A run has been launched."""
        self.scheduler = Scheduler(policy, cap)
        self.store = ObjectStore()
        self._host = host
        self._runs: dict[Ticket, Run] = {}
        """Those that wait."""
        self._open = OpenRuns(unparked)
        self._lanes: dict[str, Lane] = {}
        self._recorder: Recorder | None = None
        self._launching_on: Sequence[str] = ()
        """Islands of the run that is launched, or was last; not of the short path's."""

    def add_island(self, name: str, memory: int | None = None) -> None:
        """An island joins; `memory`: bytes per device, None: not limited."""
        with self._lock:
            self.scheduler.add_island(name, memory)
            self._lanes[name] = Lane(self.scheduler.queues[name], self._lock)

    @property
    def most(self) -> dict[str, int]:
        """By island, programs in flight at once, the most so far."""
        return {name: lane.most for name, lane in self._lanes.items()}

    def _read(self, run: Run) -> None:
        """Buffers that a run reads are on their devices from now on, and stay there while it is under way."""
        for entry in run.reads:
            entry.readers += 1
            entry.used = run.number
            if entry.spilled:
                entry.account.spilled -= entry.spilled
                entry.spilled, entry.kept = 0, True

    def _finished(self, run: Run, island: str, seconds: float | None) -> None:
        run.left -= 1
        # What was freed before the run was done is not kept, nor is what was never computed.
        kept = 0
        for reference in run.results:
            entry = self.store.entries.get(reference)
            if entry is None or entry.account.island != island:
                continue
            entry.used = run.number
            future = reference()
            if future is not None and not isinstance(future._value, RunError):
                entry.kept = True
                kept += entry.nbytes
        self.scheduler.finished(run.ticket, island, seconds, kept)
        if not run.left:
            run.results = []
            for entry in run.reads:
                entry.readers -= 1
            run.reads = run.ticket.reads = ()

    def _collect(self) -> None:
        """Count what was freed, and what is done."""
        for entry in self.store.freed():
            self._release(entry)
        for lane in self._lanes.values():
            if lane.runs:
                for run, _, count in lane.done():
                    self._done(lane, run, count)

    def _done(self, lane: Lane, run: Run | QuickRuns, count: int) -> None:
        """Runs on an island are over."""
        now = time.perf_counter()
        if isinstance(run, QuickRuns):
            lane.queue.in_flight -= count
        else:
            start = max(run.started, lane.idle_since)
            if self._recorder is not None:
                self._recorder.note(run, lane.name, start, now)
            # Where nobody waits nobody needs to know how long a program takes.
            self._finished(run, lane.name, now - start if self._runs else None)
        lane.idle_since = now

    def _release(self, entry: Entry) -> None:
        """The bytes of a freed buffer are free, if its run is done and it is not on the host."""
        if entry.kept:
            entry.kept = False
            self.scheduler.release(entry.account.island, entry.nbytes)

    def _remove(self, references: Sequence[weakref.ref[Any]], error: RunError) -> None:
        for reference in references:
            if (entry := self.store.remove(reference, error)) is not None:
                self._release(entry)

    def use(self, client: str) -> ClientUse:
        """What a client uses now."""
        with self._lock:
            self._collect()
            in_flight = 0
            for lane in self._lanes.values():
                in_flight += sum(count for run, _, count in lane.runs if run.client == client)
                if lane.client == client:
                    in_flight += lane.pending - lane.over
            return self.store.use(client, self._queued(client), in_flight)

    def _queued(self, client: str) -> int:
        """Programs of a client that wait."""
        return self.scheduler.queued(client) + sum(run.client == client for run in self._open.parked)

    def islands(self) -> dict[str, IslandUse]:
        """What is under way on each island now."""
        with self._lock:
            self._collect()
            now = {*self._launching_on} if self._launching.busy else set()  # small CPU programs run in the call
            now.update(name for run in self._open.unfinished for name in run.loaded.islands)
            parked = [name for run in self._open.parked for name in run.loaded.islands]
            return {
                name: IslandUse(
                    lane.in_flight,
                    sum(map(len, lane.queue.waiting.values())) + parked.count(name),
                    self.store.nbytes(name), lane.queue.memory,
                    bool(lane.runs or lane.pending > lane.over) or name in now,
                )
                for name, lane in self._lanes.items()
            }  # fmt: skip
