"""Edges of networks as flat arrays, against the rows that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve.edge_list import EdgeList
from pcg.solve.edges import Edges
from pcg.solve.network import Network
from pcg.solve.reduce import reduce

SEEDS = st.integers(0, 2**32 - 1)


def random_network(seed: int) -> Network:
    """Edges in no order, some of which share a matrix, contiguous or not; some nodes have one choice."""
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(rng.integers(1, 9)):
        network.add(rng.random(rng.integers(1, 6)))
    n = len(network.unary)
    ends = [(i, j) for i in range(n) for j in range(n) if i < j and rng.random() < 0.5]
    known: dict[tuple[int, ...], np.ndarray] = {}
    for i, j in rng.permutation(np.array(ends, dtype=int).reshape(-1, 2)).tolist():
        shape = len(network.unary[i]), len(network.unary[j])
        m = np.asfortranarray(rng.random(shape)) if rng.random() < 0.5 else rng.random(shape)
        m = known.setdefault(shape, m) if rng.random() < 0.5 else m
        network.connect(*((i, j, m) if rng.random() < 0.5 else (j, i, m.T)))
    return network


def random_edge_list(seed: int) -> tuple[list[np.ndarray], EdgeList, Network]:
    """Edges, some of which share tables or what choices have in common, some infinite; the same as a network."""
    rng = np.random.default_rng(seed)
    unary = [rng.random(rng.integers(1, 8)) for _ in range(rng.integers(1, 7))]
    n = len(unary)
    found, network = EdgeList([len(u) for u in unary]), Network()
    for u in unary:
        network.add(u)
    tables: dict[tuple[int, ...], np.ndarray] = {}
    known: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(int(rng.integers(3 * n)) if n > 1 else 0):
        i, j = rng.choice(n, 2, replace=False).tolist()
        ids = []
        for node in (i, j):
            _, own = np.unique(rng.integers(0, 4, len(unary[node])), return_inverse=True)
            ids.append(known.setdefault((len(unary[node]), int(rng.integers(3))), own.reshape(-1)))
        shape = tuple(int(own.max()) + 1 for own in ids)
        table = np.where(rng.random(shape) < 0.1, np.inf, rng.random(shape))
        table = tables.setdefault(shape, table) if rng.random() < 0.5 else table
        found.connect(i, j, table, *ids)
        network.connect(i, j, table[np.ix_(*ids)])
    return unary, found, network


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_edges_by_what_choices_have_in_common(seed: int) -> None:
    """They are those of the network with a matrix by choice per edge, in all that is done with them."""
    unary, found, network = random_edge_list(seed)
    rng = np.random.default_rng(seed)
    other = Network.joined(unary, found)
    assert (other.noise, other.limit) == (network.noise, network.limit)
    assert [list(row) for row in other.pair] == [list(row) for row in network.pair]
    assert other.edges.neighbours == [list(row) for row in network.pair]
    for row, want in zip(other.pair, network.pair, strict=True):
        assert all(np.array_equal(row[j], want[j]) for j in row)
    x = random_choices(network, rng)
    assert other.cost(x) == network.cost(x)
    fixed = [i for i in range(len(x)) if rng.random() < 0.3]
    assert other.icm(x, fixed) == network.icm(x, fixed)
    free = [i for i in range(len(x)) if i not in fixed]
    for i, costs in zip(free, other.conditioned(x, free).unary, strict=True):
        want = network.unary[i]
        for j, m in network.pair[i].items():
            want = want if j in free else want + m[:, x[j]]
        assert np.array_equal(costs, want)  # also in the order of rows
    assert np.isclose(other.flat.energy(np.array(x)), network.cost(x))
    masks = [rng.random(len(u)) < 0.6 for u in unary]
    for mask in masks:
        mask[rng.integers(len(mask))] = True
    few, want_few = other.restrict(masks), network.restrict(masks)
    for row, want in zip(few.pair, want_few.pair, strict=True):
        assert all(np.array_equal(row[j], want[j]) for j in want)
    groups = [np.unique(rng.integers(0, 3, len(u)), return_inverse=True)[1].reshape(-1) for u in unary]
    least, want_least = other.edges.least_of_groups(groups).rows(), network.edges.least_of_groups(groups).rows()
    for row, want in zip(least, want_least, strict=True):
        assert all(np.array_equal(row[j], want[j]) for j in want)
    assert reduce(other).constant == reduce(network).constant
    one, two = reduce(other), reduce(network)
    inside = random_choices(one.core, rng)
    assert one.kept == two.kept and one.expand(inside) == two.expand(inside)
    more = {i: np.where(rng.random(len(u)) < 0.2, np.inf, 100.0 * rng.random(len(u))) for i, u in enumerate(unary)}
    assert other.penalised(more).cost(x) == network.penalised(more).cost(x)


def random_choices(network: Network, rng: np.random.Generator) -> list[int]:
    return [int(rng.integers(len(u))) for u in network.unary]


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_rows_there_and_back(seed: int) -> None:
    network = random_network(seed)
    edges = network.edges
    rows = edges.rows()
    assert [list(row) for row in rows] == [list(row) for row in network.pair]
    for row, want in zip(rows, network.pair, strict=True):
        assert all(np.array_equal(row[j], want[j]) for j in row)
    again = Edges.of(network.unary, rows)
    for name in ("size", "ei", "ej", "near_offset", "near", "near_node"):
        assert np.array_equal(getattr(again, name), getattr(edges, name))
    assert len(again.tables) == len(edges.tables)  # what shared a table shares one


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_the_cost_is_the_sum_of_its_parts(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    x = random_choices(network, rng)
    total = sum(u.item(k) for u, k in zip(network.unary, x, strict=True))
    for i, row in enumerate(network.pair):
        total += sum((m.item(x[i], x[j]) for j, m in row.items() if i < j), 0.0)
    assert network.cost(x) == pytest.approx(total, rel=1e-12)  # `sum` rounds in another way since Python 3.12


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_restricted_tables_are_parts_of_those_before(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    masks = [rng.random(len(u)) < 0.6 for u in network.unary]
    for mask in masks:
        mask[rng.integers(len(mask))] = True
    few = network.restrict(masks)
    at = [np.flatnonzero(mask) for mask in masks]
    assert few.unit == network.unit
    for i, row in enumerate(network.pair):
        assert np.array_equal(few.unary[i], network.unary[i][at[i]])
        assert list(few.pair[i]) == list(row)
        for j, m in row.items():
            assert np.array_equal(few.pair[i][j], m[np.ix_(at[i], at[j])])
    x = random_choices(few, rng)
    assert few.cost(x) == network.cost([int(a[k]) for a, k in zip(at, x, strict=True)])


def test_a_restricted_network_may_be_added_to() -> None:
    network = random_network(3)
    same = network.restrict([np.ones(len(u), dtype=bool) for u in network.unary])
    n = same.add(np.array([1.0, 2.0]))
    same.connect(0, n, np.zeros((len(same.unary[0]), 2)) + 3.0)
    x = [0] * n
    assert np.isclose(same.cost([*x, 1]), network.cost(x) + 5.0)
    assert n in same.pair[0] and 0 in same.pair[n]


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_groups_cost_what_their_cheapest_members_do(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    groups = []
    for u in network.unary:
        _, group = np.unique(rng.integers(0, 3, len(u)), return_inverse=True)
        groups.append(group.reshape(-1).astype(np.int64))
    found = network.edges.least_of_groups(groups)
    for i, row in enumerate(found.rows()):
        for j, m in row.items():
            for g, h in np.ndindex(m.shape):
                assert m[g, h] == network.pair[i][j][np.ix_(groups[i] == g, groups[j] == h)].min()


def improved(network: Network, x: Sequence[int], fixed: Collection[int]) -> list[int]:
    """Iterated conditional modes as they are written down."""
    best, free = list(x), {i for i, u in enumerate(network.unary) if len(u) > 1}.difference(fixed)
    work = free
    while work:
        changed: set[int] = set()
        for i in sorted(work):
            cost = network.unary[i]
            for j, m in network.pair[i].items():
                cost = cost + m[:, best[j]]
            k = int(cost.argmin())
            if k != best[i] and cost[k] < cost[best[i]] - network.noise:
                best[i] = k
                changed |= network.pair[i].keys()
        work = changed & free
    return best


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_iterated_conditional_modes(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    x = random_choices(network, rng)
    fixed = [i for i in range(len(x)) if rng.random() < 0.3]
    assert network.icm(x, fixed) == improved(network, x, fixed)
    assert network.icm(x) == improved(network, x, ())
