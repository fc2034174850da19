"""What a long search is doing, for who waits for it."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds without a word about progress.
_QUIET = 2.0


class Progress:
    """What the search is doing, on stderr, once it has taken `_QUIET` seconds.

    On a terminal one line that is rewritten and vanishes at the end; elsewhere a plain line per step.
    """

    def __init__(self, wanted: bool, name: str = "pcg-search") -> None:
        self.name = name
        self.start = time.perf_counter()
        self.wanted = wanted
        self.text = ""
        self.lock = threading.Lock()
        self.over = False
        self.status: Status | None = None
        self.timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        if self.wanted and sys.stderr.isatty():
            # A step may take long: the line appears in time even if none is reported then.
            self.timer = threading.Timer(_QUIET, self._show)
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
        with self.lock:
            self.over = True
            if self.status is not None:
                self.status.stop()

    def __call__(self, text: str) -> None:
        with self.lock:
            self.text = f"{self.name}: {text}"
            if self.status is not None:
                self.status.update(self.text)
            elif self.wanted and self.timer is None and time.perf_counter() - self.start > _QUIET:
                print(self.text, file=sys.stderr, flush=True)

    def _show(self) -> None:
        from rich.console import Console

        with self.lock:
            if not self.over:
                console = Console(stderr=True)
                self.status = console.status(self.text or self.name, spinner="line", spinner_style="none")
                self.status.start()
