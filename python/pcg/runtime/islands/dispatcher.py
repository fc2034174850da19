"""Runs of programs on islands: they wait, are launched in one order, and are waited for.  Imports jax.

A run that nothing is in front of is launched by the thread that submits it, within the call.  Others wait; each island
that something waits for has a thread, which waits for the runs in flight there and then launches what the scheduler
chooses.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pcg.controller.faults import Cancelled, DeadlineExceeded, IslandFailed, RunError
from pcg.controller.quotas import Quota
from pcg.controller.scheduler import IN_FLIGHT, Scheduler, Ticket
from pcg.controller.store import Entry, ObjectStore
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.run import LaunchedAtOnce, Run
from pcg.runtime.islands.usage import Usage, usage
from pcg.viz.runs import IslandRun

#: How often a thread looks whether memory was freed, or a deadline passed, while nothing else would tell it.
_LOOK = 0.01
#: Seconds that a call waits itself for room in the queues, before a thread does.
_BRIEFLY = 3e-4
#: Seconds until a run must be launched, unless its client says otherwise.
DEADLINE = 3600.0


class Dispatcher:
    """All that is shared by the clients of a controller: scheduler, store, runs in flight.

    Args:
      islands: bytes per device of each island that programs may use, None: not limited.
    """

    def __init__(self, islands: Mapping[str, int | None], policy: str = "stride", cap: int = IN_FLIGHT) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.scheduler = Scheduler(policy, cap)
        self.store = ObjectStore()
        self._runs: dict[Ticket, Run] = {}
        self._in_flight: dict[str, deque[tuple[Run | LaunchedAtOnce, Any]]] = {}
        self.most: dict[str, int] = {}
        """By island, programs in flight at once, the most so far."""
        self._idle_since: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._closed = False
        self._launching = False
        """Whether a thread is launching: one does at a time, without the lock, so that others can submit meanwhile."""
        self._number = 0
        self._record: list[IslandRun] | None = None
        self._recording_since = 0.0
        self._quotas: dict[str, Quota] = {}
        self._launching_on: Sequence[str] = ()
        """Islands of the run that is launched, or was last."""
        for name, memory in islands.items():
            self.add_island(name, memory)

    def add_island(self, name: str, memory: int | None = None) -> None:
        with self._lock:
            self.scheduler.add_island(name, memory)
            self._in_flight[name] = deque()
            self.most[name] = 0
            self._idle_since[name] = time.perf_counter()

    @property
    def limited(self) -> bool:
        """Whether some island says how many bytes programs may use."""
        return any(q.memory is not None for q in self.scheduler.queues.values())

    # -- quotas and use ------------------------------------------------------------------------

    def set_quota(self, client: str, quota: Quota) -> None:
        """Limit what a client may have; what it has already stays."""
        with self._lock:
            self._quotas.pop(client, None)
            if quota.limits:
                self._quotas[client] = quota

    def quota(self, client: str) -> Quota:
        """What a client may have."""
        return self._quotas.get(client, Quota())

    def _check_quota(self, quota: Quota, client: str, loaded: Loaded) -> None:
        adds: dict[str, int] = {}
        for _, island, nbytes in loaded.outputs:
            adds[island] = adds.get(island, 0) + nbytes
        quota.check(
            client, loaded.name, adds, lambda island: self.store.nbytes(island, client),
            lambda: sum(run.client == client for run in self._runs.values()),
        )  # fmt: skip

    def usage(self) -> Usage:
        """What is under way and kept now."""
        with self._lock:
            self._collect()
            return usage(self.scheduler, self.store, self._in_flight, self._runs.values())

    def busy(self) -> dict[str, bool]:
        """By island, whether something runs there."""
        with self._lock:
            self._collect()
            now = self._launching_on if self._launching else ()  # small CPU programs run in the call
            return {name: bool(runs) or name in now for name, runs in self._in_flight.items()}

    # -- submitting ----------------------------------------------------------------------------

    def submit(
        self, client: str, loaded: Loaded, arguments: list[Any], seconds: float = DEADLINE
    ) -> list[ShardedFuture]:
        """Run a program; `arguments` are arrays on the host or on devices, or futures.

        Raises:
          MemoryError: it can never fit.
          QuotaExceeded: its client would have more than it may.
          RunError: an island that it needs is gone.
        """
        with self._lock:
            if self._closed:
                raise Cancelled(f"program {loaded.name}: the controller is closed")
            self._collect()
            if (quota := self._quotas.get(client)) is not None:
                self._check_quota(quota, client, loaded)
            after = [a._run.ticket for a in arguments if type(a) is ShardedFuture and not a._run.ticket.launched]
            ticket = self._start_at_once(client, loaded) if not after and not self._launching else None
            at_once = ticket is not None
            if ticket is None:
                ticket = self.scheduler.submit(client, loaded.name, loaded.islands, loaded.nbytes, after)
            self._number += 1
            put, number = self.store.put, self._number
            entries = [put(client, number, island, nbytes) for _, island, nbytes in loaded.outputs]
            run = Run(number, client, loaded, arguments, entries, time.monotonic() + seconds)
            run.ticket = ticket
            futures = [ShardedFuture(e, run, self, out[0]) for e, out in zip(entries, loaded.outputs, strict=True)]
            if at_once:
                self._launching = True
            else:
                self._runs[ticket] = run
                for name in loaded.islands:
                    self._watch(name)
                self._changed.notify_all()
        if at_once:
            launched: tuple[Sequence[Any], Mapping[str, Any]] = [], {}
            try:
                launched = self._launch(run)
            except BaseException as error:  # Ctrl-C, say: what was not launched has no values
                lost = Cancelled(f"program {loaded.name} was interrupted: {type(error).__name__}")
                launched = [lost] * len(run.entries), {}
                raise
            finally:
                with self._lock:
                    self._launching = False
                    self._launched(run, *launched)
                    if self._runs or self._record is not None:
                        self._changed.notify_all()
        return futures

    def quick(
        self, client: str, loaded: Loaded, placed: Sequence[Any]
    ) -> Callable[[Sequence[Any]], list[ShardedFuture] | None] | None:
        """`submit` of a program of one computation, for futures that are as `placed` says.

        What it returns does nothing, and returns None, where that is not all there is to do: something waits, an
        argument is not computed yet by a launched program, or is elsewhere.  None if the program is another one.
        """
        direct = loaded.direct
        if direct is None or client in self._quotas or self.scheduler.queues[loaded.islands[0]].memory is not None:
            return None
        island = loaded.islands[0]
        queue, in_flight, lock, put = self.scheduler.queues[island], self._in_flight[island], self._lock, self.store.put
        outputs = [(out[0], out[2]) for out in loaded.outputs]
        done = LaunchedAtOnce(loaded)
        count = len(placed)

        def run(args: Sequence[Any]) -> list[ShardedFuture] | None:
            if len(args) != count:
                return None
            values = []
            for a, p in zip(args, placed, strict=True):
                if type(a) is not ShardedFuture or a.placed is not p:
                    return None
                values.append(a._entry.value)
            with lock:
                if self._launching or self._record is not None:
                    return None
                if queue.in_flight >= queue.cap:
                    self._collect()
                if (
                    queue.waiting
                    or queue.in_flight >= queue.cap
                    or self._closed
                    or self._in_flight.get(island) is not in_flight
                ):
                    return None
                for value in values:
                    if value is None or isinstance(value, RunError) or value.is_deleted():
                        return None
                self._launching = True
            out: Sequence[Any] = ()
            try:
                out, token = direct(values)
            finally:
                if not out:  # Ctrl-C, say
                    with lock:
                        self._launching = False
                        self._changed.notify_all()
            with lock:
                self._launching = False
                if self._runs:
                    self._changed.notify_all()
                if token is not None and self._in_flight.get(island) is in_flight:
                    queue.in_flight += 1
                    in_flight.append((done, token))
                    if queue.in_flight > self.most[island]:
                        self.most[island] = queue.in_flight
                self._number = number = self._number + 1
                futures = []
                for (what, nbytes), value in zip(outputs, out, strict=True):
                    entry = put(client, number, island, nbytes)
                    entry.value = value
                    futures.append(ShardedFuture(entry, done, self, what))
            return futures

        return run

    def _start_at_once(self, client: str, loaded: Loaded) -> Ticket | None:
        """A launched run, if nothing is in front of it."""
        for name in loaded.islands:
            if name not in self._in_flight:
                raise IslandFailed(name, loaded.name, "it is gone")
        start = self.scheduler.start_at_once
        ticket = start(client, loaded.name, loaded.islands, loaded.nbytes)
        if ticket is None and not any(self._waits(name) for name in loaded.islands):
            # Of programs that are over in no time it is quicker to wait for one than to have a thread do so.
            end = time.perf_counter() + _BRIEFLY
            while ticket is None and time.perf_counter() < end:
                self._collect()
                ticket = start(client, loaded.name, loaded.islands, loaded.nbytes)
        return ticket

    def _launch(self, run: Run) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Put a run into the queues of its devices: values of its results, tokens by island.  Without the lock."""
        self._launching_on = run.loaded.islands
        arguments: list[Any] = []
        lost: RunError | None = None
        for a in run.arguments:
            if type(a) is ShardedFuture:
                a = a._entry.value
                if isinstance(a, RunError):
                    lost = lost or a
                elif a is None or a.is_deleted():  # jax would crash
                    lost = Cancelled(f"program {run.program}: an argument was donated to an earlier program, or freed")
            arguments.append(a)
        run.arguments = []
        run.started = time.perf_counter()
        if lost is None:
            try:
                return run.loaded.launch(arguments)
            except Exception as error:  # a fault of the dispatcher's own is the run's, too: nobody waits for nothing
                lost = RunError(f"program {run.program}: {type(error).__name__}: {error}")
                lost.because(error)
        return [lost] * len(run.loaded.outputs), {}

    def _launched(self, run: Run, values: Sequence[Any], tokens: Mapping[str, Any]) -> None:
        """Note that a run is in the queues of its devices."""
        for entry, value in zip(run.entries, values, strict=True):
            if entry.handle in self.store.entries:  # else it was freed meanwhile, or its island is gone
                entry.value = value
        run.launched = True
        for name in run.loaded.islands:
            if name in tokens and name in self._in_flight:
                self._in_flight[name].append((run, tokens[name]))
                self.most[name] = max(self.most[name], len(self._in_flight[name]))
            else:
                self._finished(run, name, None)

    def _finished(self, run: Run | LaunchedAtOnce, island: str, seconds: float | None) -> None:
        if isinstance(run, LaunchedAtOnce):
            if (queue := self.scheduler.queues.get(island)) is not None:
                queue.in_flight -= 1
            return
        run.left -= 1
        # What was freed before the run was done is not kept.
        kept = 0
        for e in run.entries:
            if e.island == island and e.handle in self.store.entries:
                e.kept = True
                kept += e.nbytes
        assert run.ticket is not None
        self.scheduler.finished(run.ticket, island, seconds, kept)
        if not run.left:
            run.entries = []

    def _collect(self) -> None:
        """Count what was freed, and what is done."""
        for entry in self.store.freed():
            self._release(entry)
        for name, runs in self._in_flight.items():
            while runs and runs[0][0].loaded.ready(runs[0][1]):
                run, _ = runs.popleft()
                now = time.perf_counter()
                # Where nobody waits nobody needs to know how long a program takes.
                start = max(run.started, self._idle_since[name])
                seconds = now - start if self._runs and run.started else None
                self._note(run, name, start, now)
                self._idle_since[name] = now
                self._finished(run, name, seconds)

    def _release(self, entry: Entry) -> None:
        """The bytes of a freed buffer are free, if its run is done; else it never keeps them."""
        if entry.kept:
            self.scheduler.release(entry.island, entry.nbytes)

    def _pump(self) -> None:
        """Launch what can be launched, unless another thread does."""
        if self._launching:
            return
        self._launching = True
        try:
            for ticket in self.scheduler.launch():
                run = self._runs.pop(ticket)
                self._lock.release()
                try:
                    launched = self._launch(run)
                finally:
                    self._lock.acquire()
                self._launched(run, *launched)
        finally:
            self._launching = False
        self._changed.notify_all()

    # -- waiting -------------------------------------------------------------------------------

    def _watch(self, island: str) -> None:
        """Have a thread that goes on when the runs in flight on an island are done."""
        if island not in self._threads:
            thread = threading.Thread(target=self._serve, args=(island,), name=f"pcg island {island}", daemon=True)
            self._threads[island] = thread
            thread.start()

    def _serve(self, island: str) -> None:
        while True:
            with self._lock:
                while not self._waits(island):
                    if self._closed or island not in self._in_flight:
                        return
                    self._changed.wait()
                self._collect()
                self._expire()
                self._pump()
                runs = self._in_flight.get(island)
                if runs is None:
                    return
                if not runs:
                    # It waits for another island, or for memory that a client frees.
                    self._changed.wait(_LOOK)
                    continue
                run, token = runs[0]
            run.loaded.wait(token)
            end = time.perf_counter()
            with self._lock:
                if not runs or runs[0][0] is not run:
                    continue  # somebody else has seen that it is done
                runs.popleft()
                start = max(run.started, self._idle_since[island])
                self._idle_since[island] = end
                self._note(run, island, start, end)
                self._finished(run, island, end - start)
                self._pump()

    def _waits(self, island: str) -> bool:
        """Whether a thread is to wait for what is in flight on an island."""
        queue = self.scheduler.queues.get(island)
        recorded = self._record is not None and bool(self._in_flight.get(island))
        return recorded or (queue is not None and bool(queue.waiting))

    # -- recording -----------------------------------------------------------------------------

    @contextmanager
    def recorded(self) -> Iterator[list[IslandRun]]:
        """The runs that are done meanwhile, in a list that is complete at the end."""
        self.drain()
        with self._lock:
            self._record, self._recording_since = [], time.perf_counter()
            found = self._record
            for name in self._in_flight:
                self._watch(name)
        try:
            yield found
        finally:
            self.drain()
            with self._lock:
                self._record = None

    def _note(self, run: Run | LaunchedAtOnce, island: str, start: float, end: float) -> None:
        if self._record is not None and isinstance(run, Run):
            zero = self._recording_since
            times = run.submitted - zero, max(start, zero) - zero, end - zero
            self._record.append(IslandRun(island, run.client, run.program, run.number, *times))

    def _expire(self) -> None:
        """Runs whose deadline has passed while they waited have no results."""
        now = time.monotonic()
        for ticket, run in [(t, r) for t, r in self._runs.items() if r.deadline < now]:
            why = self.scheduler.why_waiting(ticket)
            self._give_up(run, DeadlineExceeded(f"program {run.program} waited until its deadline: {why}"))

    def _give_up(self, run: Run, error: RunError) -> None:
        """A run that waits gets no turn: its results are an error."""
        assert run.ticket is not None
        self.scheduler.withdraw(run.ticket)
        self._runs.pop(run.ticket, None)
        run.arguments = []
        run.launched = True
        for entry in run.entries:
            self.store.remove(entry, error)
        self._changed.notify_all()

    def wait_for_launch(self, run: Run | LaunchedAtOnce) -> None:
        """Wait until a run is launched, or has failed."""
        with self._lock:
            while not run.launched:
                self._changed.wait(_LOOK)

    def drain(self) -> None:
        """Wait until nothing waits and nothing is in flight."""
        while True:
            with self._lock:
                self._collect()
                left = next((q[-1] for q in self._in_flight.values() if q), None)
                if left is None and not self._runs and not self._launching:
                    return
                if left is None:
                    self._changed.wait(_LOOK)
                    continue
            left[0].loaded.wait(left[1])

    # -- leaving -------------------------------------------------------------------------------

    def forget(self, client: str) -> None:
        """A client is gone: its runs that wait are not launched, its buffers are freed."""
        with self._lock:
            self._quotas.pop(client, None)
            error = Cancelled(f"client {client} is closed")
            for ticket in self.scheduler.forget(client):
                if (run := self._runs.get(ticket)) is not None:
                    self._give_up(run, error)
            self._collect()
            for entry in self.store.of_client(client):
                if self.store.remove(entry, error):
                    self._release(entry)
            self._pump()

    def lose(self, island: str, cause: str) -> None:
        """An island is gone: runs that wait for it or are in flight there fail, buffers there are lost."""
        with self._lock:
            for ticket in self.scheduler.remove_island(island):
                if (waiting := self._runs.get(ticket)) is not None:
                    self._give_up(waiting, IslandFailed(island, f"{waiting.number} of {waiting.program}", cause))
            for run, _ in self._in_flight.pop(island):
                for entry in run.entries:
                    if self.store.remove(entry, IslandFailed(island, f"{run.number} of {run.program}", cause)):
                        self._release(entry)
            for entry in [e for e in self.store.entries.values() if e.island == island]:
                self.store.remove(entry, IslandFailed(island, str(entry.run), cause))
            self._threads.pop(island, None)
            self._pump()

    def close(self) -> None:
        """No further runs; threads end when those in flight are done."""
        self.drain()
        with self._lock:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads.values():
            thread.join(timeout=10)
