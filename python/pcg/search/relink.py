"""Path relinking (Glover 1997): what a good plan becomes with parts of other good plans.

Searches that assume different overlap find plans that differ in places: one splits a weight's update further, another
gathers an activation earlier.  Where two plans differ, the nodes form connected parts of the graph.  A part that is
taken from the other plan changes costs only in it and at its border, so each is judged by itself: a step with it is
simulated, and if that takes less, the part stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pcg.search.graph import Graph

#: How much (relative) a part must save to stay.  Chosen: less is noise of the order in which collectives start.
_WORTH = 1e-5
#: By how much (relative) a part must change the estimate to be tried in the first round.  Measured on ViT-H/14 and
#: BERT-Large on 64 H100: parts that change it by less saved 0.3% at most, others up to 2%.
_CHANGE = 1e-4


def relink(
    graph: Graph, choice: Sequence[int], others: Sequence[Sequence[int]], seconds: float, *,
    estimate: Callable[[list[int]], float], simulate: Callable[[list[int]], float], most: int,
) -> tuple[list[int], float]:  # fmt: skip
    """`choice`, with the parts of `others` that save time, and its seconds.

    Args:
      graph: the decisions.
      choice: the best plan, a choice per node; it takes `seconds` by simulation.
      others: other plans of the same graph, in the order in which their parts are tried.
      estimate: seconds of a plan if nothing overlaps; parts that change these, either way, are tried first.
      simulate: seconds of a plan; infinite if it is none.
      most: simulations that may be made.
    """
    best = list(choice)
    tried: set[tuple[tuple[int, int], ...]] = set()
    for least in (_CHANGE, 0.0):
        for other in others:
            before = estimate(best)
            for part in _parts(graph, best, other):
                change = tuple((n, other[n]) for n in part)
                plan = list(best)
                for n, k in change:
                    plan[n] = k
                if change in tried or abs(estimate(plan) - before) < least * before:
                    continue
                if len(tried) >= most:
                    return best, seconds
                tried.add(change)
                if (found := simulate(plan)) < seconds * (1 - _WORTH):
                    best, seconds, before = plan, found, estimate(plan)
    return best, seconds


def _parts(graph: Graph, choice: Sequence[int], other: Sequence[int]) -> list[list[int]]:
    """The connected parts in which two plans differ, largest first."""
    differ = {n for n, (a, b) in enumerate(zip(choice, other, strict=True)) if a != b}
    near: dict[int, set[int]] = {n: set() for n in differ}
    for e in graph.edges:
        if e.src in differ and e.dst in differ:
            near[e.src].add(e.dst)
            near[e.dst].add(e.src)
    parts = []
    while differ:
        part, border = [], [min(differ)]
        differ.discard(border[0])
        while border:
            n = border.pop()
            part.append(n)
            reached = near[n] & differ
            differ -= reached
            border += reached
        parts.append(sorted(part))
    return sorted(parts, key=len, reverse=True)
