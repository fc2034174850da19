"""Gang scheduling: which program runs next on which islands, in one order for all of their devices.

The devices of an island run what they get in order, and wait for each other in collectives.  So a program is launched
on all devices of all its islands at once, and decisions are made one after another: any two programs have the same
order wherever they meet, and a program only waits for what was launched before it.  Nothing can then wait in a circle.
(Pathways, MLSys'22, section 4.4.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pcg.controller.policies import Fifo, Stride, policy

#: Programs in flight per island: enough to hide the time of a launch, few enough that shares are kept.
IN_FLIGHT = 8
#: Part of a new measurement in the estimated time of a program.
_NEW = 0.3


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
        need = ticket.nbytes.get(self.name, 0)
        if self.memory is not None and self.used + need > self.memory:
            return f"{need} bytes per device on island {self.name}, {self.memory - self.used} of {self.memory} are free"
        return ""


class Scheduler:
    """All islands' queues.  Its caller has a lock; time is what the caller measures.

    Args:
      policy: "fifo" or "stride" (proportional share by `weights`, by client).
      cap: programs in flight per island.
    """

    def __init__(self, policy: str = "stride", cap: int = IN_FLIGHT) -> None:
        if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
            raise ValueError(f"{cap!r} programs in flight; allowed: 1 or more")
        self.weights: dict[str, float] = {}
        self._policy, self._cap = policy, cap
        self.queues: dict[str, IslandQueue] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._number = 0
        self._rotation = 0

    # -- islands and clients -------------------------------------------------------------------

    def add_island(self, name: str, memory: int | None = None) -> None:
        """An island; `memory`: bytes per device for programs and their results, None: not limited."""
        self.queues[name] = IslandQueue(name, policy(self._policy, self.weights), self._cap, memory)

    def remove_island(self, name: str) -> list[Ticket]:
        """An island is gone; the runs that waited for it, which are taken from all queues."""
        lost = [t for q in self.queues[name].waiting.values() for t in q]
        for t in lost:
            self.withdraw(t)
        del self.queues[name]
        return lost

    def set_weight(self, client: str, weight: float) -> None:
        """The share of a client, relative to those of others.

        Raises:
          ValueError: not positive.
        """
        if not weight > 0:
            raise ValueError(f"weight {weight!r} of client {client!r}; allowed: more than 0")
        self.weights[client] = weight

    def forget(self, client: str) -> list[Ticket]:
        """A client is gone; the runs of it that waited, which are taken from all queues."""
        lost = {id(t): t for q in self.queues.values() for t in q.waiting.get(client, ())}
        for t in lost.values():
            self.withdraw(t)
        for q in self.queues.values():
            q.order.forget(client)
        self.weights.pop(client, None)
        return list(lost.values())

    # -- runs ----------------------------------------------------------------------------------

    def submit(
        self, client: str, program: str, islands: Sequence[str], nbytes: Mapping[str, int], after: Iterable[Ticket] = ()
    ) -> Ticket:
        """A run of a program waits.

        Raises:
          MemoryError: it needs more bytes than an island has.
        """
        self.check_fits(program, islands, nbytes)
        ticket = Ticket(
            self._number, client, program, tuple(islands), nbytes, tuple(t for t in after if not t.launched)
        )
        self._number += 1
        for name in islands:
            self.queues[name].add(ticket)
        return ticket

    def check_fits(self, program: str, islands: Sequence[str], nbytes: Mapping[str, int]) -> None:
        """Raise MemoryError if a program needs more bytes than an island has."""
        for name in islands:
            most, need = self.queues[name].memory, nbytes.get(name, 0)
            if most is not None and need > most:
                raise MemoryError(
                    f"program {program} needs {need} bytes per device of island {name}; allowed: {most} or less"
                )

    def launch(self) -> Iterator[Ticket]:
        """Runs to launch now, in the order in which they are to be launched."""
        while (ticket := self._next()) is not None:
            self._start(ticket)
            yield ticket

    def _next(self) -> Ticket | None:
        """A run that the policies of all its islands would launch next, if there is room for it."""
        names = list(self.queues)
        for i in range(len(names)):
            # Another island is looked at first every time, so that the order of their names decides nothing.
            wanted = self.queues[names[(self._rotation + i) % len(names)]].preferred()
            if wanted is not None and (found := self._wanted_everywhere(self._first(wanted))) is not None:
                self._rotation = (self._rotation + i + 1) % len(names)
                return found
        return None

    def _wanted_everywhere(self, ticket: Ticket) -> Ticket | None:
        """A run, or what keeps it from being next on one of its islands, if that is next on all of its own.

        Where islands prefer different ones in a circle the oldest of these is next.
        """
        seen: list[Ticket] = []
        while ticket not in seen:
            seen.append(ticket)
            others = (self.queues[name].preferred() for name in ticket.islands)
            before = (self._first(t) for t in others if t is not None and t is not ticket)
            blocker = next((t for t in before if t is not ticket), None)
            if blocker is None:
                return ticket if self.launchable(ticket) else None
            ticket = blocker
        circle = seen[seen.index(ticket) :]
        oldest = self._first(min(circle, key=lambda t: t.number))
        return oldest if self.launchable(oldest) else None

    def _first(self, ticket: Ticket) -> Ticket:
        """A run, or the one that must be launched before it: what it reads, or an earlier one of its client."""
        while True:
            before = next((t for t in ticket.after if not t.launched), None)
            if before is None:
                own = (self.queues[name].waiting[ticket.client][0] for name in ticket.islands)
                before = min(own, key=lambda t: t.number)
                if before.number >= ticket.number:
                    return ticket
            ticket = before

    def launchable(self, ticket: Ticket) -> bool:
        """Whether all of its islands have room for a run."""
        return all(not self.queues[name].why_not(ticket) for name in ticket.islands)

    def start_at_once(
        self, client: str, program: str, islands: Sequence[str], nbytes: Mapping[str, int]
    ) -> Ticket | None:
        """A run that is launched now, if nothing waits for its islands and there is room on all of them; else None."""
        queues = []
        for name in islands:
            queue = self.queues[name]
            if queue.waiting or queue.in_flight >= queue.cap:
                return None
            if queue.memory is not None and queue.used + nbytes.get(name, 0) > queue.memory:
                return None
            queues.append(queue)
        ticket = Ticket(self._number, client, program, tuple(islands), nbytes, (), True)
        self._number += 1
        self._charge(ticket, queues)
        return ticket

    def _start(self, ticket: Ticket) -> None:
        queues = [self.queues[name] for name in ticket.islands]
        for queue in queues:
            queue.take(ticket)
        self._charge(ticket, queues)
        ticket.launched = True
        ticket.after = ()

    def _charge(self, ticket: Ticket, queues: Sequence[IslandQueue]) -> None:
        for queue in queues:
            queue.in_flight += 1
            queue.used += ticket.nbytes.get(queue.name, 0)
            seconds = ticket.charged[queue.name] = self._seconds.get((ticket.program, queue.name), 1e-3)
            queue.order.launched(ticket.client, seconds)

    def finished(self, ticket: Ticket, island: str, seconds: float | None, kept: int = 0) -> None:
        """A run is done on an island.

        Args:
          seconds: how long it had the island for itself; None: not known.
          kept: bytes per device of its results, which stay until `release`.
        """
        charged = ticket.charged.pop(island, None)
        queue = self.queues.get(island)
        if charged is None or queue is None:
            return
        queue.in_flight -= 1
        queue.used += kept - ticket.nbytes.get(island, 0)
        if seconds is not None:
            key = ticket.program, island
            known = self._seconds.get(key)
            self._seconds[key] = seconds if known is None else (1 - _NEW) * known + _NEW * seconds
            queue.order.correct(ticket.client, seconds - charged)

    def release(self, island: str, nbytes: int) -> None:
        """Results are freed: bytes per device."""
        if island in self.queues:
            self.queues[island].used -= nbytes

    def withdraw(self, ticket: Ticket) -> None:
        """A run that waits is taken back."""
        if ticket.launched:
            return
        for name in ticket.islands:
            queue = self.queues.get(name)
            if queue is not None and ticket in queue.waiting.get(ticket.client, ()):
                queue.take(ticket)
        ticket.launched = True  # what waits for it may go on, and finds its results lost
        ticket.after = ()

    def why_waiting(self, ticket: Ticket) -> str:
        """What a run waits for, in words; empty if it does not."""
        if ticket.launched:
            return ""
        first = self._first(ticket)
        reasons = [w for n in first.islands if (w := self.queues[n].why_not(first))]
        if not reasons:
            ahead = {
                t.program for n in first.islands if (t := self.queues[n].preferred()) is not None and t is not first
            }
            reasons = [f"behind {', '.join(sorted(ahead))}"] if ahead else []
        return "; ".join(reasons)

    def clients(self) -> Collection[str]:
        """Clients with runs that wait."""
        return {c for q in self.queues.values() for c in q.waiting}
