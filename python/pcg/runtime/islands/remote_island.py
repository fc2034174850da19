"""The controller's end of an island in other processes: talks to them, notices when one is gone.  Needs no jax."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pcg.controller.faults import IslandFailed, RunError
from pcg.runtime.islands.launcher import Launched
from pcg.runtime.islands.link import END, START, Link
from pcg.runtime.islands.protocol import (
    Answer,
    Count,
    Done,
    Enqueued,
    Fault,
    Fetch,
    Group,
    Hello,
    HostArray,
    Packed,
    Started,
    Stop,
)  # fmt: skip

#: Seconds that processes of an island may be apart at the end of a run that has failed.
APART = 10.0


class Waiter(Protocol):
    """A run that is under way."""

    number: int
    program: str
    enqueued: threading.Event

    def finish(self, errors: dict[int, RunError], lost: RunError | None = None) -> None:
        """It is over."""


class RemoteIsland:
    """An island whose devices are in other processes: one or, where it has several hosts, one for each of these.

    Args:
      devices: stand-ins or jax devices, in the order of the processes.
      processes: those that were started for it.
      deadline: seconds that it may take to do anything; one that takes longer is ended, and so has failed.
      on_end: called once with (this, cause) when it is gone unasked, in a thread of its own.
    """

    def __init__(
        self, name: str, devices: Sequence[Any], processes: Sequence[Launched], deadline: float,
        on_end: Callable[[RemoteIsland, str], None],
    ) -> None:  # fmt: skip
        self.name, self.devices, self.deadline = name, tuple(devices), deadline
        self.addresses: tuple[str, ...] = ()
        """Of the transfer servers of its processes, once all have started."""
        self.pids: tuple[int, ...] = ()
        """Of its processes, on their machines, once all have started."""
        self.failed = ""
        """Why it is gone."""
        self.messages: Counter[str] = Counter()
        """Messages to each of its processes, by kind."""
        self.exchanged: Counter[str] = Counter()
        """What exchanges of its have given to others."""
        self.known: set[int] = set()
        """Device programs that it has."""
        self._on_end = on_end
        self._closing = self._over = False
        self._lock = threading.Lock()
        self._order = threading.Lock()
        """Taken while all processes are told something, so that they are told any two things in the same order."""
        self._runs: dict[int, Waiter] = {}
        self._answers: dict[int, tuple[threading.Event, list[Any]]] = {}
        self._parts: dict[tuple[type, int], dict[int, Any]] = {}
        """What some of the processes have said, of what all will say, by kind and number."""
        self._numbers = itertools.count()
        self._released: deque[int] = deque()
        self._started = threading.Event()
        self._links = tuple(Link(p, f"{name}.{i}", self._take, self._gone) for i, p in enumerate(processes))
        for link in self._links:
            link.start()

    @property
    def processes(self) -> int:
        return len(self._links)

    # -- to it -----------------------------------------------------------------------------------

    def wait_until_started(self) -> None:
        """Raises IslandFailed if it does not start."""
        if not self._started.wait(START):
            self.kill(f"its processes did not start in {START:.0f} s")
        if not self.addresses:
            raise IslandFailed(self.name, "no run", self.failed)

    def send(self, message: Any) -> None:
        """Raises IslandFailed if it is gone."""
        self.messages[type(message).__name__.lower()] += 1
        try:
            packed = Packed.of(message)
            with self._order:
                for link in self._links:
                    link.send(packed)
        except OSError:
            what = str(getattr(message, "run", "none"))
            raise IslandFailed(self.name, what, self.failed or "its process ended") from None

    def start(self, run: Waiter, message: Any) -> None:
        """Send a run, which is over when the process says so, or is gone."""
        with self._lock:
            self._runs[run.number] = run
        try:
            self.send(message)
        except IslandFailed:
            self._lose(run)
        if self.failed:  # it may have been lost before the run was entered
            self._lose(run)

    def released(self) -> tuple[int, ...]:
        """What to tell it with the next message: numbers that nobody needs any more."""
        found = []
        while self._released:
            found.append(self._released.popleft())
        return tuple(found)

    def release(self, key: int) -> None:
        self._released.append(key)

    def fetch(self, key: int) -> HostArray:
        return HostArray.joined(self._query(lambda n: Fetch(n, key, self.released()), "a value"))

    def count(self) -> int:
        """How many values it keeps."""
        return int(max(self._query(lambda n: Count(n, self.released()), "a number")))

    def wait(self, event: threading.Event, what: str) -> None:
        if not event.wait(self.deadline):
            self.kill(f"{what} was not over in {self.deadline:g} s")
            event.wait(END)

    def _query(self, message: Callable[[int], Any], what: str) -> list[Any]:
        """What each process answers."""
        self.wait_until_started()
        number, event = next(self._numbers), threading.Event()
        box: list[Any] = []
        with self._lock:
            self._answers[number] = event, box
        self.send(message(number))
        if self.failed:
            event.set()
        self.wait(event, f"the request for {what}")
        with self._lock:
            self._answers.pop(number, None)
        if not box:
            raise IslandFailed(self.name, f"none: it was asked for {what}", self.failed or "no answer")
        if (fault := next((x for x in box if isinstance(x, Fault)), None)) is not None:
            raise fault.error()
        return box

    # -- from it ---------------------------------------------------------------------------------

    def _all(self, link: Link, message: Any, number: int) -> list[Any] | None:
        """What all processes have said under this number, when the last one has; None before."""
        if len(self._links) == 1:
            return [message]
        key = type(message), number
        with self._lock:
            said = self._parts.setdefault(key, {})
            said[self._links.index(link)] = message
            if len(said) < len(self._links):
                return None
            del self._parts[key]
        return [said[i] for i in sorted(said)]

    def _take(self, link: Link, message: Any) -> None:
        if isinstance(message, Done):
            if (said := self._all(link, message, message.run)) is not None:
                with self._lock:
                    run = self._runs.pop(message.run, None)
                if run is not None:
                    run.finish({key: fault.error() for done in said for key, fault in done.faults.items()})
            elif message.faults:
                self._expect_the_others(message)
        elif isinstance(message, Enqueued):
            if self._all(link, message, message.run) is not None:
                with self._lock:
                    run = self._runs.get(message.run)
                    self.exchanged.update(message.exchanged)  # those with exchanges have one process
                if run is not None:
                    run.enqueued.set()
        elif isinstance(message, Answer):
            if (said := self._all(link, message, message.request)) is not None:
                with self._lock:
                    event, box = self._answers.get(message.request, (threading.Event(), []))
                box += [answer.value for answer in said]
                event.set()
        elif isinstance(message, Hello):
            if (said := self._all(link, message, 0)) is not None:
                self.send(Group(said[0].address))
        elif isinstance(message, Started):
            if (said := self._all(link, message, 0)) is not None:
                self.pids = tuple(started.pid for started in said)
                self.addresses = tuple(started.address for started in said)
                self._started.set()

    def _expect_the_others(self, done: Done) -> None:
        """A run has failed in one process; others may wait in a collective for what it has not computed."""

        def check() -> None:
            with self._lock:
                run = self._runs.get(done.run)
            if run is not None:
                text = next(iter(done.faults.values())).text
                self.kill(f"a run failed in one of its processes, and in others was not over after {APART:g} s: {text}")

        timer = threading.Timer(APART, check)
        timer.daemon = True
        timer.start()

    def _gone(self, link: Link, cause: str) -> None:
        """A process has ended, and with it the island."""
        with self._lock:
            first = not self._over
            self._over = True
            self.failed = self.failed or cause
            runs, self._runs = list(self._runs.values()), {}
            answers = list(self._answers.values())
        for other in self._links:
            if other is not link:
                other.process.kill()
        for run in runs:
            self._fail(run)
        for event, _ in answers:
            event.set()
        self._started.set()
        if first and not self._closing:
            self._on_end(self, self.failed)

    def _lose(self, run: Waiter) -> None:
        with self._lock:
            if self._runs.pop(run.number, None) is None:
                return
        self._fail(run)

    def _fail(self, run: Waiter) -> None:
        what = f"{run.number} of {run.program}"
        run.finish({}, IslandFailed(self.name, what, self.failed or "its process ended"))

    # -- its end ---------------------------------------------------------------------------------

    def kill(self, cause: str) -> None:
        """End it at once; it has failed."""
        self.failed = self.failed or cause
        for link in self._links:
            link.process.kill()

    def close(self) -> None:
        """End it: nobody wants anything of it any more."""
        self._closing = True
        try:
            self.send(Stop())
        except IslandFailed:
            pass
        end = time.monotonic() + END
        for link in self._links:
            if link.process.wait(max(0.0, end - time.monotonic())) is None:
                link.process.kill()
                link.process.wait(END)
