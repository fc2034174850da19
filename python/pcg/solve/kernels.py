"""Compiled inner loops over networks."""

from __future__ import annotations

import numpy as np

from pcg.kernels.native import Flags, FloatRows, Floats, IntRows, Ints, kernel, kernel_without_nan


@kernel
def eliminate(
    node: Ints, scope_offset: Ints, scope: Ints, factor_offset: Ints, base: Ints, is_message: Ints, own_stride: Ints,
    stride_offset: Ints, stride: Ints, message_offset: Ints, fixed_offset: Ints, fixed_node: Ints, fixed_base: Ints,
    fixed_own: Ints, fixed_stride: Ints, size: Ints, offset: Ints, unary: Floats, tables: Floats, messages: Floats,
    x: Ints, value: Floats, own: Floats, digit: Ints, where: Ints,
) -> None:  # fmt: skip
    """Minimise exactly over the nodes of an order, all others as in `x`, which is updated.

    `value` and `own` have room for the choices of a node, `digit` for the nodes of a scope, `where` for factors of one.
    """
    count = len(node)
    for step in range(2 * count):
        forward = step < count
        b = step if forward else 2 * count - 1 - step
        v = node[b]
        kv = size[v]
        for k in range(kv):
            own[k] = unary[offset[v] + k]
        for f in range(fixed_offset[b], fixed_offset[b + 1]):
            p = fixed_base[f] + fixed_stride[f] * x[fixed_node[f]]
            for k in range(kv):
                own[k] += tables[p + k * fixed_own[f]]
        s0, s1 = scope_offset[b], scope_offset[b + 1]
        f0, f1 = factor_offset[b], factor_offset[b + 1]
        width = s1 - s0
        entries = 1
        for d in range(width):
            digit[d] = 0
            entries *= size[scope[s0 + d]]
        for f in range(f0, f1):
            where[f - f0] = base[f]
        if not forward:  # everything in the scope is decided: one entry
            entries = 1
            for f in range(f0, f1):
                for d in range(width):
                    where[f - f0] += stride[stride_offset[f] + d] * x[scope[s0 + d]]
        for entry in range(entries):
            for k in range(kv):
                value[k] = own[k]
            for f in range(f0, f1):
                p = where[f - f0]
                w = own_stride[f]
                if is_message[f]:
                    for k in range(kv):
                        value[k] += messages[p + k * w]
                else:
                    for k in range(kv):
                        value[k] += tables[p + k * w]
            best = 0
            for k in range(1, kv):
                if value[k] < value[best]:
                    best = k
            if not forward:
                x[v] = best
                break
            messages[message_offset[b] + entry] = value[best]
            d = width - 1
            while d >= 0:  # next entry, the last variable of the scope fastest
                digit[d] += 1
                if digit[d] < size[scope[s0 + d]]:
                    for f in range(f0, f1):
                        where[f - f0] += stride[stride_offset[f] + d]
                    break
                for f in range(f0, f1):
                    where[f - f0] -= stride[stride_offset[f] + d] * (digit[d] - 1)
                digit[d] = 0
                d -= 1


@kernel_without_nan
def least_sums(own: Floats, table: Floats, out: Floats) -> None:
    """`out[l] = min_s own[s] + table[l * len(own) + s]`.

    Eight rows at a time, as in a row by itself each minimum waits for the one before: 4 times as fast.
    """
    k, rows = len(own), len(out)
    eights = rows // 8 * 8
    for l in range(0, eights, 8):
        r = table[l * k : (l + 8) * k]
        a, b, c, d = r[:k], r[k : 2 * k], r[2 * k : 3 * k], r[3 * k : 4 * k]
        e, f, g, h = r[4 * k : 5 * k], r[5 * k : 6 * k], r[6 * k : 7 * k], r[7 * k :]
        m0, m1, m2, m3, m4, m5, m6, m7 = np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf
        for s in range(k):
            v = own[s]
            m0, m1, m2, m3 = min(m0, v + a[s]), min(m1, v + b[s]), min(m2, v + c[s]), min(m3, v + d[s])
            m4, m5, m6, m7 = min(m4, v + e[s]), min(m5, v + f[s]), min(m6, v + g[s]), min(m7, v + h[s])
        out[l], out[l + 1], out[l + 2], out[l + 3] = m0, m1, m2, m3
        out[l + 4], out[l + 5], out[l + 6], out[l + 7] = m4, m5, m6, m7
    for l in range(eights, rows):
        row = table[l * k : (l + 1) * k]
        least = np.inf
        for s in range(k):
            least = min(least, own[s] + row[s])
        out[l] = least


