"""The threads of islands, which wait for runs in flight and then launch what there is room for.  Imports jax."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.recorder import Recorder
from pcg.runtime.islands.run import Run
from pcg.runtime.islands.run_launcher import LOOK, RunLauncher


class RunThreads(RunLauncher):
    """What launches runs that have waited, and notes what is done while somebody records."""

    def __init__(self, policy: str, cap: int, host: int, unparked: Callable[[Run], None]) -> None:
        super().__init__(policy, cap, host, unparked)
        self._closed = False

    def _watch(self, lane: Lane) -> None:
        """Have a thread that goes on when the runs in flight on an island are done."""
        if lane.thread is None:
            lane.thread = threading.Thread(target=self._serve, args=(lane,), name=f"pcg {lane.name}", daemon=True)
            lane.thread.start()
        lane.wake.notify()

    def _wake(self) -> None:
        for lane in self._lanes.values():
            if lane.thread is not None and (self._closed or self._waits(lane)):
                lane.wake.notify()

    def _go_on(self) -> None:
        """Launch what others have submitted while this thread launched."""
        with self._lock:
            self._collect()
            self._pump()
            self._wake()

    def _serve(self, lane: Lane) -> None:
        while True:
            with self._lock:
                while not self._waits(lane):
                    if self._closed or lane.gone:
                        return
                    lane.wake.wait()
                self._collect()
                self._expire()
                self._pump()
                if lane.gone:
                    return
                if not lane.runs:
                    # It waits for another island, or for memory that a client frees.
                    lane.wake.wait(LOOK)
                    continue
                run, token, _ = lane.runs[0]
            run.loaded.wait(token)
            del run, token

    def _waits(self, lane: Lane) -> bool:
        """Whether a thread is to wait for what is in flight on an island."""
        if lane.queue.waiting or (self._recorder is not None and lane.runs):
            return True
        return bool(self._open) and self._open.on(lane.name)  # it looks after their deadlines

    @contextmanager
    def recorded(self) -> Iterator[Recorder]:
        """What notes the runs that are done meanwhile; it has all of them at the end."""
        self.drain()
        with self._lock:
            self._recorder = recorder = Recorder()
            for lane in self._lanes.values():
                lane.room = 0
                self._watch(lane)
        try:
            yield recorder
        finally:
            self.drain()
            with self._lock:
                self._recorder = None
