"""When one thread puts the work of a step into the queues of devices, and when they have done it.  Imports jax."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from pcg.pipeline.instructions import Instruction, Run


@dataclass
class Dispatch:
    """An instruction; times are seconds since the step began."""

    device: int
    what: Instruction
    start: float
    """When the thread took it up."""
    end: float
    """When it was in the queue of the device."""
    done: float | None = None
    """When its values were there; None of what is no run, or writes nothing that is kept."""

    @property
    def seconds(self) -> float:
        """What it cost the thread."""
        return self.end - self.start


@dataclass
class Watch:
    """Notes dispatches, and with a thread per device when their results are there."""

    devices: int
    dispatches: list[Dispatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._queues: list[queue.SimpleQueue[tuple[Dispatch, list[Any]] | None]] = [
            queue.SimpleQueue() for _ in range(self.devices)
        ]
        self._threads = [threading.Thread(target=self._wait, args=(q,), daemon=True) for q in self._queues]
        for t in self._threads:
            t.start()
        self._begin = time.perf_counter()

    def note(self, device: int, what: Instruction, start: float, slots: Sequence[Any]) -> None:
        """Note an instruction that the thread took up at `start` (of `time.perf_counter`) and has just dispatched."""
        found = Dispatch(device, what, start - self._begin, time.perf_counter() - self._begin)
        self.dispatches.append(found)
        if isinstance(what, Run) and what.writes:
            self._queues[device].put((found, [slots[i] for i in what.writes]))

    def result(self) -> list[Dispatch]:
        """All dispatches in order, when everything is done."""
        for q in self._queues:
            q.put(None)
        for t in self._threads:
            t.join()
        return self.dispatches

    def _wait(self, own: queue.SimpleQueue[tuple[Dispatch, list[Any]] | None]) -> None:
        while (item := own.get()) is not None:
            found, arrays = item
            jax.block_until_ready(arrays)
            found.done = time.perf_counter() - self._begin


def waiting_on_host(dispatches: Iterable[Dispatch]) -> list[tuple[Dispatch, float]]:
    """Runs that came into the queue of their device after it had done all that was there, and by how many seconds.

    What a device did last counts as long as its values are known; a run of which they are not takes no time here, so
    that no wait is missed.  The first run of each device waits for nothing before it, and is left out.
    """
    done: dict[int, float] = {}
    found = []
    for d in dispatches:
        if not isinstance(d.what, Run):
            continue
        if d.device in done and d.end > done[d.device]:
            found.append((d, d.end - done[d.device]))
        if d.done is not None:
            done[d.device] = max(done.get(d.device, 0.0), d.done)
    return found
