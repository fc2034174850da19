"""Faults of Python functions that a program on several devices calls.

One device calls, and the others wait for its results.  If it stopped with an error instead, XLA would wait for it
until it gives up and ends the process.  So the error is kept, the run goes on with zeros, and the call raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np


@dataclass(eq=False)
class HostErrors:
    """The errors of one program's callbacks, while somebody waits for its runs."""

    name: str
    _found: list[BaseException] = field(default_factory=list)
    _waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def guarded(
        self, callback: Callable[..., Any], results: Sequence[tuple[tuple[int, ...], np.dtype]]
    ) -> Callable[..., Any]:
        """`callback`, with zeros of these shapes and dtypes in place of an error that the waiting call will raise."""

        def call(*args: Any) -> Any:
            try:
                return callback(*args)
            except BaseException as error:
                with self._lock:
                    if not self._waiting:  # part of another jax function: as jax does
                        raise
                    self._found.append(error)
                return tuple(np.zeros(shape, dtype) for shape, dtype in results)

        return call

    @contextmanager
    def raised(self) -> Iterator[None]:
        """A context that waits for a run, and raises the first error of its callbacks.

        Raises:
          JaxRuntimeError: a callback failed; its own error is the cause.
        """
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                found, self._found = (self._found, []) if not self._waiting else (self._found[:], self._found)
        if found:
            first = found[0]
            said = str(first).splitlines()
            raise jax.errors.JaxRuntimeError(
                f"{self.name}: a callback on the host failed: {type(first).__name__}: {said[0] if said else ''}"
            ) from first
