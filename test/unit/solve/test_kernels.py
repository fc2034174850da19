"""The compiled loops of the solver against plain numpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve import dominance, kernels, products
from pcg.solve.kernels import undominated
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.pairwise import Pairwise
from pcg.solve.trws import TreeReweighted

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_min_plus(seed):
    rng = np.random.default_rng(seed)
    rows, inner, cols = rng.integers(1, 14, 3)
    a, b = rng.random((rows, inner)), rng.random((inner, cols))
    a[rng.random(a.shape) < 0.2] = np.inf
    want = (a[:, :, None] + b[None, :, :]).min(axis=1)
    np.testing.assert_array_equal(kernels.min_plus(a, b), want)
    with pytest.MonkeyPatch.context() as patch:
        for compiled in (False, True):
            patch.setattr(products, "pays", lambda _, by=compiled: by)
            patch.setattr(products, "_CHUNK", 40)
            np.testing.assert_array_equal(products.min_plus(a, b), want)


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


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_dominance_in_numpy_does_the_same(seed):
    """With ties and forbidden pairs."""
    rng = np.random.default_rng(seed)
    n, widths = int(rng.integers(1, 8)), rng.integers(1, 5, rng.integers(0, 4))
    unary = rng.integers(0, 4, n).astype(float)
    edges = [rng.integers(0, 4, (n, w)).astype(float) for w in widths]
    for costs in (unary, *edges):
        costs[rng.random(costs.shape) < 0.2] = 1e6
    both = [dominance.undominated(unary, edges, 5e5, 1e-9, compiled) for compiled in (True, False)]
    np.testing.assert_array_equal(*both)


def random_network(seed):
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(rng.integers(1, 7)):
        network.add(rng.random(rng.integers(1, 5)))
    for i, j in itertools.combinations(range(len(network.unary)), 2):
        if rng.random() < 0.6:
            m = rng.random((len(network.unary[i]), len(network.unary[j])))
            network.connect(i, j, np.where(rng.random(m.shape) < 0.1, FORBIDDEN, m))
    network.settle()
    return network


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_message_passing_in_numpy_does_the_same(seed):
    network = random_network(seed)
    flat = Pairwise.of(network.unary, network.pair)
    both = [TreeReweighted(flat, compiled) for compiled in (True, False)]
    for sweeps in (1, 3):
        (bound, x), (other, y) = (m.run(flat.unary, sweeps) for m in both)
        assert (bound, both[0].level, x.tolist()) == (other, both[1].level, y.tolist())
        np.testing.assert_array_equal(both[0].rise, both[1].rise)
        np.testing.assert_array_equal(both[0].to_i, both[1].to_i)
        np.testing.assert_array_equal(both[0].to_j, both[1].to_j)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_choice_lifts_the_bound_by_no_more_than_it_costs(seed):
    network = random_network(seed)
    flat = Pairwise.of(network.unary, network.pair)
    messages = TreeReweighted(flat, compiled=False)
    everything = list(itertools.product(*(range(len(u)) for u in network.unary)))
    costs = np.array([network.cost(x) for x in everything])
    before = -np.inf
    for _ in range(4):
        bound, _ = messages.run(flat.unary, 1)
        assert before - 1e-9 <= messages.level <= bound + 1e-9 and bound <= costs.min() + 1e-9
        before = bound
        for i, rise in enumerate(flat.split(messages.rise)):
            for k, r in enumerate(rise):
                with_it = min(c for x, c in zip(everything, costs, strict=True) if x[i] == k)
                assert messages.level + r <= with_it + 1e-9 * network.unit + 1e-12 * network.forbidden
