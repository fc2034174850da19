"""Functions for `pcg.solve.pool`, importable in its processes."""

from __future__ import annotations

import os
import signal


def looked_at(number: int) -> tuple[int, int, bool]:
    """Which task it is, where it runs, and whether Ctrl-C is blocked there."""
    return number, os.getpid(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def failing(number: int) -> int:
    """The task, if it is not 2."""
    if number == 2:
        raise ValueError("two")
    return number
