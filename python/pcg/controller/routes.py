"""Between which processes the shards of a value go, where islands have several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcg.controller.streams import Call, Collect, Copy, IslandProgram, Receive, Send, Stream


@dataclass(frozen=True)
class Route:
    """A value's shards on their way from devices of one slice to those of another, in the layout of the second."""

    aligned: bool
    """The i-th shard comes from the i-th device; else from one that has all of the value first."""
    sources: tuple[int, ...]
    """Of each shard, the position of the device that it comes from in the first slice."""
    senders: tuple[int, ...]
    """Of each shard, the process in the island of the first slice."""
    receivers: tuple[int, ...]
    """Of each shard, the process in the island of the second."""

    def between(self, sender: int, receiver: int) -> list[int]:
        """The shards that go from one process to another."""
        pairs = zip(self.senders, self.receivers, strict=True)
        return [i for i, pair in enumerate(pairs) if pair == (sender, receiver)]


def route(source: Sequence[int], per_sender: int, target: Sequence[int], per_receiver: int) -> Route:
    """The route between slices.

    Args:
      source, target: their devices, by the numbers in their islands.
      per_sender, per_receiver: devices of each process of these islands.
    """
    aligned = len(source) == len(target)
    positions = tuple(i % len(source) for i in range(len(target)))
    senders = tuple(source[p] // per_sender for p in positions)
    return Route(aligned, positions, senders, tuple(d // per_receiver for d in target))


def origins(program: IslandProgram, stream: Stream) -> list[str]:
    """Of each instruction of a stream, the slice of what it copies or sends; "" for others."""
    on = {slot: program.values[program.arguments[number]].slice for number, slot in stream.arguments}
    found = []
    for what in stream.instructions:
        source = ""
        if isinstance(what, Call):
            on.update((slot, what.slice) for slot in what.writes)
        elif isinstance(what, Collect):
            on.update((slot, program.values[v].slice) for slot, v in zip(what.writes, what.values, strict=True))
        elif isinstance(what, Copy):
            source, on[what.target] = on[what.source], program.values[what.value].slice
        elif isinstance(what, Receive):
            on[what.slot] = program.values[what.value].slice
        elif isinstance(what, Send):
            source = on[what.slot]
        found.append(source)
    return found


def source_slices(program: IslandProgram) -> dict[int, str]:
    """By tag of a message, the slice that its sender has the value on."""
    return {
        what.tag: source
        for stream in program.streams.values()
        for what, source in zip(stream.instructions, origins(program, stream), strict=True)
        if isinstance(what, Send)
    }
