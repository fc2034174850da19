"""What claims to be exact, against enumeration: the reduction, elimination, and bounds that never exceed the optimum."""

from __future__ import annotations

import itertools
import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcg.solve.branch_and_bound import BranchAndBound
from pcg.solve.bucket_elimination import elimination_order
from pcg.solve.local import LocalSearch
from pcg.solve.model import flatten
from pcg.solve.problem import Infeasible, Problem
from pcg.solve.reduce_problem import Contradiction, reduce
from support.solvefamily import exact, layered, optimum, small

#: What the family writes for what is not allowed.
_FORBIDDEN = 10**18
SEEDS = st.integers(0, 2**32 - 1)


def core_optimum(r):
    """The best assignment of the core that fits, expanded; by enumeration."""
    m = flatten(r)
    best, cost = None, np.inf
    for x in itertools.product(*(range(k) for k in m.size)):
        a = np.array(x, dtype=np.int64)
        if m.fits(a) and m.energy(a) < cost:
            best, cost = a, m.energy(a)
    return best, cost + r.constant


@settings(max_examples=300, deadline=None)
@given(SEEDS)
@example(44659)  # an edge from a node with one choice, whose first cost is forbidden
def test_the_core_has_the_optimum(seed):
    p = small(seed)
    want = optimum(p)
    try:
        r = reduce(p)
    except (Contradiction, Infeasible):
        assert want is None or want >= _FORBIDDEN
        return
    x, cost = core_optimum(r)
    if want is None or want >= _FORBIDDEN:
        # The core may hold no assignment, or one whose forbidden entries stayed.
        assert x is None or cost >= _FORBIDDEN
        return
    full = r.expand(x)
    assert p.cost(full) == want == round(cost)
    assert p.limit is None or p.peak(full) <= p.limit


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_any_core_assignment_costs_and_takes_what_it_expands_to(seed):
    p = small(seed, forbidden=0.0)
    try:
        r = reduce(p)
    except Infeasible as error:
        assert optimum(p) is None and error.needed > p.limit
        return
    m = flatten(r)
    rng = np.random.default_rng(seed)
    x = np.array([rng.integers(k) for k in m.size], dtype=np.int64)
    full = r.expand(x)
    assert p.cost(full) == round(m.energy(x) + r.constant)
    if p.limit is not None:
        assert m.fits(x) == (p.peak(full) <= p.limit)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_without_forbidding_the_core_has_the_optimum_too(seed):
    p = small(seed, nodes=5, forbidden=0.6)
    want = optimum(p)
    try:
        r = reduce(p, forbid=False)
    except Infeasible:
        assert want is None
        return
    x, _ = core_optimum(r)
    # Of entries of 10^18, floats keep how many there are, but not what is added to them.
    assert (x is None) == (want is None)
    if want is not None:
        assert p.cost(r.expand(x)) // _FORBIDDEN == want // _FORBIDDEN


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_elimination_is_exact_over_what_is_free(seed):
    p = small(seed, nodes=7, forbidden=0.0)
    p.limit = None
    m = flatten(reduce(p, deadline=0.0))
    rng = random.Random(seed)
    start = np.array([rng.randrange(k) for k in m.size], dtype=np.int64)
    for largest in (2.0, 30.0, 1e9):
        chosen = elimination_order(m, [i for i in range(m.n) if rng.random() < 0.8], rng, largest, 1e9)
        got = chosen.run(m, m.unary, start)
        best = np.inf
        for values in itertools.product(*(range(m.size[i]) for i in chosen.free)):
            x = start.copy()
            x[chosen.free] = values
            best = min(best, m.energy(x))
        assert m.energy(got) == best
        others = [i for i in range(m.n) if i not in chosen.free]
        assert (got[others] == start[others]).all()
        assert largest < 1e9 or not chosen.conditioned


