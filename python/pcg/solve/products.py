"""Min-plus products of matrices: what a node that is eliminated adds between its neighbours."""

from __future__ import annotations

import numpy as np

from pcg.solve import kernels


def min_plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`out[i, k] = min_j a[i, j] + b[j, k]`."""
    if b.shape[1] == 1:
        return (a + b[:, 0][None, :]).min(axis=1)[:, None]
    if a.shape[0] == 1:
        return (a[0][:, None] + b).min(axis=0)[None, :]
    out = np.empty(a.shape[0] * b.shape[1])
    kernels.min_plus(a.ravel(), b.ravel(), out, a.shape[0], b.shape[0], b.shape[1])
    return out.reshape(a.shape[0], b.shape[1])
