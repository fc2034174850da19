"""The solver: reads nothing, writes nothing; an answer for a problem within a time limit.

A first answer, and for tiny problems the best one, is there before anything is compiled (`first`).  The search
(`processes`) runs beside this process, which ends it in time, whatever it is at: so there is an answer at any limit.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing as mp
import os
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import numpy as np

from pcg.solve.first import first
from pcg.solve.problem import Problem

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

#: Seconds at most for the first answer where there will be others, and as a share of the time.
_FIRST, _FIRST_SHARE = 0.5, 0.1
#: Seconds before the end after which the search is not waited for.
_END = 0.1
#: Seconds below which it is not worth starting.
_LEAST = 0.5


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
    """The best solution found within `seconds` of wall time; the first one there is, where that takes longer.

    Raises:
      Infeasible: nothing fits.
    """
    start = time.monotonic()
    found = first(p, start + min(_FIRST, _FIRST_SHARE * seconds))
    best, cost, bound = found.strategies, found.cost, _below(found.cost) if found.proven else 0.0
    if not found.proven and start + seconds - time.monotonic() > _LEAST:
        more = _beside(p, start + seconds - _END, seed, processes)
        if more is not None:
            other, bound = more
            if p.cost(other) < cost:
                best, cost = other, p.cost(other)
            bound = _rounded_up(bound, cost)
    return Solution(best, cost, p.peak(best), bound)


def warm() -> mp.process.BaseProcess | None:
    """Start compiling the loops, where that was not done before, beside what the caller does next."""
    if "fork" not in mp.get_all_start_methods():
        return None
    process = mp.get_context("fork").Process(target=_compile, daemon=True)
    process.start()
    return process


def _compile() -> None:
    from pcg.kernels.native import load_all
    from pcg.solve import elimination_kernels, expansion_kernels, kernels, memory_kernels

    load_all(kernels, elimination_kernels, expansion_kernels, memory_kernels)


def _beside(p: Problem, deadline: float, seed: int, processes: int) -> tuple[list[int], float] | None:
    """What the search finds until `deadline`, with a bound; None if that is nothing."""
    latest: tuple[list[int], float] | None = None
    if "fork" not in mp.get_all_start_methods():
        from pcg.solve.processes import searched

        kept: list[tuple[list[int], float]] = []
        searched(p, deadline - time.monotonic(), seed, processes, lambda x, bound: kept.append((x, bound)))
        return kept[-1] if kept else None
    context = mp.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_search, args=(p, deadline, seed, processes, theirs))
    worker.start()
    assert worker.pid is not None
    with contextlib.suppress(OSError):  # it has done so itself, or ended
        os.setpgid(worker.pid, worker.pid)
    theirs.close()
    try:
        while (left := deadline - time.monotonic()) > 0 and ours.poll(left):
            latest = ours.recv()
    except EOFError:  # it is at its end
        pass
    finally:
        _end(worker)
    return latest


def _search(p: Problem, deadline: float, seed: int, processes: int, results: Connection) -> None:
    """In a process of its own, the first of a group."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    from pcg.solve.processes import searched

    searched(p, deadline - time.monotonic(), seed, processes, lambda x, bound: results.send((x, bound)))
    results.close()


def _end(worker: ForkProcess) -> None:
    """End a process and those that it started."""
    assert worker.pid is not None
    with contextlib.suppress(OSError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.kill()
    worker.join()


def _rounded_up(bound: float, cost: int) -> float:
    """The bound, less what rounding may have added; costs are whole, so a bound within that of the next one is it."""
    if not np.isfinite(bound):
        return 0.0
    careful = bound - 1e-9 * abs(bound) - 1e-3
    return min(_below(cost), max(0.0, float(np.ceil(careful))))


def _below(cost: int) -> float:
    """The float nearest to a whole number that is not above it."""
    near = float(cost)
    return near if near <= cost else math.nextafter(near, 0.0)
