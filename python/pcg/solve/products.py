"""Min-plus products of matrices: what a node that is eliminated adds between its neighbours."""

from __future__ import annotations

import numpy as np

from pcg.kernels.loading import pays

#: Numbers that numpy holds at a time.  Chosen: 2 MiB, about what a core's cache has.
_CHUNK = 1 << 18
#: Seconds that numpy takes for one sum.  Measured: 1.2 to 2.1 ns for 25 to 216 choices; compiled loops 0.1 to 0.2.
_SUM = 1.2e-9


def min_plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`out[i, k] = min_j a[i, j] + b[j, k]`."""
    if b.shape[1] == 1:
        return (a + b[:, 0][None, :]).min(axis=1)[:, None]
    if a.shape[0] == 1:
        return (a[0][:, None] + b).min(axis=0)[None, :]
    if pays(_SUM * a.size * b.shape[1]):
        from pcg.solve import kernels

        found: np.ndarray = kernels.min_plus(np.ascontiguousarray(a), np.ascontiguousarray(b))
        return found
    return _by_numpy(a, b) if a.shape[0] <= b.shape[1] else _by_numpy(b.T, a.T).T


def _by_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same, in pieces that stay in the cache."""
    out = np.empty((a.shape[0], b.shape[1]))
    step = max(1, _CHUNK // (b.size or 1))
    for i in range(0, len(out), step):
        out[i : i + step] = (a[i : i + step, :, None] + b[None, :, :]).min(axis=1)
    return out
