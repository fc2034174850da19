"""The solver: reads nothing, writes nothing; an answer for a problem within a time limit.

After the reduction two processes search with seeds of their own and hand in what they find; the parent keeps the best
and stops them in time.  What is found depends on the seed and on how far each search gets, so two runs agree only if
both end before the limit (the bound met, or nothing left to search).
"""

from __future__ import annotations

import multiprocessing as mp
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from pcg.solve.eliminate import plan
from pcg.solve.local import Search
from pcg.solve.model import Model, flatten
from pcg.solve.problem import FORBIDDEN, Problem
from pcg.solve.reduce import Contradiction, reduce
from pcg.solve.timeline import Infeasible

#: Share of the time for the lower bound, per process.
_ASCENT = (0.25, 0.1)
#: Seconds kept for stopping the processes and expanding the answer: in any case, and of CPU (with a part per node).
_RESERVE, _RESERVE_CPU, _RESERVE_NODE = 0.35, 0.1, 5e-6

#: Share of the time after which, if nothing fits, forbidden costs are allowed.
_RULED_OUT = 0.8
#: Processes started in all, where some end before their time.
_STARTS = 12
#: Seconds to wait for the lock on the shared best: a process may have ended while it held it.
_LOCK = 0.2


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
    deadline = start + seconds - _RESERVE
    used = time.process_time()
    # Forbidden costs are ruled out first; if nothing is left then, or found, they are costs like others.
    nearest = np.inf
    exceptions = _has_forbidden(p)
    for forbid, until in ((True, start + _RULED_OUT * (deadline - start)), (False, deadline)):
        begun = time.monotonic()
        try:
            reduced = reduce(p if forbid else _softened(p), forbid, start + 0.5 * (deadline - start))
        except (Contradiction, Infeasible):
            if not forbid or not exceptions:
                raise
            continue
        reducing = time.monotonic() - begun
        model = flatten(reduced)
        # On a busy machine what is left to do takes as much longer as what was done.
        slow = min(max((time.monotonic() - start) / max(time.process_time() - used, 1e-3), 1.0), 8.0)
        last = deadline - slow * (_RESERVE_CPU + _RESERVE_NODE * len(p.costs))
        best, bound, nearest = _search(model, last, until if exceptions else last, seed, processes)
        if best is not None:
            x = reduced.expand(best)
            cost = p.cost(x)
            return Solution(x, cost, p.peak(x), _whole(bound + reduced.constant, cost) if forbid else 0.0)
        if not exceptions or time.monotonic() + 1.5 * reducing > deadline:
            break
    raise Infeasible(*_nothing(p, nearest))


def _has_forbidden(p: Problem) -> bool:
    tables = {id(t): t for t in p.tables}.values()
    return any(r.max(initial=0) >= FORBIDDEN for r in (*p.costs, *tables))


def _softened(p: Problem) -> Problem:
    """`p` with smaller numbers for what is forbidden: still worse than all the rest, but floats add them exactly.

    The order of costs is the same: first how often something forbidden is paid, then the rest.
    """
    rows = [*p.costs, *p.tables]
    least = min(int(r[r >= FORBIDDEN].min()) for r in rows if r.max(initial=0) >= FORBIDDEN)
    # Exceptions come with a part of their own; it and all allowed costs together weigh less than one exception.
    rest = sum(int(np.where(r >= FORBIDDEN, r - least, r).max(initial=0)) for r in rows) + 1
    if rest >= least:
        return p
    made: dict[int, np.ndarray] = {}

    def soft(r: np.ndarray) -> np.ndarray:
        if id(r) not in made:
            made[id(r)] = np.where(r >= FORBIDDEN, r - least + rest, r)
        return made[id(r)]

    return Problem([soft(c) for c in p.costs], p.usages, p.intervals, p.edges, [soft(t) for t in p.tables], p.limit)


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
    if "fork" not in mp.get_all_start_methods():
        s = _run(model, seed, deadline, give_up, 0, None)
        return s.best, s.bound, s.nearest
    context = mp.get_context("fork")
    shared = context.Array("d", [np.inf, -np.inf, np.inf, *[0.0] * model.n])
    workers: dict[Connection, mp.process.BaseProcess] = {}

    def start(rank: int) -> None:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(
            target=_worker, args=(model, seed + rank, deadline - 0.1, give_up - 0.1, rank, theirs, shared), daemon=True
        )
        worker.start()
        theirs.close()
        workers[ours] = worker

    for rank in range(max(processes, 1)):
        start(rank)
    best, cost, bound, started = None, np.inf, -np.inf, len(workers)
    try:
        while workers and cost - bound >= 0.5:
            left = deadline - time.monotonic()
            ready = wait(list(workers), timeout=left) if left > 0 else []
            if not ready:
                break
            for c in ready:
                assert isinstance(c, Connection)
                try:
                    kind, value, x = c.recv()
                except EOFError:  # it ended: by itself, or somebody ended it, as where memory is short
                    worker = workers.pop(c)
                    worker.join()
                    if worker.exitcode != 0 and started < _STARTS:
                        start(started)
                        started += 1
                    continue
                if kind == "found" and value < cost:
                    best, cost = x, value
                elif kind == "bound":
                    bound = max(bound, value)
    finally:
        for w in workers.values():
            w.kill()
        for w in workers.values():
            w.join()
    return best, bound, float(shared.get_obj()[2])


def _worker(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, results: Connection, shared: Any
) -> None:
    _run(model, seed, deadline, give_up, rank, (results, shared))


def warm() -> mp.process.BaseProcess | None:
    """Start compiling the loops, where that was not done before, beside what the caller does next."""
    if "fork" not in mp.get_all_start_methods():
        return None
    process = mp.get_context("fork").Process(target=_compile, daemon=True)
    process.start()
    return process


def _compile() -> None:
    zero = np.zeros(2, dtype=np.int64)
    one = np.ones(2, dtype=np.int64)
    square = np.array([[0, 1], [1, 0]])
    spans, edges = np.array([[0, 2]] * 3), np.array([[0, 1], [1, 2]])
    p = Problem([zero, one, one], [one * 2, one, one * 2], spans, edges, [square] * 2, 5)
    try:
        model = flatten(reduce(p, deadline=0.0))
        s = Search(model, 0, time.monotonic() + 100)
        s.ascend(time.monotonic() + 100)
        start = np.zeros(model.n, dtype=np.int64)
        s.polish(plan(model, range(model.n), s.rng, 100, 100).run(model, model.unary, start))
        reduce(p)
    except Infeasible:
        pass


def _run(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, link: tuple[Any, Any] | None
) -> Search:
    def report(cost: float, x: np.ndarray | None, bound: float) -> None:
        if link is None:
            return
        results, shared = link
        shared[2] = min(shared[2], s.nearest)
        if x is not None and cost < shared[0]:
            if shared.get_lock().acquire(timeout=_LOCK):
                shared[0] = cost
                shared[3:] = x.tolist()
                shared.get_lock().release()
            results.send(("found", cost, x))
        if x is None and bound > shared[1]:
            shared[1] = bound
            results.send(("bound", bound, None))

    def others(cost: float) -> np.ndarray | None:
        if link is None or not link[1][0] < cost - 0.25:
            return None
        if not link[1].get_lock().acquire(timeout=_LOCK):
            return None
        x = np.array(link[1][3:], dtype=np.int64)
        link[1].get_lock().release()
        return x

    begun = time.monotonic()
    s = Search(model, seed, deadline, give_up, report, others)
    s.ascend(begun + _ASCENT[rank % len(_ASCENT)] * (deadline - begun))
    s.improve()
    return s
