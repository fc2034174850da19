"""Mixed-integer programs by HiGHS: single-threaded, with limits of nodes instead of time, so the same input gives the
same solution."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcg.solve.stop import NEVER, Stop


@dataclass(frozen=True)
class Solved:
    """`values` per column, None if no solution was found; `bound` on the cost of every solution."""

    values: np.ndarray | None
    bound: float


class Rows:
    """The rows of an integer program."""

    def __init__(self) -> None:
        self.starts, self.index, self.value = [0], [], []  # type: list[int], list[int], list[float]
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(self, row: Mapping[int, float], lower: float, upper: float) -> None:
        """`lower` <= sum of `row[k]` times column k <= `upper`."""
        self.index += row.keys()
        self.value += row.values()
        self.starts.append(len(self.index))
        self.lower.append(lower)
        self.upper.append(upper)

    def minimise(
        self, cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, integers: int, *, gap: float, nodes: int,
        start: np.ndarray | None = None, stop: Stop = NEVER,
    ) -> Solved:  # fmt: skip
        """The least cost, the first `integers` columns integer, to a relative `gap`, for `nodes` branchings or until
        `stop` says so."""
        import highspy

        h = _highs()
        for name, option in (
            ("output_flag", False), ("threads", 1), ("random_seed", 0), ("mip_rel_gap", gap), ("mip_max_nodes", nodes)
        ):  # fmt: skip
            h.setOptionValue(name, option)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(cost), len(self.lower)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
        lp.row_lower_, lp.row_upper_ = np.array(self.lower), np.array(self.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(self.index, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(self.value)
        kinds = [highspy.HighsVarType.kInteger] * integers + [highspy.HighsVarType.kContinuous] * (len(cost) - integers)
        lp.integrality_ = kinds
        h.passModel(lp)
        if start is not None:
            known = highspy.HighsSolution()
            known.col_value = list(start)
            h.setSolution(known)
        if stop is not NEVER:
            # Both are looked at between nodes and within most of what is done at the root, but not in presolve.
            h.setOptionValue("time_limit", stop.left)
            h.cbMipInterrupt.subscribe(lambda event: event.interrupt(stop()))
            h.cbSimplexInterrupt.subscribe(lambda event: event.interrupt(stop()))
        if h.run() == highspy.HighsStatus.kError:
            # Another user of HiGHS in this process has started threads; beside them HiGHS refuses to run with fewer.
            highspy.Highs.resetGlobalScheduler(True)
            if h.run() == highspy.HighsStatus.kError:
                raise RuntimeError(f"HiGHS does not run: {h.modelStatusToString(h.getModelStatus())}")
        info = h.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Solved(np.array(h.getSolution().col_value) if found else None, info.mip_dual_bound)


def _highs() -> Any:
    """An instance of HiGHS that has printed nothing: 1.16 writes its name to the process's stdout when it is made."""
    import highspy

    try:
        stdout = os.dup(1)
    except OSError:  # there is none
        return highspy.Highs()
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        return highspy.Highs()
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(null)
