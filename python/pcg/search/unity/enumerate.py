"""A segment without dynamic programming: every choice of every node, in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pcg.search.unity.problem import DecisionGraph, Segment

#: How many steps between looks at the clock.  Chosen: a look costs nothing beside so many.
_STEPS = 4096


@dataclass
class Tried:
    """The least seconds, the choices in the order of the nodes, and how many partial choices were looked at."""

    seconds: float
    x: list[int]
    tried: int


def enumerate_segment(pcg: DecisionGraph, s: Segment, a: int, b: int, alarm: Callable[[], None]) -> Tried:
    """Depth first over the nodes of `s`, given the choices of its ends; a start that costs more than the best is left.

    `alarm` is called now and then and may raise.
    """
    order = s.inner
    place = {i: n for n, i in enumerate(order)}
    own: list[np.ndarray] = []
    back: list[list[tuple[int, np.ndarray]]] = [[] for _ in order]
    for n, i in enumerate(order):
        own.append(pcg.unary(i, s.axes).copy())
        for j in pcg.succ.get(i, ()):
            if j == s.sink:
                own[n] += pcg.pair(i, j, s.axes, s.dropped)[:, b]
            elif j in place:
                back[place[j]].append((n, pcg.pair(i, j, s.axes)))
    for j in pcg.succ.get(s.source, ()):
        if j in place:
            own[place[j]] += pcg.pair(s.source, j, s.axes)[a]
    best, best_x, steps = np.inf, [0] * len(order), 0
    x = [0] * len(order)

    def costs(n: int) -> np.ndarray:
        c = own[n].copy()
        for m, table in back[n]:
            c += table[x[m]]
        return c

    # A stack of (costs of this node's choices, choice to try next, cost before).
    stack: list[tuple[np.ndarray, int, float]] = [(costs(0), 0, 0.0)]
    while stack:
        steps += 1
        if steps % _STEPS == 0:
            alarm()
        c, k, before = stack.pop()
        if k == len(c):
            continue
        stack.append((c, k + 1, before))
        total = before + float(c[k])
        if total >= best:
            continue
        n = len(stack) - 1
        x[n] = k
        if n + 1 == len(order):
            best, best_x = total, list(x)
        else:
            stack.append((costs(n + 1), 0, total))
    return Tried(float(best), best_x, steps)