@kernel_without_nan
def least_sums_of_rows(own: Floats, table: Floats, out: Floats) -> None:
    """`out[l] = min_s own[s] + table[s * len(out) + l]`; eight rows at a time, as `out` is then read once for them."""
    k, q = len(own), len(out)
    out[:] = np.inf
    eights = k // 8 * 8
    for s in range(0, eights, 8):
        r = table[s * q : (s + 8) * q]
        a, b, c, d = r[:q], r[q : 2 * q], r[2 * q : 3 * q], r[3 * q : 4 * q]
        e, f, g, h = r[4 * q : 5 * q], r[5 * q : 6 * q], r[6 * q : 7 * q], r[7 * q :]
        o0, o1, o2, o3, o4, o5, o6, o7 = (
            own[s], own[s + 1], own[s + 2], own[s + 3], own[s + 4], own[s + 5], own[s + 6], own[s + 7]
        )  # fmt: skip
        for l in range(q):
            first = min(min(o0 + a[l], o1 + b[l]), min(o2 + c[l], o3 + d[l]))
            second = min(min(o4 + e[l], o5 + f[l]), min(o6 + g[l], o7 + h[l]))
            out[l] = min(out[l], min(first, second))
    for s in range(eights, k):
        row, o = table[s * q : (s + 1) * q], own[s]
        for l in range(q):
            out[l] = min(out[l], o + row[l])


@kernel
def min_plus(a: Floats, b: Floats, out: Floats, rows: int, count: int, columns: int) -> None:
    """`out[i, k] = min_j a[i, j] + b[j, k]`, of matrices row by row."""
    for i in range(rows):
        own, row = a[i * count : (i + 1) * count], out[i * columns : (i + 1) * columns]
        least_sums_of_rows(own, b[: count * columns], row)


@kernel
def least_of_groups(
    groups_i: Ints, rows: Ints, groups_j: Ints, columns: Ints, table: Floats, stride: int, out: FloatRows
) -> None:  # fmt: skip
    """Lower `out[groups_i[a], groups_j[b]]` to the least cost in row `rows[a]` and column `columns[b]` of a table."""
    for a in range(len(rows)):
        row, to = table[rows[a] * stride :], out[groups_i[a]]
        for b in range(len(columns)):
            to[groups_j[b]] = min(to[groups_j[b]], row[columns[b]])


@kernel
def cost_of_edges(
    x: Ints, ei: Ints, ej: Ints, table: Ints, stride: Ints, column: IntRows, maps: Ints, tables: Floats, beside: float
) -> float:  # fmt: skip
    """What edges cost for choices `x`, added to `beside`: those of one first end are added up first."""
    total, own = beside, 0.0
    for e in range(len(ei)):
        row, at = maps[column[0, e] + x[ei[e]]], maps[column[1, e] + x[ej[e]]]
        own += tables[table[e] + row * stride[e] + at]
        if e + 1 == len(ei) or ei[e + 1] != ei[e]:
            total += own
            own = 0.0
    return total


