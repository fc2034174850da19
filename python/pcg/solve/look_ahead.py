"""Answers to questions one by one, the next of which are looked for in a copy of this process meanwhile.

For searches that try one thing after the other and mostly find that it does not help: what is tried next is then known.
Where one does help, what was found in advance is dropped, so nothing depends on whether there is a copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pcg.solve.beside import Copy, copied

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

S = TypeVar("S")
Q = TypeVar("Q")
A = TypeVar("A")
#: Questions for which a copy is made, which takes 10 ms; how many it has at most, so that it need not wait for the next
#: one; and how many are looked at before their turn.  Choices.
_SEVERAL, _THERE, _AHEAD = 6, 2, 4


class LookAhead(Generic[S, Q, A]):
    """Answers by a function of a state and a question, found here or in a copy of this process, made once it pays.

    Used with `with`, or closed, the copy ends.  What `answer` uses beside its arguments must not change once it was
    used.  States, questions and answers are pickled; those but states are small.
    """

    def __init__(self, answer: Callable[[S, Q], A], expected: int = 0) -> None:
        """`expected`: about how many questions there will be in all."""
        self._answer, self._expected = answer, expected
        self._copy: Copy | None = None
        self._tried = False
        self._last = 0
        """The number of the last question that the copy got."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the copy, if there is one."""
        if self._copy is not None:
            self._copy.end()
            self._copy = None

    def answers(self, state: S, questions: Sequence[Q]) -> Iterator[A]:
        """The answer to each question, in order; whoever does not want the rest stops.

        What `answer` raises here is raised at its question or before it.
        """
        found: dict[int, A] = {}
        there = dict[int, int]()  # by number, questions that the copy has
        if self._is_of_use(len(questions)):
            self._send((None, state))
        for at in range(len(questions)):
            while at not in found:
                following = range(at + 1, min(at + 1 + _AHEAD, len(questions)))
                nexts = deque(n for n in following if n not in found and n not in there.values())
                while self._copy is not None and nexts and len(there) < _THERE:
                    self._last += 1
                    there[self._last] = nexts.popleft()
                    self._send((self._last, questions[there[self._last]]))
                # While the copy looks for what is wanted, the next is looked at here.
                here = at if at not in there.values() else nexts[0] if nexts and not self._has_answered() else None
                if here is not None:
                    found[here] = self._answer(state, questions[here])
                while there and (here is None or self._has_answered()):
                    here = at
                    for number, answer in self._received(there):
                        found[there.pop(number)] = answer
            yield found.pop(at)

    def _is_of_use(self, count: int) -> bool:
        """Whether there is a copy for so many questions; it is made if that pays."""
        if self._copy is None and not self._tried and count > 1 and max(count, self._expected) >= _SEVERAL:
            self._tried = True
            self._copy = copied(_answer_all, self._answer, duplex=True)
        return self._copy is not None and count > 1

    def _send(self, message: tuple[int | None, Any]) -> None:
        assert self._copy is not None
        try:
            self._copy.connection.send(message)
        except OSError:  # somebody ended it, as where memory is short
            self.close()

    def _has_answered(self) -> bool:
        return self._copy is not None and self._copy.connection.poll()

    def _received(self, there: dict[int, int]) -> list[tuple[int, A]]:
        """What the copy answers next, if it is to a question that it has; where it has ended, it has none any more."""
        try:
            if self._copy is None:
                raise EOFError
            number, answer = self._copy.connection.recv()
        except (EOFError, OSError):
            self.close()
            there.clear()
            return []
        return [(number, answer)] if number in there else []


def _answer_all(connection: Connection, answer: Callable[[S, Q], A]) -> None:
    """In the copy.  A message without a number is a new state: nobody waits for answers with the one before."""
    state: Any = None
    questions = deque[tuple[int, Any]]()
    try:
        while True:
            while not questions or connection.poll():
                number, message = connection.recv()
                if number is None:
                    state = message
                    questions.clear()
                else:
                    questions.append((number, message))
            number, question = questions.popleft()
            connection.send((number, answer(state, question)))
    except (EOFError, OSError):
        return  # nobody asks any more
