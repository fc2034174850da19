"""How well predicted times rank what was measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Kendall's tau-b of two rankings: pairs in the same order less those in the other, ties taken into account."""
    same = tied_a = tied_b = 0
    pairs = list(itertools.combinations(range(len(a)), 2))
    for i, j in pairs:
        x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
        same += x * y
        tied_a += not x
        tied_b += not y
    scale = ((len(pairs) - tied_a) * (len(pairs) - tied_b)) ** 0.5
    return same / scale if scale else 0.0


def regret(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """How much longer than the fastest the plan predicted fastest takes."""
    return measured[min(range(len(predicted)), key=predicted.__getitem__)] / min(measured) - 1
