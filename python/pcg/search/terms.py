"""What a plan costs, term by term: the sum that the search minimises, as it is reported.

Compute (a roofline per op) and communication (every collective and every redistribution) are added up.  Sums are
rounded once, so they do not depend on the order of the terms: a plan costs the same, to the last digit, in the
graph that it was chosen in and in that of the program into which it is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pcg.cost import CostModel
from pcg.layout import ShardSpec
from pcg.reshard.planner import ReshardError
from pcg.reshard.planner import cost as reshard_cost
from pcg.search.build import Built
from pcg.search.commit import is_part
from pcg.search.graph import Edge, Node
from pcg.search.op_cost import describe
from pcg.search.outcome import Outcome
from pcg.search.table import Table, Tables
from pcg.solve.network import FORBIDDEN


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
class Moves:
    """Prices of redistributions, remembered."""

    model: CostModel
    _known: dict[tuple, tuple[float, float]] = field(default_factory=dict)
    _rows: dict[tuple, np.ndarray] = field(default_factory=dict)

    def __call__(
        self, src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, late: bool = False
    ) -> tuple[float, float]:
        """(seconds, bytes that one device sends); `late` as in `Edge`."""
        link = self.model.deferred_link if late else self.model.link
        key = (src, dst, shape, itemsize, late)
        found = self._known.get(key)
        if found is None:
            try:
                found = reshard_cost(src, dst, shape, itemsize, self.model.mesh, link)
            except ReshardError:
                found = FORBIDDEN, 0.0
            self._known[key] = found
        return found

    def row(self, known: ShardSpec, table: Table, e: Edge, into: bool) -> np.ndarray:
        """Seconds between `known` and every choice of a value with `table`: to it if `into`, else from it."""
        key = (known, table.index, e.shape, e.itemsize, e.late, into)
        found = self._rows.get(key)
        if found is None:
            pairs = ((known, s) if into else (s, known) for s in table.outs[0].specs)
            found = self._rows[key] = np.array([self(a, b, e.shape, e.itemsize, e.late)[0] for a, b in pairs])
        return found


@dataclass
class Terms:
    """Seconds and bytes that one device sends, per step, of a plan.

    `work` are seconds per node of the graph, those of what the local form of its op sends included; `inside` (seconds,
    bytes) are the latter by node; `moved` (seconds, bytes) per edge are those of its redistribution.
    """

    work: list[float]
    inside: dict[int, tuple[float, float]]
    moved: list[tuple[float, float]]

    def measure(self) -> Measure:
        """The sums."""
        sends = [*self.inside.values(), *self.moved]
        compute = math.fsum([*self.work, *(-s for s, _ in self.inside.values())])
        communication, sent = math.fsum(s for s, _ in sends), math.fsum(b for _, b in sends)
        return Measure(compute + communication, compute, communication, sent)


class Tally:
    """The terms of a plan, given as a choice for every node of a graph.

    They are those of the plan as `pcg.search.commit` writes it: a reader that wants an argument as it comes takes it
    from there, although others read it in the layout that it is kept in; and a value that is kept in the layout it is
    made in bears no mark of that, so its readers get it the cheapest way, as in any placed program.
    """

    def __init__(self, built: Built, choice: Sequence[int], moves: Moves) -> None:
        self.built, self.moves, self.edges = built, moves, built.graph.edges
        self.nodes: list[Node] = list(built.graph.nodes)
        self.choice = list(choice)
        self.around: list[list[Edge]] = [[] for _ in self.nodes]
        """The edges at each node."""
        for e in self.edges:
            self.around[e.src].append(e)
            if e.dst != e.src:
                self.around[e.dst].append(e)
        self.hubs = {hub for _, hub in built.hubs}
        arguments = set(built.arguments)
        self.feeds = {e.dst: e for e in self.edges if e.dst in self.hubs}
        """Of each hub the edge to it."""
        self.of_arguments = {hub for hub, e in self.feeds.items() if e.src in arguments}
        for hub in self.hubs:
            if self.wanted(self.feeds[hub]) == self.made(self.feeds[hub]):
                self.keep(hub)

    def made(self, e: Edge) -> ShardSpec:
        """The layout at the start of an edge."""
        return self.nodes[e.src].table.outs[e.slot][self.choice[e.src]]

    def wanted(self, e: Edge) -> ShardSpec:
        """The layout at the end of an edge."""
        return self.nodes[e.dst].table.ins[e.index][self.choice[e.dst]]

    def keep(self, hub: int) -> None:
        """Keep the value of a hub in the layout for which the least has to be moved."""
        feed = self.feeds[hub]
        made = self.made(feed)
        kind = next((k for _, k in made.partial), None)
        table = Tables.on(self.moves.model.mesh).of_value(feed.shape, kind, (made,))
        seconds = np.zeros(len(table))
        for e in self.around[hub]:
            into = e.dst == hub
            seconds += e.times * self.moves.row(made if into else self.wanted(e), table, e, into)
        self.nodes[hub] = replace(self.nodes[hub], table=table, seconds=np.zeros(len(table)))
        self.choice[hub] = int(seconds.argmin())

    def work(self, n: int) -> float:
        """Seconds of a node; what is made of constants is made wherever it is needed, at no cost."""
        seconds = float(self.nodes[n].seconds[self.choice[n]])
        if n in self.built.made and math.isfinite(seconds):
            return 0.0
        if n in self.built.unmasked:
            return float(self.built.unmasked[n][self.choice[n]])
        return seconds

    def moved(self, e: Edge) -> tuple[float, float]:
        """(seconds, bytes that one device sends) of an edge."""
        made, wanted = self.made(e), self.wanted(e)
        if made == wanted:
            return 0.0, 0.0
        if e.src in self.of_arguments:
            first = self.made(self.feeds[e.src])
            if first == wanted and is_part(first, made):
                return 0.0, 0.0
        seconds, sent = self.moves(made, wanted, e.shape, e.itemsize, e.late)
        return e.times * seconds, e.times * sent

    def masks(self) -> list[tuple[float, float]]:
        """As `moved`, of values that are made in place and read as partial sums."""
        found = []
        for e in self.built.masked:
            wanted = self.wanted(e)
            seconds, sent = self.moves(wanted.without_partial(), wanted, e.shape, e.itemsize)
            found.append((e.times * seconds, e.times * sent))
        return found

    def sent_inside(self) -> dict[int, tuple[float, float]]:
        """Per node (seconds, bytes) of what the local form of its op sends."""
        mesh, found = self.moves.model.mesh, {}
        for op, rule, n, each in self.built.exchanging:
            a = (self.nodes[n].table.assignments or ())[self.choice[n]]
            wire = sum(x.wire_elements(a, mesh) * describe(op.operands[x.operand])[1] for x in rule.exchanges)
            found[n] = float(each[self.choice[n]]), self.nodes[n].times * wire
        return found

    def terms(self) -> Terms:
        """All terms."""
        work = [self.work(n) for n in range(len(self.nodes))]
        return Terms(work, self.sent_inside(), [*map(self.moved, self.edges), *self.masks()])


def measured(built: Built, choice: Sequence[int], moves: Moves) -> Measure:
    """What the plan costs that `choice`, for every node of a graph, is."""
    return Tally(built, choice, moves).terms().measure()


def as_measured(outcome: Outcome, built: Built, moves: Moves) -> Outcome:
    """What a search found, the chosen plan and its alternatives with what they are measured to take once written.

    The search adds up the same costs, in another order, and for decisions that it makes together.
    """
    found = measured(built, outcome.choice, moves).seconds
    others = [
        a if a.choice is None else replace(a, seconds=measured(built, a.choice, moves).seconds)
        for a in outcome.alternatives
    ]
    return replace(outcome, seconds=found, bound=min(outcome.bound, found), alternatives=others)
