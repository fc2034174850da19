"""Runs of programs, as the dispatcher knows them."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

from pcg.controller.queues import Ticket
from pcg.controller.store import Entry
from pcg.runtime.islands.backend import Loaded

#: For the moment in which a run gets a waiter, or is launched.
_WAITERS = threading.Lock()


class Run:
    """One run of a program."""

    __slots__ = (
        "number",
        "program",
        "client",
        "ticket",
        "loaded",
        "arguments",
        "results",
        "reads",
        "deadline",
        "started",
        "left",
        "launched",
        "submitted",
        "_waiter",
    )

    def __init__(
        self, number: int, client: str, loaded: Loaded, arguments: list[Any], ticket: Ticket, deadline: float
    ) -> None:
        self.number, self.client, self.loaded, self.arguments = number, client, loaded, arguments
        self.program = loaded.name
        self.ticket, self.deadline = ticket, deadline
        self.results: list[weakref.ref[Any]] = []
        """References to the futures of its results."""
        self.reads: tuple[Entry, ...] = ticket.reads
        self.submitted, self.started = time.perf_counter(), 0.0
        self.launched = False
        """Whether its results have values, or errors in their places."""
        self.left = len(loaded.islands)
        """Islands that it is not done on."""
        self._waiter: threading.Event | None = None

    def is_launched(self) -> None:
        """Whoever waits for its results goes on."""
        with _WAITERS:
            self.launched = True
            waiter = self._waiter
        if waiter is not None:
            waiter.set()

    def waiter(self) -> threading.Event | None:
        """What is set when it is launched; None if it is."""
        with _WAITERS:
            if self.launched:
                return None
            if self._waiter is None:
                self._waiter = threading.Event()
            return self._waiter


class QuickRuns:
    """Runs of a program of one computation that are launched in the call: there is nothing to know of each.

    Args:
      island: the queue of devices that they are in.
    """

    __slots__ = ("loaded", "program", "client", "island", "ticket", "launched")

    def __init__(self, loaded: Loaded, client: str, island: Any) -> None:
        self.loaded, self.program, self.client, self.island = loaded, loaded.name, client, island
        self.ticket, self.launched = Ticket(0, client, loaded.name, loaded.islands, {}, launched=True), True

    def waiter(self) -> None:
        """They are launched."""
