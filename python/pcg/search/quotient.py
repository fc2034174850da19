"""The quotient of a search graph: nodes that are equivalent are one decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.search.cost_matrices import CostMatrices, EdgeCosts
from pcg.search.graph import Graph
from pcg.search.memory import Lifetimes
from pcg.search.port import Port
from pcg.search.table import Table
from pcg.solve.edge_list import EdgeList
from pcg.solve.ilp import completed
from pcg.solve.network import Network

#: Share of a large graph's nodes from which its classes are not used.  Where only parts of blocks are equivalent, as in
#: a CNN of growing widths, a class ties blocks together that nothing else does: the network of Keras' ResNet-50, 7,991
#: nodes in 6,983 classes, has cliques of thirty nodes when eliminated, of seven without classes, and a gap of 2% for
#: 0.4%.  A small network is solved exactly either way, and with classes equal layers have equal plans.
_HARDLY, _MANY = 0.7, 2000


class _Edge(NamedTuple):
    """An edge between two classes."""

    src: int
    slot: int
    dst: int
    operand: int
    shape: tuple[int, ...]
    itemsize: float
    timing: Timing


@dataclass
class Quotient:
    """A graph modulo an equivalence of its nodes: those of a class have the same choices and decide together.

    A plan is a choice per class; `per_node` makes a choice per node of it.  Twelve equal layers are as many decisions
    as one, and each of them costs twelve times as much.
    """

    graph: Graph
    model: CostModel
    lifetimes: Lifetimes
    arguments: Sequence[int]
    data: Sequence[int]
    """Nodes of arguments that are data, not state or weights."""
    known: Sequence[int] = ()
    """Class of each node where that is known; else `Graph.classes` finds them."""
    cost_matrices: CostMatrices = field(init=False)

    def __post_init__(self) -> None:
        self.cost_matrices = CostMatrices(self.model)

    @cached_property
    def class_of(self) -> list[int]:
        """Class of each node."""
        nodes = len(self.graph.nodes)
        if self.known:
            return list(self.known)
        classes = self.graph.classes()
        return list(range(nodes)) if nodes > _MANY and len(set(classes)) > _HARDLY * nodes else classes

    @cached_property
    def tables(self) -> dict[int, Table]:
        """Strategies of each class."""
        return {c: n.table for n, c in zip(self.graph.nodes, self.class_of, strict=True)}

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.tables)

    def discrete(self) -> Quotient:
        """The same graph with every node a class of its own."""
        return replace(self, known=range(len(self.graph.nodes)))

    def per_node(self, x: Sequence[int]) -> list[int]:
        """Choice per node from choice per class."""
        return [x[c] for c in self.class_of]

    def per_class(self, choice: Sequence[int]) -> list[int]:
        """Choice per class from choice per node, of a plan in which nodes of a class do the same."""
        out = [0] * self.classes
        for c, k in zip(self.class_of, choice, strict=True):
            out[c] = k
        return out

    # -- time ----------------------------------------------------------------------------------

    def network(self) -> Network:
        """One variable per class; edges between classes carry the sum of their members' edges."""
        unary = self.unary()
        own, links = list(unary), EdgeList(list(map(len, unary)))
        for e, found in self.costed_edges():
            if found is None:
                continue
            table, rows, columns = found
            if e.src == e.dst:
                own[e.src] = own[e.src] + table[rows, columns]
            else:
                links.connect(e.src, e.dst, table, rows, columns)
        return Network.joined(own, links)

    def costed_edges(self) -> Iterator[tuple[_Edge, tuple[np.ndarray, np.ndarray, np.ndarray] | None]]:
        """Edges between classes with what they cost, as `EdgeCosts.between`; all are computed at once."""
        edges = self._edges()
        ports = [self._ports(e) for e in edges]
        self.cost_matrices.prepare((*both, e.shape, e.itemsize, e.timing) for both, e in zip(ports, edges, strict=True))
        costs = EdgeCosts(self.cost_matrices)
        for both, (e, times) in zip(ports, edges.items(), strict=True):
            yield e, costs.between(*both, e.shape, e.itemsize, e.timing, times)

    def completed(self, known: Mapping[int, int]) -> list[int]:
        """A plan with the choices of classes that are `known`; the others are chosen as well as possible around them.

        Costs are those of `network`, but of edges that are known at both ends none are needed, and of those that are
        at one end a row is.  Of a baseline about six of seven choices are known.
        """
        open_ = {c: n for n, c in enumerate(c for c in range(self.classes) if c not in known)}
        rest = Network()
        for c, u in enumerate(self.unary()):
            if c in open_:
                rest.add(u)
        rows: dict[tuple, np.ndarray] = {}
        inner = {e: times for e, times in self._edges().items() if e.src in open_ or e.dst in open_}
        for e, times in inner.items():
            src, dst = self._ports(e)
            if e.src in open_ and e.dst in open_:
                m = self.matrix(src, dst, e.shape, e.itemsize, e.timing)
                rest.connect(open_[e.src], open_[e.dst], times * m)
                continue
            into = e.src in known
            spec, port = (src[known[e.src]], dst) if into else (dst[known[e.dst]], src)
            key = (spec, id(port), e.shape, e.itemsize, e.timing, into)
            if key not in rows:
                rows[key] = self.cost_matrices.row(spec, port, e.shape, e.itemsize, e.timing, into)[port.ids]
            rest.unary[open_[e.dst if into else e.src]] += times * rows[key]
        found = completed(rest, {})
        return [known[c] if c in known else found[open_[c]] for c in range(self.classes)]

    def unary(self) -> list[np.ndarray]:
        """Seconds of the choices of each class, those of its members together."""
        unary: dict[int, np.ndarray] = {}
        for n, c in zip(self.graph.nodes, self.class_of, strict=True):
            unary[c] = unary[c] + n.seconds if c in unary else n.seconds
        return [unary[c] for c in range(self.classes)]

    def _edges(self) -> dict[_Edge, float]:
        """How many times per step each edge between classes is taken."""
        class_of = self.class_of
        found: dict[_Edge, float] = {}
        for e in self.graph.edges:
            key = _Edge(class_of[e.src], e.slot, class_of[e.dst], e.index, e.shape, e.itemsize, e.timing)
            found[key] = found.get(key, 0.0) + e.times
        return found

    def _ports(self, e: _Edge) -> tuple[Port, Port]:
        """The ports that an edge joins."""
        return self.tables[e.src].outs[e.slot], self.tables[e.dst].ins[e.operand]

    def matrix(
        self, src: Port, dst: Port, shape: tuple[int, ...], itemsize: float, timing: Timing = Timing.CRITICAL
    ) -> np.ndarray:
        """Seconds of resharding, per strategy of the producer and of the consumer."""
        return _by_strategy(self.cost_matrices.between(src, dst, shape, itemsize, timing), src, dst)

    # -- memory --------------------------------------------------------------------------------

    def peak(self, x: Sequence[int]) -> float:
        """Peak bytes per device under class choices `x`."""
        return self.lifetimes.peak(self.graph, self.per_node(x), self.model.mesh)[0]

    def position(self, x: Sequence[int]) -> int:
        """Where in program order the peak is under class choices `x`."""
        return self.lifetimes.peak(self.graph, self.per_node(x), self.model.mesh)[1]

    def alive(self, x: Sequence[int]) -> dict[tuple[int, int], float]:
        """Global bytes of what is alive at the peak under class choices `x`, by (node, slot); operand i has slot ~i."""
        return self.lifetimes.weights(self.graph, self.per_node(x), self.model.mesh)

    def local_bytes(self, weights: Mapping[tuple[int, int], float], rate: float = 1.0) -> dict[int, np.ndarray]:
        """What `weights` (global bytes by node and slot) are on one device, times `rate`, per choice of each class."""
        out: dict[int, np.ndarray] = {}
        for (node, slot), size in weights.items():
            c, table = self.class_of[node], self.graph.nodes[node].table
            port = table.outs[slot] if slot >= 0 else table.ins[~slot]
            term = rate * size / port.shards(self.model.mesh)
            out[c] = out[c] + term if c in out else term
        return out


def _by_strategy(costs: np.ndarray, src: Port, dst: Port) -> np.ndarray:
    """Costs per strategy of both ends, from those per spec; columns first, so that then rows are copied as they are."""
    return costs[:, dst.ids][src.ids]
