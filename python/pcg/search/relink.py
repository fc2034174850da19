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
#: By how much (relative) a part must change the estimate to be tried before others.  Measured on ViT-H/14 and
#: BERT-Large on 64 H100: parts that change it by less saved 0.3% at most, others up to 11%.
_CHANGE = 1e-4
#: Parts that are judged side by side.  A choice: more use more cores, and know less of what the others save.
_WAVE = 4
#: Nodes and what they choose instead.
Change = tuple[tuple[int, int], ...]


def relink(
    graph: Graph, choice: Sequence[int], others: Sequence[Sequence[int]], seconds: float, *,
    estimate: Callable[[Sequence[int], Change], float], before: float,
    simulate: Callable[[list[list[int]]], list[float]], most: int,
) -> list[tuple[list[int], float]]:  # fmt: skip
    """`choice`, with the parts of `others` that save time, and its seconds, after each round.

    Some parts are tried side by side, of which the best one stays; others that save time alone are tried again with it.
    The next round starts from what that gives; the last one is that in which no part saves anything.

    Args:
      graph: the decisions.
      choice: the best plan, a choice per node; it takes `seconds` by simulation.
      others: other plans of the same graph, in the order in which their parts are tried.
      estimate: how many seconds more a plan takes with a part, if nothing overlaps; parts that lower these most are
        tried first, parts that change them hardly last.
      before: seconds of `choice` if nothing overlaps.
      simulate: seconds of plans that are judged side by side; infinite where it is none.
      most: simulations that may be made.
    """
    best = list(choice)
    near: list[set[int]] = [set() for _ in graph.nodes]
    for e in graph.edges:
        near[e.src].add(e.dst)
        near[e.dst].add(e.src)
    rounds = [(best, seconds)]
    better = True
    while better and most > 0:
        better = False
        parts = ((other, part) for other in others for part in different_parts(near, best, other))
        changes = dict.fromkeys(tuple((n, other[n]) for n in part) for other, part in parts)
        more = {change: estimate(best, change) for change in changes}
        queue = sorted(changes, key=lambda change: (abs(more[change]) < _CHANGE * before, min(0.0, more[change])))
        while queue and most > 0:
            wave = _apart(queue)[: min(_WAVE, most)]
            most -= len(wave)
            found = simulate([changed(best, change) for change in wave])
            good = sorted((s, n) for n, s in enumerate(found) if s < seconds * (1 - _WORTH))
            queue = [*(wave[n] for _, n in good[1:]), *(change for change in queue if change not in wave)]
            if good:
                better, (seconds, n) = True, good[0]
                best = changed(best, wave[n])
        if better:
            rounds.append((best, seconds))
    return rounds[1:] or rounds


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


def changed(choice: Sequence[int], change: Change) -> list[int]:
    """A plan with other choices."""
    plan = list(choice)
    for n, k in change:
        plan[n] = k
    return plan


def different_parts(
    near: Sequence[Iterable[int]], choice: Sequence[int], other: Sequence[int]
) -> list[list[int]]:
    """The connected parts in which two plans differ, largest first; `near` are the neighbours of every node."""
    differ = {n for n, (a, b) in enumerate(zip(choice, other, strict=True)) if a != b}
    parts = []
    while differ:
        part, border = [], [min(differ)]
        differ.discard(border[0])
        while border:
            n = border.pop()
            part.append(n)
            reached = {m for m in near[n] if m in differ}
            differ -= reached
            border += sorted(reached)
        parts.append(sorted(part))
    return sorted(parts, key=len, reverse=True)
