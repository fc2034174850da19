"""Unity's algorithm as an engine of the search: from the graph of a step to a choice for every node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from pcg.search.outcome import Alternative, DoesNotFit, Outcome
from pcg.search.pure_plans import pure_plans
from pcg.search.quotient import Quotient
from pcg.search.unity.axes import is_reduced, used_axes
from pcg.search.unity.contract import Contraction, contract, spread
from pcg.search.unity.dynamic import Dynamic, Rules, Work
from pcg.search.unity.forward import Forward, forward
from pcg.search.unity.problem import DecisionGraph
from pcg.search.unity.shape import backbone
from pcg.solve.effort import QUICK
from pcg.solve.ilp import solve
from pcg.solve.network import FORBIDDEN, Network

#: Steps of the bisection between time and memory (as in Unity's memory search).
_MEMORY_STEPS = 10
#: How often at most the costs that the series-parallel graph leaves out are added, as beside the plan found before.
#: Chosen: a budget; the best plan of all rounds counts.
_ROUNDS = 4
#: The ascent goes on to the end: the plan it rounds to is the one that counts.
_WARM = replace(QUICK, near=1e-5)
#: How many searches there are at most.  Chosen: as for `_ROUNDS`.
_SEARCHES = 3


@dataclass
class _Task:
    """What one search works on: costs of the step, and the graph that they are contracted to."""

    network: Network
    contraction: Contraction
    plans: Sequence[Sequence[int]]
    succ: dict[int, list[int]]
    left: list[tuple[int, int]]


@dataclass
class UnityOptimizer:
    """Unity's algorithm on a graph, in which every node decides for itself.

    `limit` is the memory per device in bytes, `rules` says which parts of the algorithm are used, `seconds` how long it
    may search.
    """

    quotient: Quotient
    limit: float | None = None
    progress: Callable[[str], None] = lambda _: None
    rules: Rules = Rules()
    seconds: float = np.inf
    work: Work = field(default_factory=Work, init=False)
    principals: int = field(default=0, init=False)
    """Nodes of the graph that is searched."""
    tied: int = field(default=0, init=False)
    """Nodes that follow one of them by best response."""
    left_out: int = field(default=0, init=False)
    """Edges that the series-parallel graph leaves out."""
    phases: dict[str, float] = field(default_factory=dict, init=False)
    runs: int = field(default=0, init=False)
    """How often the dynamic program ran."""
    _until: float = field(default=np.inf, init=False)
    _forward: Forward = field(init=False)
    _known: list[list[int]] = field(default_factory=list, init=False)
    """Plans of the step that the search starts from, the best last."""

    def __post_init__(self) -> None:
        self.quotient = self.quotient.discrete()

    def run(self) -> Outcome:
        """The plan that Unity's algorithm finds. It is given the pure plans, so it finds none that is worse.

        Raises:
          DoesNotFit: no plan that was found fits in `limit`.
          OutOfTime: the search takes longer than `seconds`.
        """
        self._until = time.perf_counter() + self.seconds
        network, plans = self._prepare()
        count = len(self._forward.principals)
        self.progress(f"{len(self.quotient.graph.nodes)} decisions, {count} of them in the forward graph")
        x = self._plan(network)
        if self.limit is not None and self.quotient.peak(x) > self.limit:
            plans.append(("fastest, ignoring memory", x))
            x = self._within(network, x, self.limit)
        alternatives = [self._alternative(name, network.seconds(plan), plan) for name, plan in plans if plan != x]
        if self.rules.disjoint:
            with self._phase("disjoint"):
                seconds, plan = self._at_once(self._task(network, [*self._known, x]))
            name = "branches on disjoint devices (estimated only)"
            alternatives.append(replace(self._alternative(name, seconds, plan), choice=None))
        return Outcome(
            x, network.seconds(x), _floor(network), self.quotient.peak(x), alternatives, self.quotient.classes, 0,
            dict(self.phases),
        )  # fmt: skip

    def problem(self) -> DecisionGraph:
        """What the dynamic program works on first."""
        task = self._task(self._prepare()[0], [])
        return self._pcg(task, task.contraction.network)

    def _prepare(self) -> tuple[Network, list[tuple[str, list[int]]]]:
        """Costs of the step, and the pure plans with their names."""
        with self._phase("costs"):
            network = self.quotient.network()
            self._forward = forward(self.quotient.graph, self.quotient.arguments, self.quotient.data)
        with self._phase("pure plans"):
            plans = pure_plans(self.quotient, network)
            self._known = [x for _, x in sorted(plans, key=lambda p: -network.cost(p[1]))]
        return network, plans

    def _alternative(self, name: str, seconds: float, plan: Sequence[int]) -> Alternative:
        peak = self.quotient.peak(plan)
        return Alternative(name, seconds, peak, self.limit is None or peak <= self.limit, plan)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - start

    # -- one search ----------------------------------------------------------------------------

    def _task(self, network: Network, plans: Sequence[Sequence[int]]) -> _Task:
        found = self._forward
        contraction = contract(network, found.principals, found.near, found.trunk, plans)
        pair = contraction.network.pair
        index = {n: p for p, n in enumerate(contraction.principals)}
        near = {(index[i], index[j]) for i, j in found.near}
        matters = {(i, j): spread(pair[i][j], contraction.network.limit) if j in pair[i] else 0.0 for i, j in near}
        extras = [(i, j) for i, row in enumerate(pair) for j in row if i < j and (i, j) not in near]
        succ, left = backbone(len(pair), matters, extras)
        task = _Task(network, contraction, plans, succ, [(i, j) for i, j in left if j in pair[i]])
        self.principals, self.tied, self.left_out = len(pair), contraction.tied, len(task.left)
        return task

    def _plan(self, network: Network) -> list[int]:
        """The best plan of a few searches: the first knows no other plan, the next ones those found before."""
        best = min(self._known, key=network.cost)
        known: list[list[int]] = []
        for search in range(_SEARCHES):
            with self._phase("contract"):
                task = self._task(network, known)
            with self._phase("search"):
                x = self._decide(task)
            with self._phase("complete"):
                full = self._completed(task, x)
            better = network.cost(full) < network.cost(best) * (1 - 1e-6)
            best = full if better else best
            if search and not better:
                break
            known = [*self._known, best]
        return best

    def _decide(self, task: _Task) -> list[int]:
        """Choices of the principals. Costs that the graph leaves out are added as they are beside the plan before."""
        inner = task.contraction.network
        index = task.contraction.principals
        best = min(([plan[n] for n in index] for plan in task.plans), key=inner.cost, default=None)
        found = self._dynamic(task, inner)
        for _ in range(_ROUNDS):
            if best is not None and inner.cost(found) >= inner.cost(best) * (1 - 1e-6):
                break
            best = found
            if not task.left:
                break
            found = self._dynamic(task, inner.penalised(self._left_out(task, best)))
        return found if best is None else best

    @staticmethod
    def _left_out(task: _Task, x: Sequence[int]) -> dict[int, np.ndarray]:
        inner = task.contraction.network
        seen = {i: np.zeros(len(inner.unary[i])) for e in task.left for i in e}
        for i, j in task.left:
            seen[i] = seen[i] + inner.pair[i][j][:, x[j]]
            seen[j] = seen[j] + inner.pair[j][i][:, x[i]]
        return {i: np.where(s < inner.limit, s, FORBIDDEN) for i, s in seen.items()}

    def _completed(self, task: _Task, x: Sequence[int]) -> list[int]:
        """The plan with these forward decisions: what follows them may do better than its response."""
        network, kept = task.network, task.contraction.principals
        expanded = task.contraction.expand(x)
        fixed = {n: np.where(np.arange(len(network.unary[n])) != expanded[n], FORBIDDEN, 0.0) for n in kept}
        return solve(network.penalised(fixed), [expanded], effort=_WARM).x

    def _dynamic(self, task: _Task, inner: Network) -> list[int]:
        self.runs += 1
        rules = replace(self.rules, disjoint=False)
        return Dynamic(self._pcg(task, inner), rules, self._until, self.work).run()[1]

    def _pcg(self, task: _Task, inner: Network) -> DecisionGraph:
        reduced = [is_reduced(self.quotient.graph.nodes[n].table) for n in task.contraction.principals]
        return DecisionGraph(inner, task.succ, reduced=reduced)

    # -- branches at the same time ---------------------------------------------------------------

    def _at_once(self, task: _Task) -> tuple[float, list[int]]:
        """Seconds if branches could run on disjoint devices, and the plan with the strategies of that.

        A program for all devices cannot: every device runs every op. In the plan branches run one after another, each
        replicated along the axis that it gives up.
        """
        names = self.quotient.model.mesh.names
        nodes = self.quotient.graph.nodes
        uses = [used_axes(n.table, names) for n in nodes]
        principals = task.contraction.principals
        kept = set(principals)

        def on(axes: int) -> Network:
            # Gradients and updates of a branch stay on its devices, too.
            bad = {n: np.where((uses[n] & ~axes) != 0, FORBIDDEN, 0.0) for n in range(len(nodes)) if n not in kept}
            found = self._forward
            return contract(task.network.penalised(bad), principals, found.near, found.trunk, task.plans).network

        pcg = DecisionGraph(
            task.contraction.network, task.succ, (1 << len(names)) - 1, [uses[n] for n in principals],
            [is_reduced(nodes[n].table) for n in principals], self._spread(principals), on,
        )
        seconds, x = Dynamic(pcg, self.rules, self._until, self.work).run()
        missing = sum(float(task.contraction.network.pair[i][j][x[i], x[j]]) for i, j in task.left)
        return seconds + missing + task.contraction.constant, task.contraction.expand(x)

    def _spread(self, principals: Sequence[int]) -> Callable[[int, int], np.ndarray]:
        """Seconds to send a value from one slice of an axis to the next, and its gradient back."""
        size: dict[int, tuple[float, int]] = {}
        for e in self.quotient.graph.edges:
            numbers = float(np.prod(e.shape)) * e.itemsize
            if numbers > size.get(e.src, (-1.0, 0))[0]:
                size[e.src] = (numbers, e.slot)
        names = self.quotient.model.mesh.names

        def seconds(i: int, bit: int) -> np.ndarray:
            node = self.quotient.graph.nodes[principals[i]]
            total, slot = size.get(principals[i], (0.0, 0))
            local = total / node.table.outs[slot].shards(self.quotient.model.mesh)
            once = np.array([self.quotient.model.link((names[bit],), b, "permute") for b in local])
            return 2 * node.times * once

        return seconds

    # -- memory ----------------------------------------------------------------------------------

    def _within(self, network: Network, fastest: list[int], limit: float) -> list[int]:
        """The fastest plan found that fits: bisection over the cost of a byte, a search for each, as Unity does.

        As there, all bytes have one cost, and only the plan's peak says whether it fits.
        """
        weights: dict[tuple[int, int], float] = {}
        for node, slot, size, _, _ in self.quotient.lifetimes.values:
            weights[node, slot] = weights.get((node, slot), 0.0) + size
        low, high = 0.0, 1e3 * network.cost(fastest) / limit
        best, least = None, self.quotient.peak(fastest)
        for step in range(_MEMORY_STEPS):
            rate = high if step == 0 else (low * high) ** 0.5 if low else high / 32
            self.progress(f"fitting memory, search {step + 1} of at most {_MEMORY_STEPS}")
            penalised = network.penalised(self.quotient.local_bytes(weights, rate))
            x = self._plan(penalised)
            least = min(least, self.quotient.peak(x))
            if self.quotient.peak(x) <= limit:
                high = rate
                if best is None or network.cost(x) < network.cost(best):
                    best = x
            elif step == 0:
                raise DoesNotFit(limit, least)
            else:
                low = rate
        assert best is not None
        return best


def _floor(network: Network) -> float:
    """A lower bound on the seconds of any plan: every cost at its least. Unity knows no better one."""
    pairs = sum(float(m.min()) for i, row in enumerate(network.pair) for j, m in row.items() if i < j)
    return sum(float(u.min()) for u in network.unary) + pairs
