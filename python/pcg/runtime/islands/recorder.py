"""Notes of which runs were on which islands, and when."""

from __future__ import annotations

import time

from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.run import QuickRuns, Run
from pcg.viz.runs import IslandRun


class Recorder:
    """The runs that are done while it is there; times are in seconds since it began."""

    def __init__(self) -> None:
        self.runs: list[IslandRun] = []
        self.programs: dict[int, tuple[Loaded, list[tuple[int, int]]]] = {}
        """Of runs that were submitted meanwhile: program, and (argument, run that it is a result of)."""
        self._zero = time.perf_counter()

    def submitted(self, run: Run) -> None:
        """A run has its number, and its arguments are futures or arrays."""
        futures = [(i, a._run) for i, a in enumerate(run.arguments) if type(a) is ShardedFuture]
        # Runs by the short path, which are of before the recording, have no numbers.
        self.programs[run.number] = run.loaded, [(i, r.number) for i, r in futures if isinstance(r, Run)]

    def note(self, run: Run | QuickRuns, island: str, start: float, end: float) -> None:
        """A run was on an island, in times of `time.perf_counter`."""
        if isinstance(run, Run):
            zero = self._zero
            times = run.submitted - zero, max(start, zero) - zero, end - zero
            self.runs.append(IslandRun(island, run.client, run.program, run.number, *times))
