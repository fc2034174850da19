"""Min-plus products of matrices: what a node that is eliminated adds between its neighbours."""

from __future__ import annotations

import numpy as np

from pcg.kernels.loading import pays

#: Numbers that numpy holds at a time.  Chosen: 2 MiB, about what a core's cache has.
_CHUNK = 1 << 18
#: Seconds that numpy takes for one sum.  Measured on matrices of 125 by 125: compiled loops take a twelfth.
_SUM = 1e-9


def min_plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`out[i, k] = min_j a[i, j] + b[j, k]`."""
    rows, inner, cols = a.shape[0], a.shape[1], b.shape[1]
    if cols == 1:
        return (a + b[:, 0][None, :]).min(axis=1)[:, None]
    if rows == 1:
        return (a[0][:, None] + b).min(axis=0)[None, :]
    if pays(_SUM * rows * inner * cols):
        from pcg.solve import kernels

        found: np.ndarray = kernels.min_plus(np.ascontiguousarray(a), np.ascontiguousarray(b))
        return found
    if rows > cols:
        return min_plus(b.T, a.T).T
    step = max(1, _CHUNK // (b.size or 1))
    if step >= rows:
        return (a[:, :, None] + b[None, :, :]).min(axis=1)
    out = np.empty((rows, cols))
    for i in range(0, rows, step):
        out[i : i + step] = (a[i : i + step, :, None] + b[None, :, :]).min(axis=1)
    return out
