"""One run of an island's stream that waits for data: put into the queues by and by, in turn with other runs.

What is behind an exchange is put into queues only when everything that it needs from other islands is there.  So a
queue waits for another island only where all programs are in one order, and nothing waits in a circle, although islands
do not agree on when they go on with which run.  Imports jax.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from pcg.controller.faults import RunError
from pcg.controller.streams import Collect, Dispatch, Receive
from pcg.runtime.islands import exchange_edges
from pcg.runtime.islands.exchange import Exchanged, deliver_here, in_thread
from pcg.runtime.islands.mailbox import Mailbox
from pcg.runtime.islands.stream_runner import StreamRunner


class StreamRun:
    """One run, as far as it is.

    Args:
      go_on: called in any thread when `advance` may have something to do.
    """

    def __init__(self, runner: StreamRunner, run: int, slots: list[Any], go_on: Callable[[], None]) -> None:
        self._runner, self._run, self.slots, self._go_on = runner, run, slots, go_on
        self.place = 0
        """The next instruction."""
        self.exchanged: Counter[str] = Counter()
        """What its exchanges have given to others."""
        self.over = False
        self._mailboxes: dict[int, Mailbox] = {}
        self._pulled: list[Any] = []
        """What the next instruction, a receive, waits for."""
        self._lock = threading.Lock()
        self._delivering = 0

    def advance(self) -> bool:
        """Put what is possible into the queues; whether that is all."""
        instructions, acts = self._runner.stream.instructions, self._runner.acts
        while self.place < len(instructions):
            what = instructions[self.place]
            if isinstance(what, Dispatch):
                self._dispatch(what)
            elif isinstance(what, Collect):
                if not self._collect(what):
                    return False
            elif isinstance(what, Receive) and what.tag in self._runner.deferred:
                if not self._receive(what):
                    return False
            else:
                acts[self.place](self.slots, self._run)
            self.place += 1
        with self._lock:
            return not self._delivering

    def _dispatch(self, what: Dispatch) -> None:
        runner = self._runner
        sender = runner.senders[what.tag]
        launched = sender.launch(*(self.slots[s] for s in what.reads))
        deliver: Callable[[], Exchanged]
        if what.peer == runner.stream.island:
            mailbox = self._mailboxes[what.tag] = Mailbox(sender.senders, sender.receivers, self._go_on)
            deliver = partial(deliver_here, sender, launched, mailbox, runner.receivers[what.tag].devices)
        else:
            exchange_edges.arm_plans(runner.edges, self._run, sender, launched)
            if isinstance(launched, RunError):
                return
            deliver = partial(exchange_edges.deliver, runner.edges, self._run, sender, launched)

        def task() -> None:
            found = deliver()
            with self._lock:
                self.exchanged.update(found)
                self._delivering -= 1
            self._go_on()

        self._delivering += 1
        in_thread(task, f"dispatch {what.tag}")

    def _collect(self, what: Collect) -> bool:
        runner = self._runner
        receiver = runner.receivers[what.tag]
        mailbox = self._mailboxes.get(what.tag)
        if mailbox is None:
            mailbox = self._mailboxes[what.tag] = Mailbox(receiver.senders, receiver.receivers, self._go_on)
            task = partial(exchange_edges.pull, runner.edges, self._run, receiver, mailbox)
            in_thread(task, f"collect {what.tag}")
        if not mailbox.ended:
            return False
        del self._mailboxes[what.tag]
        values = receiver.assemble(mailbox, self.slots[what.reads[0]] if what.reads else None)
        for slot, x in zip(what.writes, values, strict=True):
            self.slots[slot] = x
        return True

    def _receive(self, what: Receive) -> bool:
        pull, finish = self._runner.pulls[what.tag]
        if not self._pulled:
            try:
                x = pull(self._run, what.tag)
            except Exception as error:
                self.slots[what.slot] = _lost(error)
                return True
            self._pulled = [x, None]
            in_thread(partial(self._wait_for, x), f"receive {what.tag}")
            return False
        x, came = self._pulled
        if came is None:
            return False
        self._pulled = []
        self.slots[what.slot] = finish(x) if came is x else came
        return True

    def _wait_for(self, x: Any) -> None:
        try:
            x.block_until_ready()
            came = x
        except Exception as error:
            came = _lost(error)
        self._pulled[1] = came
        self._go_on()


def _lost(error: Exception) -> RunError:
    return error if isinstance(error, RunError) else RunError(f"{type(error).__name__}: {error}")
