"""How far devices get with their instructions: which of them wait, and what is in their channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pcg.pipeline.instructions import Free, Instruction, Instructions, Receive, Run, Send, global_order
from pcg.pipeline.step import Step


class Progress:
    """Devices that do their lists at any speed, with channels that block.

    In which order they are advanced does not matter for how far they get: what a device does next does not depend on
    the others, only when it may.
    """

    def __init__(self, instructions: Instructions) -> None:
        self.lists, self.capacity = instructions.lists, instructions.capacity
        self.at = [0] * len(self.lists)
        #: Values in the channel from a device to another one.
        self.channels: Counter[tuple[int, int]] = Counter()

    def may(self, device: int) -> bool:
        """Whether a device has a next instruction that is not blocked."""
        if self.at[device] == len(self.lists[device]):
            return False
        what = self.lists[device][self.at[device]]
        if isinstance(what, Send):
            return self.channels[device, what.peer] < self.capacity
        return not isinstance(what, Receive) or self.channels[what.peer, device] > 0

    def advance(self, device: int) -> tuple[int, Instruction]:
        """Do the next instruction of a device, which may: its place and itself."""
        place = self.at[device]
        what = self.lists[device][place]
        if isinstance(what, Send):
            self.channels[device, what.peer] += 1
        elif isinstance(what, Receive):
            self.channels[what.peer, device] -= 1
        self.at[device] += 1
        return place, what

    def rest(
        self, leave: int | None = None, first: Iterable[int] | None = None
    ) -> Iterator[tuple[int, int, Instruction]]:
        """Advance all devices, but for one, as far as they get: (device, place, instruction).

        `first`: those that may get further than before, where the others are known not to.
        """
        ready = [d for d in (range(len(self.lists)) if first is None else first) if d != leave]
        while ready:
            d = ready.pop()
            while self.may(d):
                place, what = self.advance(d)
                yield d, place, what
                if isinstance(what, Send | Receive) and what.peer not in (leave, *ready):
                    ready.append(what.peer)


def peaks(instructions: Instructions) -> tuple[int, ...]:
    """The most bytes of each device, at any speed of the others: its values, what can be in the channels to it, and the
    workspace of the fragment that it runs.

    Instructions pass `check`.  A run in planned order takes `planned_peaks`, which are no more.
    """
    return tuple(max(found, default=0) for found in (memory(instructions, d) for d in range(instructions.step.devices)))


def planned_peaks(instructions: Instructions) -> tuple[int, ...]:
    """The most bytes of each device where one thread does the instructions of all in their order: its values, what is
    in the channels to it, and the workspace of the fragment that it runs."""
    step = instructions.step
    size = {b.name: b.bytes for b in step.buffers}
    target = [t.target for t in step.transfers]
    now = [sum(size[name] for name, _ in places) for places in instructions.places]
    most = list(now)
    for device, what in global_order(instructions):
        workspace = 0
        if isinstance(what, Send):
            # A value has room where it goes to; taking it out of the channel changes nothing.
            device = what.peer
            now[device] += size[target[what.tag // step.microbatches]]
        elif isinstance(what, Run):
            now[device] += _added(step, size, what)
            workspace = step.fragment[what.fragment].workspace
        elif isinstance(what, Free):
            now[device] -= size[what.buffer]
        most[device] = max(most[device], now[device] + workspace)
    return tuple(most)


def _added(step: Step, size: dict[str, int], what: Run) -> int:
    """By how many bytes a run changes what its device has, before anything is freed."""
    f = step.fragment[what.fragment]
    sums = sum(size[n] for n in f.accumulates) if what.begins else 0
    return sum(size[n] for n in f.writes) - sum(size[old] for old, _ in f.aliases) + sums


def memory(instructions: Instructions, device: int) -> list[int]:
    """The most bytes of a device while it does each of its instructions, then after the last one; see `peaks`.

    Instructions pass `check`.
    """
    step = instructions.step
    size = {b.name: b.bytes for b in step.buffers}
    target = [t.target for t in step.transfers]
    progress = Progress(instructions)
    now, flying, found = sum(size[name] for name, _ in instructions.places[device]), 0, []
    first: Iterable[int] | None = None
    for what in instructions.lists[device]:
        for _, _, other in progress.rest(device, first):
            if isinstance(other, Send) and other.peer == device:
                flying += size[target[other.tag // step.microbatches]]
        if isinstance(what, Run):
            now += _added(step, size, what)
            found.append(now + flying + step.fragment[what.fragment].workspace)
        else:
            found.append(now + flying)
            if isinstance(what, Receive):
                now, flying = now + size[what.buffer], flying - size[what.buffer]
            elif isinstance(what, Free):
                now -= size[what.buffer]
        progress.advance(device)
        first = (what.peer,) if isinstance(what, Send | Receive) else ()
    return [*found, now + flying]
