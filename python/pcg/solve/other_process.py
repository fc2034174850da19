"""A part of the work in another process, where there can be no copy of this one: it is sent what it needs.

The process is one of loky (https://loky.readthedocs.io), which takes half a second to start and stays for what comes
next, for as long as `pool.IDLE` says.  Nobody waits for its start: where that has not come about, as on a machine that
is very busy, the work is done by who wants it.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, TypeVar

from pcg.solve import beside, pool

R = TypeVar("R")

_executor: Any = None
_started: Future[Any] | None = None
"""What the process does first."""
_lock = threading.RLock()
"""Of both."""


def start(module: str) -> None:
    """Start the process, if there is a core for it, and have it import a module: work may follow."""
    if beside.is_spare():
        _submit(importlib.import_module, module)


class OtherProcess(Generic[R]):
    """Work that is done in the other process, if there is a core for it."""

    def __init__(self, function: Callable[..., R], *arguments: object) -> None:
        """`function` and its `arguments` are pickled, as is what it returns."""
        self._future: Future[R] | None = _submit(function, *arguments) if beside.is_spare() else None

    def found(self, ended: Callable[[], bool] = lambda: False) -> R | None:
        """What the function returns.

        None where there is no process, it ends, the function raises something, or `ended` says so before.
        """
        future = self._future
        try:
            if _started is None or not _started.done():
                return None
            while future is not None and not ended():
                try:
                    failed = future.exception(beside.POLLED)
                except TimeoutError:
                    continue
                return future.result() if failed is None else None
            return None
        finally:
            self.abandon()  # also where Ctrl-C ends the waiting

    def abandon(self) -> None:
        """End what is not done."""
        future, self._future = self._future, None
        if future is not None and not future.done():
            _end()


def _submit(function: Callable[..., R], *arguments: object) -> Future[R] | None:
    """None where there is no process, as where memory is short."""
    with _lock:
        for _ in range(2):
            try:
                return pool.submit(_running(), function, *arguments)
            except BrokenProcessPool:  # the process was killed
                _end()
            except (OSError, RuntimeError):  # RuntimeError: Python is about to end
                break
    return None


def _running() -> Any:
    """The executor of the process."""
    global _executor, _started
    if _executor is None:
        from loky import ProcessPoolExecutor

        _executor = ProcessPoolExecutor(max_workers=1, timeout=pool.IDLE, initializer=beside.forbid)
        _started = pool.submit(_executor, os.getpid)
    return _executor


def _end() -> None:
    """End the process, whatever it does; the next work starts another one."""
    global _executor, _started
    with _lock:
        executor, _executor, _started = _executor, None, None
    if executor is not None:
        executor.shutdown(wait=False, kill_workers=True)