@kernel
def restricted_tables(
    edges: Ints, size: Ints, offset: Ints, kept: Ints, ei: Ints, ej: Ints, table: Ints, stride: Ints, column: IntRows,
    maps: Ints, tables: Floats, to: Ints, out: Floats, columns: Ints,
) -> None:  # fmt: skip
    """What some edges cost for the choices that are kept, the one of `edges[a]` in `out` from `to[a]` on.

    The kept choices of node i are the `size[i]` entries of `kept` from `offset[i]` on.  `columns` has room for those of
    a node.
    """
    for a in range(len(edges)):
        e = edges[a]
        i, j = ei[e], ej[e]
        for q in range(size[j]):
            columns[q] = table[e] + maps[column[1, e] + kept[offset[j] + q]]
        p = to[a]
        for r in range(size[i]):
            base = maps[column[0, e] + kept[offset[i] + r]] * stride[e]
            for q in range(size[j]):
                out[p] = tables[base + columns[q]]
                p += 1


@kernel_without_nan
def least(values: Floats) -> float:
    """The least of some values."""
    found = np.inf
    for v in values:
        found = min(found, v)
    return found


@kernel_without_nan
def trws(
    sweeps: int, size: Ints, offset: Ints, unary: Floats, ei: Ints, ej: Ints, table: Ints, tables: Floats,
    near_offset: Ints, near_node: Ints, near_edge: Ints, at_i: Ints, at_j: Ints, to_i: Floats, to_j: Floats,
    rise: Floats, x: Ints, bounds: Floats, total: Floats, scaled: Floats, fresh: Floats,
) -> None:  # fmt: skip
    """Message passing as in `pcg.solve.trws`; `bounds` receives the bound, and that of the pass before the last.

    `to_i`, `to_j` are the messages per edge to its two ends, one edge's entries from `at_i`, `at_j` on; they are
    updated in place.  `rise` receives how far each choice lifts the second bound, `x` a rounding.  The last three have
    room for the choices of a node.
    """
    n = len(size)
    bound, last = -np.inf, -np.inf
    for sweep in range(2 * sweeps):
        forward = sweep % 2 == 0
        last, bound = bound, 0.0
        for step in range(n):
            i = step if forward else n - 1 - step
            k = size[i]
            before, after = 0, 0
            # Slices, as an index that may be negative keeps loops from doing several entries at a time.
            mine, lifts, sent = total[:k], rise[offset[i] : offset[i] + k], scaled[:k]
            own = unary[offset[i] : offset[i] + k]
            for s in range(k):
                mine[s] = own[s]
            for a in range(near_offset[i], near_offset[i + 1]):
                e = near_edge[a]
                if near_node[a] < i:
                    before += 1
                else:
                    after += 1
                come = to_i[at_i[e] : at_i[e + 1]] if ei[e] == i else to_j[at_j[e] : at_j[e + 1]]
                for s in range(k):
                    mine[s] += come[s]
            if forward:  # round: what is decided is fixed, messages speak for the rest
                cost = fresh[:k]
                for s in range(k):
                    cost[s] = mine[s]
                for a in range(near_offset[i], near_offset[i + 1]):
                    j, e = near_node[a], near_edge[a]
                    if j < i and ei[e] == i:
                        come = to_i[at_i[e] : at_i[e + 1]]
                        for s in range(k):
                            cost[s] += tables[table[e] + s * size[j] + x[j]] - come[s]
                    elif j < i:
                        come, row = to_j[at_j[e] : at_j[e + 1]], tables[table[e] + x[j] * k : table[e] + (x[j] + 1) * k]
                        for s in range(k):
                            cost[s] += row[s] - come[s]
                pick = 0
                for s in range(k):
                    if cost[s] < cost[pick]:
                        pick = s
                x[i] = pick
            low = least(mine)
            bound += low
            weight = 1.0 / max(1, before, after)
            for s in range(k):
                lifts[s] = mine[s] - low
                sent[s] = weight * lifts[s]
            for a in range(near_offset[i], near_offset[i + 1]):
                j, e = near_node[a], near_edge[a]
                if (j > i) != forward:
                    continue
                q, first = size[j], ei[e] == i
                come = to_i[at_i[e] : at_i[e + 1]] if first else to_j[at_j[e] : at_j[e + 1]]
                for s in range(k):
                    mine[s] = sent[s] - come[s]  # what it was is no longer needed
                found, costs = fresh[:q], tables[table[e] : table[e] + q * k]
                if first:
                    least_sums_of_rows(mine, costs, found)
                else:
                    least_sums(mine, costs, found)
                low = least(found)
                bound += low
                to = to_j[at_j[e] : at_j[e + 1]] if first else to_i[at_i[e] : at_i[e + 1]]
                for l in range(q):
                    to[l] = found[l] - low
    bounds[0], bounds[1] = bound, last


