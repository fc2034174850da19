"""How far islands come with their streams, where only what takes a message waits, for what gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pcg.controller.instructions import Call, Collect, Dispatch, Instruction, Receive, Send, StreamError, Streams


class Progress:
    """How far each island is, when a receive waits for its send and nothing else waits."""

    def __init__(self, program: Streams) -> None:
        self.streams = {island: stream.instructions for island, stream in program.streams.items()}
        self.at = dict.fromkeys(self.streams, 0)
        self._messages: Counter[tuple[str, str, int]] = Counter()
        """(from, to, tag) of those that are between islands."""

    def next(self, island: str) -> Instruction | None:
        """The instruction of an island that is next; None if it is done, or has to wait."""
        instructions, place = self.streams[island], self.at[island]
        if place == len(instructions):
            return None
        what = instructions[place]
        if isinstance(what, Receive | Collect) and not self._messages[what.peer, island, what.tag]:
            return None
        return what

    def advance(self, island: str) -> None:
        """Do the next instruction of an island."""
        what = self.streams[island][self.at[island]]
        if isinstance(what, Send | Dispatch):
            self._messages[island, what.peer, what.tag] += 1
        elif isinstance(what, Receive | Collect):
            self._messages[what.peer, island, what.tag] -= 1
        self.at[island] += 1

    def waiting(self) -> list[str]:
        """Islands that are not done."""
        return [island for island, place in self.at.items() if place < len(self.streams[island])]

    def rest(self) -> Iterator[tuple[str, Instruction]]:
        """Do all that can be done: the islands one call each, then the next one, so that none is idle for long."""
        going = True
        while going:
            going = False
            for island in self.streams:
                while (what := self.next(island)) is not None:
                    self.advance(island)
                    going = True
                    yield island, what
                    if isinstance(what, Call):
                        break


def order(program: Streams) -> list[tuple[str, Instruction]]:
    """(island, instruction) of all streams as one thread does them: no receive before its send.

    Raises:
      StreamError: islands wait for each other.
    """
    progress = Progress(program)
    found = list(progress.rest())
    if stuck := progress.waiting():
        where = [(island, progress.at[island]) for island in stuck]
        texts = [f"island {i}, instruction {p} ({progress.streams[i][p]})" for i, p in where]
        raise StreamError(f"islands wait for ever: {'; '.join(texts)}", *where[0])
    return found
