"""One search over the alternatives of a program and the strategies of their ops.

The graph of a saturated program has an op for every alternative, and an op ``pcg.alternatives`` for every choice
between two.  Its network is that of the strategies (`Quotient.network`) with more choices: an op that only alternatives
read may be *unused*, which costs nothing, and forbids that anything that is used reads it; a choice between two has
every strategy twice, and only what it takes costs and has to be used.  So a solution is a program and its layouts (an
extraction from an e-graph as in Tensat, Yang et al., MLSys'21, and the placement of what is extracted), and the bound
of the network is one for both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from pcg.search.graph import Graph
from pcg.search.quotient import Quotient
from pcg.solve.edge_list import EdgeList
from pcg.solve.network import FORBIDDEN, Network

#: Kinds of nodes that a program has whatever is chosen.
_ALWAYS = frozenset({"argument", "result", "sink", "carry"})
#: Instead of a strategy or an operand: none.
UNUSED = -1
#: States of what is not used, of what is, and of alternatives that take one operand or the other.
_NONE, _ANY, _OPERANDS = frozenset((UNUSED,)), frozenset((0, 1)), (frozenset((0,)), frozenset((1,)))


@dataclass(frozen=True)
class _Choices:
    """What the choices of a class in the joint network are."""

    strategy: np.ndarray
    """Its strategy; `UNUSED` for none."""
    operand: np.ndarray
    """Of alternatives, which operand is taken; 0 elsewhere."""
    state: np.ndarray
    """The same, with `UNUSED` for none."""


@cache
def _choices(strategies: int, chooses: bool, optional: bool) -> _Choices:
    """Those of a class with so many strategies, by whether it is an alternative, and can be done without."""
    operands = 2 if chooses else 1
    strategy, operand = np.tile(np.arange(strategies), operands), np.repeat(np.arange(operands), strategies)
    if optional:
        strategy, operand = np.append(strategy, UNUSED), np.append(operand, 0)
    return _Choices(strategy, operand, np.where(strategy == UNUSED, UNUSED, operand))


@dataclass
class Joint:
    """A quotient whose nodes in `alternatives` (ops of two operands) choose between their operands."""

    quotient: Quotient
    alternatives: Collection[int]

    def __post_init__(self) -> None:
        q = self.quotient
        optional = unneeded(q.graph, self.alternatives)
        nodes = [
            replace(n, label=f"{n.label} optional") if i in optional else n for i, n in enumerate(q.graph.nodes)
        ]
        self.quotient = replace(q, graph=Graph(nodes, q.graph.edges))
        class_of = self.quotient.class_of
        self.optional = frozenset(class_of[n] for n in optional)
        """Classes that a program can do without."""
        self.choosing = {class_of[n] for n in self.alternatives}
        """Classes of alternatives."""
        self._choices = [
            _choices(len(self.quotient.tables[c]), c in self.choosing, c in self.optional)
            for c in range(self.quotient.classes)
        ]
        self._every = [np.ones(len(c.operand), dtype=np.bool_) for c in self._choices]
        self._known: dict[tuple[int, frozenset[int]], np.ndarray] = {}
        """Which choices of a class are open where it may be in some states."""
        self._idle = list(self._every)
        """Which choices are open where nothing is used that a program can do without."""
        self._used_masks = dict[int, np.ndarray]()
        """Which choices of that are open where it is used."""
        for c in self.optional:
            self._idle[c], self._used_masks[c] = self._in_states(c, _NONE), self._in_states(c, _ANY)
        self._reads: dict[tuple[int, int], set[int]] = {}
        """The classes among `optional` that a class reads; where it chooses an operand, those that it reads for it."""
        for e in q.graph.edges:
            if (src := class_of[e.src]) in self.optional and src != (dst := class_of[e.dst]):
                self._reads.setdefault((dst, e.index if dst in self.choosing else 0), set()).add(src)
        fixed = self.choosing | self.optional
        self._needed = [src for (c, _), read in self._reads.items() if c not in fixed for src in read]
        """Those that are needed whatever is chosen."""

    def network(self) -> Network:
        """One variable per class, as `Quotient.network`."""
        q = self.quotient
        own = [self._own(c, seconds) for c, seconds in enumerate(q.unary())]
        links = EdgeList(list(map(len, own)))
        changed = self.choosing | self.optional
        for e, found in q.costed_edges():
            if not {e.src, e.dst} & changed and e.src != e.dst:
                if found is not None:
                    links.connect(e.src, e.dst, *found)
                continue
            matrix = self._matrix(e.src, e.dst, e.operand, found)
            if e.src == e.dst:
                own[e.src] = own[e.src] + np.diagonal(matrix)
            elif matrix.any():
                links.connect(e.src, e.dst, matrix, *map(np.arange, matrix.shape))
        return Network.joined(own, links)

    def _own(self, c: int, seconds: np.ndarray) -> np.ndarray:
        strategy = self._choices[c].strategy
        if c in self.choosing:
            return np.zeros(len(strategy))
        return np.where(strategy == UNUSED, 0.0, seconds[strategy]) if c in self.optional else seconds

    def _matrix(
        self, src: int, dst: int, operand: int, found: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    ) -> np.ndarray:
        a, b = self._choices[src], self._choices[dst]
        if found is None:
            matrix = np.zeros((len(a.strategy), len(b.strategy)))
        else:
            table, rows, columns = found
            matrix = table[rows[a.strategy][:, None], columns[b.strategy]]
        matrix[a.strategy == UNUSED] = FORBIDDEN
        idle = b.strategy == UNUSED
        if dst in self.choosing:
            idle = idle | (b.operand != operand)
        matrix[:, idle] = 0.0
        return matrix

    def open(self, states: Mapping[int, Collection[int]]) -> list[np.ndarray]:
        """Which choices are open where alternatives, by node, take one operand of several, or `UNUSED` for none."""
        class_of = self.quotient.class_of
        open_ = list(self._every)
        for c, allowed in {class_of[n]: frozenset(a) for n, a in states.items()}.items():
            open_[c] = self._in_states(c, allowed)
        return open_

    def chosen(self, operands: Mapping[int, int]) -> tuple[list[np.ndarray], frozenset[int]]:
        """Which choices are open where every alternative, by node, takes this operand, and the classes to be used.

        Then nothing is open but layouts: a class is used if a result needs it.  So the least costs are those of `open`
        with `UNUSED` allowed, of a smaller network.
        """
        class_of = self.quotient.class_of
        taken = {class_of[n]: o for n, o in operands.items()}
        used = self._used(taken)
        open_ = list(self._idle)
        for c in used:
            open_[c] = self._used_masks[c]
        for c, operand in taken.items():
            if c in used or c not in self.optional:
                open_[c] = self._in_states(c, _OPERANDS[operand])
        return open_, used

    def _in_states(self, c: int, allowed: frozenset[int]) -> np.ndarray:
        """Which choices of a class are open where it may be in these states."""
        key = c, allowed
        if key not in self._known:
            state = self._choices[c].state
            self._known[key] = np.logical_or.reduce([state == s for s in allowed])
        return self._known[key]

    def _used(self, taken: Mapping[int, int]) -> frozenset[int]:
        """The classes among `optional` that are needed where those of alternatives take these operands."""
        found: set[int] = set()
        work = [*self._needed]
        for c in self.choosing - self.optional:
            work += self._reads.get((c, taken[c]), ())
        while work:
            c = work.pop()
            if c not in found:
                found.add(c)
                work += self._reads.get((c, taken.get(c, 0)), ())
        return frozenset(found)

    def states(self, node: int) -> frozenset[int]:
        """What may be taken of alternatives."""
        optional = self.quotient.class_of[node] in self.optional
        return frozenset((0, 1, UNUSED) if optional else (0, 1))

    def taken(self, x: Sequence[int]) -> dict[int, int]:
        """Of each choice between alternatives which operand a solution takes, or `UNUSED`."""
        class_of = self.quotient.class_of
        found = {n: (self._choices[class_of[n]], x[class_of[n]]) for n in self.alternatives}
        return {n: UNUSED if c.strategy[k] == UNUSED else int(c.operand[k]) for n, (c, k) in found.items()}


def unneeded(graph: Graph, alternatives: Collection[int]) -> set[int]:
    """Nodes that a program can do without if it takes others of its alternatives."""
    readers: dict[int, list[int]] = {}
    reads: dict[int, list[int]] = {}
    for e in graph.edges:
        readers.setdefault(e.src, []).append(e.dst)
        reads.setdefault(e.dst, []).append(e.src)
    needed: set[int] = set()
    work = [n for n, node in enumerate(graph.nodes) if node.kind in _ALWAYS or n not in readers]
    while work:
        n = work.pop()
        if n not in needed:
            needed.add(n)
            if n not in alternatives:
                work += reads.get(n, ())
    return set(range(len(graph.nodes))) - needed
