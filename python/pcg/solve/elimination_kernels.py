"""Compiled loops of exact simplification: dominated choices are dropped, nodes with two neighbours eliminated.

The state of a network that is taken apart, over its original nodes and edges and those that elimination adds:

- Node i has `size[i]` choices left; `choice[offset[i] + p]` is the one at position p, `unary[offset[i] + p]` its cost.
- `near_edge[near_offset[i]:][:degree[i]]` are its edges, in the order in which they were added.
- Edge e joins `end[0, e]` and `end[1, e]`.  Choices k and l of the original, of the one and of the other, cost
  `tables[table[e] + maps[column[0, e] + k] * stride[e] + maps[column[1, e] + l]]`.  Tables and maps are never changed
  but for those of edges that are `fresh`, so an eliminated node's edges say what it cost
  (`pcg.solve.expansion_kernels` goes back that way).
"""

from __future__ import annotations

from pcg.kernels.native import Flags, Floats, IntRows, Ints, kernel
from pcg.solve.dominance_kernels import undominated
from pcg.solve.kernels import min_plus

#: Entries of `state` in `simplify`.
PHASE, AT, HEAD, TAIL, EDGES, TABLES, MAPS, OUT, NEEDED = range(9)
#: What `simplify` returns: it is done, or needs `state[NEEDED]` entries more of tables, maps, or room for costs.
DONE, MORE_TABLES, MORE_MAPS, MORE_ROOM = range(4)
#: Of the Fowler-Noll-Vo hash of 64 bits.
_PRIME = 1099511628211


@kernel
def gather(
    e: int, i: int, offset: Ints, size: Ints, choice: Ints, end: IntRows, table: Ints, stride: Ints, column: IntRows,
    maps: Ints, tables: Floats, out: Floats, first: int, width: int, columns: Ints,
) -> None:  # fmt: skip
    """`out[first + p * width + q]`: the cost on edge e of position p of its end i and position q of the other.

    `columns` has room for an entry per choice of any node.
    """
    j = end[0, e] + end[1, e] - i
    own, other = (column[0, e], column[1, e]) if end[0, e] == i else (column[1, e], column[0, e])
    mine, theirs = (stride[e], 1) if end[0, e] == i else (1, stride[e])
    for q in range(size[j]):
        columns[q] = maps[other + choice[offset[j] + q]] * theirs
    for p in range(size[i]):
        row = table[e] + maps[own + choice[offset[i] + p]] * mine
        to = first + p * width
        for q in range(size[j]):
            out[to + q] = tables[row + columns[q]]


@kernel
def compare(
    i: int, limit: float, noise: float, offset: Ints, size: Ints, unary: Floats, choice: Ints, near_offset: Ints,
    degree: Ints, near_edge: Ints, end: IntRows, table: Ints, stride: Ints, column: IntRows, maps: Ints,
    tables: Floats, room: Floats, ends: Ints, cheapest: Ints, alive: Flags, usage: IntRows, columns: Ints,
) -> None:  # fmt: skip
    """Drop the choices of node i that are forbidden, if others are not, and those that are dominated."""
    o, count = offset[i], 0
    for p in range(size[i]):
        if unary[o + p] < limit:
            count += 1
    if count == 0:
        return
    if count < size[i]:
        left = 0
        for p in range(size[i]):
            if unary[o + p] < limit:
                unary[o + left], choice[o + left] = unary[o + p], choice[o + p]
                left += 1
        size[i] = count
    if count == 1:
        return
    edges = degree[i]
    ends[0] = 0
    for a in range(edges):
        e = near_edge[near_offset[i] + a]
        ends[a + 1] = ends[a] + size[end[0, e] + end[1, e] - i]
    for a in range(edges):
        gather(
            near_edge[near_offset[i] + a], i, offset, size, choice, end, table, stride, column, maps, tables, room,
            ends[a], ends[edges], columns,
        )  # fmt: skip
    entries = count * ends[edges]
    undominated(
        unary[o : o + count], room[:entries], ends[: edges + 1], usage, 2 * limit, noise, alive[:count],
        cheapest[: edges * count], room[entries : 2 * entries], room[2 * entries : 2 * entries + count],
    )  # fmt: skip
    left = 0
    for p in range(count):
        if alive[p]:
            unary[o + left], choice[o + left] = unary[o + p], choice[o + p]
            left += 1
    size[i] = left


@kernel
def detach(i: int, e: int, near_offset: Ints, degree: Ints, near_edge: Ints) -> None:
    """Take edge e from those of node i; the others keep their order."""
    first, last = near_offset[i], near_offset[i] + degree[i] - 1
    at = first
    while near_edge[at] != e:
        at += 1
    for a in range(at, last):
        near_edge[a] = near_edge[a + 1]
    degree[i] -= 1