@kernel
def icm(
    size: Ints, offset: Ints, unary: Floats, ei: Ints, table: Ints, stride: Ints, column: IntRows, maps: Ints,
    tables: Floats, near_offset: Ints, near_node: Ints, near_edge: Ints, noise: float, x: Ints, cost: Floats,
    free: Flags, waits: Flags, later: Flags,
) -> None:  # fmt: skip
    """Iterated conditional modes: improve `x` node by node, in their order, until no change of a `free` one helps.

    `cost` has room for the choices of a node, `waits` and `later` for a flag of each.
    """
    n = len(size)
    for i in range(n):
        waits[i] = free[i]
    changed = True
    while changed:
        changed = False
        for i in range(n):
            later[i] = False
        for i in range(n):
            if not waits[i]:
                continue
            for s in range(size[i]):
                cost[s] = unary[offset[i] + s]
            for a in range(near_offset[i], near_offset[i + 1]):
                j, e = near_node[a], near_edge[a]
                if ei[e] == i:
                    own, step, at = column[0, e], stride[e], table[e] + maps[column[1, e] + x[j]]
                else:
                    own, step, at = column[1, e], 1, table[e] + maps[column[0, e] + x[j]] * stride[e]
                for s in range(size[i]):
                    cost[s] += tables[at + maps[own + s] * step]
            best = 0
            for s in range(size[i]):
                if cost[s] < cost[best]:
                    best = s
            if cost[best] < cost[x[i]] - noise:
                x[i] = best
                changed = True
                for a in range(near_offset[i], near_offset[i + 1]):
                    later[near_node[a]] = True
        for i in range(n):
            waits[i] = later[i] and free[i]


@kernel
def greedy(
    order: Ints, size: Ints, offset: Ints, unary: Floats, ei: Ints, table: Ints, tables: Floats, near_offset: Ints,
    near_node: Ints, near_edge: Ints, x: Ints, cost: Floats, low: Floats,
) -> None:  # fmt: skip
    """Choose for node after node what is cheapest with what `x` has for neighbours; where that is -1, with the best.

    `cost` and `low` have room for the choices of a node.
    """
    for at in range(len(order)):
        i = order[at]
        for s in range(size[i]):
            cost[s] = unary[offset[i] + s]
        for a in range(near_offset[i], near_offset[i + 1]):
            j, e = near_node[a], near_edge[a]
            mine, theirs = (size[j], 1) if ei[e] == i else (1, size[i])
            if x[j] >= 0:
                for s in range(size[i]):
                    cost[s] += tables[table[e] + s * mine + x[j] * theirs]
                continue
            for s in range(size[i]):
                low[s] = np.inf
            if mine == 1:
                for l in range(size[j]):
                    for s in range(size[i]):
                        low[s] = min(low[s], tables[table[e] + l * theirs + s])
            else:
                for s in range(size[i]):
                    for l in range(size[j]):
                        low[s] = min(low[s], tables[table[e] + s * mine + l])
            for s in range(size[i]):
                cost[s] += low[s]
        best = 0
        for s in range(size[i]):
            if cost[s] < cost[best]:
                best = s
        x[i] = best
