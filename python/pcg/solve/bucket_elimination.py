"""Exact minimisation over many nodes at once, given the rest: bucket elimination with conditioning.

Nodes are eliminated in an order that keeps tables small (Dechter, "Bucket elimination", Artif. Intell. 113, 1999).
Where no node can be eliminated within the largest table allowed, one keeps its present strategy (it is conditioned on),
which loosens the rest: of a ring of four it leaves a chain, whose tables are of one node each.  Different nodes in
different orders reach different solutions; each step is optimal over all others.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pcg.solve import kernels
from pcg.solve.pairwise import Pairwise

#: Neighbours up to which a node is eliminated.  Chosen: those of one choice are in no table's size, only in its scope.
_SCOPE = 60
#: Of orders for all nodes how many are compared, unless one takes little work, a millisecond, and how many entries
#: messages have at most: 256 MiB.  Choices.
_TRIES, _LITTLE, _MOST_ENTRIES = 5, 3e5, 1 << 25


@dataclass
class EliminationOrder:
    """An elimination order with its tables laid out; independent of costs, so one order serves many multipliers."""

    arrays: tuple[np.ndarray, ...]
    free: list[int]
    """The nodes that are optimised."""
    conditioned: list[int]
    """Nodes of the region that keep their strategy."""
    entries: int
    """Message entries in all."""
    work: float
    """Sums that are compared: of every step's table times its node's choices."""

    def run(self, network: Pairwise, unary: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The best assignment under `unary` among those that agree with `x` outside `free`."""
        out = x.copy()
        if self.free:
            at = network.size, network.offset
            _, scope_offset, _, factor_offset, *_ = self.arrays
            widest, most = (int(np.diff(of).max(initial=0)) for of in (scope_offset, factor_offset))
            kernels.eliminate(
                *self.arrays, *at, unary, network.tables, np.empty(self.entries), out, *network.rooms(2),
                np.empty(widest, dtype=np.int64), np.empty(most, dtype=np.int64),
            )  # fmt: skip
        return out


def elimination_order(
    network: Pairwise, region: Iterable[int], rng: random.Random, largest: float, total: float
) -> EliminationOrder:
    """An order for `region`: each step's table times its node's strategies at most `largest`, all at most `total`.

    Nodes with one choice are left out: they would only tie their neighbours together.
    """
    log = np.log(network.size).tolist()
    inside = {v for v in region if log[v] > 0}
    links = {v: {u for u, _ in network.near[v] if u in inside} for v in inside}
    work = {v: log[v] + sum(log[u] for u in links[v]) for v in inside}
    stamp = dict.fromkeys(inside, 0)
    noise = rng.random
    heap = [(work[v] + math.log(0.5 + noise()), 0, v) for v in sorted(inside)]
    heapq.heapify(heap)
    order: list[int] = []
    scopes: list[list[int]] = []
    conditioned: list[int] = []
    spent, most = 0.0, math.log(largest)

    def take_out(v: int) -> list[int]:
        near = sorted(links.pop(v))
        for u in near:
            links[u].discard(v)
            work[u] -= log[v]
        return near

    def touch(nodes: Iterable[int]) -> None:
        for u in nodes:
            stamp[u] += 1
            heapq.heappush(heap, (work[u] + math.log(0.5 + noise()), stamp[u], u))

    while heap:
        rank, when, v = heapq.heappop(heap)
        if v not in links or when != stamp[v]:
            continue
        if work[v] > most or spent + math.exp(work[v]) > total or len(links[v]) > _SCOPE:
            # Condition on the node that most tables would have to carry.
            around = [v, *sorted(links[v])]
            u = max(around, key=lambda u: len(links[u]) * log[u] * (0.3 + noise()))
            conditioned.append(u)
            touch(take_out(u))
            if u != v:
                heapq.heappush(heap, (rank, stamp[v], v))
            continue
        spent += math.exp(work[v])
        near = take_out(v)
        order.append(v)
        scopes.append(near)
        clique = set(near)
        for a in near:
            fresh = clique - links[a]
            fresh.discard(a)
            links[a] |= fresh
            work[a] += sum([log[u] for u in fresh])
        touch(near)
    # A node that was conditioned on late was in tables laid out before: they are smaller than counted.
    gone = set(conditioned)
    return _lay_out(network, order, [[u for u in own if u not in gone] for own in scopes], conditioned, spent)


def exact_order(network: Pairwise, work: float) -> EliminationOrder | None:
    """An order for all nodes that takes at most so much `work`, so that what it finds is the best assignment.

    The one of least work among a few random ones; None if the first takes more, as in large networks all do.
    """
    best: EliminationOrder | None = None
    for seed in range(_TRIES):
        order = elimination_order(network, range(network.n), random.Random(seed), work, work)
        if order.conditioned or order.entries > _MOST_ENTRIES:
            break
        if best is None or order.work < best.work:
            best = order
        if best.work <= _LITTLE:
            break
    return best


def _lay_out(
    network: Pairwise, order: list[int], scopes: list[list[int]], conditioned: list[int], work: float
) -> EliminationOrder:
    size = network.size.tolist()
    place = {v: b for b, v in enumerate(order)}
    ei, table = network.ei.tolist(), network.table.tolist()
    messages: list[list[tuple[int, list[int]]]] = [[] for _ in order]
    scope_at, factor_at, fixed_at = [0], [0], [0]
    scope: list[int] = []
    factors: list[tuple[int, int, int, int]] = []
    strides: list[int] = []
    fixed: list[tuple[int, int, int, int]] = []
    message_at: list[int] = []
    entries = 0
    for b, v in enumerate(order):
        own = scopes[b]
        position = {u: d for d, u in enumerate(own)}
        for u, e in network.near[v]:
            mine, theirs = (size[u], 1) if ei[e] == v else (1, size[v])
            if u not in place:
                fixed.append((u, table[e], mine, theirs))
            elif place[u] > b:
                factors.append((table[e], 0, mine, len(strides)))
                row = [0] * len(own)
                row[position[u]] = theirs
                strides.extend(row)
        for start, over in messages[b]:
            step, at = 1, {}
            for u in reversed(over):
                at[u] = step
                step *= size[u]
            factors.append((start, 1, at[v], len(strides)))
            strides.extend(at.get(u, 0) for u in own)
        message_at.append(entries)
        if own:
            messages[min(place[u] for u in own)].append((entries, own))
        count = 1
        for u in own:
            count *= size[u]
        entries += count
        scope.extend(own)
        scope_at.append(len(scope))
        factor_at.append(len(factors))
        fixed_at.append(len(fixed))

    def column(rows: list[tuple[int, int, int, int]], c: int) -> np.ndarray:
        return np.array([r[c] for r in rows], dtype=np.int64)

    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    arrays = (
        ints(order), ints(scope_at), ints(scope), ints(factor_at), column(factors, 0), column(factors, 1),
        column(factors, 2), column(factors, 3), ints(strides), ints(message_at), ints(fixed_at), column(fixed, 0),
        column(fixed, 1), column(fixed, 2), column(fixed, 3),
    )  # fmt: skip
    return EliminationOrder(arrays, list(order), conditioned, max(entries, 1), work)
