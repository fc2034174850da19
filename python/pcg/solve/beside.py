"""A part of the work in a copy of this process, beside the rest.

A copy has all that its work needs at once, which another process would have to be sent: it takes about 10 ms to make.
What it finds does not depend on where it was found.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

R = TypeVar("R")
T = TypeVar("T")

_allowed = True
#: Seconds between two looks whether to go on waiting.  A choice.
POLLED = 0.05


def forbid() -> None:
    """From now on all work of this process is done in it, as where it is itself one of as many as there are cores."""
    global _allowed
    _allowed = False


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile never get Ctrl-C, from their first instruction on.

    It goes to all processes of a terminal; the one that waits for them, which gets it afterwards, ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Another thread, as of a library, may get the signal, and Python then tells this one all the same: loky that is
    # interrupted between a thread's start and its registration waits for that thread forever.
    handler = signal.getsignal(signal.SIGINT)
    came: list[tuple[int, FrameType | None]] = []
    deferred = callable(handler) and threading.current_thread() is threading.main_thread()
    if deferred:
        signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if deferred:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came and callable(handler):
            handler(*came[0])


def can_start() -> bool:
    """Whether this process may start others: multiprocessing's daemons, as those of its pools, may not."""
    processes = sys.modules.get("multiprocessing.process")  # a daemon has it
    return processes is None or not processes.current_process().daemon


def is_spare() -> bool:
    """Whether there is a core for work beside that of this process."""
    return _allowed and _cores() > 1 and can_start()


def is_copied() -> bool:
    """Whether there can be a copy of this process: not in one with other software's threads, as jax has, whose locks a
    copy would find as they are."""
    return is_spare() and "jaxlib" not in sys.modules and hasattr(os, "fork")


@dataclass(frozen=True)
class Copy:
    """A copy of this process, and the end of a connection to it."""

    process: BaseProcess
    connection: Connection

    def end(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self.process.kill()
        self.process.join()


def copied(function: Callable[[Connection, T], None], argument: T, *, duplex: bool = False) -> Copy | None:
    """A copy of this process that does `function(connection, argument)` and ends.

    None where there can be none, as where memory is short.  A connection that is not `duplex` is for what it sends.
    """
    if not is_copied():
        return None
    import multiprocessing  # only where a copy is made

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex)
    process = context.Process(target=_run, args=(function, theirs, ours, argument), daemon=True)
    try:
        with warnings.catch_warnings(), without_ctrl_c():
            # Of threads: numpy's are idle, and no work uses what the thread that shows progress may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
    except OSError:  # no memory, or as many processes as may be
        ours.close()
        return None
    finally:
        theirs.close()
    return Copy(process, ours)


class Beside(Generic[R]):
    """Work that is done in a copy of this process, or here when its result is needed: where it is not `long`, or there
    cannot be a copy.

    Used with `with`, it is ended where nobody has waited for it.
    """

    def __init__(self, work: Callable[[], R], long: bool = True) -> None:
        self._work = work
        self._copy = copied(_send, work) if long else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def result(self) -> R:
        """What the work returns, or raises."""
        found = self.found()
        return self._work() if found is None else found

    def found(self, ended: Callable[[], bool] = lambda: False) -> R | None:
        """What the copy of the process returns.

        None where there is none, it raises something, somebody ended it, as where memory is short, or `ended` says so
        before.
        """
        if self._copy is None:
            return None
        try:
            while not self._copy.connection.poll(POLLED):
                if ended():
                    return None
            found: R = self._copy.connection.recv()
            return found
        except EOFError:
            return None
        finally:
            self.abandon()  # also where Ctrl-C ends the waiting

    def abandon(self) -> None:
        """End the copy, if there is one."""
        if self._copy is not None:
            self._copy.end()
            self._copy = None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _send(results: Connection, work: Callable[[], object]) -> None:
    results.send(work())


def _run(function: Callable[[Connection, T], None], ours: Connection, theirs: Connection, argument: T) -> None:
    """In the copy: `theirs` is the end of the connection that the other process has."""
    try:
        theirs.close()  # so that here it is known when that process has closed it
        function(ours, argument)
    finally:
        os._exit(0)  # what was printed and is not written yet is the other process's
