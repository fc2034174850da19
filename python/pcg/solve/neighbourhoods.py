"""Large neighbourhood search (Shaw 1998) over a network whose optimum is too far for branch and bound.

A neighbourhood is everything that bucket elimination reaches with small tables: all nodes but those conditioned on.
Of a ladder of 2,000 nodes, as a forward and a backward pass are, some ten keep their choices and the others are
optimal given these.  What may be wrong then is around those ten, so the next neighbourhood is what is near them; then
again everything, conditioned on other nodes.  Choices that lift the bound much are left out at first (the kernel of
Angelelli, Mansini & Speranza 2010): what is left has smaller tables, so fewer nodes are conditioned on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pcg.solve.bucket_elimination import elimination_order
from pcg.solve.network import Network, narrowed, widened
from pcg.solve.pairwise import Pairwise
from pcg.solve.stop import NEVER, Stop
from pcg.solve.trws import NEAR, Bounded

#: Choices per node that are kept, rounds with so many, and nodes near those conditioned on.  Measured on training
#: steps of Keras Applications after 150 sweeps of the ascent, 2,100 to 9,200 nodes: gaps of 0.1 to 0.7% in 1 to 6 s,
#: with 1,200 nodes the same; everything in every step 0.1 to 0.7% in 1 to 10 s.  4 choices alone leave 0.2 to 0.7%;
#: those that lift the bound by a share of the gap leave 8% of NASNet's, as thousands of nodes are conditioned on.
_KEPT, _ROUNDS, _NEARBY = (3.0, 4.5), 3, 600
#: Entries of one table and of all tables of a step.  Measured there: ten times as many are no better and slower.
_TABLE, _TABLES = 1e5, 3e7


def search(core: Network, found: Bounded, stop: Stop = NEVER, seed: int = 0, brief: bool = False) -> Bounded:
    """A solution of `core` that costs no more than that of `found`; the same for the same input, but for `stop`.

    `seed`: of which nodes are conditioned on, where there is a choice; a second search with the same one would look
    where the first did.  `brief`: one round among the fewest choices, a quarter of the work.
    """
    rng = random.Random(seed)
    rises = np.sort(np.concatenate(found.rise)) if found.rise else np.zeros(0)
    for kept_per_node in _KEPT[: 1 if brief else None]:
        if found.cost - found.bound <= NEAR * found.cost or stop():
            break
        most = rises[min(int(kept_per_node * len(found.rise)), len(rises) - 1)]
        masks = [r <= most for r in found.rise]
        for m, k in zip(masks, found.x, strict=True):
            m[k] = True  # a node whose every choice lifts the bound keeps the one it has
        better = _improve(core.restrict(masks), narrowed(masks, found.x), rng, stop, 1 if brief else _ROUNDS)
        x = core.icm(widened(masks, better))
        if (cost := core.cost(x)) < found.cost:
            found = replace(found, x=x, cost=cost)
    return found


def _improve(network: Network, start: list[int], rng: random.Random, stop: Stop, rounds: int) -> list[int]:
    """The best of some neighbourhoods, each of the best before; until a round is no better than the one before it."""
    flat = network.flat
    best = np.array(start, dtype=np.int64)
    cost, open_ = flat.energy(best), int(np.count_nonzero(flat.size > 1))
    for _ in range(rounds):
        before = cost
        region: Sequence[int] = range(flat.n)
        for _ in range(2):
            order = elimination_order(flat, region, rng, _TABLE, _TABLES)
            x = order.run(flat, flat.unary, best)
            if (c := flat.energy(x)) <= cost:  # solutions that cost the same lead to other neighbourhoods
                best, cost = x, c
            if not order.conditioned or stop():
                break
            region = _near(flat, order.conditioned)
        if cost >= before - network.noise or len(order.free) == open_ or stop():
            break
    return best.tolist()


def _near(network: Pairwise, nodes: Sequence[int]) -> Sequence[int]:
    """Some nodes near these, and these."""
    found = dict.fromkeys(nodes)
    border = list(found)
    while border and len(found) < _NEARBY:
        reached = dict.fromkeys(u for v in border for u, _ in network.near[v] if u not in found)
        found.update(reached)
        border = list(reached)
    return list(found)[:_NEARBY]
