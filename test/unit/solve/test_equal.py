"""Equal costs are kept once, and networks of them cost what they did."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve.edges import Edges
from pcg.solve.equal import Equal
from pcg.solve.kernels import least_sums, least_sums_of_rows
from pcg.solve.network import Network
from pcg.solve.pairwise import Pairwise
from pcg.solve.reduce import reduce


def test_equal_arrays_in_use_are_one():
    equal = Equal()
    first = equal.one(np.arange(6.0).reshape(2, 3))
    assert equal.one(np.arange(6.0).reshape(2, 3)) is first
    assert equal.one(np.arange(6.0).reshape(3, 2)) is not first
    other = np.arange(6.0)[::-1].reshape(2, 3).copy()  # the same sum
    assert equal.one(other) is other
    transposed = equal.one(np.arange(6.0).reshape(2, 3).T)  # another order in memory
    assert transposed.shape == (3, 2) and transposed[1, 0] == 1
    del first, other, transposed
    gc.collect()
    assert not equal._known


def test_edges_with_equal_costs_have_one_table():
    m, rng = np.arange(12.0).reshape(3, 4), np.random.default_rng(0)
    pair = [{1: m, 2: m.copy()}, {0: m.T, 3: rng.random((4, 3))}, {0: m.T.copy()}, {1: rng.random((3, 4))}]
    pair[1][3] = pair[3][1].T
    unary = [np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(3)]
    flat = Pairwise.of(unary, Edges.of(unary, pair))
    assert len(flat.tables) == 24 and len(set(flat.table.tolist())) == 2
    for e, (i, j) in enumerate(zip(flat.ei.tolist(), flat.ej.tolist(), strict=True)):
        np.testing.assert_array_equal(flat.edge(e), pair[i][j])


@given(st.integers(1, 20), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_least_sums(k, rows, seed):
    rng = np.random.default_rng(seed)
    own, table, out = rng.random(k), rng.random((rows, k)), np.empty(rows)
    least_sums(own, table.ravel(), out)
    np.testing.assert_array_equal(out, (own + table).min(axis=1))
    least_sums_of_rows(own, table.T.ravel(), out)
    np.testing.assert_array_equal(out, (own + table).min(axis=1))


@given(st.integers(3, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_network_of_like_layers_is_simplified_without_changing_the_costs_that_it_was_given(n, seed):
    rng = np.random.default_rng(seed)
    few = [rng.integers(0, 5, (3, 3)).astype(float) for _ in range(2)]
    network = Network()
    for _ in range(n):
        network.add(rng.integers(0, 3, 3).astype(float))
    for i in range(n):
        for j in range(i + 1, min(n, i + 3)):
            network.connect(i, j, few[(i + j) % 2])
    before = [m.copy() for m in few]
    reduced = reduce(network)
    best = min(
        network.cost(reduced.expand(x))
        for x in np.ndindex(*(len(u) for u in reduced.core.unary))
    )  # fmt: skip
    assert best == min(network.cost(x) for x in np.ndindex(*(3,) * n))
    for m, known in zip(few, before, strict=True):
        np.testing.assert_array_equal(m, known)