@kernel
def positions(i: int, offset: Ints, size: Ints, choice: Ints, maps: Ints, at: int) -> None:
    """`maps[at + k]`: where choice k of the original node i is among those left."""
    for p in range(size[i]):
        maps[at + choice[offset[i] + p]] = p


@kernel
def simplify(
    state: Ints, limit: float, noise: float, ceiling: float, free: Flags, gone: Flags, changed: Flags, offset: Ints,
    size: Ints, unary: Floats, choice: Ints, near_offset: Ints, degree: Ints, near_edge: Ints, end: IntRows,
    table: Ints, stride: Ints, column: IntRows, fresh: Flags, maps: Ints, tables: Floats, constant: Floats,
    queue: Ints, order: Ints, room: Floats, ends: Ints, cheapest: Ints, alive: Flags, usage: IntRows, places: Ints,
) -> int:  # fmt: skip
    """Drop dominated choices of nodes that are `free` and `changed`, eliminate free nodes with at most two neighbours,
    and so on until nothing changes; `gone` and `order` receive which nodes, and in which order.

    It goes on from `state` where it was left as something was too small (see `MORE_TABLES` and its like).
    """
    n = len(size)
    while True:
        if state[PHASE] == 0:
            while state[AT] < n:
                i = state[AT]
                if changed[i] and free[i] and not gone[i] and size[i] > 1:
                    columns = 0
                    for a in range(near_offset[i], near_offset[i] + degree[i]):
                        e = near_edge[a]
                        columns += size[end[0, e] + end[1, e] - i]
                    entries = size[i] * (2 * columns + 1)
                    if entries > len(room):
                        state[NEEDED] = entries - len(room)
                        return MORE_ROOM
                    compare(
                        i, limit, noise, offset, size, unary, choice, near_offset, degree, near_edge, end, table,
                        stride, column, maps, tables, room, ends, cheapest, alive, usage, places,
                    )  # fmt: skip
                changed[i] = False
                state[AT] += 1
            state[HEAD] = 0
            state[TAIL] = 0
            for i in range(n):
                if free[i] and not gone[i] and degree[i] <= 2:
                    queue[state[TAIL]] = i
                    state[TAIL] += 1
            state[PHASE] = 1
        while state[HEAD] < state[TAIL]:
            i = queue[state[HEAD]]
            if gone[i] or degree[i] > 2:
                state[HEAD] += 1
                continue
            own, k = unary[offset[i] : offset[i] + size[i]], size[i]
            if degree[i] == 0:
                low = own[0]
                for p in range(k):
                    low = min(low, own[p])
                constant[0] += low
            else:
                first, second = near_edge[near_offset[i]], near_edge[near_offset[i] + degree[i] - 1]
                j, l = end[0, first] + end[1, first] - i, end[0, second] + end[1, second] - i
                if j > l:
                    first, second, j, l = second, first, l, j
                begin = k * (size[j] + size[l])
                if begin + 2 * size[j] * size[l] > len(room):
                    state[NEEDED] = begin + 2 * size[j] * size[l] - len(room)
                    return MORE_ROOM
                a = room[: size[j] * k]
                gather(first, j, offset, size, choice, end, table, stride, column, maps, tables, a, 0, k, places)
                for q in range(size[j]):
                    for p in range(k):
                        a[q * k + p] = own[p] + a[q * k + p]
                if degree[i] == 1:
                    for q in range(size[j]):
                        low = a[q * k]
                        for p in range(k):
                            low = min(low, a[q * k + p])
                        unary[offset[j] + q] += low
                    detach(j, first, near_offset, degree, near_edge)
                else:
                    known = -1
                    for at in range(near_offset[j], near_offset[j] + degree[j]):
                        e = near_edge[at]
                        if end[0, e] + end[1, e] - j == l:
                            known = e
                    if known < 0 or not fresh[known]:
                        entries, most = size[j] * size[l], offset[j + 1] - offset[j] + offset[l + 1] - offset[l]
                        if state[TABLES] + entries > len(tables):
                            state[NEEDED] = state[TABLES] + entries - len(tables)
                            return MORE_TABLES
                        if state[MAPS] + most > len(maps):
                            state[NEEDED] = state[MAPS] + most - len(maps)
                            return MORE_MAPS
                    columns = size[l]
                    b, best = room[size[j] * k : begin], room[begin : begin + size[j] * columns]
                    begin += size[j] * columns
                    old = room[begin : begin + size[j] * columns]
                    gather(
                        second, i, offset, size, choice, end, table, stride, column, maps, tables, b, 0, columns,
                        places,
                    )  # fmt: skip
                    min_plus(a, b, best, size[j], k, columns)
                    detach(j, first, near_offset, degree, near_edge)
                    detach(l, second, near_offset, degree, near_edge)
                    e = known
                    if known < 0:
                        e = state[EDGES]
                        state[EDGES] += 1
                        for node in (j, l):
                            near_edge[near_offset[node] + degree[node]] = e
                            degree[node] += 1
                        end[0, e], end[1, e] = j, l
                    if known >= 0 and fresh[known]:
                        mine, theirs = (stride[e], 1) if end[0, e] == j else (1, stride[e])
                        x, y = (column[0, e], column[1, e]) if end[0, e] == j else (column[1, e], column[0, e])
                        for q in range(size[j]):
                            row = table[e] + maps[x + choice[offset[j] + q]] * mine
                            for r in range(columns):
                                to = row + maps[y + choice[offset[l] + r]] * theirs
                                tables[to] = tables[to] + min(best[q * columns + r], ceiling)
                    else:
                        if known >= 0:
                            gather(
                                known, j, offset, size, choice, end, table, stride, column, maps, tables, old, 0,
                                columns, places,
                            )  # fmt: skip
                        to = state[TABLES]
                        for at in range(size[j] * columns):
                            value = min(best[at], ceiling)
                            tables[to + at] = old[at] + value if known >= 0 else value
                        to += size[j] * columns
                        end[0, e], end[1, e], table[e], stride[e], fresh[e] = j, l, state[TABLES], size[l], True
                        state[TABLES] = to
                        column[0, e], column[1, e] = state[MAPS], state[MAPS] + offset[j + 1] - offset[j]
                        state[MAPS] = column[1, e] + offset[l + 1] - offset[l]
                        positions(j, offset, size, choice, maps, column[0, e])
                        positions(l, offset, size, choice, maps, column[1, e])
                for side in range(degree[i]):
                    node = j if side == 0 else l
                    changed[node] = True
                    if free[node] and degree[node] <= 2:
                        queue[state[TAIL]] = node
                        state[TAIL] += 1
            gone[i] = True
            order[state[OUT]] = i
            state[OUT] += 1
            state[HEAD] += 1
        state[PHASE], state[AT] = 0, 0
        more = False
        for i in range(n):
            changed[i] = changed[i] and not gone[i]
            more = more or changed[i]
        if not more:
            return DONE


