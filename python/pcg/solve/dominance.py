"""Dominated choices: dead-end elimination (Goldstein, Biophys. J. 66, 1994).

A choice is dropped if another one costs no more whatever the neighbours choose: if the sum, over the node's own cost
and its edges, of the most by which the other can exceed it is not positive.  With own costs [0, 1] and an edge
[[2, 0], [0, 3]] neither choice is: the other may cost 1 less; with [[2, 0], [1, 3]] the second is: 1 - 1 >= 0.
Where choices take memory, the other one must take no more at any step.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

#: Entries of a comparison of all choices at once: larger ones are done choice by choice.
_AT_ONCE = 1 << 18
_NO_MEMORY = np.zeros((0, 1 << 20), dtype=np.int64)


def undominated(
    unary: np.ndarray, edges: Sequence[np.ndarray], limit: float, noise: float, compiled: bool
) -> np.ndarray:
    """Mask of choices that no other choice beats for every state of the neighbours.

    Those that cost `limit` or more are forbidden; costs that differ by `noise` or less are the same.
    """
    good = unary < limit
    count = np.count_nonzero(good)
    if not count:
        return np.ones(len(unary), dtype=bool)
    if compiled:
        if count < len(unary):
            unary, edges = unary[good], [m[good] for m in edges]
        good[good] = with_memory(unary, edges, _NO_MEMORY[:, :count], 2 * limit, noise)
        return good
    n = len(unary)
    # worst[k, q] = how much choosing k instead of q can cost at most.
    worst = unary[:, None] - unary[None, :]
    for m in edges:
        if n * m.size < _AT_ONCE:
            worst += (m[:, None, :] - m[None, :, :]).max(axis=2)
        else:
            for k in range(n):
                worst[k] += (m[k][None, :] - m).max(axis=1)
    # Of two choices that are as good as each other the first stays; that order makes one pass enough.
    beats = (worst < -noise) | ((worst <= noise) & (np.arange(n)[:, None] < np.arange(n)[None, :]))
    np.fill_diagonal(beats, False)
    left = good & ~beats[good].any(axis=0)
    if not left.any():  # a cycle of differences below the noise: any of them will do
        left[np.flatnonzero(good)[0]] = True
    return left


def with_memory(
    unary: np.ndarray, edges: Sequence[np.ndarray], usage: np.ndarray, forbidden: float, noise: float
) -> np.ndarray:
    """The same, by compiled loops, where choice k takes `usage[t, k]` bytes at steps t.

    Pairs that cost `forbidden` or more with a choice are no reason to keep it.
    """
    from pcg.solve import kernels

    ends = [0, *itertools.accumulate([m.shape[1] for m in edges])]
    costs = np.empty((len(unary), ends[-1]))
    if edges:
        np.concatenate(edges, axis=1, out=costs)
    return kernels.undominated(unary, costs, np.array(ends), usage, forbidden, noise)  # type: ignore[no-any-return]
