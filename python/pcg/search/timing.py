"""When the collectives of a step run: what waits for them, and what they can run beside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from pcg.cost import Timing
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.graph import Edge, Graph

#: Share of the time of all contractions that must lie behind a value for its collective to run beside them.  A choice.
_BESIDE = 0.02
#: The share that other branches must have for a collective that something waits for to run beside them.  A choice.
_BRANCHES = 0.03


def time_edges(graph: Graph, arguments: Iterable[int], loop_ends: Mapping[int, int]) -> None:
    """Set the timing of all edges.

    Critical is what goes, sooner or later, into a contraction; it is a branch's if there are contractions that neither
    lead to it nor wait for it: those of another part of the model, or those of gradients of weights.  Behind the last
    contraction of a training step come the gradients, which are computed from nothing but what the backward pass
    leaves, and the update of state, which reads the state, too.  What is sent for a gradient is deferred, if enough of
    the backward pass is left when the gradient is there; what is sent later is final.  In a loop it is looped, critical
    or a branch's.

    Args:
      graph: nodes in program order.
      arguments: nodes of arguments.  An edge into one brings its next value.
      loop_ends: of nodes of values that a loop carries the first node behind the loop.
    """
    arguments = set(arguments)
    early = _early(graph, arguments)
    updates = _updates(graph, arguments, early)
    seconds = _of_contractions(graph, early)
    behind = _behind(seconds)
    branches = _Branches(graph, seconds)
    for e in graph.edges:
        # A value that a loop returns is there when the loop has ended; in the loop the next iteration follows.
        at = loop_ends.get(e.src, e.src if e.times > 1 else e.src + 1)
        beside = behind[min(at, e.dst)] >= _BESIDE
        if e.dst in early and e.dst not in arguments:
            e.timing = Timing.BRANCH if branches.beside(e) >= _BRANCHES else Timing.CRITICAL
        elif e.times > 1:
            e.timing = Timing.LOOPED if beside else Timing.CRITICAL
        else:
            e.timing = Timing.DEFERRED if beside and e.src not in updates and e.dst not in arguments else Timing.FINAL


def update_nodes(graph: Graph, arguments: Collection[int]) -> set[int]:
    """Nodes of the update of state: computed from state, `arguments` of the step, and into no contraction."""
    return _updates(graph, arguments, _early(graph, arguments))


def _reached(starts: Collection[int], edges: Iterable[tuple[int, int]], ends: Collection[int] = ()) -> set[int]:
    """Nodes to which edges lead from `starts`; none is followed from `ends`."""
    out: dict[int, list[int]] = {}
    for a, b in edges:
        out.setdefault(a, []).append(b)
    found: set[int] = set()
    stack = list(starts)
    while stack:
        for n in out.get(stack.pop(), ()):
            if n not in found:
                found.add(n)
                if n not in ends:
                    stack.append(n)
    return found


def _early(graph: Graph, arguments: Collection[int]) -> set[int]:
    """Contractions and what goes into them, through loops, too, but not from one step to the next."""
    contractions = {n for n, node in enumerate(graph.nodes) if traits.has(node.name, Trait.CONTRACTION)}
    return contractions | _reached(contractions, ((e.dst, e.src) for e in graph.edges), ends=arguments)


def _updates(graph: Graph, arguments: Collection[int], early: Collection[int]) -> set[int]:
    """What is computed from state and goes into no contraction."""
    copies = {e.dst for e in graph.edges if e.src in arguments and graph.nodes[e.dst].kind == "layout"}
    return _reached({*arguments, *copies}, ((e.src, e.dst) for e in graph.edges if e.dst not in early))


def _of_contractions(graph: Graph, early: Collection[int]) -> np.ndarray:
    """Per node its share of the time of all contractions, each at its fastest; 0 for all others."""
    seconds = np.zeros(len(graph.nodes))
    for n in early:
        if traits.has(graph.nodes[n].name, Trait.CONTRACTION):
            seconds[n] = graph.nodes[n].seconds.min()
    total = seconds.sum()
    return seconds / total if total else seconds


def _behind(seconds: np.ndarray) -> np.ndarray:
    """Per node, and behind all of them, the share that is spent on it and on those behind it."""
    return np.append(seconds[::-1].cumsum()[::-1], 0.0)


class _Branches:
    """Which contractions come before and which behind each node, as bits; from one step to the next nothing leads."""

    def __init__(self, graph: Graph, seconds: np.ndarray) -> None:
        found = np.flatnonzero(seconds)
        self.seconds = seconds[found]
        self._known: dict[tuple[int, int], float] = {}
        self._before = np.zeros((len(seconds), -(-len(found) // 8)), np.uint8)
        self._before[found] = np.packbits(np.eye(len(found), dtype=bool), axis=1)
        self._after = self._before.copy()
        forward = [(e.src, e.dst) for e in graph.edges if e.src < e.dst]
        for src, dst in sorted(forward, key=lambda ends: ends[1]):
            self._before[dst] |= self._before[src]
        for src, dst in sorted(forward, reverse=True):
            self._after[src] |= self._after[dst]

    def beside(self, e: Edge) -> float:
        """The share of contractions that neither lead to what is sent along an edge nor wait for it."""
        ends = e.src, e.dst
        found = self._known.get(ends)
        if found is None:
            others = np.unpackbits(~(self._before[e.src] | self._after[e.dst]), count=len(self.seconds))
            found = self._known[ends] = float(self.seconds @ others)
        return found
