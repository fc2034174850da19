"""Lower bounds by dual ascent, and the choices they rule out.

Block-coordinate ascent on the dual of the local polytope with the handshake update of MPLP++
(Tourani, Shekhovtsov, Rother, Savchynskyy, ECCV'18): costs move between an edge and its two ends so
that the sum of all minima, a lower bound, grows.  A choice whose reparametrised cost lifts the bound
over the cost of a known solution is in no better solution (reduced-cost fixing), so what remains
for the ILP is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.search.network import Network


@dataclass
class Bounded:
    """A bound, the best solution met on the way, and per variable which choices may still be better."""

    bound: float
    x: list[int]
    cost: float
    open: list[np.ndarray]


def ascend(network: Network, x: list[int], *, sweeps: int = 400, patience: float = 1e-5) -> Bounded:
    """Raise the bound until 20 sweeps close less than `patience` of the gap; `x` is a known solution."""
    unary = [u.copy() for u in network.unary]
    edges = [
        (i, j, m.copy()) for i, row in enumerate(network.pair) for j, m in sorted(row.items()) if i < j
    ]
    best, cost = list(x), network.cost(x)
    bound = checked = -np.inf
    for sweep in range(sweeps):
        for i, j, m in edges if sweep % 2 == 0 else reversed(edges):
            _handshake(unary, i, j, m)
        new = sum(float(u.min()) for u in unary) + sum(float(m.min()) for _, _, m in edges)
        if sweep % 10 == 9:
            guess = network.descend(_round(network, unary))
            if (c := network.cost(guess)) < cost:
                best, cost = guess, c
        bound = max(bound, new)
        if sweep % 20 == 19:
            if cost - bound <= 1e-9 * cost or bound - checked <= patience * (cost - bound):
                break
            checked = bound
    guess = network.descend(_round(network, unary))
    if (c := network.cost(guess)) < cost:
        best, cost = guess, c
    # What each choice adds to the bound at least: its own cost and the cheapest entry on every edge.
    current = sum(float(u.min()) for u in unary) + sum(float(m.min()) for _, _, m in edges)
    rise = [u - u.min() for u in unary]
    for i, j, m in edges:
        low = m.min()
        rise[i] = rise[i] + (m.min(axis=1) - low)
        rise[j] = rise[j] + (m.min(axis=0) - low)
    slack = (cost - current) * (1 + 1e-9) + 1e-12
    return Bounded(bound, best, cost, [r <= slack for r in rise])


def _handshake(unary: list[np.ndarray], i: int, j: int, m: np.ndarray) -> None:
    """Move all cost of an edge and its ends to the edge, half of it back to `i`, the rest to `j`, then to `i`."""
    m += unary[i][:, None]
    m += unary[j][None, :]
    a = 0.5 * m.min(axis=1)
    m -= a[:, None]
    b = m.min(axis=0)
    m -= b[None, :]
    c = m.min(axis=1)
    m -= c[:, None]
    unary[i] = a + c
    unary[j] = b


def _round(network: Network, unary: list[np.ndarray]) -> list[int]:
    """Choices by reparametrised cost, in order, given those already made."""
    x: list[int] = []
    for i, u in enumerate(unary):
        c = u.copy()
        for j, m in network.pair[i].items():
            if j < i:
                c = c + 0.5 * m[:, x[j]]
        x.append(int(np.argmin(c)))
    return x
