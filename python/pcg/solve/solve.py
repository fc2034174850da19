"""The solver: reads nothing, writes nothing; an answer for a problem within a time limit.

After the reduction two processes search with seeds of their own and hand in what they find; the parent keeps the best and
stops them in time.  What is found depends on the seed and on how far each search gets, so two runs agree only if both
end before the limit (the bound met, or nothing left to search).
"""

from __future__ import annotations

import multiprocessing as mp
import queue
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcg.solve.local import Search
from pcg.solve.model import Model, flatten
from pcg.solve.problem import FORBIDDEN, Problem
from pcg.solve.reduce import Contradiction, reduce
from pcg.solve.timeline import Infeasible

#: Share of the time for the lower bound, per process.
_ASCENT = (0.25, 0.1)
#: Seconds kept for stopping the processes and expanding the answer.
_RESERVE = 0.4


@dataclass
class Solution:
    """An assignment that fits, and what is known about it."""

    strategies: list[int]
    cost: int
    peak: int
    bound: float
    """No assignment that fits costs less (0 if not computed)."""

    @property
    def gap(self) -> float:
        """How much of the cost the bound leaves open; 0 is proven optimal."""
        return max(0.0, (self.cost - self.bound) / self.cost) if self.cost else 0.0


def solve(p: Problem, seconds: float, seed: int = 0, processes: int = 2) -> Solution:
    """The best solution found within `seconds` of wall time; raises Infeasible if there is none or none is found."""
    start = time.monotonic()
    deadline = start + max(seconds, 0.0) - _RESERVE - 2e-6 * len(p.costs)
    # Forbidden costs are ruled out first; if nothing is left then, or found, they are costs like others.
    nearest = np.inf
    for forbid, until in ((True, start + 0.7 * (deadline - start)), (False, deadline)):
        try:
            reduced = reduce(p, forbid, start + 0.5 * (deadline - start))
        except (Contradiction, Infeasible):
            if not forbid:
                raise
            continue
        model = flatten(reduced)
        best, bound, nearest = _search(model, deadline, until, seed, processes)
        if best is not None:
            x = reduced.expand(best)
            cost = p.cost(x)
            return Solution(x, cost, p.peak(x), _whole(bound + reduced.constant, cost) if forbid else 0.0)
        if not _has_forbidden(p):
            break
    raise Infeasible(*_nothing(p, nearest))


def _has_forbidden(p: Problem) -> bool:
    return any(c.max() >= FORBIDDEN for c in p.costs) or any(t.max(initial=0) >= FORBIDDEN for t in p.tables)


def _whole(bound: float, cost: int) -> float:
    """The bound, less what rounding may have added; costs are whole, so a bound within that of the next one is it."""
    if not np.isfinite(bound):
        return 0.0
    careful = bound - 1e-9 * abs(bound) - 1e-3
    return float(min(cost, max(0.0, np.ceil(careful))))


def _nothing(p: Problem, nearest: float) -> tuple[str, int]:
    limit = p.limit or 0
    if not np.isfinite(nearest):
        return f"nothing found in the time given that fits the limit {limit}", limit
    needed = limit + int(nearest)
    return f"nothing found that fits the limit {limit}; the smallest limit met is {needed}", needed


def _search(
    model: Model, deadline: float, give_up: float, seed: int, processes: int
) -> tuple[np.ndarray | None, float, float]:
    """The best assignment, a lower bound, and the least excess over the capacity; ends at `give_up` if nothing fits."""
    if model.n == 0:
        return np.zeros(0, dtype=np.int64), 0.0, 0.0
    if processes <= 1 or "fork" not in mp.get_all_start_methods():
        s = _run(model, seed, deadline, give_up, 0, None)
        return s.best, s.bound, s.nearest
    context = mp.get_context("fork")
    results: Any = context.Queue()
    shared = context.Array("d", [np.inf, -np.inf])
    workers = [
        context.Process(target=_worker, args=(model, seed + q, deadline, give_up, q, results, shared), daemon=True)
        for q in range(processes)
    ]
    for w in workers:
        w.start()
    best, cost, bound, nearest, done = None, np.inf, -np.inf, np.inf, 0
    try:
        while done < processes:
            left = deadline + 0.1 - time.monotonic()
            if left <= 0:
                break
            try:
                kind, value, x = results.get(timeout=min(left, 0.5))
            except queue.Empty:
                if not any(w.is_alive() for w in workers):
                    break
                continue
            if kind == "found" and value < cost:
                best, cost = x, value
            elif kind == "bound":
                bound = max(bound, value)
            elif kind == "done":
                nearest = min(nearest, value)
                done += 1
            if cost - bound < 0.5:
                break
    finally:
        for w in workers:
            w.kill()
        for w in workers:
            w.join()
        results.close()
        results.cancel_join_thread()
    return best, bound, nearest


def _worker(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, results: Any, shared: Any
) -> None:
    s = _run(model, seed, deadline, give_up, rank, (results, shared))
    results.put(("done", s.nearest, None))


def _run(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, link: tuple[Any, Any] | None
) -> Search:
    def report(cost: float, x: np.ndarray | None, bound: float) -> None:
        if link is None:
            return
        results, shared = link
        if x is not None and cost < shared[0]:
            shared[0] = cost
            results.put(("found", cost, x))
        if x is None and bound > shared[1]:
            shared[1] = bound
            results.put(("bound", bound, None))

    begun = time.monotonic()
    s = Search(model, seed, deadline, give_up, report)
    s.ascend(begun + _ASCENT[rank % len(_ASCENT)] * (deadline - begun))
    s.improve()
    return s
