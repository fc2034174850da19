"""A memory limit held against what the backend's compiler allocates."""

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

#: How often a plan is sought that needs less, because the compiler allocates more than was predicted.
_ROUNDS = 4
#: How far below the limit the next plan aims.
_AIM = 0.95


def within(build: Callable[[Options], Executable], options: Options, limit: int) -> Executable:
    """An executable for which XLA allocates at most `limit` bytes per device.

    Plans are made for a predicted need.  Where XLA needs more (its schedule, fusions and copies are its own), the next
    plan is made for that much less.

    Raises:
      PcgError: none was found; it names the smallest limit that would work.
    """
    aim, least, cause = float(limit), math.inf, None
    options = replace(options, search={**options.search, "planner_cache": PlannerCache()})
    for _ in range(_ROUNDS):
        try:
            made = build(replace(options, memory_limit=int(aim)))
        except DoesNotFit as error:
            cause = error
            made = build(replace(options, memory_limit=math.ceil(error.needed)))
            peak = made.allocated()
            if peak is None:
                raise
            if peak <= limit:
                return made
            least = min(least, peak)
            break
        if not isinstance(made.compilation.report, Outcome):
            return made  # the layouts were given: there is nothing to choose
        peak = made.allocated()
        if peak is None or peak <= limit:
            return made
        least = min(least, peak)
        aim *= _AIM * limit / peak
    means = f"; {cause.message}" if cause is not None else ""
    raise PcgError(
        f"no plan fits in {bytes_text(limit)} per device: the smallest one found takes {bytes_text(least)} "
        f"({least} bytes) as XLA allocates it{means}"
    )