@kernel
def collect(
    edges: Ints, at: Ints, out: Floats, bits: Ints, slots: Ints, offset: Ints, size: Ints, choice: Ints, end: IntRows,
    table: Ints, stride: Ints, column: IntRows, maps: Ints, tables: Floats, columns: Ints,
) -> int:  # fmt: skip
    """The costs of some edges, by the choices that are left of their earlier ends and of the others, in `out`.

    Those of `edges[a]` start at `at[a]`; equal ones are there once.  Returns how many entries there are.  `bits` is
    `out` as integers; `slots`, a power of two and more than edges, are -1: a hash table of edges by what they cost.
    """
    used = 0
    for a in range(len(edges)):
        e = edges[a]
        i, j = min(end[0, e], end[1, e]), max(end[0, e], end[1, e])
        gather(e, i, offset, size, choice, end, table, stride, column, maps, tables, out, used, size[j], columns)
        entries = size[i] * size[j]
        fours = used + entries // 4 * 4
        d0, d1, d2, d3 = entries, 1, 2, 3  # FNV of every fourth, as multiplications in one wait for each other
        for k in range(used, fours, 4):
            d0, d1 = (d0 ^ bits[k]) * _PRIME, (d1 ^ bits[k + 1]) * _PRIME
            d2, d3 = (d2 ^ bits[k + 2]) * _PRIME, (d3 ^ bits[k + 3]) * _PRIME
        for k in range(fours, used + entries):
            d0 = (d0 ^ bits[k]) * _PRIME
        digest = d0 ^ (d1 * 3) ^ (d2 * 5) ^ (d3 * 7)
        slot = (digest ^ (digest >> 32)) & (len(slots) - 1)  # the upper half depends on all bits
        at[a] = used
        while slots[slot] >= 0:
            known = slots[slot]
            f = edges[known]
            equal = size[min(end[0, f], end[1, f])] == size[i] and size[max(end[0, f], end[1, f])] == size[j]
            k = 0
            while equal and k < entries:
                equal = bits[at[known] + k] == bits[used + k]
                k += 1
            if equal:
                at[a] = at[known]
                break
            slot = (slot + 1) & (len(slots) - 1)
        if at[a] == used:
            slots[slot] = a
            used += entries
    return used
