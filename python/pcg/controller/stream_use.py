"""What a stream needs and may reuse: bytes, buffers that are taken over, what is written last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from pcg.controller.streams import Call, Collect, Copy, Dispatch, Free, IslandProgram, Receive, Send, order


def most_bytes(program: IslandProgram, island: str, workspace: Callable[[str], int]) -> int:
    """Bytes per device that a run adds: the most of values and workspace at once, without arguments.

    Args:
      workspace: of a function, by its name.
    """
    own: dict[int, int] = {}
    most = parcels = 0
    for what in program.streams[island].instructions:
        extra = 0
        if isinstance(what, Call):
            extra = workspace(what.function)
            written = zip(what.writes, what.values, strict=True)
            for slot in what.donates:
                own.pop(slot, None)
        elif isinstance(what, Free):
            own.pop(what.slot, None)
            continue
        elif isinstance(what, Send):
            continue
        elif isinstance(what, Dispatch):
            # The rows by where they go, and copies in parcels of up to twice as many rows, until they are taken.
            parcels += 3 * program.values[what.values[0]].nbytes
            most = max(most, sum(own.values()) + parcels)
            continue
        elif isinstance(what, Collect):
            extra = 2 * program.values[what.values[0]].nbytes
            written = zip(what.writes, what.values, strict=True)
        else:
            written = zip([what.target if isinstance(what, Copy) else what.slot], [what.value], strict=True)
        own.update((slot, program.values[v].nbytes) for slot, v in written)
        most = max(most, sum(own.values()) + extra + parcels)
    kept = sum(program.values[v].nbytes for v in program.results if program.island_of(v) == island)
    return max(most, kept)


def last_slot(program: IslandProgram, island: str) -> int:
    """The slot that a computation or a message of an island writes last, and that is full at the end; else -1."""
    full: dict[int, None] = {}
    for what in program.streams[island].instructions:
        if isinstance(what, Call):
            for slot in what.donates:
                full.pop(slot, None)
            wrote: Sequence[int] = what.writes
        elif isinstance(what, Collect):
            wrote = what.writes
        elif isinstance(what, Copy | Receive):
            wrote = [what.target if isinstance(what, Copy) else what.slot]
        else:
            if isinstance(what, Free):
                full.pop(what.slot, None)
            continue
        for slot in wrote:
            full.pop(slot, None)
            full[slot] = None
    return next(reversed(full), -1)


def taken_over(program: IslandProgram, island: str) -> dict[int, list[int]]:
    """By place of a call in a stream, the numbers of its arguments whose buffers its results can take over: those of
    the same shape, type and layout."""
    values, stream = program.values, program.streams[island]
    inside = {slot: values[program.arguments[n]] for n, slot in stream.arguments}
    found: dict[int, list[int]] = {}
    for place, what in enumerate(stream.instructions):
        if isinstance(what, Call):
            results = Counter(values[v] for v in what.values)
            found[place] = []
            for slot in what.donates:
                if results[inside[slot]]:
                    results[inside[slot]] -= 1
                    found[place].append(what.reads.index(slot))
            inside.update(zip(what.writes, (values[v] for v in what.values), strict=True))
        elif isinstance(what, Collect):
            inside.update(zip(what.writes, (values[v] for v in what.values), strict=True))
        elif isinstance(what, Copy):
            inside[what.target] = values[what.value]
        elif isinstance(what, Receive):
            inside[what.slot] = values[what.value]
    return found


def exchanges(program: IslandProgram) -> bool:
    """Whether what moves between its islands depends on data, so that a run is put into the queues by and by."""
    return any(isinstance(what, Dispatch) for s in program.streams.values() for what in s.instructions)


def waiting_islands(program: IslandProgram) -> list[str]:
    """Islands where a run waits for rows of exchanges, gives them, or waits for what is given behind one."""
    after = after_exchanges(program)
    return [
        name
        for name, stream in program.streams.items()
        if any(
            isinstance(what, Dispatch | Collect) or (isinstance(what, Receive) and what.tag in after)
            for what in stream.instructions
        )
    ]


def after_exchanges(program: IslandProgram) -> frozenset[int]:
    """Tags of messages that are given only when an exchange before them in the program has ended.

    Who takes one waits for it before anything that needs it is put into a queue: a queue that waits for another island
    may only wait for what was put into queues in the one order of all programs.
    """
    behind: set[str] = set()
    found: set[int] = set()
    for island, what in order(program):
        if isinstance(what, Collect) or (isinstance(what, Receive) and what.tag in found):
            behind.add(island)
        elif isinstance(what, Send) and island in behind:
            found.add(what.tag)
    return frozenset(found)
