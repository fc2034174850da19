"""A step of a pipeline with a thread per group, which waits for what other groups send it.  Imports jax."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from pcg.pipeline.instructions import Free, Instruction, Instructions, Receive, Run, Send
from pcg.pipeline.schedule import Schedule
from pcg.runtime import jax_compat
from pcg.viz.timeline import Event

#: An instruction as a function of the slots of its device and of channels.
Action = Callable[[list[Any], dict[Any, Any]], None]


class Threads:
    """A thread per group, with a channel between every two of them."""

    def __init__(
        self, instructions: Instructions, schedule: Schedule, slots: list[list[Any]],
        action: Callable[[Instruction], Action], copying: Callable[[Send], Callable[[Any], Any]], x64: bool,
    ) -> None:  # fmt: skip
        self.instructions, self.schedule, self.slots = instructions, schedule, slots
        self._action, self._copying, self._x64 = action, copying, x64
        capacity = instructions.capacity
        count = range(len(slots))
        self.channels = {(a, b): queue.Queue[Any](capacity) for a in count for b in count if a != b}
        self.events: list[Event] = []
        self.failed: BaseException | None = None
        self.start = time.perf_counter()

    def run(self) -> tuple[Event, ...]:
        threads = [threading.Thread(target=self._guarded, args=(d,), daemon=True) for d in range(len(self.slots))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.failed is not None:
            raise self.failed
        return tuple(sorted(self.events, key=lambda e: (e.start, e.device)))

    def _guarded(self, device: int) -> None:
        try:
            with jax_compat.x64(self._x64):
                for what in self.instructions.lists[device]:
                    self._do(device, what)
        except BaseException as error:  # the caller gets it
            self.failed = self.failed or error

    def _wait(self, act: Callable[[float], Any]) -> Any:
        """Put into, or take from, a channel; give up when another group has failed."""
        while True:
            try:
                return act(0.1)
            except (queue.Full, queue.Empty):
                if self.failed is not None:
                    raise RuntimeError("another group of devices has failed") from self.failed

    def _do(self, device: int, what: Instruction) -> None:
        own = self.slots[device]
        if isinstance(what, Send):
            value = self._copying(what)(own[what.slot])
            channel = self.channels[device, what.peer]
            self._wait(lambda seconds: channel.put(value, timeout=seconds))
        elif isinstance(what, Receive):
            channel = self.channels[what.peer, device]
            own[what.slot] = self._wait(lambda seconds: channel.get(timeout=seconds))
        elif isinstance(what, Free):
            self._action(what)(own, {})
        elif isinstance(what, Run):
            jax.block_until_ready([own[i] for i in what.reads])
            start = time.perf_counter()
            self._action(what)(own, {})
            jax.block_until_ready([own[i] for i in (*what.writes, *what.accumulates)])
            end = time.perf_counter()
            f = self.instructions.step.fragment[what.fragment]
            label = "" if what.microbatch is None else str(what.microbatch)
            shade = self.schedule.pipeline.stages_of(device).index(f.stage) if f.varying else 0
            event = Event(device, label, f.kind, start - self.start, end - self.start, (str(what),), shade)
            self.events.append(event)
