"""How fast the machine is while it is measured.

Other work on a machine and the clock of its processors slow everything down about alike, for seconds or minutes, so
that what was measured later would seem to take longer than what was measured before.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from pcg.runtime.measured import timed

#: Runs of the work at the beginning, whose median is a slowness of 1.  A choice: a run differs from the next by up to a
#: tenth.
_FIRST = 31


class Speed:
    """Follows the speed by work that stays the same, which is run between what is measured."""

    def __init__(self, work: Callable[[], Any]) -> None:
        work()
        self._seconds = [timed(work) for _ in range(_FIRST)]
        self._work = work
        self._first = statistics.median(self._seconds)
        self.found: list[float] = []
        """All that `slowness` has found."""

    def look(self) -> None:
        """Run the work once."""
        self._seconds.append(timed(self._work))

    @property
    def looks(self) -> int:
        """How often the work has run."""
        return len(self._seconds)

    def slowness(self, since: int) -> float:
        """How many times longer the work took, in the median, than at the beginning, since it had run so often.

        What was measured meanwhile is divided by it.
        """
        slow = statistics.median(self._seconds[since:]) / self._first
        self.found.append(slow)
        return slow

    @property
    def typical(self) -> float:
        """The slowness over all of the time."""
        return statistics.median(self._seconds) / self._first
