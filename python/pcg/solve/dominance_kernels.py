"""Compiled loops of dominance: which choices of a node no other one beats, whatever its neighbours do."""

from __future__ import annotations

import numpy as np

from pcg.kernels.native import Flags, Floats, IntRows, Ints, kernel, kernel_without_nan

#: Rows and columns of a matrix that are transposed at a time: 8 KiB are read and written.
_BLOCK = 32


@kernel
def transpose(values: Floats, out: Floats, rows: int, columns: int) -> None:
    """A matrix column by column, of which `values` has the rows; blocks of it that fit a cache at a time."""
    for i in range(0, rows, _BLOCK):
        for j in range(0, columns, _BLOCK):
            for b in range(j, min(j + _BLOCK, columns)):
                for a in range(i, min(i + _BLOCK, rows)):
                    out[b * rows + a] = values[a * columns + b]


@kernel_without_nan
def least_rows(columns: Floats, rows: int, count: int, least: Floats, at: Ints) -> None:
    """`least[a]` and `at[a]`: the least of so many columns in each of so many rows, and the first that has it."""
    best, where = least[:rows], at[:rows]
    best[:] = np.inf
    where[:] = 0
    for l in range(count):
        column = columns[l * rows : (l + 1) * rows]
        for a in range(len(column)):
            less = column[a] < best[a]
            best[a] = column[a] if less else best[a]
            where[a] = l if less else where[a]


@kernel
def undominated(
    unary: Floats, costs: Floats, ends: Ints, usage: IntRows, forbidden: float, slack: float, alive: Flags,
    cheapest: Ints, columns: Floats, least_loss: Floats,
) -> None:  # fmt: skip
    """Which strategies are `alive`: no other one beats them, or they do not lose to it by more than `slack`.

    Rows of `costs` are of one strategy; `row[ends[e]:ends[e + 1]]` are its costs against those of neighbour e.
    `usage[item, k]` is the memory of strategy k.
    Work space: `cheapest` has an entry per neighbour and strategy, `columns` as many as `costs`, `least_loss` one per
    strategy.
    """
    k, edges = len(unary), len(ends) - 1
    width = ends[edges]
    alive[:] = True
    transpose(costs, columns, k, width)
    # Where s is at its best another one has the hardest time: most fail there already.
    for e in range(edges):
        own = cheapest[e * k : (e + 1) * k]
        if ends[e] == ends[e + 1]:
            own[:] = -1
            continue
        least_rows(columns[ends[e] * k : ends[e + 1] * k], k, ends[e + 1] - ends[e], least_loss, own)
        for s in range(k):
            own[s] = own[s] + ends[e] if least_loss[s] < forbidden else -1
    for s in range(k - 1, -1, -1):  # of choices that are as good as each other the first stays
        mine = s * width
        # How much taking q instead of s can cost at most, so far at least.
        for q in range(k):
            least_loss[q] = unary[q] - unary[s]
        for e in range(edges):
            at = cheapest[e * k + s]
            if at >= 0:
                theirs_there, mine_there = at * k, costs[mine + at]
                for q in range(k):
                    least_loss[q] += columns[theirs_there + q] - mine_there
        for q in range(k):
            total, theirs = least_loss[q], q * width
            if total > slack or q == s or not alive[q]:
                continue
            worse = False
            for item in range(usage.shape[0]):
                if usage[item, q] > usage[item, s]:
                    worse = True
                    break
            if worse:
                continue
            for e in range(edges):
                at = cheapest[e * k + s]
                if at < 0:
                    continue
                least = costs[theirs + at] - costs[mine + at]
                most = least
                for l in range(ends[e], ends[e + 1]):
                    if costs[mine + l] >= forbidden:
                        continue
                    d = costs[theirs + l] - costs[mine + l]
                    if d > most:
                        most = d
                        if total + (most - least) > slack:
                            break
                total += most - least
                if total > slack:
                    break
            if total <= slack:
                alive[s] = False
                break
