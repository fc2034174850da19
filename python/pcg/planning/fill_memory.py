"""Making a plan within a memory limit faster with what it leaves of the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pcg.planning.memory_plans import MemoryPlan
from pcg.search.frontier import Point

#: Simulations that may be made.  A choice: with ten or sixteen no plan of three tried (Llama-3 8B on 48 and 192 V100,
#: GPT-3 13B on 48) becomes faster by more than 0.05%.
SIMULATIONS = 6


def fill(
    best: MemoryPlan, limit: float, simulate: Callable[[Point], MemoryPlan],
    progress: Callable[[str], None] = lambda _: None,
) -> MemoryPlan:  # fmt: skip
    """`best`, or a faster plan within `limit` bytes, of the same number of microbatches and without recomputation.

    The search's count of bytes says little about what fits, so simulations do.  First those plans of the frontier are
    tried that are faster by the search's estimate; then changes of single choices, and parts of faster plans, stay as
    long as the limit has room and the simulated step takes no longer; what does not fit is left out.
    """
    frontier = best.sharded.variant.frontier
    left = SIMULATIONS

    def good(points: Sequence[Point]) -> int:
        """How many of `points`, each faster than the one before, fit and take no longer; by bisection."""
        nonlocal left, best
        low, high = 0, len(points)
        while low < high and left:
            middle, left = (low + high) // 2, left - 1
            progress(f"using what is left of the limit: simulation {SIMULATIONS - left} of {SIMULATIONS}")
            found = simulate(points[middle])
            if found.peak <= limit and found.simulated <= best.simulated:
                best, low = found, middle + 1
            else:
                high = middle
        return low

    good(frontier.faster(best.sharded.point))
    changes = frontier.changes(best.sharded.point)
    while left and (taken := frontier.steps(best.sharded.point, changes)):
        changes = [change for change, _ in taken[good([p for _, p in taken]) + 1 :]]
    return best
