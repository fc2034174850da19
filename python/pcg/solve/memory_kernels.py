"""Compiled inner loops over networks whose choices take memory."""

from __future__ import annotations

import numpy as np

from pcg.kernels.native import Flags, Floats, Ints, kernel


@kernel
def implied_steps(
    start: Ints, end: Ints, node: Ints, offset: Ints, size: Ints, usage: Ints, capacity: Ints, order: Ints,
    budget: int, dropped: Flags, at: Ints, total: Ints,
) -> None:  # fmt: skip
    """Mark as dropped the steps that a remaining one implies; tries the steps of `order` as the implying ones.

    Step q implies p if whatever fits q fits p: sum over nodes of the most that p can exceed q by, is no more than p's
    capacity exceeds q's.  Items are flat: item a is of `node[a]`, live while start <= t < end.  `at` has room for an
    entry per node, `total` for one more than there are steps.
    """
    steps = len(capacity)
    work = 0
    for q in order:
        if dropped[q] or work > budget:
            continue
        at[:] = -1
        for a in range(len(start)):
            if start[a] <= q < end[a]:
                at[node[a]] = a
        total[:] = 0
        for a in range(len(start)):
            b = at[node[a]]
            most = np.int64(-1) << 62
            for k in range(size[a]):
                d = usage[offset[a] + k]
                if b >= 0:
                    d -= usage[offset[b] + k]
                most = max(most, d)
            total[start[a]] += most
            total[end[a]] -= most
            work += size[a] + 2
        work += steps
        s = 0
        for p in range(steps):
            s += total[p]
            if p != q and not dropped[p] and s <= capacity[p] - capacity[q]:
                dropped[p] = True


@kernel
def usage_changes(
    x: Ints, item_offset: Ints, item_start: Ints, item_end: Ints, item_usage: Ints, usage: Ints, change: Ints
) -> None:
    """Add to `change` by how many bytes more than the step before each step holds under `x`."""
    for i in range(len(x)):
        for a in range(item_offset[i], item_offset[i + 1]):
            u = usage[item_usage[a] + x[i]]
            change[item_start[a]] += u
            change[item_end[a]] -= u


@kernel
def close_overfull(
    open_: Flags, size: Ints, offset: Ints, item_offset: Ints, item_start: Ints, item_end: Ints, item_usage: Ints,
    usage: Ints, capacity: Ints, least: Ints, slack: Ints, change: Ints,
) -> bool:  # fmt: skip
    """Close choices that do not fit even if all other nodes take the least; False if nothing fits.

    `open_` says of each choice of all nodes whether it may be made.  `least` has room for an entry per item, `slack`
    for one per step, `change` for one more.
    """
    while True:
        change[:] = 0
        for i in range(len(size)):
            for a in range(item_offset[i], item_offset[i + 1]):
                found = np.int64(1) << 62
                for k in range(size[i]):
                    if open_[offset[i] + k]:
                        found = min(found, usage[item_usage[a] + k])
                if found == np.int64(1) << 62:
                    return False
                least[a] = found
                change[item_start[a]] += found
                change[item_end[a]] -= found
        total = np.int64(0)
        for t in range(len(capacity)):
            total += change[t]
            slack[t] = capacity[t] - total
            if slack[t] < 0:
                return False
        closed = False
        for i in range(len(size)):
            for a in range(item_offset[i], item_offset[i + 1]):
                room = np.int64(1) << 62
                for t in range(item_start[a], item_end[a]):
                    room = min(room, slack[t])
                for k in range(size[i]):
                    if open_[offset[i] + k] and usage[item_usage[a] + k] - least[a] > room:
                        open_[offset[i] + k] = False
                        closed = True
        if not closed:
            return True


@kernel
def penalise(
    unary: Floats, offset: Ints, size: Ints, item_offset: Ints, item_start: Ints, item_end: Ints, item_usage: Ints,
    usage: Ints, upto: Floats,
) -> None:  # fmt: skip
    """Add to unary costs what bytes cost while they are live; `upto[t]` is what one costs at all steps before t."""
    for i in range(len(size)):
        for a in range(item_offset[i], item_offset[i + 1]):
            p = upto[item_end[a]] - upto[item_start[a]]
            if p != 0.0:
                for k in range(size[i]):
                    unary[offset[i] + k] += p * usage[item_usage[a] + k]


