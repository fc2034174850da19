"""Launching runs on islands, and counting what they use: one thread at a time launches, in one order.  Imports jax.

Two locks: `_launching` is of the one thread that launches, which nobody waits for; `_lock` is of all that is known of
runs, for moments only.  Who wants both takes `_launching` first, or without waiting.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pcg.controller.faults import Cancelled, DeadlineExceeded, RunError
from pcg.controller.queues import Ticket
from pcg.controller.scheduler import Scheduler
from pcg.controller.store import ClientUse, Entry, ObjectStore
from pcg.runtime.islands import spilling
from pcg.runtime.islands.backend import Unfinished
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.launch_lock import LaunchLock
from pcg.runtime.islands.open_runs import OpenRuns
from pcg.runtime.islands.recorder import Recorder
from pcg.runtime.islands.run import QuickRuns, Run
from pcg.runtime.islands.usage import IslandUse

#: How often a thread looks whether memory was freed, or a deadline passed, while nothing else would tell it.
LOOK = 0.01

#: Seconds between tries of a thread that has more of an open run to put into queues, while another launches.
_SOON = 1e-3


class RunLauncher:
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

    def _launch(self, run: Run) -> tuple[Sequence[Any], Mapping[str, Any]] | Unfinished:
        """Put a run into the queues of its devices: values of its results, tokens by island.  Without the lock.

        Of a run of which only a part is in the queues, what it waits for.
        """
        self._launching_on = run.loaded.islands
        arguments: list[Any] = []
        lost: RunError | None = None
        run.started = time.perf_counter()
        try:
            for a in run.arguments:
                if type(a) is ShardedFuture:
                    value = a._value
                    if isinstance(value, RunError):
                        lost = lost or value
                    elif value is None or value.is_deleted():  # jax would crash
                        lost = Cancelled(
                            f"program {run.program}: an argument was donated to an earlier program, or freed"
                        )
                    elif isinstance(value, spilling.Spilled):
                        value = a._value = spilling.restored(value, self.store)
                    a = value
                arguments.append(a)
            run.arguments = []
            if lost is None:
                return run.loaded.launch(arguments)
        except Exception as error:  # a fault of the dispatcher's own is the run's, too: nobody waits for nothing
            lost = RunError(f"program {run.program}: {type(error).__name__}: {error}").because(error)
        return [lost] * len(run.loaded.outputs), {}

    def _read(self, run: Run) -> None:
        """Buffers that a run reads are on their devices from now on, and stay there while it is under way."""
        for entry in run.reads:
            entry.readers += 1
            entry.used = run.number
            if entry.spilled:
                entry.account.spilled -= entry.spilled
                entry.spilled, entry.kept = 0, True

    def _launched(self, run: Run, found: tuple[Sequence[Any], Mapping[str, Any]] | Unfinished) -> None:
        """Note that a run, as `_launch` returned it, is in the queues of its devices, or a part of it."""
        if isinstance(found, Unfinished):
            if run in self._open:  # else its island is gone
                self._open.unfinished[run] = found
                found.start(lambda: self._continue(run))
            return
        values, tokens = found
        for reference, value in zip(run.results, values, strict=True):
            future = reference()
            if future is not None and reference in self.store.entries:  # else its island is gone
                future._value = value
        run.is_launched()
        for name in run.loaded.islands:
            lane = self._lanes.get(name)
            if lane is not None and name in tokens:
                lane.add(run, tokens[name])
            else:
                self._finished(run, name, None)
        self._open.close(run)
        self._idle.notify_all()

    def _continue(self, run: Run) -> None:
        """Have more of an open run put into queues, by who launches; in any thread but that."""
        with self._lock:
            going_on = self._open.going_on
            if run in self._open.unfinished and run not in going_on:
                going_on.append(run)
            while run in going_on:
                self._pump()
                if run in going_on:  # others launch nothing before it
                    self._idle.wait(_SOON)

    def _resume(self) -> None:
        """Put more of open runs into queues; gives up the lock meanwhile.  By who launches."""
        while self._open.going_on:
            run = self._open.going_on.pop(0)
            unfinished = self._open.unfinished.get(run)
            if unfinished is None:
                continue
            self._lock.release()
            found: tuple[Sequence[Any], Mapping[str, Any]] | None
            try:
                found = unfinished.advance()
            except Exception as error:  # a fault of the backend's own is the run's, too
                lost = RunError(f"program {run.program}: {type(error).__name__}: {error}").because(error)
                found = [lost] * len(run.loaded.outputs), {}
            finally:
                self._lock.acquire()
            if found is not None and run in self._open.unfinished:
                self._launched(run, found)

    def _lose_open(self, run: Run, error: RunError) -> None:
        """A run that is parked, or not finished, has an error for results."""
        if run in self._open.parked:
            self._open.parked.remove(run)
        elif run not in self._open.unfinished:
            return  # it was another one that ended its wait
        run.arguments = []
        self._remove(run.results, error)
        run.is_launched()
        if run in self._open:
            for name in run.loaded.islands:
                self._finished(run, name, None)
            self._open.close(run)
        self._idle.notify_all()

    def _remove(self, references: Sequence[weakref.ref[Any]], error: RunError) -> None:
        for reference in references:
            if (entry := self.store.remove(reference, error)) is not None:
                self._release(entry)

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

    def _pump(self) -> None:
        """Launch what can be launched, unless another thread does."""
        if not self._launching.take():
            return
        try:
            for lane in self._lanes.values():
                lane.flush()
            while True:
                self._resume()
                for ticket in self.scheduler.launch():
                    run = self._runs.pop(ticket)
                    self._read(run)
                    self._lock.release()
                    launched: tuple[Sequence[Any], Mapping[str, Any]] | Unfinished
                    try:
                        launched = self._launch(run)
                    except BaseException as error:  # Ctrl-C, say; nobody waits for what would not be launched any more
                        lost = RunError(f"program {run.program}: {type(error).__name__}: {error}").because(error)
                        launched = [lost] * len(run.results), {}
                        if not isinstance(error, Exception):
                            raise
                    finally:
                        self._lock.acquire()
                        self._launched(run, launched)
                    self._resume()
                if not self._spill() and not self._open.going_on:
                    break
        finally:
            self._launching.give()

    def _spill(self) -> bool:
        """Copy to the host what the next run needs the room of; gives up the lock meanwhile.  Whether it did."""
        if not self._host or (ticket := self.scheduler.short_of_memory()) is None:
            return False
        self._collect()
        missing = {name: self.scheduler.queues[name].missing(ticket) for name in ticket.islands}
        found = spilling.victims(self.store, ticket, missing, self._host - self.store.on_host)
        if not found:
            return not any(missing.values())
        self._lock.release()
        copies: list[spilling.Spilled | None] = []
        try:
            copies = [None if value.is_deleted() else spilling.Spilled(value) for _, _, value in found]
        except Exception:  # the host has no room for them: the run waits
            return False
        finally:
            self._lock.acquire()
        for (reference, entry, value), copy in zip(found, copies, strict=True):
            future = reference()
            if future is None or future._value is not value or not entry.kept:
                continue  # it was freed meanwhile
            if copy is not None:
                future._value = copy
                entry.spilled = copy.nbytes
                entry.account.spilled += copy.nbytes
                self.store.spilled += copy.nbytes
            self._release(entry)
        return True

    def drain(self) -> None:
        """Wait until nothing waits and nothing is in flight."""
        while True:
            with self._lock:
                if free := self._launching.take():
                    for lane in self._lanes.values():
                        lane.flush()
                    self._launching.give()
                self._collect()
                left = next((lane.runs[-1] for lane in self._lanes.values() if lane.runs), None)
                if left is None and free and not (self._runs or self._open):
                    return
                if left is None:
                    self._idle.wait(LOOK)
                    continue
            left[0].loaded.wait(left[1])

    def use(self, client: str) -> ClientUse:
        """What a client uses now."""
        with self._lock:
            self._collect()
            in_flight = 0
            for lane in self._lanes.values():
                in_flight += sum(count for run, _, count in lane.runs if run.client == client)
                if lane.pending and lane.quick is not None and lane.quick.client == client:
                    in_flight += lane.pending
            parked = sum(run.client == client for run in self._open.parked)
            return self.store.use(client, self.scheduler.queued(client) + parked, in_flight)

    def islands(self) -> dict[str, IslandUse]:
        """What is under way on each island now."""
        with self._lock:
            self._collect()
            now = self._launching_on if self._launching.busy else ()  # small CPU programs run in the call
            return {
                name: IslandUse(
                    lane.queue.in_flight + lane.pending, sum(map(len, lane.queue.waiting.values())),
                    self.store.nbytes(name), lane.queue.memory, bool(lane.runs or lane.pending) or name in now,
                )
                for name, lane in self._lanes.items()
            }  # fmt: skip

    def _expire(self) -> None:
        """Runs whose deadline has passed while they waited have no results."""
        now = time.monotonic()
        for ticket, run in [(t, r) for t, r in self._runs.items() if r.deadline < now]:
            why = self.scheduler.why_waiting(ticket)
            if self._host:
                why += f"; {self.store.on_host} of {self._host} bytes of host memory are in use"
            self._give_up(run, DeadlineExceeded(f"program {run.program} waited until its deadline: {why}"))
        for run in [r for r in (*self._open.unfinished, *self._open.parked) if r.deadline < now]:
            why = "rows of an exchange" if run in self._open else "an earlier program, with an exchange"
            self._lose_open(run, DeadlineExceeded(f"program {run.program} waited until its deadline: {why}"))

    def _give_up(self, run: Run, error: RunError) -> None:
        """A run that waits gets no turn: its results are an error."""
        self.scheduler.withdraw(run.ticket)
        self._runs.pop(run.ticket, None)
        run.arguments = []
        for reference in run.results:
            self.store.remove(reference, error)
        run.is_launched()
        self._open.close(run)
