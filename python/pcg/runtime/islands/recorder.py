"""Notes of which runs were on which islands, and when."""

from __future__ import annotations

import time

from pcg.runtime.islands.run import QuickRuns, Run
from pcg.viz.runs import IslandRun


class Recorder:
    """The runs that are done while it is there; times are in seconds since it began."""

    def __init__(self) -> None:
        self.runs: list[IslandRun] = []
        self._zero = time.perf_counter()

    def note(self, run: Run | QuickRuns, island: str, start: float, end: float) -> None:
        """A run was on an island, in times of `time.perf_counter`."""
        if isinstance(run, Run):
            zero = self._zero
            times = run.submitted - zero, max(start, zero) - zero, end - zero
            self.runs.append(IslandRun(island, run.client, run.program, run.number, *times))
