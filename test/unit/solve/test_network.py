"""The solver against brute force: exact simplification, dual bounds, ILP."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve import ilp, trws
from pcg.solve.bucket_elimination import exact_order
from pcg.solve.effort import DEFAULT
from pcg.solve.ilp import _kernel_search, solve
from pcg.solve.network import FORBIDDEN, Network, _most, _most_of_each
from pcg.solve.reduce import reduce
from pcg.solve.trws import Bounded, ascend


@st.composite
def networks(draw: st.DrawFn) -> Network:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    network = Network()
    for _ in range(draw(st.integers(1, 6))):
        network.add(rng.integers(0, 10, rng.integers(1, 6)) * 1e-6)
    n = len(network.unary)
    for i, j in itertools.combinations(range(n), 2):
        if rng.random() < 0.6:
            m = rng.integers(0, 5, (len(network.unary[i]), len(network.unary[j]))) * 3e-6
            if rng.random() < 0.3:
                m[rng.random(m.shape) < 0.2] = FORBIDDEN
            network.connect(i, j, m)
    return network


def brute_force(network: Network) -> float:
    return min(network.cost(x) for x in itertools.product(*(range(len(u)) for u in network.unary)))


@given(networks(), st.sampled_from([2.0, 40.0, 1e6]))
@settings(max_examples=150, deadline=None)
def test_an_order_for_all_nodes_finds_the_best_assignment(network: Network, work: float) -> None:
    order = exact_order(network.flat, work)
    assert order is not None or work < 1e6
    if order is not None:
        assert order.work <= work and not order.conditioned
        x = order.run(network.flat, network.flat.unary, np.zeros(network.flat.n, dtype=np.int64)).tolist()
        assert network.cost(x) == pytest.approx(brute_force(network))


@given(networks())
@settings(max_examples=150, deadline=None)
def test_solve_is_exact_and_its_bound_holds(network: Network) -> None:
    best = brute_force(network)
    found = solve(network)
    assert found.cost == pytest.approx(best, rel=1e-3, abs=1e-9)
    assert network.cost(found.x) == pytest.approx(found.cost)
    assert found.bound <= best + 1e-9 if best < network.limit else found.cost >= network.limit


@given(networks())
@settings(max_examples=100, deadline=None)
def test_reduction_keeps_an_optimum(network: Network) -> None:
    reduction = reduce(network)
    core = reduction.core
    if core.unary:
        inner = min(itertools.product(*(range(len(u)) for u in core.unary)), key=core.cost)
    else:
        inner = ()
    x = reduction.expand(list(inner))
    assert network.cost(x) == pytest.approx(brute_force(network), abs=1e-12)
    assert reduction.constant + core.cost(inner) == pytest.approx(network.cost(x), abs=1e-9)


@given(networks(), st.data())
@settings(max_examples=50, deadline=None)
def test_solve_goes_on_from_a_reduction(network: Network, data: st.DataObject) -> None:
    keep = data.draw(st.sets(st.integers(0, len(network.unary) - 1)))
    reduction = reduce(network, keep)
    assert keep <= set(reduction.kept)
    starts = [[data.draw(st.integers(0, len(u) - 1)) for u in network.unary]]
    found, best = solve(network, starts, reduction=reduction), brute_force(network)
    assert found.cost == pytest.approx(best, rel=1e-3, abs=1e-9)
    assert network.cost(found.x) == pytest.approx(found.cost)
    # What is forbidden is no reason to keep a choice, so where everything is, the least costly of it may be dropped.
    assert found.bound <= best + 1e-9 if best < network.limit else found.cost >= network.limit


@given(networks(), st.data())
@settings(max_examples=50, deadline=None)
def test_restriction_leaves_costs_as_they_are(network: Network, data: st.DataObject) -> None:
    kept = [sorted(data.draw(st.sets(st.integers(0, len(u) - 1), min_size=1))) for u in network.unary]
    masks = [np.isin(np.arange(len(u)), k) for u, k in zip(network.unary, kept, strict=True)]
    part = network.restrict(masks)
    for x in itertools.islice(itertools.product(*(range(len(k)) for k in kept)), 50):
        assert part.cost(x) == network.cost([k[i] for k, i in zip(kept, x, strict=True)])


@given(networks(), st.data())
@settings(max_examples=50, deadline=None)
def test_a_conditioned_network_has_the_costs_that_its_variables_change(network: Network, data: st.DataObject) -> None:
    plan = st.tuples(*(st.integers(0, len(u) - 1) for u in network.unary))
    x, y = data.draw(plan), data.draw(plan)
    free = sorted(data.draw(st.sets(st.integers(0, len(x) - 1))))
    rest = network.conditioned(x, free)
    assert list(map(len, rest.unary)) == [len(network.unary[i]) for i in free]
    found = rest.cost([y[i] for i in free]) - rest.cost([x[i] for i in free])
    difference = network.difference(x, [(i, y[i]) for i in free if y[i] != x[i]])
    assert found == pytest.approx(difference, abs=1e-12 * network.forbidden)


@given(networks(), st.data())
@settings(max_examples=50, deadline=None)
def test_difference(network: Network, data: st.DataObject) -> None:
    plan = st.tuples(*(st.integers(0, len(u) - 1) for u in network.unary))
    x, y = data.draw(plan), data.draw(plan)
    change = [(i, k) for i, k in enumerate(y) if k != x[i]]
    assert network.cost(y) - network.cost(x) == pytest.approx(network.difference(x, change), abs=1e-12 * network.forbidden)


@given(networks(), st.data())
@settings(max_examples=50, deadline=None)
def test_compiled_descent_is_descent(network: Network, data: st.DataObject) -> None:
    x = [data.draw(st.integers(0, len(u) - 1)) for u in network.unary]
    best = network.icm(x)
    assert network.cost(best) <= network.cost(x)
    found = network.flat.icm(x, network.noise)
    assert network.cost(found.tolist()) == pytest.approx(network.cost(best))
    fixed = data.draw(st.sets(st.integers(0, len(x) - 1)))
    assert all(network.icm(x, fixed)[i] == x[i] for i in fixed)


@given(networks())
@settings(max_examples=100, deadline=None)
def test_dual_bound_is_a_bound_and_keeps_the_optimum_open(network: Network) -> None:
    best = brute_force(network)
    found = ascend(network, [0] * len(network.unary))
    assert found.bound <= best + 1e-9
    assert found.cost >= best - 1e-12
    inside = [range(len(u)) for u in network.unary]
    kept = [
        x
        for x in itertools.product(*inside)
        if network.cost(x) <= best + 1e-12 and all(m[k] for m, k in zip(found.open(found.cost), x, strict=True))
    ]
    assert kept or found.cost == pytest.approx(best)


@pytest.mark.parametrize("work", [1.0, 1e6])
def test_exact_elimination_or_the_ilp_closes_what_bounds_cannot(work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # An odd cycle that prefers to differ: the local polytope is loose, so branch and bound must finish.
    monkeypatch.setattr(ilp, "_EXACT", work)
    network = Network()
    for _ in range(5):
        network.add(np.array([0.0, 1e-7]))
    for i, j in itertools.combinations(range(5), 2):
        network.connect(i, j, 1e-5 * np.eye(2))
    found = solve(network)
    assert (found.variables > 0) == (work == 1.0)
    assert found.cost == pytest.approx(brute_force(network))
    assert found.bound == pytest.approx(found.cost, rel=1e-3)


def test_an_ilp_of_many_entries_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ilp, "exact_order", lambda *_: None)
    network = Network()
    rng = np.random.default_rng(0)
    for _ in range(9):
        network.add(rng.random(4))
    for i, j in itertools.combinations(range(9), 2):
        network.connect(i, j, rng.random((4, 4)))
    every = solve(network)
    less = solve(network, effort=replace(DEFAULT, entries=10, depth=0))
    assert every.variables > 0 and less.variables == 0
    assert less.bound <= every.cost <= less.cost and less.bound < every.bound


def test_starts_are_never_beaten_by_the_answer() -> None:
    rng = np.random.default_rng(1)
    network = Network()
    for _ in range(10):
        network.add(rng.random(4) * 1e-6)
    for i, j in itertools.combinations(range(10), 2):
        network.connect(i, j, rng.random((4, 4)) * 1e-6)
    start = [int(k) for k in rng.integers(0, 4, 10)]
    assert solve(network, [start], effort=replace(DEFAULT, nodes=1)).cost <= network.cost(start)


def test_edges_may_share_a_matrix() -> None:
    rng = np.random.default_rng(3)
    shared = rng.random((3, 3))
    shared[0, 1] = FORBIDDEN
    one, apart = Network(), Network()
    for network, of in ((one, lambda m: m), (apart, np.copy)):
        for u in np.random.default_rng(4).random((6, 3)):
            network.add(u)
        for i in range(5):
            network.connect(i, i + 1, of(shared))
        network.connect(0, 5, of(shared).T)
    assert one.forbidden == apart.forbidden
    assert one.pair[0][1] is one.pair[1][2] and one.pair[1][0].base is one.pair[0][1]
    x = [0, 1, 2, 0, 1, 2]
    assert one.cost(x) == apart.cost(x)
    assert solve(one).x == solve(apart).x


def test_solve_is_deterministic() -> None:
    rng = np.random.default_rng(2)
    network = Network()
    for _ in range(16):
        network.add(rng.integers(0, 3, 5) * 1e-6)
    for i, j in itertools.combinations(range(16), 2):
        if rng.random() < 0.3:
            network.connect(i, j, rng.integers(0, 3, (5, 5)) * 1e-6)
    assert solve(network).x == solve(network.restrict([np.ones(len(u), dtype=bool) for u in network.unary])).x


def test_kernel_search_keeps_a_choice_where_all_lift_the_bound() -> None:
    network = Network()
    network.add(np.array([2.0, 1.0]))
    found = _kernel_search(network, Bounded(0.0, [0], 2.0, 0.0, [np.array([0.5, 0.5])], 0.0, 1.0))
    assert (found.x, found.cost) == ([1], 1.0)


def ladder(count: int, choices: int = 4, noise: float = 0.1) -> Network:
    """A long ladder: bounds rise slowly while messages travel from its ends, which is not the end of what can be had."""
    rng = np.random.default_rng(1)
    network = Network()
    for i in range(count):
        network.add(rng.random(choices) * (10.0 if i in (0, count - 1) else noise))
    for i in range(count):
        for j in range(i + 1, min(i + 4, count)):
            differ = (1 - np.eye(choices)) * rng.random()
            network.connect(i, j, rng.random((choices, choices)) * 3 * noise + differ)
    return network


def test_ascent_goes_on_from_another() -> None:
    network = ladder(30)
    whole = trws.ascend(network, [0] * 30, sweeps=20, patience=0.0, gap=0.0)
    part = trws.ascend(network, [0] * 30, sweeps=10, patience=0.0, gap=0.0)
    assert part.bound < whole.bound
    both = trws.ascend(network, part.x, sweeps=10, patience=0.0, gap=0.0, since=part)
    assert both.bound == pytest.approx(whole.bound) and both.cost <= part.cost


def test_a_deep_network_gets_as_many_sweeps_as_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ilp, "_USUAL", (5, 5))
    monkeypatch.setattr(ilp, "exact_order", lambda *_: None)
    network, effort = ladder(1000, 5, 0.01), replace(DEFAULT, large=0)
    first = solve(network, effort=replace(effort, work=0.0))
    assert first.cost > first.bound * 1.01
    found = solve(network, effort=effort)
    assert found.variables == 0 and found.cost <= found.bound * 1.001


def test_impatient_ascent_waits_for_costs_to_go_through_the_network() -> None:
    network = ladder(120)
    soon, late = (trws.ascend(network, [0] * 120, patience=p) for p in (1e-2, 1e-9))
    assert late.bound - soon.bound < 1e-2 * (late.cost - late.bound)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.5, -1.0, FORBIDDEN]), max_size=4)))
def test_the_most_of_each_is_the_most(costs: list[list[float]]) -> None:
    each = [np.array(c, dtype=float) for c in costs]
    most, infinite = _most_of_each(each)
    assert most == [_most(c) for c in each if len(c)]
    assert infinite == [n for n, c in enumerate(costs) if FORBIDDEN in c]
