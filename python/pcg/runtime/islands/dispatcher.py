"""Runs of programs on islands: they wait, are launched in one order, and are waited for.  Imports jax.

A run that nothing is in front of is launched by the thread that submits it, within the call.  Others wait; what there
is room for is launched by the thread that has launched before.  Each island that has no room has a thread, which waits
for the runs in flight there and then launches what the scheduler chooses.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pcg.controller.faults import Cancelled, IslandFailed, RunError
from pcg.controller.queues import Ticket
from pcg.controller.quotas import Quota
from pcg.controller.scheduler import IN_FLIGHT
from pcg.controller.slices import Slice
from pcg.controller.store import Entry
from pcg.runtime.islands.backend import Loaded, Unfinished
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.run import QuickRuns, Run
from pcg.runtime.islands.run_launcher import Found
from pcg.runtime.islands.run_threads import RunThreads
from pcg.runtime.islands.short_path import Front, Shared, ShortPath, short_path

#: Seconds that a call waits itself for room in the queues, before a thread does: while it looks again and again, and in
#: all; and calls that do not after one for which that was in vain, as programs take longer.
_BRIEFLY, _SOON, _IN_VAIN = 3e-4, 5e-3, 32
#: Seconds until a run must be launched, unless its client says otherwise.
DEADLINE = 3600.0


class Dispatcher(RunThreads):
    """All that is shared by the clients of a controller: scheduler, store, runs in flight.

    Args:
      islands: bytes per device of each island that programs may use, None: not limited.
      host: bytes of host memory for results that make room on devices, where memory is limited.
    """

    def __init__(
        self, islands: Mapping[str, int | None], policy: str = "stride", cap: int = IN_FLIGHT, host: int = 0
    ) -> None:
        super().__init__(policy, cap, host, self._unparked)
        self._number = 0
        self._quotas: dict[str, Quota] = {}
        for name, memory in islands.items():
            self.add_island(name, memory)

    @property
    def limited(self) -> bool:
        """Whether some island says how many bytes programs may use."""
        return any(q.memory is not None for q in self.scheduler.queues.values())

    # -- quotas --------------------------------------------------------------------------------

    def set_quota(self, client: str, quota: Quota) -> None:
        """Limit what a client may have; what it has already stays."""
        with self._lock:
            self._quotas.pop(client, None)
            if quota.limits:
                self._quotas[client] = quota
                for lane in self._lanes.values():
                    lane.room = 0

    def quota(self, client: str) -> Quota:
        """What a client may have."""
        return self._quotas.get(client, Quota())

    def _check_quota(self, quota: Quota, client: str, loaded: Loaded) -> None:
        adds: dict[str, int] = {}
        for _, island, nbytes in loaded.outputs:
            adds[island] = adds.get(island, 0) + nbytes
        quota.check(
            client, loaded.name, adds, lambda island: self.store.nbytes(island, client),
            lambda: self._queued(client),
        )  # fmt: skip

    # -- submitting ----------------------------------------------------------------------------

    def submit(
        self, client: str, loaded: Loaded, arguments: list[Any], seconds: float = DEADLINE,
        into: Sequence[ShardedFuture] = (),
    ) -> list[ShardedFuture]:  # fmt: skip
        """Run a program; `arguments` are arrays on the host or on devices, or futures.

        Returns its results, which are `into`, if given.

        Raises:
          MemoryError: it can never fit.
          QuotaExceeded: its client would have more than it may.
          RunError: an island that it needs is gone.
        """
        with self._lock:
            if self._closed:
                raise Cancelled(f"program {loaded.name}: the controller is closed")
            lanes = self._lanes_of(loaded)
            self._collect()
            if (quota := self._quotas.get(client)) is not None:
                self._check_quota(quota, client, loaded)
            if self._open.waits(client, loaded, arguments):
                return self._park(client, loaded, arguments, seconds, into)
            after, reads = self._before(arguments, lanes)
        futures: list[ShardedFuture] | None = None
        if not after and not self._open.going_on and self._launching.take():
            try:
                futures = self._at_once(client, loaded, arguments, lanes, reads, seconds, into)
            finally:
                self._launching.give()
        if futures is None:
            with self._lock:
                self._lanes_of(loaded)
                ticket = self.scheduler.submit(client, loaded.name, loaded.islands, loaded.nbytes, after, reads)
                run, futures = self._run(client, loaded, arguments, ticket, seconds, into)
                self._wait(run, lanes)
                self._pump()  # who launches now does so afterwards
                if not run.launched:
                    for lane in lanes:
                        self._watch(lane)
        elif self._runs or self._recorder is not None:
            self._go_on()
        return futures

    def _before(self, arguments: Sequence[Any], lanes: Sequence[Lane]) -> tuple[list[Ticket], tuple[Entry, ...]]:
        """Runs that wait whose results a run reads; and buffers that it reads, where memory is limited."""
        own = [a for a in arguments if type(a) is ShardedFuture]
        after = [a._run.ticket for a in own if not a._run.ticket.launched]
        return after, self._reads(own) if any(lane.queue.memory is not None for lane in lanes) else ()

    def _wait(self, run: Run, lanes: Sequence[Lane]) -> None:
        """A run that has a ticket waits."""
        self._runs[run.ticket] = run
        for lane in lanes:
            lane.room = 0  # the short path goes no further
        if run.loaded.exchanges:
            self._opened(run)

    def _opened(self, run: Run) -> None:
        """A run is open: until it is not, the short path, which does not look at open runs, launches nothing."""
        self._open.open(run)
        for lane in self._lanes.values():
            lane.room = 0
        self._watch(self._lanes[run.loaded.islands[0]])

    def _park(
        self, client: str, loaded: Loaded, arguments: list[Any], seconds: float, into: Sequence[ShardedFuture]
    ) -> list[ShardedFuture]:  # fmt: skip
        """A run that waits for open runs before it waits as others do."""
        run, futures = self._run(
            client, loaded, arguments, Ticket(0, client, loaded.name, loaded.islands, {}), seconds, into
        )  # fmt: skip
        self._open.parked.append(run)
        self._watch(self._lanes[loaded.islands[0]])
        return futures

    def _unparked(self, run: Run) -> None:
        """A run that was parked waits as others do."""
        loaded = run.loaded
        try:
            lanes = self._lanes_of(loaded)
            after, reads = self._before(run.arguments, lanes)
            run.ticket = self.scheduler.submit(run.client, loaded.name, loaded.islands, loaded.nbytes, after, reads)
        except (RunError, MemoryError) as error:
            self._give_up(run, error if isinstance(error, RunError) else RunError(str(error)))
            return
        run.reads = run.ticket.reads
        self._wait(run, lanes)
        for lane in lanes:
            self._watch(lane)

    def _run(
        self, client: str, loaded: Loaded, arguments: list[Any], ticket: Ticket, seconds: float,
        into: Sequence[ShardedFuture],
    ) -> tuple[Run, list[ShardedFuture]]:  # fmt: skip
        """A run, and the futures of its results."""
        self._number += 1
        run = Run(self._number, client, loaded, arguments, ticket, time.monotonic() + seconds)
        if self._recorder is not None:
            self._recorder.submitted(run)
        futures = []
        for i, (what, island, nbytes) in enumerate(loaded.outputs):
            future = ShardedFuture.of(run, what, into[i] if into else None)
            futures.append(future)
            run.results.append(self.store.put(future, client, run.number, island, nbytes))
        return run, futures

    def _at_once(
        self, client: str, loaded: Loaded, arguments: list[Any], lanes: Sequence[Lane], reads: tuple[Entry, ...],
        seconds: float, into: Sequence[ShardedFuture],
    ) -> list[ShardedFuture] | None:  # fmt: skip
        """Launch a run that nothing is in front of; None if something is.  By who launches."""
        with self._lock:
            ticket = self._start_at_once(client, loaded, lanes, reads)
            if ticket is None:
                return None
            run, futures = self._run(client, loaded, arguments, ticket, seconds, into)
            self._read(run)
            if loaded.exchanges:
                self._opened(run)
        launched: Found | Unfinished = [], {}
        try:
            launched = self._launch(run)
        except BaseException as error:  # Ctrl-C, say: what was not launched has no values
            lost = Cancelled(f"program {loaded.name} was interrupted: {type(error).__name__}")
            launched = [lost] * len(futures), {}
            raise
        finally:
            with self._lock:
                self._launched(run, launched)
        return futures

    def _lanes_of(self, loaded: Loaded) -> list[Lane]:
        for name in loaded.islands:
            if name not in self._lanes:
                raise IslandFailed(name, loaded.name, "it is gone")
        return [self._lanes[name] for name in loaded.islands]

    def _reads(self, futures: Sequence[ShardedFuture]) -> tuple[Entry, ...]:
        """What is known of futures that have buffers, or will have."""
        found = (self.store.entries.get(weakref.ref(a)) for a in futures if not isinstance(a._value, RunError))
        return tuple(dict.fromkeys(entry for entry in found if entry is not None))

    def _start_at_once(
        self, client: str, loaded: Loaded, lanes: Sequence[Lane], reads: tuple[Entry, ...]
    ) -> Ticket | None:
        """A launched run, if nothing is in front of it; by who launches."""
        for lane in lanes:
            lane.flush()
        start = self.scheduler.start_at_once
        ticket = start(client, loaded.name, loaded.islands, loaded.nbytes, reads)
        if ticket is None:
            full = [lane for lane in lanes if lane.queue.in_flight >= lane.queue.cap]
            if any(lane.impatient or self._waits(lane) for lane in full):
                for lane in full:
                    lane.impatient = max(lane.impatient - 1, 0)
            elif full:
                # Of programs that are over soon it is quicker to wait for one than to have a thread do so.
                begin = time.perf_counter()
                ticket = self._when_over(
                    full[0], lambda: start(client, loaded.name, loaded.islands, loaded.nbytes, reads)
                )  # fmt: skip
                soon = ticket is not None and time.perf_counter() < begin + _SOON
                for lane in full:
                    lane.impatient = 0 if soon else _IN_VAIN
                full[0].soon = loaded if soon else None
        return ticket

    def _when_over(self, lane: Lane, start: Callable[[], Ticket | None]) -> Ticket | None:
        """Wait until the oldest runs on an island are over, and start; None if that is in vain.

        If they are of the program that was over soon last time it waits for them.  Else it looks again and again, which
        takes the time of a core from CPU devices, and then now and then.
        """

        def after(wait: Callable[[], None]) -> Ticket | None:
            self._lock.release()
            try:
                wait()
            finally:
                self._lock.acquire()
            self._collect()
            return None if self._closed or lane.gone else start()

        if lane.runs and lane.runs[0][0].loaded is lane.soon:
            run, token, _ = lane.runs[0]
            return after(lambda: run.loaded.wait(token))
        begin, ticket = time.perf_counter(), None
        while ticket is None and time.perf_counter() < begin + _BRIEFLY:
            self._collect()
            ticket = start()
        while ticket is None and not lane.gone and time.perf_counter() < begin + _SOON:
            ticket = after(lambda: time.sleep(_BRIEFLY / 3))
        return ticket

    def quick(
        self, front: Front, loaded: Loaded, arguments: Sequence[ShardedFuture], slice: Slice, version: int, tree: Any
    ) -> ShortPath | None:  # fmt: skip
        """What runs a program of one computation for futures that are where these are, while its slice is there.

        None if the program is another one.  It calls `front.slow` where launching is not all there is to do: something
        waits, an argument is not computed yet by a launched program, or is elsewhere.
        """
        lane = self._lanes.get(loaded.islands[0])
        if loaded.direct is None or lane is None or lane.queue.memory is not None or front.client in self._quotas:
            return None
        with self._lock:
            account = self.store.account(front.client, loaded.islands[0])
        shared = Shared(self.store, self._launching, self._more, self._runs, self._go_on)
        return short_path(front, loaded, arguments, slice, version, tree, lane, account, shared)

    def _more(self, lane: Lane, quick: QuickRuns) -> bool:
        """Whether the short path may launch more.  By who launches, without the lock."""
        if lane.renew(quick):
            if not self._is_stopped(lane, quick):
                return True
            lane.room = 0  # nothing stops it before it says why, so one of the two sees the other
        with self._lock:
            lane.flush()
            self._collect()
            return not self._is_stopped(lane, quick) and lane.allow(quick)

    def _is_stopped(self, lane: Lane, quick: QuickRuns) -> bool:
        """Whether something is there that the short path does not look at."""
        return bool(
            self._closed or lane.gone or lane.queue.waiting or self._recorder is not None or self._open
            or quick.client in self._quotas
        )  # fmt: skip

    # -- leaving -------------------------------------------------------------------------------

    def forget(self, client: str) -> None:
        """A client is gone: its runs that wait are not launched, its buffers are freed."""
        with self._lock:
            self._quotas.pop(client, None)
            error = Cancelled(f"client {client} is closed")
            for parked in [r for r in self._open.parked if r.client == client]:
                self._lose_open(parked, error)
            for ticket in self.scheduler.forget(client):
                if (run := self._runs.get(ticket)) is not None:
                    self._give_up(run, error)
            self._collect()
            self._remove(self.store.of_client(client), error)
            self.store.forget(client)
            self._pump()

    def lose(self, island: str, cause: str) -> None:
        """An island is gone: runs that wait for it or are in flight there fail, buffers there are lost."""
        with self._lock:
            self._collect()
            for ticket in self.scheduler.remove_island(island):
                if (waiting := self._runs.get(ticket)) is not None:
                    self._give_up(waiting, IslandFailed(island, f"{waiting.number} of {waiting.program}", cause))
            lane = self._lanes.pop(island)
            lane.gone, lane.room = True, 0
            for known in [r for r in (*self._open.parked, *self._open.unfinished) if island in r.loaded.islands]:
                self._lose_open(known, IslandFailed(island, f"{known.number} of {known.program}", cause))
            for run, _, _ in lane.runs:
                if isinstance(run, Run):
                    self._remove(run.results, IslandFailed(island, f"{run.number} of {run.program}", cause))
            for reference in self.store.of_island(island):
                entry = self.store.entries[reference]
                self.store.remove(reference, IslandFailed(island, str(entry.run), cause))
            lane.wake.notify_all()
            self._pump()

    def close(self) -> None:
        """No further runs; threads end when those in flight are done."""
        self.drain()
        with self._lock:
            self._closed = True
            for lane in self._lanes.values():
                lane.room = 0
            self._wake()
            threads = [lane.thread for lane in self._lanes.values() if lane.thread is not None]
        for thread in threads:
            thread.join(timeout=10)
