"""Launching runs on islands, and counting what they use: one thread at a time launches, in one order.  Imports jax.

Two locks: `_launching` is of the one thread that launches, which nobody waits for; `_lock` is of all that is known of
runs, for moments only.  Who wants both takes `_launching` first, or without waiting.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pcg.controller.faults import Cancelled, DeadlineExceeded, RunError
from pcg.runtime.islands import spilling
from pcg.runtime.islands.backend import Unfinished
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.run import Run
from pcg.runtime.islands.run_counts import RunCounts

#: How often a thread looks whether memory was freed, or a deadline passed, while nothing else would tell it.
LOOK = 0.01
#: Seconds between tries of a thread that has more of an open run to put into queues, while another launches.
_SOON = 1e-3
#: Values of the results of a run, and by island its tokens.
Found = tuple[Sequence[Any], Mapping[str, Any]]


class RunLauncher(RunCounts):
    """What launches runs, those that are open by and by, and gives them up."""

    def _launch(self, run: Run) -> Found | Unfinished:
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

    def _launched(self, run: Run, found: Found | Unfinished) -> None:
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
            found: Found | None = None
            try:
                found = unfinished.advance()
            except BaseException as error:  # Ctrl-C, say; a fault of the backend's own is the run's, too
                lost = RunError(f"program {run.program}: {type(error).__name__}: {error}").because(error)
                found = [lost] * len(run.loaded.outputs), {}
                if not isinstance(error, Exception):
                    raise
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
                    launched: Found | Unfinished
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
