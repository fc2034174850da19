"""Ends a search early, with the best that it has found: by Ctrl-C or after a time."""

from __future__ import annotations

import math
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any


class Stop:
    """Asked between the steps of a search whether to end it.

    `seconds` from its making on it says so; and, used as a context manager, from the first Ctrl-C on.  The second one
    is a KeyboardInterrupt again.  Python tells of Ctrl-C only in its main thread; elsewhere, and if not `by_hand`, it
    is left alone.
    """

    def __init__(self, seconds: float | None = None, *, by_hand: bool = True) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._by_hand = by_hand and threading.current_thread() is threading.main_thread()
        self._before: Any = None
        self.why = ""
        """What ended the search; empty as long as nothing has."""

    def __call__(self) -> bool:
        if not self.why and self._end is not None and time.monotonic() >= self._end:
            self.why = "the time limit"
        return bool(self.why)

    @property
    def left(self) -> float:
        """Seconds until the search is to end; infinity if no time is set."""
        return math.inf if self._end is None else max(0.0, self._end - time.monotonic())

    def __enter__(self) -> Stop:
        # What ignores Ctrl-C, as a process in the background, goes on to do so.
        if self._by_hand and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self.why = "Ctrl-C"
        self._restore()

    def _restore(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None


#: For searches that run to their end.
NEVER = Stop(by_hand=False)
