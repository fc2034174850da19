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

    Those that cost `limit` or more are forbidden; costs that differ by `noise` or less are the same.  `compiled`: by
    compiled loops, with the same result.
    """
    good = unary < limit
    count = np.count_nonzero(good)
    if not count:
        return np.ones(len(unary), dtype=bool)
    if count < len(unary):
        unary, edges = unary[good], [m[good] for m in edges]
    if compiled:
        good[good] = with_memory(unary, edges, _NO_MEMORY[:, :count], 2 * limit, noise)
    elif count > 1:
        good[good] = _alive(_most(unary, edges, 2 * limit) <= noise)
    return good


def _most(unary: np.ndarray, edges: Sequence[np.ndarray], forbidden: float) -> np.ndarray:
    """`most[q, s]`: how much choosing q instead of s can cost at most."""
    n = len(unary)
    most = unary[:, None] - unary[None, :]
    for m in edges:
        # A pair that is forbidden with s is no reason to keep s.
        real = m if m.max(initial=0.0) < forbidden else np.where(m < forbidden, m, np.inf)
        if n * m.size < _AT_ONCE:
            more = (m[:, None, :] - real[None, :, :]).max(axis=2)
        else:
            more = np.stack([(row[None, :] - real).max(axis=1) for row in m])
        most += more if real is m else np.where(np.isfinite(more), more, 0.0)
    return most


def _alive(beats: np.ndarray) -> np.ndarray:
    """What is left when choices go, last ones first, that another one which is still there `beats`."""
    np.fill_diagonal(beats, False)
    alive = np.ones(len(beats), dtype=bool)
    for s in np.flatnonzero(beats.any(axis=0))[::-1].tolist():
        alive[s] = not beats[alive, s].any()
    return alive


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
