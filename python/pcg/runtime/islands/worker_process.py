"""The controller's end of an island's process: starts it, talks to it, notices when it is gone.  Needs no jax."""

from __future__ import annotations

import itertools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, Protocol

from pcg.controller.faults import IslandFailed, RunError
from pcg.runtime.islands.protocol import Answer, Channel, Count, Done, Enqueued, Fault, Fetch, HostArray, Started, Stop

#: Seconds until a process must have started.
START = 120.0
#: Seconds that a process has to end by itself.
_END = 2.0


class Waiter(Protocol):
    """A run that is under way."""

    number: int
    program: str
    enqueued: threading.Event

    def finish(self, errors: dict[int, RunError], lost: RunError | None = None) -> None:
        """It is over."""


class WorkerProcess:
    """A process that owns the devices of an island.

    Args:
      devices: stand-ins or jax devices; their platform, number, and on GPUs their ids count.
      deadline: seconds that it may take to do anything; one that takes longer is ended, and so has failed.
      on_end: called once with (this, cause) when it is gone unasked, in a thread of its own.
    """

    module = "pcg.runtime.islands.worker"
    """What it runs; benchmarks have workers of their own."""

    def __init__(
        self, island: str, devices: Sequence[Any], deadline: float, on_end: Callable[[WorkerProcess, str], None],
        environment: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.island, self.devices, self.deadline = island, tuple(devices), deadline
        self.address = ""
        """Of its transfer server, once it has started."""
        self.failed = ""
        """Why it is gone."""
        self.messages: Counter[str] = Counter()
        """Messages to it, by kind."""
        self.known: set[int] = set()
        """Device programs that it has."""
        self._on_end = on_end
        self._closing = False
        self._lock = threading.Lock()
        self._runs: dict[int, Waiter] = {}
        self._answers: dict[int, tuple[threading.Event, list[Any]]] = {}
        self._numbers = itertools.count()
        self._released: deque[int] = deque()
        self._started = threading.Event()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", self.module, str(theirs.fileno()), island]
        self._process = subprocess.Popen(
            command, env={**_environment(self.devices), **environment}, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        self._channel = Channel(Connection(ours.detach()))
        threading.Thread(target=self._read, name=f"pcg process {island}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    # -- to it -----------------------------------------------------------------------------------

    def wait_until_started(self) -> None:
        """Raises IslandFailed if it does not start."""
        if not self._started.wait(START):
            self.kill(f"its process did not start in {START:.0f} s")
        if not self.address:
            raise IslandFailed(self.island, "no run", self.failed)

    def send(self, message: Any) -> None:
        """Raises IslandFailed if it is gone."""
        self.messages[type(message).__name__.lower()] += 1
        try:
            self._channel.send(message)
        except OSError:
            what = str(getattr(message, "run", "none"))
            raise IslandFailed(self.island, what, self.failed or "its process ended") from None

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
        found = self._query(lambda n: Fetch(n, key, self.released()), "a value")
        assert isinstance(found, HostArray)
        return found

    def count(self) -> int:
        """How many values it keeps."""
        return int(self._query(lambda n: Count(n, self.released()), "a number"))

    def wait(self, event: threading.Event, what: str) -> None:
        if not event.wait(self.deadline):
            self.kill(f"{what} was not over in {self.deadline:g} s")
            event.wait(_END)

    def _query(self, message: Callable[[int], Any], what: str) -> Any:
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
            raise IslandFailed(self.island, f"none: it was asked for {what}", self.failed or "no answer")
        if isinstance(box[0], Fault):
            raise box[0].error()
        return box[0]

    # -- from it ---------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                self._take(self._channel.receive())
        except (EOFError, OSError):
            pass
        try:
            code: Any = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        with self._lock:
            self.failed = self.failed or f"its process ended with {'signal ' if code < 0 else 'status '}{abs(code)}"
            runs, self._runs = list(self._runs.values()), {}
            answers = list(self._answers.values())
        for run in runs:
            self._fail(run)
        for event, _ in answers:
            event.set()
        self._started.set()
        if not self._closing:
            self._on_end(self, self.failed)

    def _take(self, message: Any) -> None:
        if isinstance(message, Done):
            with self._lock:
                run = self._runs.pop(message.run, None)
            if run is not None:
                run.finish({key: fault.error() for key, fault in message.faults.items()})
        elif isinstance(message, Enqueued):
            with self._lock:
                run = self._runs.get(message.run)
            if run is not None:
                run.enqueued.set()
        elif isinstance(message, Answer):
            with self._lock:
                event, box = self._answers.get(message.request, (threading.Event(), []))
            box.append(message.value)
            event.set()
        elif isinstance(message, Started):
            self.address = message.address
            self._started.set()

    def _lose(self, run: Waiter) -> None:
        with self._lock:
            if self._runs.pop(run.number, None) is None:
                return
        self._fail(run)

    def _fail(self, run: Waiter) -> None:
        what = f"{run.number} of {run.program}"
        run.finish({}, IslandFailed(self.island, what, self.failed or "its process ended"))

    # -- its end ---------------------------------------------------------------------------------

    def kill(self, cause: str) -> None:
        """End it at once; it has failed."""
        self.failed = self.failed or cause
        self._process.kill()

    def close(self) -> None:
        """End it: nobody wants anything of it any more."""
        self._closing = True
        try:
            self._channel.send(Stop())
        except OSError:
            pass
        end = time.monotonic() + _END
        while self._process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        self._process.kill()
        self._process.wait()


def _environment(devices: Sequence[Any]) -> dict[str, str]:
    """Variables under which jax in a new process has these devices."""
    platform = devices[0].platform
    found = dict(os.environ, JAX_PLATFORMS="cpu" if platform == "cpu" else "cuda" if platform == "gpu" else platform)
    if platform == "cpu":
        flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", found.get("XLA_FLAGS", ""))
        found["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={len(devices)}".strip()
    elif platform == "gpu":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = visible.split(",") if visible else None
        own = [getattr(d, "local_hardware_id", None) or d.id for d in devices]
        found["CUDA_VISIBLE_DEVICES"] = ",".join(names[i] if names else str(i) for i in own)
    return found