@kernel
def _move(
    i: int, k: int, x: Ints, load: Ints, item_offset: Ints, item_start: Ints, item_end: Ints, item_usage: Ints,
    usage: Ints,
) -> None:  # fmt: skip
    """Set `x[i] = k` and update `load`."""
    for a in range(item_offset[i], item_offset[i + 1]):
        d = usage[item_usage[a] + k] - usage[item_usage[a] + x[i]]
        if d != 0:
            for t in range(item_start[a], item_end[a]):
                load[t] += d
    x[i] = k


@kernel
def _fits_at(i: int, load: Ints, capacity: Ints, item_offset: Ints, item_start: Ints, item_end: Ints) -> bool:
    """Whether the load is within the capacity wherever node `i` is live."""
    for a in range(item_offset[i], item_offset[i + 1]):
        for t in range(item_start[a], item_end[a]):
            if load[t] > capacity[t]:
                return False
    return True


@kernel
def local_search(
    x: Ints, load: Ints, capacity: Ints, size: Ints, offset: Ints, unary: Floats, table: Ints, tables: Floats, ei: Ints,
    near_offset: Ints, near_node: Ints, near_edge: Ints, item_offset: Ints, item_start: Ints, item_end: Ints,
    item_usage: Ints, usage: Ints, order: Ints, cost: Floats, other: Floats,
) -> None:  # fmt: skip
    """Improve a fitting `x` by changes of one node, and of two along an edge, that still fit; until none helps.

    `cost` and `other` have room for the choices of a node.
    """
    changed = True
    while changed:
        changed = False
        for i in order:
            for s in range(size[i]):
                cost[s] = unary[offset[i] + s]
            for a in range(near_offset[i], near_offset[i + 1]):
                j, e = near_node[a], near_edge[a]
                for s in range(size[i]):
                    if ei[e] == i:
                        cost[s] += tables[table[e] + s * size[j] + x[j]]
                    else:
                        cost[s] += tables[table[e] + x[j] * size[i] + s]
            was = x[i]
            for s in range(size[i]):
                if cost[s] < cost[x[i]] - 0.5:
                    back = x[i]
                    _move(i, s, x, load, item_offset, item_start, item_end, item_usage, usage)
                    if not _fits_at(i, load, capacity, item_offset, item_start, item_end):
                        _move(i, back, x, load, item_offset, item_start, item_end, item_usage, usage)
            if x[i] != was:
                changed = True
            for a in range(near_offset[i], near_offset[i + 1]):
                j, e = near_node[a], near_edge[a]
                if j < i:
                    continue
                for l in range(size[j]):
                    other[l] = unary[offset[j] + l]
                for b in range(near_offset[j], near_offset[j + 1]):
                    h, f = near_node[b], near_edge[b]
                    if h == i:
                        continue
                    for l in range(size[j]):
                        if ei[f] == j:
                            other[l] += tables[table[f] + l * size[h] + x[h]]
                        else:
                            other[l] += tables[table[f] + x[h] * size[j] + l]
                first = ei[e] == i
                best_gain = 0.5
                here = tables[table[e] + x[i] * size[j] + x[j]] if first else tables[table[e] + x[j] * size[i] + x[i]]
                # `cost` holds this edge at x[j]; without it, node i alone costs:
                now = cost[x[i]] - here + other[x[j]] + here
                i0, j0 = x[i], x[j]
                for s in range(size[i]):
                    at_j = tables[table[e] + s * size[j] + j0] if first else tables[table[e] + j0 * size[i] + s]
                    alone = cost[s] - at_j
                    for l in range(size[j]):
                        if s == x[i] or l == x[j]:
                            continue
                        both = tables[table[e] + s * size[j] + l] if first else tables[table[e] + l * size[i] + s]
                        gain = now - (alone + other[l] + both)
                        if gain <= best_gain:
                            continue
                        bi, bj = x[i], x[j]
                        _move(i, s, x, load, item_offset, item_start, item_end, item_usage, usage)
                        _move(j, l, x, load, item_offset, item_start, item_end, item_usage, usage)
                        if _fits_at(i, load, capacity, item_offset, item_start, item_end) and _fits_at(
                            j, load, capacity, item_offset, item_start, item_end
                        ):
                            best_gain = gain
                        else:
                            _move(i, bi, x, load, item_offset, item_start, item_end, item_usage, usage)
                            _move(j, bj, x, load, item_offset, item_start, item_end, item_usage, usage)
                if x[i] != i0 or x[j] != j0:
                    changed = True
                    break
