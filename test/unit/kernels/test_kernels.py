"""The compiled loops against plain numpy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.kernels.networks import handshake, min_plus, undominated
from pcg.kernels.paths import shortest
from pcg.search.dual import _Stack

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_min_plus(seed):
    rng = np.random.default_rng(seed)
    n, a, b = rng.integers(1, 6, 3)
    u, left, right = rng.random(n), rng.random((n, a)), rng.random((n, b))
    want = (u[:, None, None] + left[:, :, None] + right[:, None, :]).min(axis=0)
    np.testing.assert_allclose(min_plus(u, left, right), want)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_what_is_dropped_is_never_needed(seed):
    """Whatever the neighbours choose, one of the best choices is left, and it takes no more memory at any step."""
    rng = np.random.default_rng(seed)
    n, widths = int(rng.integers(1, 6)), rng.integers(1, 4, rng.integers(0, 3))
    unary = rng.integers(0, 4, n).astype(float)
    costs = rng.integers(0, 4, (n, int(widths.sum()))).astype(float)
    costs[rng.random(costs.shape) < 0.1] = 1e6
    usage = rng.integers(0, 3, (int(rng.integers(0, 3)), n))
    left = undominated(unary, costs, np.cumsum([0, *widths]), usage, 1e6, 0.0)
    assert left.any()
    starts = np.cumsum([0, *widths])[:-1]
    for states in np.ndindex(*widths):
        total = unary + costs[:, [s + k for s, k in zip(starts, states, strict=True)]].sum(axis=1)
        for s in np.flatnonzero(~left):
            if total[s] < 1e6:
                assert any(total[q] <= total[s] and (usage[:, q] <= usage[:, s]).all() for q in np.flatnonzero(left))


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_a_handshake_moves_costs_and_loses_none(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    unary = np.full((4, 5), np.inf)
    for v, n in enumerate(sizes):
        unary[v, :n] = rng.random(n)
    m = np.full((2, 5, 5), np.inf)
    i, j = np.array([0, 2]), np.array([1, 3])
    for e in range(2):
        m[e, : sizes[i[e]], : sizes[j[e]]] = rng.random((sizes[i[e]], sizes[j[e]]))
    before = [unary[i[e]][:, None] + m[e] + unary[j[e]][None, :] for e in range(2)]
    floor = sum(u[:n].min() for u, n in zip(unary, sizes, strict=True)) + m.min(axis=(1, 2)).sum()
    handshake(m, i, j, unary, sizes)
    for e, want in enumerate(before):
        real = np.isfinite(want)
        np.testing.assert_allclose((unary[i[e]][:, None] + m[e] + unary[j[e]][None, :])[real], want[real])
        assert (m[e][real] >= -1e-12).all()
    after = sum(u[:n].min() for u, n in zip(unary, sizes, strict=True)) + m.min(axis=(1, 2)).sum()
    assert after >= floor - 1e-12
    assert (np.isinf(unary) == (np.arange(5)[None, :] >= sizes[:, None])).all()


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_a_handshake_in_numpy_does_the_same(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    unary = np.where(np.arange(5)[None, :] < sizes[:, None], rng.random((4, 5)), np.inf)
    unary[rng.random(unary.shape) < 0.1] = np.inf
    i, j = np.array([0, 2]), np.array([1, 3])
    inside = (np.arange(5)[:, None] < sizes[i][:, None, None]) & (np.arange(5) < sizes[j][:, None, None])
    m = np.where(inside & (rng.random(inside.shape) < 0.7), rng.random(inside.shape), np.inf)
    plain, apart = _Stack(i, j, m.copy()), unary.copy()
    for _ in range(3):
        handshake(m, i, j, unary, sizes)
        plain.handshake(apart)
        np.testing.assert_array_equal(unary, apart)
        np.testing.assert_array_equal(m, plain.m)


def test_choices_that_go_with_nothing_are_forbidden():
    m = np.array([[[np.inf, np.inf, np.inf], [1.0, np.inf, 2.0]]])
    unary = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, 5.0]])
    for _ in range(3):
        handshake(m, np.array([0]), np.array([1]), unary, np.array([2, 3]))
        assert np.isinf(unary).tolist() == [[True, False, True], [False, True, False]]
        assert np.isinf(m).tolist() == [[[True] * 3, [False, True, False]]]
        np.testing.assert_allclose(m[0, 1, [0, 2]] + unary[0, 1] + unary[1, [0, 2]], [6.0, 9.0])


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
