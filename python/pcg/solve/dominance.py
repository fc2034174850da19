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

from pcg.solve import dominance_kernels as kernels


def undominated(
    unary: np.ndarray, edges: Sequence[np.ndarray], usage: np.ndarray, forbidden: float, noise: float
) -> np.ndarray:
    """Mask of choices that no other choice beats for every state of the neighbours.

    Choice k takes `usage[t, k]` bytes at steps t; costs that differ by `noise` or less are the same.
    Pairs that cost `forbidden` or more with a choice are no reason to keep it.
    """
    ends = [0, *itertools.accumulate([m.shape[1] for m in edges])]
    costs = np.empty((len(unary), ends[-1]))
    if edges:
        np.concatenate(edges, axis=1, out=costs)
    alive, cheapest = np.empty(len(unary), dtype=np.bool_), np.empty(costs.shape[0] * len(edges), dtype=np.int64)
    kernels.undominated(
        unary, costs.ravel(), np.array(ends), usage, forbidden, noise, alive, cheapest, np.empty(costs.size),
        np.empty(len(unary)),
    )  # fmt: skip
    return alive
