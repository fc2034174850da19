"""When the collectives of a step run: what waits for them, and what they can run beside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from pcg.cost import Timing
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.graph import Graph

#: Share of the time of all contractions that must lie behind a value for its collective to run beside them.  A choice.
_BESIDE = 0.02


def time_edges(graph: Graph, arguments: Iterable[int], loop_ends: Mapping[int, int]) -> None:
    """Set the timing of all edges.

    Critical is what goes, sooner or later, into a contraction.  Behind the last contraction of a training step come the
    gradients, which are computed from nothing but what the backward pass leaves, and the update of state, which reads
    the state, too.  What is sent for a gradient is deferred, if enough of the backward pass is left when the gradient
    is there; what is sent later is final.  In a loop it is looped, or critical.

    Args:
      graph: nodes in program order.
      arguments: nodes of arguments.  An edge into one brings its next value.
      loop_ends: of nodes of values that a loop carries the first node behind the loop.
    """
    arguments = set(arguments)
    early = _early(graph, arguments)
    updates = _updates(graph, arguments, early)
    behind = _contractions_behind(graph, early)
    for e in graph.edges:
        # A value that a loop returns is there when the loop has ended; in the loop the next iteration follows.
        at = loop_ends.get(e.src, e.src if e.times > 1 else e.src + 1)
        beside = behind[min(at, e.dst)] >= _BESIDE
        if e.dst in early and e.dst not in arguments:
            e.timing = Timing.CRITICAL
        elif e.times > 1:
            e.timing = Timing.LOOPED if beside else Timing.CRITICAL
        else:
            e.timing = Timing.DEFERRED if beside and e.src not in updates and e.dst not in arguments else Timing.FINAL


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


def _contractions_behind(graph: Graph, early: Collection[int]) -> np.ndarray:
    """Per node the share of the time of all contractions that is spent on it and on those behind it."""
    seconds = np.zeros(len(graph.nodes) + 1)
    for n in early:
        if traits.has(graph.nodes[n].name, Trait.CONTRACTION):
            seconds[n] = graph.nodes[n].seconds.min()
    left = seconds[::-1].cumsum()[::-1]
    return left / left[0] if left[0] else left
