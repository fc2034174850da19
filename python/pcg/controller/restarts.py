"""Islands that are started anew when they have failed, each a number of times.  Imports no jax."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Restarts:
    """Which islands are being started anew.

    Args:
      most: how often each is.
      restart: starts one, by its name; in a thread of its own, as who sees that an island is gone goes on.
    """

    def __init__(self, most: int, restart: Callable[[str], None]) -> None:
        self._most, self._restart = most, restart
        self._count: Counter[str] = Counter()
        self._starting: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False

    @contextmanager
    def of(self, island: str) -> Iterator[None]:
        """While it is said that the island is gone: who finds a slice lost waits from then on, until it is started."""
        with self._changed:
            self._changed.wait_for(lambda: island not in self._starting)  # it has ended again at once
            starts = self._count[island] < self._most and not self._closed
            if starts:
                self._count[island] += 1
                self._starting.add(island)
        try:
            yield
        except BaseException:
            if starts:
                self._over(island)
            raise
        if starts:
            threading.Thread(target=self._run, args=(island,), name=f"pcg restarts {island}", daemon=True).start()

    def _run(self, island: str) -> None:
        try:
            self._restart(island)
        finally:
            self._over(island)

    def _over(self, island: str) -> None:
        with self._changed:
            self._starting.discard(island)
            self._changed.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until none is under way, for some seconds at most; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._starting, seconds)

    def close(self) -> None:
        """No further ones; wait for those under way."""
        with self._changed:
            self._closed = True
        self.wait()
