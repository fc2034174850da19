"""Costs of redistribution between all layouts of the two ends of an edge; the planner computes each pair once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.reshard.batch import TensorCosts
from pcg.reshard.layouts import Layouts, Numbers
from pcg.search.port import Port
from pcg.solve.beside import Beside
from pcg.solve.equal import Equal

#: Costs of which half are computed beside the rest.  Chosen: half of so many take several times as long as a copy.
_MANY = 400_000


@dataclass
class TensorSeconds:
    """Costs for one tensor: `seconds` by places of layouts, known between ports that are `complete`, infinite where not
    computed."""

    costs: TensorCosts
    seconds: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    complete: set[tuple[Port, Port]] = field(default_factory=set)
    """Ports between which all pairs are computed."""
    _places: Numbers = field(default_factory=Numbers)
    _count: int = 0

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Where layouts, by number, are in `seconds`."""
        for n in self._places.missing(numbers):
            self._places.set(n, self._count)
            self._count += 1
        return self._places.of(numbers)

    def between(self, sources: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Compute the costs between layouts."""
        found = self.costs.between(sources, goals)
        self.costs.forget()
        return found

    def fill(self, sources: np.ndarray, goals: np.ndarray) -> None:
        """Compute the costs between layouts, and keep them."""
        self.put(sources, goals, self.between(sources, goals))

    def put(self, sources: np.ndarray, goals: np.ndarray, seconds: np.ndarray) -> None:
        """Keep the costs between layouts."""
        rows, columns = self.places(sources), self.places(goals)
        if self._count > len(self.seconds):  # no larger than needed: there are hundreds of tensors
            grown = np.full((self._count, self._count), np.inf)
            n = len(self.seconds)
            grown[:n, :n] = self.seconds
            self.seconds = grown
        self.seconds[rows[:, None], columns] = seconds


#: Shape, bytes of an element, and whether its collectives are combined.
_Tensor = tuple[tuple[int, ...], float, bool]


@dataclass
class _Shared:
    """What all models of a thread have in common that differ in overlap."""

    layouts: Layouts
    tensors: dict[_Tensor, TensorSeconds] = field(default_factory=dict)
    _numbers: dict[Port, np.ndarray] = field(default_factory=dict)

    def numbers(self, port: Port) -> np.ndarray:
        """Numbers of the specs of a port."""
        found = self._numbers.get(port)
        if found is None:
            found = self._numbers[port] = self.layouts.numbers(port.specs)
        return found


class CostMatrices:
    """Seconds of redistributions by `model`.

    The cheapest way from one layout to another does not depend on the share of its time that overlaps compute.  So
    costs are computed without overlap, once for all models of a thread that differ in it, and scaled.
    """

    def __init__(self, model: CostModel) -> None:
        self.model = model
        self._shared = _shared(model.machine, model.mesh, threading.get_ident())

    def between(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing
    ) -> np.ndarray:
        """Seconds per spec of `src` (rows) and of `dst` (columns); infinite where no chain of collectives exists.

        `shape` is global, `itemsize` in bytes.
        """
        self.prepare([(src, dst, shape, itemsize, timing)])
        known = self.tensor(shape, itemsize, timing)
        rows, columns = (known.places(self.numbers(port)) for port in (src, dst))
        found = known.seconds[rows[:, None], columns]
        return self.exposed(found, timing)

    def prepare(self, edges: Iterable[tuple[Port, Port, tuple[int, ...], float, Timing]]) -> None:
        """Compute what `between` will need, all edges of a tensor at once: that is faster."""
        open_: dict[_Tensor, dict[tuple[Port, Port], None]] = {}
        for src, dst, shape, itemsize, timing in edges:
            known = self._shared.tensors.get((shape, itemsize, timing.combined))
            if known is None or (src, dst) not in known.complete:
                open_.setdefault((shape, itemsize, timing.combined), {})[src, dst] = None
        wanted: list[tuple[TensorSeconds, np.ndarray, np.ndarray]] = []
        for (shape, itemsize, combined), pairs in open_.items():
            known = self.tensor(shape, itemsize, Timing.DEFERRED if combined else Timing.CRITICAL)
            ends = [{port: self.numbers(port) for port in ports} for ports in zip(*pairs, strict=True)]
            rows, columns = (np.unique(np.concatenate(list(numbers.values()))) for numbers in ends)
            wanted.append((known, rows, columns))
            known.complete.update(pairs)
        # The first tensor of a rank makes the graph that the others share; of these half is done beside the rest.
        first = {len(known.costs.shape): n for n, (known, _, _) in reversed(list(enumerate(wanted)))}.values()
        rest = [one for n, one in enumerate(wanted) if n not in first]
        large = sum(len(rows) * len(columns) for _, rows, columns in rest) > _MANY
        others = rest[1::2] if large else []
        for n in first:
            wanted[n][0].fill(*wanted[n][1:])
        beside = Beside(lambda: [known.between(rows, columns) for known, rows, columns in others]) if others else None
        for known, rows, columns in rest[::2] if large else rest:
            known.fill(rows, columns)
        for (known, rows, columns), seconds in zip(others, beside.result() if beside else (), strict=True):
            known.put(rows, columns, seconds)

    def row(
        self, known: ShardSpec, port: Port, shape: tuple[int, ...], itemsize: float, timing: Timing, into: bool
    ) -> np.ndarray:
        """Seconds from `known` to each spec of `port` if `into`, else back; infinite as in `between`."""
        costs, shared = self.tensor(shape, itemsize, timing).costs, self._shared
        found = costs.row(shared.layouts.number(known), shared.numbers(port), into)
        return self.exposed(found, timing)

    def exposed(self, seconds: np.ndarray, timing: Timing) -> np.ndarray:
        """The part of `seconds` that does not overlap compute."""
        share = self.model.exposed(timing)
        if share == 1.0:
            return seconds
        return share * seconds if share else np.where(np.isinf(seconds), seconds, 0.0)

    def numbers(self, port: Port) -> np.ndarray:
        """Numbers of the specs of a port."""
        return self._shared.numbers(port)

    def tensor(self, shape: tuple[int, ...], itemsize: float, timing: Timing) -> TensorSeconds:
        """What is known of a tensor, without overlap."""
        key = shape, itemsize, timing.combined
        known = self._shared.tensors.get(key)
        if known is None:
            costs = TensorCosts(shape, itemsize, self._shared.layouts, self.model.link_at(timing))
            known = self._shared.tensors[key] = TensorSeconds(costs)
        return known


class EdgeCosts:
    """What edges of a network cost, each by a table that all edges of a tensor share.

    Its rows and columns are the layouts of the tensor that are met anywhere, of which an edge has some; those of a
    U-Net on 2x2x2 take a third of the memory of a table per kind of edge.
    """

    def __init__(self, matrices: CostMatrices) -> None:
        self._matrices = matrices
        self._known: dict[tuple[object, ...], tuple[np.ndarray, np.ndarray, np.ndarray] | None] = {}
        self._tables: dict[tuple[object, ...], tuple[np.ndarray, np.ndarray]] = {}
        self._places: dict[tuple[object, ...], np.ndarray] = {}
        self._ports: dict[Port, tuple[int, int]] = {}
        self._specs: dict[tuple[ShardSpec, ...], int] = {}
        self._ids: dict[tuple[int, bytes], int] = {}
        self._equal = Equal()

    def between(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing, times: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """A table of `times` the seconds, its row per strategy of `src` and its column per strategy of `dst`.

        None if nothing between the two takes time.  `CostMatrices.prepare` has computed what is looked at.
        """
        key = self._number(src), self._number(dst), shape, itemsize, timing, times
        if key not in self._known:
            self._known[key] = self._found(src, dst, shape, itemsize, timing, times)
        return self._known[key]

    def _found(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing, times: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        known = self._matrices.tensor(shape, itemsize, timing)
        tensor = shape, itemsize, timing.combined
        key = *tensor, self._matrices.model.exposed(timing), times
        if key not in self._tables:
            table = self._equal.one(times * self._matrices.exposed(known.seconds, timing))
            self._tables[key] = table, table != 0
        table, costs = self._tables[key]
        rows, columns = (known.places(self._matrices.numbers(port)) for port in (src, dst))
        if not costs[rows[:, None], columns].any():
            return None
        at = (self._places.setdefault((*tensor, self._number(p)), x[p.ids]) for p, x in ((src, rows), (dst, columns)))
        return table, *at

    def _number(self, port: Port) -> tuple[int, int]:
        """Ports of many tables have the same specs, and the same ones of these under their strategies."""
        found = self._ports.get(port)
        if found is None:
            specs = self._specs.setdefault(port.specs, len(self._specs))
            ids = self._ids.setdefault((len(port.ids), port.ids.tobytes()), len(self._ids))
            found = self._ports[port] = specs, ids
        return found


@lru_cache(maxsize=8)
def _shared(_machine: Machine, mesh: Mesh, _thread: int) -> _Shared:
    return _Shared(Layouts.on(mesh))
