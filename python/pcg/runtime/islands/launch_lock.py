"""The lock of the one thread that launches.  Nobody waits for it: who does not get it leaves a run in the queue."""

from __future__ import annotations

import threading


class LaunchLock:
    """A lock that the main thread need not take on its short path, where it would cost a seventh of a small call.

    There the main thread says that it is `inside`, and goes on unless another thread is `busy`.  Others take the lock,
    say that they are busy, and go on unless the main thread is inside.  Both say so before they look, so at most one
    goes on; it may be that none does (Dekker's algorithm without its wait).  As the main thread only stores an
    attribute right before a `try`, an interrupt, which no other thread gets, cannot come between the two.
    """

    __slots__ = ("main", "inside", "busy", "_lock")

    def __init__(self) -> None:
        self.main = threading.main_thread().ident
        self.inside = False
        """The main thread launches, on the short path."""
        self.busy = False
        """Another thread launches, or the main thread does elsewhere."""
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Be the one that launches, if nobody does."""
        if not self._lock.acquire(False):
            return False
        self.busy = True
        if not self.inside:
            return True
        self.give()
        return False

    def give(self) -> None:
        """Somebody else may launch."""
        self.busy = False
        self._lock.release()
