"""Large neighbourhood search (Shaw 1998) over a network whose optimum is too far for branch and bound.

A neighbourhood is everything that bucket elimination reaches with small tables: all nodes but those conditioned on,
which differ from step to step.  Of a ladder of 2,000 nodes, as a forward and a backward pass are, a tenth keep their
choices and the others are optimal given these.  Choices that lift the bound much are left out at first (the kernel of
Angelelli, Mansini & Speranza 2010), since what is left has smaller tables and so fewer nodes that are conditioned on.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from pcg.solve.bucket_elimination import elimination_order
from pcg.solve.network import Network
from pcg.solve.pairwise import Pairwise
from pcg.solve.trws import NEAR, Bounded

#: Shares of the gap that a choice may lift the bound by, steps with each, and steps in turn that may be no better.
#: Measured on the training step of Keras' ResNet-50, 2,277 nodes, 5.3% above the bound: 0.37% in 4 s; with shares of
#: 0.005, 0.02 and 0.05 1.9%.
_SHARES, _STEPS, _IDLE = (0.002, 0.005, 0.02), 8, 3
#: Entries of one table and of all tables of a step.  Measured there: ten times as many are no better and slower.
_TABLE, _TABLES = 1e5, 3e7


def search(core: Network, found: Bounded) -> Bounded:
    """A solution of `core` that costs no more than that of `found`; the same for the same input."""
    rng = random.Random(0)
    for share in _SHARES:
        if found.cost - found.bound <= NEAR * found.cost:
            break
        masks = found.open(found.level + share * (found.cost - found.level))
        for m, k in zip(masks, found.x, strict=True):
            m[k] = True  # a node whose every choice lifts the bound keeps the one it has
        kept = [np.flatnonzero(m) for m in masks]
        inside = [int(np.searchsorted(own, k)) for own, k in zip(kept, found.x, strict=True)]
        x = [int(own[k]) for own, k in zip(kept, _descend(core.restrict(masks), inside, rng), strict=True)]
        x = core.icm(x)
        if (cost := core.cost(x)) < found.cost:
            found = replace(found, x=x, cost=cost)
    return found


def _descend(network: Network, start: list[int], rng: random.Random) -> list[int]:
    """The best of some neighbourhoods, each of the best before; until none is left or some in turn are no better."""
    flat = Pairwise.of(network.unary, network.pair)
    best = np.array(start, dtype=np.int64)
    cost, idle = flat.energy(best), 0
    for _ in range(_STEPS):
        order = elimination_order(flat, range(flat.n), rng, _TABLE, _TABLES)
        x = order.run(flat, flat.unary, best)
        c = flat.energy(x)
        idle = 0 if c < cost - network.noise else idle + 1
        if c <= cost:  # solutions that cost the same lead to other neighbourhoods
            best, cost = x, c
        if idle == _IDLE or not order.conditioned:
            break
    return best.tolist()
