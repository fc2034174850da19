"""Contraction: the costs of the forward decisions are those of the plans they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.search.unity.contract import contract
from pcg.solve.network import Network


def random_network(seed: int, nodes: int, edges: int) -> Network:
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(nodes):
        network.add(rng.random(int(rng.integers(1, 4))))
    for _ in range(edges):
        i, j = rng.choice(nodes, 2, replace=False)
        network.connect(int(i), int(j), rng.random((len(network.unary[i]), len(network.unary[j]))))
    return network


def every(network: Network) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(len(u)) for u in network.unary)))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(5, 14))
@settings(max_examples=60, deadline=None)
def test_a_choice_costs_what_its_plan_costs(seed: int, keep: int, edges: int) -> None:
    network = random_network(seed, 7, edges)
    found = contract(network, range(keep), [(0, 1)])
    assert found.principals == list(range(keep))
    least = min(network.cost(x) for x in every(network))
    for x in every(found.network):
        plan = found.expand(x)
        assert plan[:keep] == list(x)
        assert network.cost(plan) == pytest.approx(found.constant + found.network.cost(x))
    assert min(found.network.cost(x) for x in every(found.network)) + found.constant >= least - 1e-12


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_known_plan_costs_no_more_than_it_does(seed: int, keep: int) -> None:
    network = random_network(seed, 7, 14)
    rng = np.random.default_rng(seed)
    known = [int(rng.integers(len(u))) for u in network.unary]
    found = contract(network, range(keep), plans=[known])
    assert found.constant + found.network.cost(known[:keep]) <= network.cost(known) + 1e-12
    assert network.cost(found.expand(known[:keep])) <= network.cost(known) + 1e-12


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_what_has_two_neighbours_is_removed_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(seed, 6, 0)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)):
        network.connect(i, j, rng.random((len(network.unary[i]), len(network.unary[j]))))
    found = contract(network, [0, 3])
    assert found.tied == 0
    least = min(network.cost(x) for x in every(network))
    assert min(found.network.cost(x) for x in every(found.network)) + found.constant == pytest.approx(least)


def test_a_gradient_follows_its_value() -> None:
    """Nodes 2 and 3 are gradients of the values 0 and 1: each follows its own."""
    same = 10 * (1 - np.eye(2))
    network = Network()
    for _ in range(4):
        network.add(np.array([1.0, 1.1]))
    network.add(np.array([0.5, 0.4]))  # a weight, read by the op of 1 and by its gradients
    for i, j in ((0, 1), (0, 2), (1, 3)):
        network.connect(i, j, same)
    network.connect(2, 3, same / 5)
    for i in (1, 2, 3):
        network.connect(i, 4, same / 50)
    found = contract(network, [0, 1], [(0, 1)])
    assert found.tied == 2
    assert found.expand([0, 0]) == [0, 0, 0, 0, 0]
    assert found.expand([1, 1]) == [1, 1, 1, 1, 1]
