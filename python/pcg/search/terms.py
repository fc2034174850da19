"""What a plan costs, term by term: the sum that the search minimises, as it is reported.

Compute (a roofline per op) and communication (every collective and every redistribution) are added up.  Sums are
rounded once, so they do not depend on the order of the terms: a plan costs the same, to the last digit, in the
graph that it was chosen in and in that of the program into which it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.layout import ShardSpec
from pcg.reshard.planner import ReshardError
from pcg.reshard.planner import cost as reshard_cost
from pcg.search.built import Built
from pcg.search.commit import is_part
from pcg.search.cost_matrices import CostMatrices
from pcg.search.graph import Edge, Node
from pcg.search.outcome import Outcome
from pcg.search.table import Table, Tables
from pcg.search.work import WorkCosts
from pcg.solve.beside import Beside
from pcg.solve.network import FORBIDDEN

#: Relative difference of sums that is rounding.
_SAME = 1e-12
#: Nodes of all alternatives from which these are measured beside the chosen plan.  Chosen: so many take 0.2 s.
_MANY = 20_000


@dataclass(frozen=True)
class Measure:
    """Seconds of one step by estimate, of which compute and communication, and the bytes that one device sends."""

    seconds: float
    compute: float
    communication: float
    bytes: float

    def __str__(self) -> str:
        return (
            f"{1e6 * self.seconds:.2f} us per step (compute {1e6 * self.compute:.2f} us, redistribution "
            f"{1e6 * self.communication:.2f} us, {self.bytes:.0f} bytes sent per device)"
        )


@dataclass
class ReshardCosts:
    """Costs of redistributions, each computed once."""

    model: CostModel
    _known: dict[tuple, tuple[float, float]] = field(default_factory=dict)
    _rows: dict[tuple, np.ndarray] = field(default_factory=dict)

    def __call__(
        self, src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, timing: Timing = Timing.CRITICAL
    ) -> tuple[float, float]:
        """(seconds, bytes that one device sends)."""
        key = (src, dst, shape, itemsize, timing)
        found = self._known.get(key)
        if found is None:
            try:
                link, exposed = self.model.link_at(timing), self.model.exposed(timing)
                seconds, sent = reshard_cost(src, dst, shape, itemsize, self.model.mesh, link)
                found = exposed * seconds, sent
            except ReshardError:
                found = FORBIDDEN, 0.0
            self._known[key] = found
        return found

    def row(self, known: ShardSpec, table: Table, e: Edge, into: bool) -> np.ndarray:
        """Seconds between `known` and every choice of a value with `table`: to it if `into`, else from it."""
        key = (known, table.index, e.shape, e.itemsize, e.timing, into)
        found = self._rows.get(key)
        if found is None:
            port = table.outs[0]
            found = self._rows[key] = CostMatrices(self.model).row(known, port, e.shape, e.itemsize, e.timing, into)
        return found


@dataclass
class Terms:
    """Seconds and bytes that one device sends, per step, of a plan.

    `work` are seconds per node of the graph, those of what the local form of its op sends included; `inside` (seconds,
    bytes) are the latter by node; `resharding` (seconds, bytes) per edge are those of its redistribution.
    """

    work: list[float]
    inside: dict[int, tuple[float, float]]
    resharding: list[tuple[float, float]]

    def measure(self) -> Measure:
        """The sums."""
        sends = [*self.inside.values(), *self.resharding]
        compute = math.fsum([*self.work, *(-s for s, _ in self.inside.values())])
        communication, sent = math.fsum(s for s, _ in sends), math.fsum(b for _, b in sends)
        return Measure(compute + communication, compute, communication, sent)


class Tallies:
    """What the tallies of all plans of a graph share."""

    def __init__(self, built: Built, reshard_costs: ReshardCosts) -> None:
        self.built, self.reshard_costs, self.edges = built, reshard_costs, built.graph.edges
        nodes = built.graph.nodes
        self.around: list[list[int]] = [[] for _ in nodes]
        """The edges at each node."""
        self.layout_nodes = {node for _, node in built.layout_nodes}
        self.feeds: dict[int, int] = {}
        """Of each layout node the edge to it."""
        self.kinds: list[int] = []
        """Of each edge a number: those with the same cost between the same layouts have the same."""
        known: dict[tuple, int] = {}
        for i, e in enumerate(self.edges):
            self.around[e.src].append(i)
            if e.dst != e.src:
                self.around[e.dst].append(i)
            if e.dst in self.layout_nodes:
                self.feeds[e.dst] = i
            kind = (e.slot, e.index, e.shape, e.itemsize, e.timing, e.times)
            self.kinds.append(known.setdefault(kind, len(known)))
        arguments = set(built.arguments)
        self.of_arguments = {node for node, i in self.feeds.items() if self.edges[i].src in arguments}
        self.ends = {n: [self._end(i, n) for i in self.around[n]] for n in self.layout_nodes}
        """Of each layout node the kinds of the edges at it, inverted for the one to it, and their other ends."""
        self.kept: dict[tuple, tuple[Table, np.ndarray, int]] = {}
        """How layout nodes are kept, by what is around them."""
        self.resharding: dict[tuple, tuple[float, float]] = {}
        """(seconds, bytes that one device sends) of edges, by kind, and choice at both ends."""

    def _end(self, edge: int, node: int) -> tuple[int, int]:
        e, kind = self.edges[edge], self.kinds[edge]
        return (~kind, e.src) if e.dst == node else (kind, e.dst)


class Tally:
    """The terms of a plan, given as a choice for every node of a graph.

    They are those of the plan as `pcg.search.commit` writes it: a reader that wants an argument as it comes takes it
    from there, although others read it in the layout that it is kept in; and a value that is kept in the layout it is
    computed in bears no mark of that, so its readers get it the cheapest way, as in any placed program.  Readers of the
    layout nodes `apart` get it one by one instead.
    """

    def __init__(self, shared: Tallies, choice: Sequence[int], apart: Collection[int] = ()) -> None:
        self.shared, self.built, self.reshard_costs = shared, shared.built, shared.reshard_costs
        self.nodes: list[Node] = list(shared.built.graph.nodes)
        self.choice = list(choice)
        for node in shared.layout_nodes:
            feed = shared.edges[shared.feeds[node]]
            if node not in apart and self.target_spec(feed) == self.source_spec(feed):
                self.keep(node)

    def source_spec(self, e: Edge) -> ShardSpec:
        """The layout at the start of an edge."""
        return self.nodes[e.src].table.outs[e.slot][self.choice[e.src]]

    def target_spec(self, e: Edge) -> ShardSpec:
        """The layout at the end of an edge."""
        return self.nodes[e.dst].table.ins[e.index][self.choice[e.dst]]

    def keep(self, node: int) -> None:
        """Keep the value of a layout node in the layout that takes the least resharding."""
        nodes, choice = self.nodes, self.choice
        key = tuple([(kind, nodes[n].table, choice[n]) for kind, n in self.shared.ends[node]])
        found = self.shared.kept.get(key)
        if found is None:
            found = self.shared.kept[key] = self._kept(node)
        table, nothing, choice[node] = found
        old = nodes[node]
        nodes[node] = Node(old.kind, old.name, table, nothing, old.times, old.label)

    def _kept(self, node: int) -> tuple[Table, np.ndarray, int]:
        """What a layout node may be kept in, what it takes itself, and the cheapest choice."""
        edges = self.shared.edges
        feed = edges[self.shared.feeds[node]]
        source = self.source_spec(feed)
        kind = next((k for _, k in source.partial), None)
        table = Tables.on(self.reshard_costs.model.mesh).of_value(feed.shape, kind, (source,))
        seconds = np.zeros(len(table))
        for i in self.shared.around[node]:
            e = edges[i]
            into = e.dst == node
            seconds += e.times * self.reshard_costs.row(source if into else self.target_spec(e), table, e, into)
        return table, np.zeros(len(table)), cheapest(seconds)

    def work(self, n: int) -> float:
        """Seconds of a node; what is computed from constants is computed wherever it is needed, at no cost."""
        seconds = float(self.nodes[n].seconds[self.choice[n]])
        if n in self.built.generated and math.isfinite(seconds):
            return 0.0
        if n in self.built.unmasked:
            return float(self.built.unmasked[n][self.choice[n]])
        return seconds

    def resharding(self, edge: int) -> tuple[float, float]:
        """(seconds, bytes that one device sends) of an edge, given by number."""
        shared, e = self.shared, self.shared.edges[edge]
        if e.src in shared.of_arguments:
            source, target = self.source_spec(e), self.target_spec(e)
            if self.source_spec(shared.edges[shared.feeds[e.src]]) == target and is_part(target, source):
                return 0.0, 0.0
        src, dst = self.nodes[e.src].table, self.nodes[e.dst].table
        key = shared.kinds[edge], src, self.choice[e.src], dst, self.choice[e.dst]
        found = shared.resharding.get(key)
        if found is None:
            found = shared.resharding[key] = self._resharding(e)
        return found

    def _resharding(self, e: Edge) -> tuple[float, float]:
        source, target = self.source_spec(e), self.target_spec(e)
        if source == target:
            return 0.0, 0.0
        seconds, sent = self.reshard_costs(source, target, e.shape, e.itemsize, e.timing)
        return e.times * seconds, e.times * sent

    def masks(self) -> list[tuple[float, float]]:
        """As `resharding`, of values that are generated on each device and read as partial sums."""
        found = []
        for e in self.built.masked:
            target = self.target_spec(e)
            seconds, sent = self.reshard_costs(target.without_partial(), target, e.shape, e.itemsize)
            found.append((e.times * seconds, e.times * sent))
        return found

    def inside(self) -> dict[int, tuple[float, float]]:
        """Per node (seconds, bytes) of what the local form of its op sends."""
        costs, found = WorkCosts(self.reshard_costs.model), {}
        for e in self.built.exchanges:
            n = e.node
            a = (self.nodes[n].table.assignments or ())[self.choice[n]]
            found[n] = float(e.seconds[self.choice[n]]), self.nodes[n].times * costs.wire_bytes(self.built.works[n], a)
        return found

    def terms(self) -> Terms:
        """All terms."""
        work = [self.work(n) for n in range(len(self.nodes))]
        return Terms(work, self.inside(), [*map(self.resharding, range(len(self.shared.edges))), *self.masks()])


def cheapest(seconds: np.ndarray) -> int:
    """The first of the least sums; those that are equal but for rounding are the same."""
    return int(np.flatnonzero(seconds <= seconds.min() * (1 + _SAME))[0])


def measured(built: Built, choice: Sequence[int], reshard_costs: ReshardCosts) -> Measure:
    """What the plan costs that `choice`, for every node of a graph, is."""
    return Tally(Tallies(built, reshard_costs), choice).terms().measure()


def as_measured(
    outcome: Outcome, built: Built, reshard_costs: ReshardCosts, meanwhile: Callable[[], None] = lambda: None, *,
    rejected: bool = True,
) -> Outcome:  # fmt: skip
    """What a search found, the chosen plan and its alternatives with what they are measured to take once written.

    The search adds up the same costs, in another order, and for decisions that it makes together.  `meanwhile` is done
    while alternatives are measured, which is not done unless those that were `rejected` are of interest.
    """
    shared = Tallies(built, reshard_costs)

    def seconds(choice: Sequence[int]) -> float:
        return Tally(shared, choice).terms().measure().seconds

    choices = [a.choice for a in outcome.alternatives if a.choice is not None and rejected]
    beside = Beside(lambda: list(map(seconds, choices)), len(choices) * len(built.graph.nodes) > _MANY)
    found = seconds(outcome.choice)
    meanwhile()
    of = iter(beside.result())
    others = [a if a.choice is None else replace(a, seconds=next(of, a.seconds)) for a in outcome.alternatives]
    return replace(outcome, seconds=found, bound=min(outcome.bound, found), alternatives=others)
