"""Runs of programs that wait for islands, and what keeps an island from having one more."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from pcg.controller.policies import Fifo, Stride
from pcg.controller.store import Entry


@dataclass(eq=False, slots=True)
class Ticket:
    """One run of a program that waits, is in flight, or is done."""

    number: int
    """In the order of submission."""
    client: str
    program: str
    """Runs of one program take about the same time."""
    islands: tuple[str, ...]
    nbytes: Mapping[str, int]
    """By island, bytes per device that the run adds to what is there."""
    after: tuple[Ticket, ...] = ()
    """Runs whose results it reads."""
    reads: tuple[Entry, ...] = ()
    """Buffers that it reads, each once; needed where memory is limited."""
    launched: bool = False
    charged: dict[str, float] = field(default_factory=dict)
    """Seconds of each island, as estimated when it was launched; those that are not finished yet."""


class IslandQueue:
    """What waits for one island, and what is in flight there."""

    def __init__(self, name: str, order: Fifo | Stride, cap: int, memory: int | None) -> None:
        self.name, self.order, self.cap, self.memory = name, order, cap, memory
        self.in_flight = 0
        self.used = 0
        """Bytes per device that runs in flight, and results of earlier ones, need."""
        self.waiting: dict[str, deque[Ticket]] = {}

    def preferred(self) -> Ticket | None:
        """What the policy would launch next."""
        if not self.waiting:
            return None
        return self.waiting[self.order.choose({c: q[0].number for c, q in self.waiting.items()})][0]

    def add(self, ticket: Ticket) -> None:
        queue = self.waiting.get(ticket.client)
        if queue is None:
            self.order.arrive(ticket.client)
            queue = self.waiting[ticket.client] = deque()
        queue.append(ticket)

    def take(self, ticket: Ticket) -> None:
        queue = self.waiting[ticket.client]
        queue.remove(ticket)  # nearly always the first
        if not queue:
            del self.waiting[ticket.client]

    def why_not(self, ticket: Ticket) -> str:
        """Why a run cannot be launched here now; empty if it can."""
        if self.in_flight >= self.cap:
            return f"{self.in_flight} programs in flight on island {self.name}"
        if self.memory is not None and self.missing(ticket):
            free = f"{self.memory - self.used} of {self.memory} are free"
            return f"{self.need(ticket)} bytes per device on island {self.name}, {free}"
        return ""

    def need(self, ticket: Ticket) -> int:
        """Bytes per device that a run adds: its own, and of what it reads that which is on the host now."""
        own = ticket.nbytes.get(self.name, 0)
        return own + sum(e.nbytes for e in ticket.reads if e.spilled and e.account.island == self.name)

    def missing(self, ticket: Ticket) -> int:
        """Bytes per device that must be freed before a run can be launched."""
        return 0 if self.memory is None else max(self.used + self.need(ticket) - self.memory, 0)
