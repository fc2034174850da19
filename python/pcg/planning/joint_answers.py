"""What the joint search says of a program's alternatives, searched here or in a copy of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pcg.cost import CostModel
from pcg.planning.joint_search import JointSearch
from pcg.solve.answers import Answers

#: A question: what is wanted, and of which alternatives.
_Question = tuple[str, frozenset[int]]
_REWRITTEN, _COMPARED, _SAVED, _SAID = "rewritten", "compared", "saved", "said"


class JointAnswers:
    """The answers of a `search` of alternatives, which is made when the first is needed.

    Used with `with`, the copy and the search end.
    """

    def __init__(self, search: Callable[[], JointSearch], doubtful: float, *, elsewhere: bool) -> None:
        """
        Args:
          search: makes the search.
          doubtful: share of a step that a rule has to save to be used unseen.
          elsewhere: whether it is made in a copy of this process, at once, if there can be one.
        """
        self._make, self._doubtful = search, doubtful
        self._search: JointSearch | None = None
        self._answers = Answers(self._answer)
        self.elsewhere = elsewhere and all(self._answers.expect((q, frozenset())) for q in (_REWRITTEN, _COMPARED))
        """Whether there is a copy that searches."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        if self._search is not None:
            self._search.close()

    @property
    def model(self) -> CostModel | None:
        """The costs of the search, if it was made in this process."""
        return None if self._search is None else self._search.model

    @property
    def rewritten(self) -> frozenset[int]:
        """The alternatives that are taken, by number."""
        return self._of(_REWRITTEN)

    @property
    def compared(self) -> list[frozenset[int]]:
        """Alternatives one set of which is the best: `rewritten`, and those without rules that save little by the costs
        of the program with all alternatives; first those without what saves least, which mostly are."""
        return self._of(_COMPARED)

    def saved(self, rewritten: frozenset[int]) -> dict[str, float]:
        """By rule of these alternatives, how many seconds more a step takes without it."""
        return self._of(_SAVED, rewritten)

    def __str__(self) -> str:
        return self._of(_SAID)

    def _of(self, wanted: str, alternatives: frozenset[int] = frozenset()) -> Any:
        if self.elsewhere:
            self._answers.expect((wanted, alternatives))
        return self._answers.of((wanted, alternatives))

    def _answer(self, question: _Question) -> Any:
        if self._search is None:
            self._search = self._make()
        search, (wanted, alternatives) = self._search, question
        if wanted == _REWRITTEN:
            return search.rewritten
        if wanted == _COMPARED:
            every = search.rewritten
            without = [search.without(name, every) for name in search.doubtful(self._doubtful)]
            return [*dict.fromkeys([*filter(None, without), every])]
        return search.saved(alternatives) if wanted == _SAVED else str(search)
