"""Gang scheduling: which program runs next on which islands, in one order for all of their devices.

The devices of an island run what they get in order, and wait for each other in collectives.  So a program is launched
on all devices of all its islands at once, and decisions are made one after another: any two programs have the same
order wherever they meet, and a program only waits for what was launched before it.  Nothing can then wait in a circle.
(Pathways, MLSys'22, section 4.4.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pcg.controller.policies import policy
from pcg.controller.queues import IslandQueue, Ticket
from pcg.controller.store import Entry

#: Programs in flight per island: enough to hide the time of a launch, few enough that shares are kept.
IN_FLIGHT = 8
#: Part of a new measurement in the estimated time of a program.
_NEW = 0.3


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
        self, client: str, program: str, islands: Sequence[str], nbytes: Mapping[str, int],
        after: Iterable[Ticket] = (), reads: tuple[Entry, ...] = (),
    ) -> Ticket:  # fmt: skip
        """A run of a program waits.

        Args:
          reads: buffers that it reads, which stay as long as it waits.

        Raises:
          MemoryError: it needs more bytes than an island has.
        """
        self.check_fits(program, islands, nbytes, reads)
        before = tuple(t for t in after if not t.launched)
        ticket = Ticket(self._number, client, program, tuple(islands), nbytes, before, reads)
        self._number += 1
        for name in islands:
            self.queues[name].add(ticket)
        return ticket

    def check_fits(
        self, program: str, islands: Sequence[str], nbytes: Mapping[str, int], reads: Sequence[Entry] = ()
    ) -> None:
        """Raise MemoryError if a program needs more bytes than an island has."""
        for name in islands:
            most, need = self.queues[name].memory, nbytes.get(name, 0)
            need += sum(e.nbytes for e in reads if e.account.island == name)
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
        for i, found in self._candidates():
            if self.launchable(found):
                self._rotation = (self._rotation + i + 1) % len(self.queues)
                return found
        return None

    def short_of_memory(self) -> Ticket | None:
        """A run that is next, for which there is room in all queues, but not in memory."""
        for _, found in self._candidates():
            queues = [self.queues[name] for name in found.islands]
            if all(q.in_flight < q.cap for q in queues) and any(q.missing(found) for q in queues):
                return found
        return None

    def _candidates(self) -> Iterator[tuple[int, Ticket]]:
        """Runs that the policies of all their islands would launch next, with places in the row of islands."""
        names = list(self.queues)
        for i in range(len(names)):
            # Another island is looked at first every time, so that the order of their names decides nothing.
            wanted = self.queues[names[(self._rotation + i) % len(names)]].preferred()
            if wanted is not None:
                yield i, self._wanted_everywhere(self._first(wanted))

    def _wanted_everywhere(self, ticket: Ticket) -> Ticket:
        """A run, or what keeps it from being next on one of its islands, which is next on all of its own.

        Where islands prefer different ones in a circle the oldest of these is next.
        """
        seen: list[Ticket] = []
        while ticket not in seen:
            seen.append(ticket)
            others = (self.queues[name].preferred() for name in ticket.islands)
            before = (self._first(t) for t in others if t is not None and t is not ticket)
            blocker = next((t for t in before if t is not ticket), None)
            if blocker is None:
                return ticket
            ticket = blocker
        circle = seen[seen.index(ticket) :]
        return self._first(min(circle, key=lambda t: t.number))

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
        self, client: str, program: str, islands: Sequence[str], nbytes: Mapping[str, int],
        reads: tuple[Entry, ...] = (),
    ) -> Ticket | None:  # fmt: skip
        """A run that is launched now, if nothing waits for its islands and there is room on all of them; else None."""
        queues = [self.queues[name] for name in islands]
        if any(q.waiting or q.in_flight >= q.cap for q in queues):
            return None
        ticket = Ticket(self._number, client, program, tuple(islands), nbytes, (), reads, True)
        if any(q.missing(ticket) for q in queues):
            return None
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
            queue.used += queue.need(ticket)
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

    def queued(self, client: str) -> int:
        """Runs of a client that wait."""
        return len({id(t) for q in self.queues.values() for t in q.waiting.get(client, ())})

    def clients(self) -> Collection[str]:
        """Clients with runs that wait."""
        return {c for q in self.queues.values() for c in q.waiting}
