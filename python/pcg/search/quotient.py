"""The quotient of a search graph: nodes that are equivalent are one decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.search.cost_matrices import CostMatrices
from pcg.search.graph import Graph
from pcg.search.memory import Lifetimes
from pcg.search.table import Port, Table
from pcg.solve.equal import Equal
from pcg.solve.network import Network

#: Share of a large graph's nodes from which its classes are not used.  Where only parts of blocks are equivalent, as in
#: a CNN of growing widths, a class ties blocks together that nothing else does: the network of Keras' ResNet-50, 7,991
#: nodes in 6,983 classes, has cliques of thirty nodes when eliminated, of seven without classes, and a gap of 2% for
#: 0.4%.  A small network is solved exactly either way, and with classes equal layers have equal plans.
_HARDLY, _MANY = 0.7, 2000


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
        nodes, class_of = self.graph.nodes, self.class_of
        unary: list[np.ndarray | None] = [None] * self.classes
        for n, c in zip(nodes, class_of, strict=True):
            have = unary[c]
            unary[c] = n.seconds.copy() if have is None else have + n.seconds
        network = Network()
        for u in unary:
            assert u is not None
            network.add(u)
        grouped: dict[tuple, float] = {}
        for e in self.graph.edges:
            key = (class_of[e.src], e.slot, class_of[e.dst], e.index, e.shape, e.itemsize, e.timing)
            grouped[key] = grouped.get(key, 0.0) + e.times
        # Edges between like nodes share a matrix: the 8,700 of an Evoformer block on 2x2x2 have 1,900.
        known: dict[tuple, np.ndarray | None] = {}
        equal = Equal()
        ports = [(self.tables[a].outs[slot], self.tables[b].ins[index]) for a, slot, b, index, *_ in grouped]
        self.cost_matrices.prepare((*both, *key[4:]) for both, key in zip(ports, grouped, strict=True))
        for (src, dst), ((a, _, b, _, shape, itemsize, timing), times) in zip(ports, grouped.items(), strict=True):
            like = (id(src), id(dst), shape, itemsize, timing, times)
            if like not in known:
                m = self.cost_matrices.between(src, dst, shape, itemsize, timing)
                known[like] = equal.one(_by_strategy(times * m, src, dst)) if m.any() else None
            if (shared := known[like]) is not None:
                network.connect(a, b, shared)
        known.clear()
        network.settle()
        return network

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
        """Global bytes of the values alive at the peak under class choices `x`, by (node, slot)."""
        return self.lifetimes.weights(self.graph, self.per_node(x), self.model.mesh)

    def local_bytes(self, weights: Mapping[tuple[int, int], float], rate: float = 1.0) -> dict[int, np.ndarray]:
        """What `weights` (global bytes by node and slot) are on one device, times `rate`, per choice of each class."""
        out: dict[int, np.ndarray] = {}
        for (node, slot), size in weights.items():
            c = self.class_of[node]
            term = rate * size / self.graph.nodes[node].table.outs[slot].shards(self.model.mesh)
            out[c] = out[c] + term if c in out else term
        return out


def _by_strategy(costs: np.ndarray, src: Port, dst: Port) -> np.ndarray:
    """Costs per strategy of both ends, from those per spec; columns first, so that then rows are copied as they are."""
    return costs[:, dst.ids][src.ids]
