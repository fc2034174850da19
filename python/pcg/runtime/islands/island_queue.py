"""The queue of an island's devices, and how much may be in it.  Imports no jax: it is told of arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

#: Computations of several devices in the queues of an island at most: XLA's CPU devices wait for each other for ever
#: when more than 32 with collectives are under way.
GANGS = 24


class Island:
    """Devices that run what they get in one order."""

    def __init__(self, name: str, devices: Sequence[Any]) -> None:
        self.name, self.devices = name, tuple(devices)
        self._gangs: deque[Any] = deque()
        self.launched = 0
        """Computations so far."""
        self.most = 0
        """Computations of several devices in the queues at once, the most so far."""
        self.newest: Any = None
        """A small result of the computation that was launched last."""

    def gang(self, array: Any) -> None:
        """A computation of several devices is in the queues, and computes an array.

        If there are many it waits for most of them: one that waits for each takes longer than the computations.
        """
        gangs = self._gangs
        gangs.append(array)
        if len(gangs) > self.most:
            self.most = len(gangs)
        if len(gangs) == GANGS:
            for _ in range(GANGS - GANGS // 4):
                last = gangs.popleft()
            wait_for(last, self)


def wait_for(array: Any, island: Island) -> None:
    """Wait until an array is computed; one that was donated is, when what came later on its island is."""
    try:
        array.block_until_ready()
    except Exception:  # what is wrong with it is said to those who read it
        if array.is_deleted() and island.newest is not None and not island.newest.is_deleted():
            try:
                island.newest.block_until_ready()
            except Exception:
                return
