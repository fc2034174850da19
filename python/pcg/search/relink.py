"""Path relinking (Glover 1997): what a good plan becomes with parts of other good plans.

Searches that assume different overlap find plans that differ in places: one splits a weight's update further, another
gathers an activation earlier.  Where two plans differ, the nodes form connected parts of the graph.  A part that is
taken from the other plan changes costs only in it and at its border, so each is judged by itself: a step with it is
simulated, and if that takes less, the part stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pcg.search.graph import Graph

#: How much (relative) a part must save to stay.  Chosen: less is noise of the order in which collectives start.
_WORTH = 1e-5
#: By how much (relative) a part must change the estimate to be tried in the first round.  Measured on ViT-H/14 and
#: BERT-Large on 64 H100: parts that change it by less saved 0.3% at most, others up to 2%.
_CHANGE = 1e-4
#: Share of the simulations that is kept for several parts together.  A choice.
_TOGETHER = 0.25
#: Nodes and what they choose instead.
Change = tuple[tuple[int, int], ...]


def relink(
    graph: Graph, choice: Sequence[int], others: Sequence[Sequence[int]], seconds: float, *,
    estimate: Callable[[list[int]], float], simulate: Callable[[list[list[int]]], list[float]], most: int,
) -> tuple[list[int], float]:  # fmt: skip
    """`choice`, with the parts of `others` that save time, and its seconds.

    Each part is tried by itself; then all that save time together (of those of the same nodes the one that saves most),
    and the half of them that saves most.

    Args:
      graph: the decisions.
      choice: the best plan, a choice per node; it takes `seconds` by simulation.
      others: other plans of the same graph, in the order in which their parts are tried.
      estimate: seconds of a plan if nothing overlaps; parts that change these, either way, are tried first.
      simulate: seconds of plans that are judged side by side; infinite where it is none.
      most: simulations that may be made.
    """
    before = estimate(list(choice))
    parts = ((other, part) for other in others for part in _parts(graph, choice, other))
    changes = dict.fromkeys(tuple((n, other[n]) for n in part) for other, part in parts)
    near = {change: abs(estimate(_changed(choice, change)) - before) < _CHANGE * before for change in changes}
    singles = sorted(changes, key=lambda change: near[change])[: most - int(_TOGETHER * most)]
    saved = zip(simulate([_changed(choice, change) for change in singles]), singles, strict=True)
    good = sorted((x for x in saved if x[0] < seconds * (1 - _WORTH)), key=lambda x: x[0])
    if not good:
        return list(choice), seconds
    best = _changed(choice, good[0][1]), good[0][0]
    apart = _apart([change for _, change in good])
    counts = [n for n in dict.fromkeys((len(apart), -(-len(apart) // 2))) if n > 1][: most - len(singles)]
    plans = [_changed(choice, [x for change in apart[:n] for x in change]) for n in counts]
    for plan, found in zip(plans, simulate(plans), strict=True):
        if found < best[1]:
            best = plan, found
    return best


def _apart(changes: Sequence[Change]) -> list[Change]:
    """Those of `changes` that have no node in common with one before."""
    found: list[Change] = []
    taken: set[int] = set()
    for change in changes:
        nodes = {n for n, _ in change}
        if not nodes & taken:
            taken |= nodes
            found.append(change)
    return found


def _changed(choice: Sequence[int], change: Iterable[tuple[int, int]]) -> list[int]:
    plan = list(choice)
    for n, k in change:
        plan[n] = k
    return plan


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
