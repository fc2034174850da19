"""Choosing a strategy for every op at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.cost import CostModel
from pcg.ir.errors import PcgError
from pcg.search.frontier import Frontier, Point
from pcg.search.graph import Graph
from pcg.search.ilp import Limit, first_guess, merge, solve
from pcg.search.memory import Lifetimes
from pcg.search.network import FORBIDDEN, Network, reduce
from pcg.search.prices import Prices
from pcg.search.table import Port, Table

#: The measures of a step in reports, in their words: the costs of a plan added up, as `dist-measure` does; the same,
#: and what is computed again to save memory; a simulated step of the lowered program, in which streams overlap.
ESTIMATE, RECOMPUTED, SIMULATION = "costs added up", "costs added up, recomputation included", "simulated"


class DoesNotFit(PcgError):
    """No plan fits the memory limit; `needed` is the least bytes per device that a plan was found for."""

    def __init__(self, limit: float, needed: float, details: str = "") -> None:
        super().__init__(
            f"no plan fits in {_bytes(limit)} per device; the smallest one found needs {_bytes(needed)}{details}"
        )
        self.needed = needed


@dataclass(frozen=True)
class Alternative:
    """A plan that was not chosen: estimated seconds per step and peak bytes per device.

    `choice` is the plan by node of the graph, where it is one of the graph that the chosen plan is of.
    """

    name: str
    seconds: float
    peak_bytes: float
    fits: bool = True
    choice: Sequence[int] | None = field(default=None, repr=False, compare=False)


@dataclass
class Outcome:
    """The chosen strategy per node and what the search knows about it.

    `bound` is a proven lower bound on the seconds of any plan for these classes, memory aside.
    """

    choice: list[int]
    seconds: float
    bound: float
    peak_bytes: float
    alternatives: list[Alternative]
    classes: int
    ilp_variables: int
    phases: dict[str, float] = field(default_factory=dict)
    named: str = ""
    """What the chosen plan is called, if it is one of the given ones."""
    by: str = ESTIMATE
    """By what measure the seconds are, those of the alternatives too: `ESTIMATE`, `RECOMPUTED` or `SIMULATION`."""


@dataclass
class Optimizer:
    """Joint choice over a graph; `limit` is the memory per device in bytes."""

    graph: Graph
    model: CostModel
    lifetimes: Lifetimes
    arguments: Sequence[int]
    data: Sequence[int]
    """Nodes of arguments that are data, not state or weights."""
    limit: float | None = None
    progress: Callable[[str], None] = lambda _: None
    cutoff: float = np.inf
    """Seconds that a plan must beat to be of use: one that is proved to take longer is not looked for to the end."""
    quick: bool = False
    """Whether bounds and the plan met on the way to them are enough."""
    classed: Sequence[int] = ()
    """Class of each node where that is known: nodes of a class have the same choices and decide together."""
    colour: list[int] = field(init=False)
    classes: int = field(init=False)
    tables: dict[int, Table] = field(init=False)
    """Strategies of each class."""
    prices: Prices = field(init=False)

    def __post_init__(self) -> None:
        self.prices = Prices.by(self.model)

    def run(self) -> Outcome:
        """The cheapest plan found, never worse than data parallelism, tensor parallelism or replication.

        Raises:
          DoesNotFit: no plan that was found fits in `limit`.
        """
        phases: dict[str, float] = {}
        start = time.perf_counter()
        self.colour = list(self.classed) or self.graph.classes()
        self.classes = max(self.colour, default=-1) + 1
        self.tables = {c: n.table for n, c in zip(self.graph.nodes, self.colour, strict=True)}
        phases["classes"] = time.perf_counter() - start
        self.progress(f"{len(self.graph.nodes)} decisions, {self.classes} after merging repeated structure")
        start = time.perf_counter()
        network = self.network()
        phases["costs"] = time.perf_counter() - start
        start = time.perf_counter()
        plans = self.candidates(network)
        solution = solve(
            network, [x for _, x in plans], progress=self.progress, cutoff=self.cutoff, quick=self.quick,
            depth=0 if self.quick else 1, patience=1e-2 if self.quick else 1e-5,
            enough=1e-3 if self.quick else 0.0,
        )  # fmt: skip
        chosen, bound = solution.x, solution.bound
        phases["solve"] = time.perf_counter() - start
        peak = self.peak(chosen)
        possible = network.seconds(chosen) < np.inf
        if self.limit is not None and peak > self.limit and bound <= self.cutoff and possible:
            start = time.perf_counter()
            plans.append(("fastest, ignoring memory", chosen))
            chosen = self.fit(network, chosen, [x for _, x in plans])
            phases["memory"] = time.perf_counter() - start
        alternatives, named = [], ""
        for name, x in plans:
            if x == chosen:
                named = named or name
                continue
            p = self.peak(x)
            fits = self.limit is None or p <= self.limit
            alternatives.append(Alternative(name, network.seconds(x), p, fits, self.per_node(x)))
        return Outcome(
            self.per_node(chosen), network.seconds(chosen), bound, self.peak(chosen), alternatives, self.classes,
            solution.variables, phases, named,
        )

    # -- the network ---------------------------------------------------------------------------

    def network(self) -> Network:
        """One variable per class; edges between classes carry the sum of their members' edges."""
        nodes, colour = self.graph.nodes, self.colour
        unary: list[np.ndarray | None] = [None] * self.classes
        for n, c in zip(nodes, colour, strict=True):
            have = unary[c]
            unary[c] = n.seconds.copy() if have is None else have + n.seconds
        network = Network()
        for u in unary:
            assert u is not None
            network.add(u)
        grouped: dict[tuple, float] = {}
        for e in self.graph.edges:
            key = (colour[e.src], e.slot, colour[e.dst], e.index, e.shape, e.itemsize, e.late)
            grouped[key] = grouped.get(key, 0.0) + e.times
        for (a, slot, b, index, shape, itemsize, late), times in grouped.items():
            m = self.matrix(self.tables[a].outs[slot], self.tables[b].ins[index], shape, itemsize, late)
            if m.any():
                network.connect(a, b, times * m)
        network.settle()
        return network

    def matrix(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, late: bool = False
    ) -> np.ndarray:
        """Seconds of resharding, per strategy of the producer and of the consumer."""
        return self.prices.between(src, dst, shape, itemsize, late)[src.ids][:, dst.ids]

    # -- plans that are always considered ------------------------------------------------------

    def candidates(self, network: Network) -> list[tuple[str, list[int]]]:
        """Replication, pure data parallelism and pure tensor parallelism, each completed as well as possible."""
        replicated = [self._replicated(c) for c in range(self.classes)]
        plans = [("replication", replicated)]
        if self.quick:
            return plans
        data = {self.colour[n] for n in self.data}
        arguments = {self.colour[n] for n in self.arguments}
        if data:
            dp = {c: self._batch(c) if c in data else replicated[c] for c in arguments}
            plans.append(("data parallelism", self._complete(network, dp)))
            tp = {c: replicated[c] for c in data}
            plans.append(("tensor parallelism", self._complete(network, tp)))
        return plans

    def _replicated(self, c: int) -> int:
        return self.tables[c].wholest(self.model.mesh)

    def _batch(self, c: int) -> int:
        """The choice that splits the first dimension (the only one split) as far as possible."""
        port = self.tables[c].outs[0]
        best, most = self._replicated(c), 1
        for k in range(len(port.ids)):
            s = port[k].shards(self.model.mesh)
            if s and s[0] > most and all(n == 1 for n in s[1:]) and not port[k].partial:
                best, most = k, int(s[0])
        return best

    def _complete(self, network: Network, fixed: dict[int, int]) -> list[int]:
        """A good solution with some choices given: exact folding, then greedy on the core."""
        pinned = network.penalised(
            {c: np.where(np.arange(len(network.unary[c])) == k, 0.0, FORBIDDEN) for c, k in fixed.items()}
        )
        reduction = reduce(pinned)
        x = reduction.expand(first_guess(reduction.core) if reduction.core.unary else [])
        return pinned.descend(x)

    # -- memory --------------------------------------------------------------------------------

    def per_node(self, x: Sequence[int]) -> list[int]:
        """Choice per node from choice per class."""
        return [x[c] for c in self.colour]

    def peak(self, x: Sequence[int]) -> float:
        """Peak bytes per device under class choices `x`."""
        return self.lifetimes.peak(self.graph, self.per_node(x), self.model.mesh)[0]

    def fit(self, network: Network, start: list[int], starts: list[list[int]]) -> list[int]:
        """The cheapest plan found within the limit.

        A price on the bytes alive at the peak gives plans that need ever less memory (`Frontier`); an ILP with the
        limit as a constraint then picks, decision by decision, the best mixture of them and of `starts`.  `quick`: the
        best of them, without mixing.
        """
        assert self.limit is not None
        frontier = Frontier(self, Point(tuple(start), network.cost(start), self.peak(start)), network)
        frontier.points += [Point(tuple(x), network.cost(x), self.peak(x)) for x in starts]
        found = frontier.fit(self.limit)
        if found is None:
            raise DoesNotFit(self.limit, frontier.least().peak)
        best = list(found.choice)
        if self.quick:
            return best
        pool = [list(p.choice) for p in dict.fromkeys(frontier.points)]
        limits = [self._limit_at(self.position(x)) for x in pool]
        for _ in range(6):
            self.progress(f"mixing {len(pool)} plans under the memory limit")
            mixed = merge(network, pool, limits, best)
            if mixed is None or network.cost(mixed) >= network.cost(best) * (1 - 1e-9):
                break
            if self.peak(mixed) <= self.limit:
                return mixed
            limits.append(self._limit_at(self.position(mixed)))
        return best

    def position(self, x: Sequence[int]) -> int:
        """Where in program order the peak is under class choices `x`."""
        return self.lifetimes.peak(self.graph, self.per_node(x), self.model.mesh)[1]

    def _limit_at(self, position: int) -> Limit:
        """What is alive at `position` must fit."""
        assert self.limit is not None
        alive = self.lifetimes.alive(position)
        weights: dict[int, np.ndarray] = {}
        for (node, slot), size in alive.items():
            c = self.colour[node]
            term = size / self.graph.nodes[node].table.outs[slot].shards(self.model.mesh)
            weights[c] = weights[c] + term if c in weights else term
        return Limit(weights, self.limit - self.lifetimes.constants)

    def penalty(self, weights: Mapping[tuple[int, int], float], rate: float) -> dict[int, np.ndarray]:
        """What `rate` seconds per byte of `weights` (global bytes by node and slot) add to each choice of a class."""
        extra: dict[int, np.ndarray] = {}
        for (node, slot), size in weights.items():
            c = self.colour[node]
            port = self.graph.nodes[node].table.outs[slot]
            term = rate * size / port.shards(self.model.mesh)
            extra[c] = extra[c] + term if c in extra else term
        return extra


def _bytes(n: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n:.0f} B"
