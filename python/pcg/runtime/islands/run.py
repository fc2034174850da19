"""Runs of programs, as the dispatcher knows them."""

from __future__ import annotations

import time
from typing import Any

from pcg.controller.scheduler import Ticket
from pcg.controller.store import Entry
from pcg.runtime.islands.backend import Loaded


class Run:
    """One run of a program."""

    __slots__ = (
        "number",
        "program",
        "client",
        "ticket",
        "loaded",
        "arguments",
        "entries",
        "deadline",
        "started",
        "left",
        "launched",
        "submitted",
    )

    def __init__(
        self, number: int, client: str, loaded: Loaded, arguments: list[Any], entries: list[Entry], deadline: float
    ) -> None:
        self.number, self.client, self.loaded, self.arguments = number, client, loaded, arguments
        self.program = loaded.name
        self.entries, self.deadline = entries, deadline
        self.ticket: Ticket | None = None
        self.submitted, self.started = time.perf_counter(), 0.0
        self.launched = False
        """Whether its results have values, or errors in their places."""
        self.left = len(loaded.islands)
        """Islands that it is not done on."""


class LaunchedAtOnce:
    """Runs of a program of one computation that was launched in the call: there is nothing to know of each."""

    __slots__ = ("loaded", "program", "client", "ticket", "entries", "number", "started", "launched")

    def __init__(self, loaded: Loaded, client: str) -> None:
        self.client = client
        self.loaded, self.program, self.entries, self.number, self.started = loaded, loaded.name, (), 0, 0.0
        self.ticket, self.launched = Ticket(0, client, loaded.name, loaded.islands, {}, launched=True), True
