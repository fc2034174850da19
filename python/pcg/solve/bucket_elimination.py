"""Exact minimisation over many nodes at once, given the rest: bucket elimination with conditioning.

Nodes are eliminated in an order that keeps tables small (Dechter, "Bucket elimination", Artif. Intell. 113, 1999).
Where no node can be eliminated within the largest table allowed, one keeps its present strategy (it is conditioned on),
which loosens the rest: of a ring of four it leaves a chain, whose tables are of one node each.  Different nodes in
different orders reach different solutions; each step is optimal over all others.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pcg.solve import kernels
from pcg.solve.model import Model


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

    def run(self, model: Model, unary: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The best assignment under `unary` among those that agree with `x` outside `free`."""
        out = x.copy()
        if self.free:
            kernels.eliminate(*self.arrays, model.size, model.offset, unary, model.tables, np.empty(self.entries), out)
        return out


def elimination_order(
    model: Model, region: Iterable[int], rng: random.Random, largest: float, total: float
) -> EliminationOrder:
    """An order for `region`: each step's table times its node's strategies at most `largest`, all at most `total`."""
    size = model.size.tolist()
    inside = set(region)
    links = {v: {u for u, _ in model.near[v] if u in inside} for v in inside}
    stamp = dict.fromkeys(inside, 0)

    def work(v: int) -> float:
        w = float(size[v])
        for u in links[v]:
            w *= size[u]
        return w

    heap = [(work(v) * (0.5 + rng.random()), 0, v) for v in sorted(inside)]
    heapq.heapify(heap)
    order: list[int] = []
    scopes: list[list[int]] = []
    conditioned: list[int] = []
    spent = 0.0

    def touch(nodes: Iterable[int]) -> None:
        for u in nodes:
            stamp[u] += 1
            heapq.heappush(heap, (work(u) * (0.5 + rng.random()), stamp[u], u))

    while heap:
        _, when, v = heapq.heappop(heap)
        if v not in links or when != stamp[v]:
            continue
        w = work(v)
        if w > largest or spent + w > total or len(links[v]) > 60:
            # Condition on the node that most tables would have to carry.
            around = [v, *sorted(links[v])]
            weight = [len(links[u]) * np.log(size[u]) * (0.3 + rng.random()) for u in around]
            u = around[int(np.argmax(weight))]
            conditioned.append(u)
            near = sorted(links.pop(u))
            for a in near:
                links[a].discard(u)
            touch(near)
            if u != v:
                heapq.heappush(heap, (w, stamp[v], v))
            continue
        spent += w
        near = sorted(links.pop(v))
        order.append(v)
        scopes.append(near)
        for a in near:
            links[a].discard(v)
            links[a].update(u for u in near if u != a)
        touch(near)
    # A node that was conditioned on late was in tables laid out before: they are smaller than counted.
    gone = set(conditioned)
    return _lay_out(model, order, [[u for u in own if u not in gone] for own in scopes], conditioned)


def _lay_out(model: Model, order: list[int], scopes: list[list[int]], conditioned: list[int]) -> EliminationOrder:
    size = model.size.tolist()
    place = {v: b for b, v in enumerate(order)}
    ei, table = model.ei.tolist(), model.table.tolist()
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
        for u, e in model.near[v]:
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
    return EliminationOrder(arrays, list(order), conditioned, max(entries, 1))
