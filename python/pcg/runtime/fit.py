"""Plans for which the backend's compiler allocates no more than a memory limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from pcg.driver.decide import Options
from pcg.ir.errors import PcgError
from pcg.machine.units import bytes_text
from pcg.planning.fit_memory import PlannerCache
from pcg.runtime.executable import Executable
from pcg.search.outcome import DoesNotFit, Outcome

#: How often a plan is searched that needs less, because the compiler allocates more than predicted; the last one is the
#: smallest there is.  A choice.
_ROUNDS = 4
#: Share of the limit that the next plan aims at: a margin, since the ratio differs from plan to plan.  A choice.
_AIM = 0.95


def within(build: Callable[[Options], Executable], options: Options, limit: int) -> Executable:
    """An executable for which XLA allocates at most `limit` bytes per device.

    Plans are made for a predicted need.  Where XLA needs more (its schedule, fusions and copies are its own), the next
    plan is made for that much less, and at last the one that needs least.

    Raises:
      PcgError: none was found; it names the smallest limit that would work.
    """
    aim, least, cause = float(limit), math.inf, None
    options = replace(options, search={**options.search, "planner_cache": PlannerCache()})
    for left in reversed(range(_ROUNDS)):
        try:
            executable = build(replace(options, memory_limit=int(aim)))
        except DoesNotFit as error:
            cause = error
            executable = build(replace(options, memory_limit=math.ceil(error.needed)))
            if executable.allocated() is None:
                raise
        if cause is None and not isinstance(executable.compilation.report, Outcome):
            return executable  # all layouts are annotated: there is nothing to choose
        peak = executable.allocated()
        if peak is None or peak <= limit:
            return executable
        least = min(least, peak)
        if cause is not None:
            break
        aim = aim * _AIM * limit / peak if left > 1 else 1.0
    means = f"; {cause.message}" if cause is not None else ""
    raise PcgError(
        f"no plan fits in {bytes_text(limit)} per device: the smallest one found takes {bytes_text(least)} "
        f"({least} bytes) as XLA allocates it{means}"
    )
