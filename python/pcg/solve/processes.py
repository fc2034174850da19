"""The search proper, in processes of its own.

After the reduction two processes search with seeds of their own and hand in what they find; their parent keeps the best
and stops them in time.  What is found depends on the seed and on how far each search gets, so two runs agree only if
both end before the limit (the bound met, or nothing left to search).
"""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from pcg.solve.branch_and_bound import BranchAndBound
from pcg.solve.local import LocalSearch
from pcg.solve.model import Model, flatten
from pcg.solve.problem import Infeasible, Problem
from pcg.solve.reduce_problem import Contradiction, Reduced, reduce

#: Shares of the time after which the lower bound is not raised any more, by process: by multipliers, and by branching.
_ASCENT, _BRANCHING = (0.2, 0.1), (0.4, 0.0)
#: Seconds kept for stopping the processes and expanding the answer: in any case, and of CPU (with a part per node).
_RESERVE, _RESERVE_CPU, _RESERVE_NODE = 0.35, 0.1, 5e-6

#: Share of the time after which, if nothing fits, forbidden costs are allowed.
_RULED_OUT = 0.8
#: Processes started in all, where some end before their time.
_STARTS = 12
#: Seconds between two reports of what was found.
_REPORT = 0.3
#: Seconds to wait for the lock on the shared best: a process may have ended while it held it.
_LOCK = 0.2


def searched(
    p: Problem, seconds: float, seed: int, processes: int, found: Callable[[list[int], float], None]
) -> None:
    """Search for `seconds` of wall time; `found` gets what is better than all before, now and then and at the end.

    That is an assignment that fits, and a lower bound on the cost of any (0: none known).  Call it in a process of its
    own: it may compile the loops first, however long that takes.
    """
    start = time.monotonic()
    deadline = start + seconds - _RESERVE
    used = time.process_time()
    # Forbidden costs are ruled out first; if nothing is left then, or found, they are costs like others.
    exceptions = p.forbidden is not None
    for forbid, until in ((True, start + _RULED_OUT * (deadline - start)), (False, deadline)):
        begun = time.monotonic()
        try:
            reduced = reduce(p if forbid else _softened(p), forbid, start + 0.5 * (deadline - start))
        except (Contradiction, Infeasible):
            if not forbid or not exceptions:
                return
            continue
        reducing = time.monotonic() - begun
        model = flatten(reduced)
        # On a busy machine what is left to do takes as much longer as what was done.
        slow = min(max((time.monotonic() - start) / max(time.process_time() - used, 1e-3), 1.0), 8.0)
        last = deadline - slow * (_RESERVE_CPU + _RESERVE_NODE * len(p.costs))


        def better(x: np.ndarray, bound: float, reduced: Reduced = reduced, forbid: bool = forbid) -> None:
            found(reduced.expand(x), bound + reduced.constant if forbid else 0.0)

        best, bound = search(model, last, until if exceptions else last, seed, processes, better)
        if best is not None:
            better(best, bound)
            return
        if not exceptions or time.monotonic() + 1.5 * reducing > deadline:
            return


def _softened(p: Problem) -> Problem:
    """`p` with smaller numbers for what is forbidden: still worse than all the rest, but floats add them exactly.

    The order of costs is the same: first how often something forbidden is paid, then the rest.
    """
    if p.forbidden is None:
        return p
    rows, least = [*p.costs, *p.tables], p.forbidden
    # Exceptions come with a part of their own; it and all allowed costs together weigh less than one exception.
    rest = sum(int(np.where(r >= least, r - least, r).max(initial=0)) for r in rows) + 1
    if rest >= least:
        return p
    made: dict[int, np.ndarray] = {}

    def soft(r: np.ndarray) -> np.ndarray:
        if id(r) not in made:
            made[id(r)] = np.where(r >= least, r - least + rest, r)
        return made[id(r)]

    return Problem([soft(c) for c in p.costs], p.usages, p.intervals, p.edges, [soft(t) for t in p.tables], p.limit)


def search(
    model: Model, deadline: float, give_up: float, seed: int, processes: int,
    better: Callable[[np.ndarray, float], None] = lambda _x, _bound: None,
) -> tuple[np.ndarray | None, float]:  # fmt: skip
    """The best assignment found and a lower bound; ends at `give_up` (of time.monotonic) if nothing fits till then.

    `better` gets what is found meanwhile, now and then.
    """
    if model.n == 0:
        return np.zeros(0, dtype=np.int64), 0.0
    if "fork" not in mp.get_all_start_methods():
        s = _run(model, seed, deadline, give_up, 0, None)
        return s.best, s.bound
    context = mp.get_context("fork")
    shared = context.Array("d", [np.inf, -np.inf, *[0.0] * model.n])
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
    reported, when = np.inf, -np.inf
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
            if best is not None and cost < reported and time.monotonic() - when > _REPORT:
                better(best, bound)
                reported, when = cost, time.monotonic()
    finally:
        for w in workers.values():
            w.kill()
        for w in workers.values():
            w.join()
    return best, bound


def _worker(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, results: Connection, shared: Any
) -> None:
    _run(model, seed, deadline, give_up, rank, (results, shared))


def _run(
    model: Model, seed: int, deadline: float, give_up: float, rank: int, link: tuple[Any, Any] | None
) -> LocalSearch:
    def report(cost: float, x: np.ndarray | None, bound: float) -> None:
        if link is None:
            return
        results, shared = link
        if x is not None and cost < shared[0]:
            if shared.get_lock().acquire(timeout=_LOCK):
                shared[0] = cost
                shared[2:] = x.tolist()
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
        x = np.array(link[1][2:], dtype=np.int64)
        link[1].get_lock().release()
        return x

    begun = time.monotonic()
    s = LocalSearch(model, seed, deadline, give_up, report, others)
    s.ascend(begun + _ASCENT[rank % len(_ASCENT)] * (deadline - begun))
    BranchAndBound(s).run(begun + _BRANCHING[rank % len(_BRANCHING)] * (deadline - begun))
    s.improve()
    return s
