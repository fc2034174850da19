"""Random problems for the solver: small ones for brute force, and ones shaped like those that compilers write."""

from __future__ import annotations

import itertools

import highspy
import numpy as np

from pcg.solve.problem import Problem

#: What these problems write for what is not allowed.
_FORBIDDEN = 10**18


def small(seed: int, nodes: int = 6, most: int = 3, forbidden: float = 0.15) -> Problem:
    """A dense little problem with forbidden entries, parallel edges, nodes that are never live and equal costs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, nodes + 1))
    size = rng.integers(1, most + 1, n)
    costs = [rng.integers(0, 6, k) * int(rng.choice([1, 1, 7])) for k in size]
    usages = [rng.integers(0, 5, k) for k in size]
    start = rng.integers(0, 6, n)
    intervals = np.stack([start, start + rng.integers(0, 5, n)], axis=1)
    edges, tables = [], []
    for i, j in itertools.product(range(n), range(n)):
        if i != j and rng.random() < 0.25:
            t = rng.integers(0, 6, (size[i], size[j])).astype(np.int64)
            t[rng.random(t.shape) < forbidden] = 10**18
            edges.append((i, j))
            tables.append(t)
    limit = int(rng.integers(0, 5 * n + 1)) if rng.random() < 0.8 else None
    return Problem(costs, usages, intervals, np.array(edges, dtype=np.int64).reshape(-1, 2), tables, limit)


def optimum(p: Problem) -> int | None:
    """The least cost of what fits, by enumeration; None if nothing does."""
    best = None
    for x in itertools.product(*(range(k) for k in p.sizes)):
        if p.limit is None or p.peak(x) <= p.limit:
            cost = p.cost(x)
            if best is None or cost < best:
                best = cost
    return best


def layered(seed: int, layers: int = 6, width: int = 4, tight: float = 0.5) -> Problem:
    """Layers of a model: ops with a handful of strategies, followers tied to them across edges that are 0 or forbidden,
    redistribution costs between ops, weights live throughout and read by a forward and a backward op, repeated per layer.

    `tight` places the limit between the smallest usages (0) and the largest (1).
    """
    rng = np.random.default_rng(seed)
    costs: list[np.ndarray] = []
    usages: list[np.ndarray] = []
    spans: list[list[int]] = []
    edges: list[tuple[int, int]] = []
    tables: list[np.ndarray] = []
    ways = 4
    # Strategy 0 replicates: more memory, no communication afterwards.
    move = rng.integers(1, 40, (ways, ways)) * 100
    np.fill_diagonal(move, 0)
    equal = np.where(np.eye(ways, dtype=bool), 0, 10**18)
    work = [rng.integers(1, 30, ways) * 50 for _ in range(width)]
    bytes_ = [np.array([64, 16, 16, 4]) * int(rng.integers(1, 5)) for _ in range(width)]
    horizon = 4 * layers * width

    def add(cost: np.ndarray, usage: np.ndarray, start: int, end: int) -> int:
        costs.append(cost.astype(np.int64))
        usages.append(usage.astype(np.int64))
        spans.append([start, end])
        return len(costs) - 1

    def tie(i: int, j: int, table: np.ndarray) -> None:
        edges.append((i, j))
        tables.append(table.astype(np.int64))

    previous = add(np.zeros(1), np.array([8]), 0, 1)
    forward = []
    for layer in range(layers):
        for w in range(width):
            t = 2 * (layer * width + w)
            weight = add(np.zeros(ways), bytes_[w], 0, horizon)
            op = add(work[w], bytes_[w] // 4, t + 1, horizon - t)
            follow = add(np.zeros(ways), bytes_[w] // 8, t + 2, t + 4)
            tie(weight, op, move // 2)
            tie(op, follow, equal)
            tie(previous, op, np.zeros((1, ways)) if len(costs) <= 4 else move)
            if w and rng.random() < 0.5:  # a residual connection
                tie(forward[-1][1], op, move // 3)
            previous = follow
            forward.append((weight, op))
    for layer, (weight, op) in enumerate(reversed(forward)):
        t = 2 * layers * width + 2 * layer
        back = add(work[layer % width], bytes_[layer % width] // 4, t, t + 3)
        tie(previous, back, move)
        tie(op, back, move // 2)
        tie(weight, back, move // 2)
        previous = back
    p = Problem(costs, usages, np.array(spans), np.array(edges), tables)
    low = p.peak([int(u.argmin()) for u in usages])
    high = p.peak([int(u.argmax()) for u in usages])
    p.limit = int(low + tight * (high - low))
    return p


def exact(p: Problem, seconds: float = 60.0) -> int:
    """The optimum by HiGHS on the linearised problem, straight from the definition."""
    h = highspy.Highs()
    h.silent()
    h.setOptionValue("time_limit", seconds)
    h.setOptionValue("mip_rel_gap", 0.0)
    h.setOptionValue("mip_abs_gap", 0.5)
    x = [[h.addBinary(obj=float(c) if c < _FORBIDDEN else 0.0) for c in own] for own in p.costs]
    for i, own in enumerate(x):
        h.addConstr(sum(own[1:], start=own[0]) == 1)
        for k, c in enumerate(p.costs[i]):
            if c >= _FORBIDDEN:
                h.addConstr(own[k] == 0)
    for (i, j), t in zip(p.edges.tolist(), p.tables, strict=True):
        y = [[h.addVariable(0, 0 if c >= _FORBIDDEN else 1, obj=float(c) if c < _FORBIDDEN else 0.0) for c in r] for r in t]
        for k, row in enumerate(y):
            h.addConstr(sum(row[1:], start=row[0]) == x[i][k])
        for l in range(t.shape[1]):
            h.addConstr(sum((row[l] for row in y[1:]), start=y[0][l]) == x[j][l])
    if p.limit is not None:
        for t in range(int(p.intervals.max())):
            live = [i for i, (s, e) in enumerate(p.intervals.tolist()) if s <= t < e]
            terms = [float(u) * x[i][k] for i in live for k, u in enumerate(p.usages[i]) if u]
            if terms:
                h.addConstr(sum(terms[1:], start=terms[0]) <= float(p.limit))
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal, h.getModelStatus()
    return round(h.getInfo().objective_function_value)