def test_elimination_of_a_node_with_many_neighbours():
    rng = np.random.default_rng(0)
    leaves, k = 500, 3
    n = leaves + 1
    costs = [rng.integers(0, 50, k) for _ in range(n)]
    tables = [rng.integers(0, 50, (k, k)) for _ in range(leaves)]
    edges = np.array([[0, i + 1] for i in range(leaves)])
    p = Problem(costs, [np.zeros(k, dtype=np.int64)] * n, np.zeros((n, 2), dtype=np.int64), edges, tables, None)
    m = flatten(reduce(p, deadline=0.0))
    got = elimination_order(m, range(n), random.Random(0), 1e3, 1e6).run(m, m.unary, np.zeros(n, dtype=np.int64))
    each = [(t + c).min(axis=1) for t, c in zip(tables, costs[1:], strict=True)]
    assert m.energy(got) == (costs[0] + np.sum(each, axis=0)).min()
    assert p.cost(reduce(p).expand(np.zeros(0, dtype=np.int64))) == m.energy(got)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_bounds_stay_below_the_optimum_with_any_multipliers(seed):
    p = small(seed, forbidden=0.1)
    want = optimum(p)
    if want is None or want >= _FORBIDDEN:
        return
    r = reduce(p)
    m = flatten(r)
    rng = np.random.default_rng(seed)
    searcher = LocalSearch(m, seed, np.inf)
    for scale in (0.0, 0.3, 3.0):
        multipliers = rng.random(len(m.capacity)) * scale
        bound, x = searcher.relaxed(multipliers, 8)
        assert bound + r.constant <= want + 1e-6
        assert all(0 <= k < size for k, size in zip(x, m.size, strict=True))


@example(7434, 3000)  # a relaxation that is above the optimum by a rounding error
@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from([1, 3000, 1 << 28]))
def test_branch_and_bound_proves_the_optimum(seed, memory):
    p = small(seed, nodes=8, forbidden=0.1)
    want = optimum(p)
    if want is None or want >= _FORBIDDEN:
        return
    r = reduce(p, deadline=0.0)
    m = flatten(r)
    fitting = [np.array(x) for x in itertools.product(*map(range, m.size)) if m.fits(np.array(x, dtype=np.int64))]
    s = LocalSearch(m, seed, np.inf)
    s.offer(max((x for x in fitting if m.energy(x) < _FORBIDDEN), key=m.energy))
    with mock.patch("pcg.solve.branch_and_bound._MEMORY", memory):
        search = BranchAndBound(s)
        search.run(np.inf)
    assert s.bound + r.constant <= want + 1e-6  # also where branches are left
    assert memory < 1 << 28 or not search.branches
    if not search.branches:
        assert s.bound == s.cost and round(s.cost + r.constant) == want


@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_closes_the_gap_of_memory(seed):
    """A knapsack: each tensor is kept, which takes memory, or costs something."""
    rng = np.random.default_rng(seed)
    n = 24
    sizes, costs = rng.integers(50, 100, n), rng.integers(50, 100, n)
    p = Problem(
        [np.array([0, c]) for c in costs], [np.array([u, 0]) for u in sizes], np.array([[0, 1]] * n),
        np.zeros((0, 2), dtype=np.int64), [], int(sizes.sum() // 3),
    )  # fmt: skip
    r = reduce(p, deadline=0.0)
    s = LocalSearch(flatten(r), 0, np.inf)
    relaxed = max(s.relaxed(np.array([k / 100]), 1)[0] for k in range(300))
    s.offer(np.ones(n, dtype=np.int64))
    BranchAndBound(s).run(np.inf)
    assert relaxed + 0.5 < s.bound == s.cost
    assert round(s.cost + r.constant) == exact(p)


def test_message_passing_is_tight_on_a_tree():
    p = layered(3, layers=1, width=1)
    p.limit = None
    m = flatten(reduce(p, deadline=0.0))
    chosen = elimination_order(m, range(m.n), random.Random(0), 1e9, 1e9)
    best = m.energy(chosen.run(m, m.unary, np.zeros(m.n, dtype=np.int64)))
    bound, _ = LocalSearch(m, 0, np.inf).relaxed(np.zeros(len(m.capacity)), 20)
    assert abs(bound - best) < 1e-6 * max(best, 1)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_local_search_keeps_within_memory_and_never_costs_more(seed):
    p = small(seed, nodes=7, forbidden=0.0)
    try:
        m = flatten(reduce(p, deadline=0.0))
    except Infeasible:
        return
    s = LocalSearch(m, seed, np.inf)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        x = np.array([rng.integers(k) for k in m.size], dtype=np.int64)
        if m.fits(x):
            y = s.local_search(x)
            assert m.fits(y) and m.energy(y) <= m.energy(x)
