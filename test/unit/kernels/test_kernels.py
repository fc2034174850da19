"""The compiled loops against plain numpy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.kernels.paths import shortest

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_shortest_paths(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    length = np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), np.inf)
    rows = np.cumsum([0, *np.isfinite(length).sum(axis=1)])
    columns = np.nonzero(np.isfinite(length))[1]
    want = length.copy()
    np.fill_diagonal(want, 0)
    for k in range(n):
        want = np.minimum(want, want[:, [k]] + want[[k], :])
    found = shortest(np.arange(n), rows, columns, length[np.isfinite(length)])
    np.testing.assert_array_equal(found, want)
