"""Costs of redistribution between all layouts of the two ends of an edge; the planner computes each pair once."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.reshard.batch import TensorCosts
from pcg.search.table import Port


@dataclass
class _Known:
    """Costs for one tensor, by the numbers of specs; `seconds` are known of pairs between ports that are `complete`."""

    costs: TensorCosts
    numbers: dict[Port, np.ndarray] = field(default_factory=dict)
    seconds: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    complete: set[tuple[Port, Port]] = field(default_factory=set)
    """Ports between which all pairs are computed."""

    def numbers_of(self, port: Port) -> np.ndarray:
        """Numbers of the specs of a port."""
        found = self.numbers.get(port)
        if found is None:
            found = self.numbers[port] = np.array([self.costs.number(s) for s in port.specs], np.intp)
        return found

    def fill(self, pairs: Collection[tuple[Port, Port]]) -> None:
        """Compute the costs between ports."""
        rows = np.unique(np.concatenate([self.numbers_of(src) for src, _ in pairs]))
        columns = np.unique(np.concatenate([self.numbers_of(dst) for _, dst in pairs]))
        n, most = len(self.seconds), 1 + max(int(rows.max(initial=0)), int(columns.max(initial=0)))
        if most > n:  # no larger than needed: there are hundreds of tensors
            grown = np.empty((most, most))
            grown[:n, :n] = self.seconds
            self.seconds = grown
        self.seconds[rows[:, None], columns] = self.costs.between(rows.tolist(), columns.tolist())
        self.costs.forget()
        self.complete.update(pairs)


#: Shape, bytes of an element, and whether its collectives are combined.
_Tensor = tuple[tuple[int, ...], float, bool]
_Tensors = dict[_Tensor, _Known]


class CostMatrices:
    """Seconds of redistributions by `model`.

    The cheapest way from one layout to another does not depend on the share of its time that overlaps compute.  So
    costs are computed without overlap, once for all models of a thread that differ in it, and scaled.
    """

    def __init__(self, model: CostModel) -> None:
        self.model = model
        self._tensors = _shared(model.machine, model.mesh, threading.get_ident())

    def between(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing
    ) -> np.ndarray:
        """Seconds per spec of `src` (rows) and of `dst` (columns); infinite where no chain of collectives exists.

        `shape` is global, `itemsize` in bytes.
        """
        self.prepare([(src, dst, shape, itemsize, timing)])
        known = self._tensor(shape, itemsize, timing)
        found = known.seconds[known.numbers_of(src)[:, None], known.numbers_of(dst)]
        return self._exposed(found, timing)

    def prepare(self, edges: Iterable[tuple[Port, Port, tuple[int, ...], float, Timing]]) -> None:
        """Compute what `between` will be asked for, all edges of a tensor at once: that is faster."""
        open_: dict[_Tensor, dict[tuple[Port, Port], None]] = {}
        for src, dst, shape, itemsize, timing in edges:
            known = self._tensors.get((shape, itemsize, timing.combined))
            if known is None or (src, dst) not in known.complete:
                open_.setdefault((shape, itemsize, timing.combined), {})[src, dst] = None
        for (shape, itemsize, combined), pairs in open_.items():
            self._tensor(shape, itemsize, Timing.DEFERRED if combined else Timing.CRITICAL).fill(pairs)

    def row(
        self, known: ShardSpec, specs: Sequence[ShardSpec], shape: tuple[int, ...], itemsize: float, timing: Timing,
        into: bool,
    ) -> np.ndarray:  # fmt: skip
        """Seconds from `known` to each of `specs` if `into`, else from each of them to it; infinite as in `between`."""
        costs = self._tensor(shape, itemsize, timing).costs
        found = costs.matrix([known], specs)[0] if into else costs.matrix(specs, [known])[:, 0]
        return self._exposed(found, timing)

    def _exposed(self, seconds: np.ndarray, timing: Timing) -> np.ndarray:
        """The part of `seconds` that does not overlap compute."""
        share = self.model.exposed(timing)
        if share == 1.0:
            return seconds
        return share * seconds if share else np.where(np.isinf(seconds), seconds, 0.0)

    def _tensor(self, shape: tuple[int, ...], itemsize: float, timing: Timing) -> _Known:
        key = shape, itemsize, timing.combined
        known = self._tensors.get(key)
        if known is None:
            costs = TensorCosts(shape, itemsize, self.model.mesh, self.model.link_at(timing))
            known = self._tensors[key] = _Known(costs)
        return known


@lru_cache(maxsize=8)
def _shared(machine: Machine, mesh: Mesh, _thread: int) -> _Tensors:
    return {}
