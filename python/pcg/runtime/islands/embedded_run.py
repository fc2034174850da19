"""A run on islands of this process whose exchanges wait for data: put into the queues as far as it is known.

Whoever launches puts work into the queues of all islands, one thread at a time, and each value exists before it is
read, so that nothing waits in a circle, however runs take turns.  Imports jax.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pcg.controller.progress import Progress
from pcg.controller.streams import Call, Collect, Dispatch, IslandProgram
from pcg.runtime.islands.backend import Unfinished
from pcg.runtime.islands.exchange import Receiver, Sender, deliver_here, in_thread
from pcg.runtime.islands.mailbox import Mailbox

#: By tag, the ends of an exchange.
Ends = Mapping[int, tuple[Sender, Receiver]]


class EmbeddedRun(Unfinished):
    """One run, as far as it is.

    Args:
      acts: by island and place in its stream, what puts an instruction into the queues.
      base: the first of each island's slots.
      exchanged: where to count what moves.
      results: what is returned at the end, for the slots.
    """

    def __init__(
        self, program: IslandProgram, acts: Mapping[tuple[str, int], Callable[[list[Any]], None]], ends: Ends,
        base: Mapping[str, int], slots: list[Any], exchanged: Counter[str],
        results: Callable[[list[Any]], tuple[Sequence[Any], Mapping[str, Any]]],
    ) -> None:  # fmt: skip
        self._progress = Progress(program)
        self._acts, self._ends, self._base, self._slots = acts, ends, base, slots
        self._exchanged, self._results = exchanged, results
        self._mailboxes: dict[int, Mailbox] = {}
        self._lock = threading.Lock()
        self._deliveries: list[Callable[[], None]] = []
        """Those that nobody has started."""
        self._delivering = 0
        self._go_on: Callable[[], None] | None = None

    def start(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on
        self._deliver()

    def advance(self) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        progress = self._progress
        going = True
        while going:
            going = False
            for island in progress.streams:
                while (what := progress.next(island)) is not None:
                    if isinstance(what, Collect):
                        if not self._mailboxes[what.tag].ended:
                            break
                        self._collect(island, what)
                    elif isinstance(what, Dispatch):
                        self._dispatch(island, what)
                    else:
                        self._acts[island, progress.at[island]](self._slots)
                    progress.advance(island)
                    going = True
                    if isinstance(what, Call):
                        break
        if self._go_on is not None:
            self._deliver()
        with self._lock:
            if progress.waiting() or self._delivering:
                return None
        return self._results(self._slots)

    def _dispatch(self, island: str, what: Dispatch) -> None:
        sender, receiver = self._ends[what.tag]
        mailbox = self._mailboxes[what.tag] = Mailbox(sender.senders, sender.receivers, self._notify)
        rows, routing = (self._slots[self._base[island] + slot] for slot in what.reads)
        launched = sender.launch(rows, routing)

        def deliver() -> None:
            found = deliver_here(sender, launched, mailbox, receiver.devices)
            with self._lock:
                self._exchanged.update(found)
                self._delivering -= 1
            self._notify()

        with self._lock:
            self._delivering += 1
        self._deliveries.append(deliver)

    def _collect(self, island: str, what: Collect) -> None:
        base, slots = self._base[island], self._slots
        destination = slots[base + what.reads[0]] if what.reads else None
        values = self._ends[what.tag][1].assemble(self._mailboxes.pop(what.tag), destination)
        for slot, x in zip(what.writes, values, strict=True):
            slots[base + slot] = x

    def _deliver(self) -> None:
        deliveries, self._deliveries = self._deliveries, []
        for deliver in deliveries:
            in_thread(deliver, "pcg exchange")

    def _notify(self) -> None:
        if self._go_on is not None:
            self._go_on()
