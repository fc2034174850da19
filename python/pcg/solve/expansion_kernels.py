"""Compiled loops from a solution of what elimination has left to one of all; arrays as in `elimination_kernels`."""

from __future__ import annotations

import numpy as np

from pcg.kernels.native import Flags, Floats, IntRows, Ints, kernel


@kernel
def best_response(
    i: int, x: Ints, offset: Ints, size: Ints, unary: Floats, choice: Ints, near_offset: Ints, degree: Ints,
    near_edge: Ints, end: IntRows, table: Ints, stride: Ints, column: IntRows, maps: Ints, tables: Floats,
) -> int:  # fmt: skip
    """The choice of node i, which has at most two neighbours, that is cheapest where these have theirs of `x`."""
    first, second, swap = -1, -1, False
    if degree[i] > 0:
        first = near_edge[near_offset[i]]
    if degree[i] > 1:
        second = near_edge[near_offset[i] + 1]
        swap = end[0, first] + end[1, first] > end[0, second] + end[1, second]
    if swap:
        first, second = second, first
    at_1, at_2, own_1, own_2, step_1, step_2 = 0, 0, 0, 0, 0, 0
    if first >= 0:
        side = 0 if end[0, first] == i else 1
        j = end[1 - side, first]
        own_1, step_1 = column[side, first], stride[first] if side == 0 else 1
        at_1 = table[first] + maps[column[1 - side, first] + x[j]] * (1 if side == 0 else stride[first])
    if second >= 0:
        side = 0 if end[0, second] == i else 1
        j = end[1 - side, second]
        own_2, step_2 = column[side, second], stride[second] if side == 0 else 1
        at_2 = table[second] + maps[column[1 - side, second] + x[j]] * (1 if side == 0 else stride[second])
    best, low = 0, np.inf
    for p in range(size[i]):
        k = choice[offset[i] + p]
        c = unary[offset[i] + p]
        if first >= 0:
            c += tables[at_1 + maps[own_1 + k] * step_1]
        if second >= 0:
            c += tables[at_2 + maps[own_2 + k] * step_2]
        if p == 0 or c < low:
            best, low = k, c
    return best


@kernel
def expand(
    count: int, order: Ints, x: Ints, offset: Ints, size: Ints, unary: Floats, choice: Ints, near_offset: Ints,
    degree: Ints, near_edge: Ints, end: IntRows, table: Ints, stride: Ints, column: IntRows, maps: Ints,
    tables: Floats,
) -> None:  # fmt: skip
    """Give the first `count` nodes of `order`, which were eliminated so, what is best for the others' choices `x`."""
    for t in range(count - 1, -1, -1):
        i = order[t]
        x[i] = best_response(
            i, x, offset, size, unary, choice, near_offset, degree, near_edge, end, table, stride, column, maps, tables
        )  # fmt: skip


@kernel
def respond(
    count: int, order: Ints, marks: Flags, x: Ints, offset: Ints, size: Ints, unary: Floats, choice: Ints,
    near_offset: Ints, degree: Ints, near_edge: Ints, end: IntRows, table: Ints, stride: Ints, column: IntRows,
    maps: Ints, tables: Floats,
) -> None:  # fmt: skip
    """Mark what is best of eliminated nodes for choices of the others that are marked; `x` has room for a solution."""
    for t in range(count - 1, -1, -1):
        i = order[t]
        j, l = -1, -1
        if degree[i] > 0:
            e = near_edge[near_offset[i]]
            j = end[0, e] + end[1, e] - i
        if degree[i] > 1:
            e = near_edge[near_offset[i] + 1]
            l = end[0, e] + end[1, e] - i
        for q in range(offset[j + 1] - offset[j] if j >= 0 else 1):
            if j >= 0:
                if not marks[offset[j] + q]:
                    continue
                x[j] = q
            for r in range(offset[l + 1] - offset[l] if l >= 0 else 1):
                if l >= 0:
                    if not marks[offset[l] + r]:
                        continue
                    x[l] = r
                best = best_response(
                    i, x, offset, size, unary, choice, near_offset, degree, near_edge, end, table, stride, column,
                    maps, tables,
                )  # fmt: skip
                marks[offset[i] + best] = True
