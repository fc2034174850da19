"""Min-plus products: the step of the dynamic program, over all boundary choices at once."""

from __future__ import annotations

import numpy as np

#: Numbers that a product holds at a time.  Chosen: 2 MiB, about what a core's cache has.
_CHUNK = 1 << 18


def min_plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`out[i, k] = min_j a[i, j] + b[j, k]`, in pieces that stay in the cache."""
    rows, cols = a.shape[0], b.shape[1]
    if cols == 1:
        return (a + b[:, 0][None, :]).min(axis=1)[:, None]
    if rows > cols:
        return min_plus(b.T, a.T).T
    step = max(1, _CHUNK // (b.size or 1))
    if step >= rows:
        return (a[:, :, None] + b[None, :, :]).min(axis=1)
    out = np.empty((rows, cols))
    for i in range(0, rows, step):
        out[i : i + step] = (a[i : i + step, :, None] + b[None, :, :]).min(axis=1)
    return out
