"""What comes of an exchange in one run, from whatever thread.  Imports no jax."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pcg.controller.exchange_progress import ExchangeProgress
from pcg.controller.faults import RunError


class Mailbox:
    """What has come of one exchange in one run."""

    def __init__(self, senders: int, receivers: int, on_end: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._progress = ExchangeProgress(senders, receivers)
        self._on_end = on_end
        self.parcels: dict[tuple[int, int], Any] = {}
        self.error: RunError | None = None

    @property
    def ended(self) -> bool:
        """Whether all is there, or it has failed."""
        with self._lock:
            return self.error is not None or self._progress.ended

    @property
    def counts(self) -> np.ndarray:
        """[senders, receivers] rows."""
        with self._lock:
            return np.asarray(self._progress.counts, np.int32)

    def arrive(self, sender: int, receiver: int, parcel: Any) -> None:
        with self._lock:
            self.parcels[sender, receiver] = parcel
            self._progress.arrive(sender, receiver)
            ended = self._progress.ended
        if ended:
            self._on_end()

    def punctuate(self, sender: int, counts: Sequence[int]) -> None:
        with self._lock:
            self._progress.punctuate(sender, counts)
            ended = self._progress.ended
        if ended:
            self._on_end()

    def fail(self, error: RunError) -> None:
        with self._lock:
            self.error = self.error or error
        self._on_end()
