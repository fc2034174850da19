"""Which time steps can matter: the memory constraint on as few steps as say the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.solve.memory_kernels import implied_steps
from pcg.solve.problem import Infeasible

#: One node's usage: while `start <= t < end`, strategy k takes `usage[k]` bytes.
Item = tuple[int, int, np.ndarray]


@dataclass
class Timeline:
    """Memory on the steps that matter: step p of this timeline is `steps[p]` of the problem's."""

    steps: np.ndarray
    capacity: np.ndarray
    """Bytes at each step for what the choices take beyond the least that each node must take."""
    items: list[list[Item]]
    """Per node, disjoint in time, in steps of this timeline; each usage has minimum 0 and is not constant."""


def disjoint(items: list[Item]) -> list[Item]:
    """The same usage with items that do not overlap, those that touch and are equal joined."""
    if len(items) < 2:
        return items
    cuts = sorted({t for s, e, _ in items for t in (s, e)})
    at = {t: p for p, t in enumerate(cuts)}
    rows = np.zeros((len(cuts), len(items[0][2])), dtype=np.int64)
    for s, e, u in items:
        rows[at[s]] += u
        rows[at[e]] -= u
    rows = np.cumsum(rows, axis=0)
    out: list[Item] = []
    for p in range(len(cuts) - 1):
        if not rows[p].any():
            continue
        if out and out[-1][1] == cuts[p] and np.array_equal(out[-1][2], rows[p]):
            out[-1] = (out[-1][0], cuts[p + 1], out[-1][2])
        else:
            out.append((cuts[p], cuts[p + 1], rows[p]))
    return out


def compress(items: list[list[Item]], capacity: np.ndarray, steps: np.ndarray) -> Timeline:
    """Drop what every choice takes, steps that no choice can overfill, and steps that another one implies.

    Raises Infeasible if the least usage exceeds the capacity somewhere.
    """
    items = [disjoint(own) for own in items]
    size = len(steps)
    least, most = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    for own in items:
        for s, e, u in own:
            low, high = u.min(), u.max()
            least[s] += low
            least[e] -= low
            most[s] += high
            most[e] -= high
    least, most = np.cumsum(least)[:-1], np.cumsum(most)[:-1]
    short = capacity - least
    if size and short.min() < 0:
        p = int(short.argmin())
        raise Infeasible(f"at time step {steps[p]} even the smallest choices exceed the limit", int(-short[p]))
    keep = np.flatnonzero(most > capacity)
    capacity = short
    while True:
        changed = False
        for backwards in (False, True):
            starts, ends = _boundaries(items, keep)
            cap = capacity[keep]
            drop = np.zeros(len(keep), dtype=bool)
            if backwards:  # what is live at p + 1 was live at p, and p has no more room
                drop[1:] = ~starts[1 : len(keep)] & (cap[:-1] <= cap[1:])
            else:
                drop[:-1] = ~ends[1 : len(keep)] & (cap[1:] <= cap[:-1])
            if drop.any():
                keep = keep[~drop]
                changed = True
        if not changed:
            break
    new = []
    for own in items:
        kept = []
        for s, e, u in own:
            s, e = np.searchsorted(keep, (s, e)).tolist()
            if s < e and u.min() < u.max():
                kept.append((s, e, u - u.min()))
        new.append(disjoint(kept))
    return Timeline(steps[keep], capacity[keep], new)


def _boundaries(items: list[list[Item]], keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether an item that varies starts, or ends, at each of the steps `keep`."""
    starts, ends = np.zeros(len(keep) + 1, dtype=bool), np.zeros(len(keep) + 1, dtype=bool)
    spans = [(s, e) for own in items for s, e, u in own if u.min() < u.max()]
    if spans:
        at = np.searchsorted(keep, np.array(spans))
        at = at[at[:, 0] < at[:, 1]]
        starts[at[:, 0]] = True
        ends[at[:, 1]] = True
    return starts, ends


def thin(line: Timeline, budget: int = 2_000_000_000) -> Timeline:
    """Drop steps that another one anywhere implies: repeated layers of a model differ little in what is live.

    `budget` bounds the work in elementary operations.
    """
    flat = [(s, e, i, u) for i, own in enumerate(line.items) for s, e, u in own]
    if not flat:
        return Timeline(line.steps[:0], line.capacity[:0], line.items)
    start, end, node = (np.array([f[c] for f in flat], dtype=np.int64) for c in range(3))
    size = np.array([len(f[3]) for f in flat], dtype=np.int64)
    usage = np.concatenate([f[3] for f in flat])
    most = np.zeros(len(line.steps) + 1, dtype=np.int64)
    np.add.at(most, start, [f[3].max() for f in flat])
    np.subtract.at(most, end, [f[3].max() for f in flat])
    tightness = np.cumsum(most)[:-1] - line.capacity
    order = np.argsort(-tightness, kind="stable")
    offset = np.cumsum(size) - size
    dropped = np.zeros(len(line.steps), dtype=np.bool_)
    room = np.empty(len(line.items), dtype=np.int64), np.empty(len(line.steps) + 1, dtype=np.int64)
    implied_steps(start, end, node, offset, size, usage, line.capacity, order, budget, dropped, *room)
    keep = np.flatnonzero(~dropped)
    items = []
    for own in line.items:
        spans = [(*np.searchsorted(keep, (s, e)).tolist(), u) for s, e, u in own]
        items.append(disjoint([(s, e, u) for s, e, u in spans if s < e]))
    return Timeline(line.steps[keep], line.capacity[keep], items)
