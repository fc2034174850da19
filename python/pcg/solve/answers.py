"""Answers to questions that are known early, looked for one after the other in a copy of this process.

Where there can be no copy, an answer is looked for here when it is needed; it is the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from pcg.solve.beside import Copy, copied

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Q = TypeVar("Q")
A = TypeVar("A")


class Answers(Generic[Q, A]):
    """Answers by a function, each found once.

    Used with `with`, or closed, the copy ends.  It has what `answer` uses as it was at the first `expect`.  Questions,
    which are keys, and answers are pickled.
    """

    def __init__(self, answer: Callable[[Q], A]) -> None:
        self._answer = answer
        self._copy: Copy | None = None
        self._tried = False
        self._there = deque[Q]()
        """Questions that the copy has."""
        self._found: dict[Q, A] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the copy, if there is one."""
        self._there.clear()
        if self._copy is not None:
            self._copy.end()
            self._copy = None

    def expect(self, question: Q) -> bool:
        """Have the answer looked for in the copy, if there can be one, after those before it; whether it is."""
        if question in self._found or question in self._there:
            return True
        if not self._tried:
            self._tried, self._copy = True, copied(_answer_all, self._answer, duplex=True)
        if self._copy is not None:
            try:
                self._copy.connection.send(question)
                self._there.append(question)
            except OSError:  # somebody ended it, as where memory is short
                self.close()
        return self._copy is not None

    def forgo(self, question: Q) -> None:
        """Nobody needs the answer; a copy that looks for nothing else ends."""
        while self._copy is not None and self._copy.connection.poll() and self._there:
            self._receive()
        if set(self._there) == {question}:
            self.close()

    def of(self, question: Q) -> A:
        """The answer, which the copy or this process finds.

        Raises what `answer` does here.
        """
        while question in self._there:
            self._receive()
        if question not in self._found:
            self._found[question] = self._answer(question)
        return self._found[question]

    def _receive(self) -> None:
        """Wait for the next answer of the copy."""
        assert self._copy is not None
        try:
            self._found[self._there[0]] = self._copy.connection.recv()
            self._there.popleft()
        except (EOFError, OSError):  # it raised something, or somebody ended it
            self.close()


def _answer_all(connection: Connection, answer: Callable[[Q], A]) -> None:
    """In the copy."""
    try:
        while True:
            connection.send(answer(connection.recv()))
    except (EOFError, OSError):
        return  # nobody asks any more
