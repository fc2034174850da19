"""Costs of redistribution between all layouts of the two ends of an edge; the planner computes each pair once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.layout import ShardSpec
from pcg.reshard.batch import TensorCosts
from pcg.search.table import Port


@dataclass
class _Known:
    """Costs for one tensor: the specs seen so far are numbered; `seconds` is NaN for pairs not computed yet."""

    costs: TensorCosts
    numbers: dict[ShardSpec, int] = field(default_factory=dict)
    ports: dict[int, tuple[Port, np.ndarray]] = field(default_factory=dict)
    seconds: np.ndarray = field(default_factory=lambda: np.full((16, 16), np.nan))

    def ids(self, port: Port) -> np.ndarray:
        """Numbers of the specs of a port."""
        found = self.ports.get(id(port))
        if found is None:
            numbers = self.numbers
            ids = np.array([numbers.setdefault(s, len(numbers)) for s in port.specs], np.intp)
            # The port is kept, so that its id is not reused.
            found = self.ports[id(port)] = port, ids
            if len(numbers) > len(self.seconds):
                grown = np.full((2 * len(numbers),) * 2, np.nan)
                n = len(self.seconds)
                grown[:n, :n] = self.seconds
                self.seconds = grown
        return found[1]


@dataclass
class CostMatrices:
    """Seconds of redistributions by `model`, cached per tensor; `CostMatrices.by` also from one search to the next."""

    model: CostModel
    _known: dict[tuple[tuple[int, ...], float, Timing], _Known] = field(default_factory=dict)

    @classmethod
    def by(cls, model: CostModel) -> CostMatrices:
        """The costs of `model`, shared by all searches of this thread."""
        return _shared(model, threading.get_ident())

    def between(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing
    ) -> np.ndarray:
        """Seconds per spec of `src` (rows) and of `dst` (columns); infinite where no chain of collectives exists.

        `shape` is global, `itemsize` in bytes.
        """
        known = self._tensor(shape, itemsize, timing)
        rows, columns = known.ids(src), known.ids(dst)
        where = np.ix_(rows, columns)
        found = known.seconds[where]
        missing = np.isnan(found)
        if missing.any():
            i, j = np.flatnonzero(missing.any(axis=1)), np.flatnonzero(missing.any(axis=0))
            seconds = known.costs.matrix([src.specs[n] for n in i], [dst.specs[n] for n in j])
            found[np.ix_(i, j)] = seconds
            known.seconds[where] = found
        return found

    def row(
        self, known: ShardSpec, specs: Sequence[ShardSpec], shape: tuple[int, ...], itemsize: float, timing: Timing,
        into: bool,
    ) -> np.ndarray:  # fmt: skip
        """Seconds from `known` to each of `specs` if `into`, else from each of them to it; infinite as in `between`."""
        costs = self._tensor(shape, itemsize, timing).costs
        return costs.matrix([known], specs)[0] if into else costs.matrix(specs, [known])[:, 0]

    def _tensor(self, shape: tuple[int, ...], itemsize: float, timing: Timing) -> _Known:
        timing = self.model.same_cost(timing)
        known = self._known.get((shape, itemsize, timing))
        if known is None:
            costs = TensorCosts(shape, itemsize, self.model.mesh, self.model.link_at(timing))
            known = self._known[shape, itemsize, timing] = _Known(costs)
        return known


@lru_cache(maxsize=8)
def _shared(model: CostModel, _thread: int) -> CostMatrices:
    return CostMatrices(model)
