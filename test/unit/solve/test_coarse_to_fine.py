"""Groups first, members then: the bound is one, solutions cost what they say, and nothing that was known is lost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcg.solve import ilp
from pcg.solve.coarse_to_fine import Grouped
from pcg.solve.effort import EFFORTS
from pcg.solve.ilp import searched
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.trws import ascend

CHOICES = 5


def network_of(seed: int, nodes: int, edges: int, forbidden: float = 0.0) -> tuple[Network, list[np.ndarray]]:
    """A random network with choices in up to three groups a node."""
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(nodes):
        network.add(rng.integers(0, 10, CHOICES) * 1e-6)
    for _ in range(edges):
        i, j = rng.choice(nodes, 2, replace=False)
        m = rng.integers(0, 20, (CHOICES, CHOICES)) * 1e-6
        m[rng.random(m.shape) < forbidden] = FORBIDDEN
        network.connect(int(i), int(j), m)
    groups = [np.unique(rng.integers(0, 3, CHOICES), return_inverse=True)[1] for _ in range(nodes)]
    return network, groups


def grouped_of(network: Network, groups: list[np.ndarray]) -> Grouped:
    """With the choices that are alone in their group as uniform ones."""
    return Grouped(network, groups, [np.bincount(g)[g] == 1 for g in groups])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), edges=st.integers(0, 9), forbidden=st.sampled_from([0.0, 0.1, 0.4]))
@example(seed=1, edges=9, forbidden=0.4)  # few solutions are not forbidden, and a quick search finds none of them
def test_against_all_solutions(seed: int, edges: int, forbidden: float) -> None:
    network, groups = network_of(seed, 4, edges, forbidden)
    grouped = grouped_of(network, groups)
    least = np.inf
    for x in itertools.product(range(CHOICES), repeat=4):
        cost = network.cost(x)
        least = min(least, cost)
        assert grouped.coarse.cost(grouped.of(x)) <= cost + 1e-12 or cost >= network.limit
    start = [0, 1, 2, 3]
    for name, effort in EFFORTS.items():
        found = grouped.solve(lambda: [start], effort=effort)
        assert found.cost == pytest.approx(network.cost(found.x))
        assert found.cost <= network.cost(start)
        assert found.bound <= least + 1e-12 <= found.cost + 2e-12
        assert np.isfinite(network.seconds(found.x)) == (least < network.limit)
        if name == "proof":
            assert found.cost == pytest.approx(least, rel=effort.gap)


def test_groups_that_nothing_tells_apart_cost_what_their_members_do() -> None:
    """A ring in which all members of a group cost the same: the bound is met."""
    rng = np.random.default_rng(0)
    group = np.array([0, 0, 1, 1, 1, 2])
    network = Network()
    for _ in range(6):
        network.add(rng.integers(1, 9, 3)[group].astype(float))
    for i in range(6):
        network.connect(i, (i + 1) % 6, rng.integers(0, 9, (3, 3))[group][:, group].astype(float))
    found = grouped_of(network, [group] * 6).solve()
    assert found.cost == found.bound == network.cost(found.x)


@pytest.mark.parametrize("seed", range(6))
def test_a_rough_gap_is_enough_only_where_the_ascent_takes_long(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network, _ = network_of(seed, 30, 90)
    quick = EFFORTS["quick"]  # no ILP
    exact = searched(network, effort=quick).solution
    cheap = searched(network, effort=quick, rough=0.5).solution
    assert (cheap.x, cheap.bound) == (exact.x, exact.bound)
    monkeypatch.setattr(ilp, "_CHEAP", 0.0)
    counted = []
    monkeypatch.setattr(ilp, "ascend", lambda *args, **kwargs: counted.append(kwargs["gap"]) or ascend(*args, **kwargs))
    rough = searched(network, effort=quick, rough=0.5).solution
    assert max(counted) >= 0.5
    assert rough.bound <= exact.cost + 1e-12 and exact.bound <= rough.cost + 1e-12
    assert rough.cost - rough.bound <= 0.5 * rough.cost


def test_a_bound_beyond_the_cutoff_ends_it() -> None:
    network, groups = network_of(1, 6, 8)
    found = grouped_of(network, groups).solve(cutoff=1e-9)
    assert found.bound > 1e-9 and found.cost == pytest.approx(network.cost(found.x))


@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_fixed_choices_stay(forbidden: float) -> None:
    """Also where nothing uniform goes with them, or they are not uniform."""
    for seed in range(8):
        network, groups = network_of(seed, 6, 8, forbidden)
        grouped = grouped_of(network, groups)
        for k in range(CHOICES):
            x = grouped.member([int(groups[0][k]), *(0 for _ in groups[1:])], {0: k})
            assert x[0] == k
            x = grouped.complete({0: k})
            assert x[0] == k
            # No change of another choice alone makes it cheaper, within what is uniform at least.
            uniform = [m if m.any() else np.ones(CHOICES, dtype=bool) for m in grouped.uniform]
            if uniform[0][k] and network.cost(x) < network.limit:
                for i, own in enumerate(uniform[1:], 1):
                    for other in np.flatnonzero(own).tolist():
                        changed = [*x[:i], other, *x[i + 1 :]]
                        assert network.cost(changed) >= network.cost(x) - 1e-12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("edges", [10, 30])
def test_what_is_near_has_the_solution_and_an_optimum_is_in_all(seed: int, edges: int) -> None:
    network, _ = network_of(seed, 12, edges)
    found = searched(network, effort=EFFORTS["quick"])
    x = found.layers.lift(found.found.x if found.found is not None else [])
    counts = []
    for per_node in (1.0, 2.0, float(CHOICES)):
        near = found.near(per_node)
        assert [len(m) for m in near] == [CHOICES] * 12
        assert all(m[k] for m, k in zip(near, x, strict=True))
        assert searched(network.restrict(near)).solution.cost <= network.cost(x) + 1e-12
        counts.append(sum(map(np.count_nonzero, near)))
    assert counts == sorted(counts)
    everything = searched(network.restrict(near)).solution
    assert everything.cost == pytest.approx(searched(network).solution.cost)
