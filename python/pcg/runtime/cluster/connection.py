"""A client's end of a connection to a cluster: queries and their answers, and one error when the cluster is gone.

Needs no jax.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing import AuthenticationError
from typing import Any

from pcg.controller.faults import ClusterUnavailable, DeadlineExceeded
from pcg.runtime.cluster.failures import Failure
from pcg.runtime.cluster.messages import (
    AHEAD,
    Alive,
    Answer,
    Ended,
    Placements,
    Query,
    Release,
    Submit,
    Submitted,
    Welcome,
    version,
)
from pcg.runtime.cluster.wire import Wire, parse_address, prove

#: Seconds until a cluster must have answered to a connection.
CONNECT = 10.0
#: Seconds without a message, of which a cluster sends one every few seconds, until it is given up.
SILENCE = 30.0
#: Seconds that an answer may take.
ANSWER = 3600.0
#: How often what is not needed any more is released, where no run says it before.
_OFTEN = 0.1


class Connection:
    """To a cluster at an address.

    Args:
      key: the cluster's.
      on_placements: called with every `Placements` that comes, in the connection's thread.

    Raises:
      ValueError: an address that is none.
      ClusterUnavailable: it is not reached, has another key, or another version of pcg.
    """

    def __init__(
        self, address: str, key: bytes, on_placements: Callable[[Placements], None] | None = None
    ) -> None:
        self.address = address
        self._on_placements = on_placements
        self._lock = threading.Lock()
        self._lost: ClusterUnavailable | None = None
        self._waiting: dict[int, tuple[threading.Event, list[Any]]] = {}
        self._numbers = itertools.count()
        self._values: deque[int] = deque()
        self._programs: deque[int] = deque()
        self._code: deque[int] = deque()
        self._ahead = threading.Semaphore(AHEAD)
        self._wire = _connected(address, key)
        first = self._receive_first()
        if first.version != version():
            self._wire.close()
            raise ClusterUnavailable(address, f"it runs pcg {first.version}; this is {version()}")
        self.first = first
        for work in (self._read, self._attend):
            threading.Thread(target=work, name=f"pcg cluster {address}", daemon=True).start()

    def _receive_first(self) -> Welcome:
        try:
            first = self._wire.receive()
        except (OSError, EOFError):
            first = None
        if isinstance(first, Welcome):
            return first
        self._wire.close()
        raise ClusterUnavailable(self.address, first.cause if isinstance(first, Ended) else "it ended the connection")

    # -- to it ---------------------------------------------------------------------------------------

    @property
    def lost(self) -> ClusterUnavailable | None:
        """Why it is gone, if it is."""
        return self._lost

    def tell(self, message: Any) -> None:
        """Send a message that has no answer.

        Raises:
          ClusterUnavailable: the cluster is gone.
        """
        self._check()
        try:
            self._wire.send(message)
        except OSError as error:
            self._end(f"it is gone ({error.strerror or error})")
            self._check()

    def submit(self, message: Submit) -> None:
        """Send a run; waits where there are many that the cluster has not looked at yet.

        Raises:
          ClusterUnavailable: the cluster is gone.
          DeadlineExceeded: it does not look at them.
        """
        self._check()
        if not self._ahead.acquire(timeout=ANSWER):
            raise DeadlineExceeded(f"cluster {self.address} has not looked at {AHEAD} runs for {ANSWER:g} s")
        self.tell(message)

    def query(self, body: Any, seconds: float = ANSWER) -> Any:
        """The answer to a query.

        Raises:
          ClusterUnavailable: the cluster is gone.
          DeadlineExceeded: it has not answered in time.
          Exception: what the cluster says, as it would be raised there.
        """
        number, event = next(self._numbers), threading.Event()
        box: list[Any] = []
        with self._lock:
            self._waiting[number] = event, box
        try:
            self.tell(Query(number, body))
            if not event.wait(seconds):
                what = type(body).__name__
                raise DeadlineExceeded(f"cluster {self.address} did not answer to {what} in {seconds:g} s")
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if not box:
            self._check()
        if isinstance(box[0], Failure):
            raise box[0].error()
        return box[0]

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost.again()

    # What nobody needs any more: the garbage collector may say so at any time, so nothing here takes a lock.

    def release_value(self, key: int) -> None:
        self._values.append(key)

    def release_program(self, key: int) -> None:
        self._programs.append(key)

    def release_code(self, key: int) -> None:
        self._code.append(key)

    def released_values(self) -> tuple[int, ...]:
        """Those that the next message says."""
        return _taken(self._values)

    # -- from it -------------------------------------------------------------------------------------

    def _read(self) -> None:
        cause = "its process ended, or the network failed"
        try:
            while True:
                message = self._wire.receive()
                if isinstance(message, Answer):
                    with self._lock:
                        event, box = self._waiting.get(message.number, (threading.Event(), []))
                    box.append(message.value)
                    event.set()
                elif isinstance(message, Submitted):
                    self._ahead.release(message.count)
                elif isinstance(message, Placements):
                    if self._on_placements is not None:
                        self._on_placements(message)
                elif isinstance(message, Ended):
                    cause = message.cause
                    break
                else:
                    assert isinstance(message, Alive)
        except (OSError, EOFError):
            pass
        self._end(cause)

    def _attend(self) -> None:
        """Release what nobody needs, and notice when nothing comes any more."""
        while self._lost is None:
            time.sleep(_OFTEN)
            if (silent := time.monotonic() - self._wire.heard) > SILENCE:
                self._end(f"nothing has come from it for {silent:.0f} s")
                return
            if self._values or self._programs or self._code:
                try:
                    self.tell(Release(_taken(self._values), _taken(self._programs), _taken(self._code)))
                except ClusterUnavailable:
                    return

    def _end(self, cause: str) -> None:
        with self._lock:
            if self._lost is not None:
                return
            self._lost = ClusterUnavailable(self.address, cause)
            waiting = list(self._waiting.values())
        self._wire.close()
        self._ahead.release(AHEAD)  # nobody waits any more
        for event, _ in waiting:
            event.set()

    def close(self) -> None:
        """Nothing is wanted of the cluster any more; it frees what this connection had."""
        self._end("this connection was closed")


def _taken(queue: deque[int]) -> tuple[int, ...]:
    found = []
    while queue:
        found.append(queue.popleft())
    return tuple(found)


def _connected(address: str, key: bytes) -> Wire:
    where = parse_address(address)
    try:
        own = socket.create_connection(where, timeout=CONNECT)
    except OSError as error:
        raise ClusterUnavailable(address, f"it cannot be reached ({error.strerror or error})") from None
    try:
        prove(own, key, first=False)
    except AuthenticationError:
        own.close()
        raise ClusterUnavailable(address, "it has another key") from None
    except (OSError, EOFError) as error:
        own.close()
        what = f"it does not answer as a cluster does ({type(error).__name__})"
        raise ClusterUnavailable(address, what) from None
    return Wire(own)
