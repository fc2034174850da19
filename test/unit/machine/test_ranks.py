"""Rank mapping: greedy, local search and branch and bound, against each other and against all placements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.machine import Cluster, ClusterError, DeviceKind, Group, Level
from pcg.machine.ranks import map_ranks
from pcg.machine.traffic import GroupExchange, Messages, Need, Traffic, TrafficCost

KIND = DeviceKind("k", {}, 1e12, 1e12, 16e9)
BIG = DeviceKind("big", {}, 2e12, 1e12, 64e9)


def two_level(inner: int = 4, outer: int = 2, topology: str = "switch", gateway: bool = False) -> Cluster:
    levels = (
        Level("link", "gpus", (inner,), topology, 100e9, 1e-6, gateway=gateway and topology in ("switch", "bus")),
        Level("net", "nodes", (outer,), "switch", 10e9, 5e-6),
    )
    return Cluster("two-level", (KIND,), (Group("g", "k", levels),))


def mixed() -> Cluster:
    small = Group("small", "k", (Level("link", "gpus", (3,), "switch", 100e9, 1e-6),))
    large = Group("large", "big", (Level("link", "gpus", (3,), "full", 50e9, 1e-6),))
    return Cluster("mixed", (KIND, BIG), (small, large), Level("net", "groups", (2,), "switch", 5e9, 1e-5))


CLUSTERS = [
    two_level(3, 2), two_level(2, 3, gateway=True), two_level(4, 2, "ring"), two_level(3, 2, "bus", True), mixed(),
    two_level(4, 2).with_failed([1]),
    Cluster("ring", (KIND,), (Group("g", "k", (Level("link", "chips", (6,), "ring", 10e9, 1e-6),)),)),
    Cluster("torus", (KIND,), (Group("g", "k", (Level("link", "chips", (2, 3), "torus", 10e9, 1e-6),)),)),
]  # fmt: skip


def brute_force(cluster: Cluster, traffic: Traffic) -> float:
    pricer = TrafficCost(cluster, traffic)

    def fits(p: int, d: int) -> bool:
        need = traffic.need(p)
        kind = cluster.kind_of(d)
        return need.kind in (None, kind.name) and kind.memory >= need.memory

    return min(
        (
            pricer.seconds(devices)
            for devices in itertools.permutations(cluster.devices, traffic.processes)
            if all(fits(p, d) for p, d in enumerate(devices))
        ),
        default=float("inf"),
    )


@st.composite
def traffics(draw, most: int = 5) -> Traffic:
    n = draw(st.integers(2, most))
    matrix = draw(st.lists(st.lists(st.sampled_from([0, 0, 1e5, 3e6, 2e7]), min_size=n, max_size=n), min_size=n, max_size=n))
    exchanges = list(Traffic.of_matrix(np.array(matrix)).exchanges)
    if n >= 4 and draw(st.booleans()):
        order = draw(st.permutations(range(n)))
        exchanges.append(GroupExchange("all_reduce", (tuple(order[:2]), tuple(order[2:4])), 5e6, 3))
    if draw(st.booleans()):
        exchanges.append(Messages(((0, n - 1, 1e7),), 2))
    return Traffic(n, tuple(exchanges))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CLUSTERS), traffics())
def test_each_way_is_as_good_as_the_one_before_and_the_optimum_is_one(cluster, traffic):
    seconds = {m: map_ranks(cluster, traffic, m).seconds for m in ("naive", "greedy", "local")}
    best = map_ranks(cluster, traffic, "optimal")
    assert best.proved and best.naive == seconds["naive"]
    tolerance = 1 + 1e-9
    assert best.seconds <= seconds["local"] * tolerance
    assert seconds["local"] <= seconds["greedy"] * tolerance
    assert seconds["greedy"] <= seconds["naive"] * tolerance
    assert best.seconds == pytest.approx(brute_force(cluster, traffic), rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(traffics(6), st.data())
def test_kinds_and_memory_are_kept(traffic, data):
    needs = [data.draw(st.sampled_from([Need(), Need("k"), Need("big"), Need(None, 32e9)])) for _ in range(traffic.processes)]
    traffic = Traffic(traffic.processes, traffic.exchanges, tuple(needs))
    want = brute_force(mixed(), traffic)
    if want == float("inf"):
        with pytest.raises(ClusterError, match="cannot all be met"):
            map_ranks(mixed(), traffic)
        return
    for method in ("naive", "greedy", "local", "optimal"):
        found = map_ranks(mixed(), traffic, method)
        assert len(set(found.devices)) == traffic.processes
        for p, d in enumerate(found.devices):
            need, kind = traffic.need(p), mixed().kind_of(d)
            assert need.kind in (None, kind.name) and kind.memory >= need.memory
    assert found.seconds == pytest.approx(want, rel=1e-6)


def test_pairs_that_talk_are_put_in_one_node():
    n = 8
    matrix = np.zeros((n, n))
    for i in range(4):
        matrix[i, i + 4] = matrix[i + 4, i] = 1e8  # in order of numbers every pair is on two nodes
    cluster = two_level(4, 2)
    greedy = map_ranks(cluster, Traffic.of_matrix(matrix), "greedy")
    assert all(greedy.devices[i] // 4 == greedy.devices[i + 4] // 4 for i in range(4))
    assert greedy.naive > 9 * greedy.seconds
    assert map_ranks(cluster, Traffic.of_matrix(matrix)).proved


def test_groups_of_collectives_are_put_in_one_node():
    # Groups of stride 4, as a mesh whose first axis is the talkative one has them.
    groups = tuple((i, i + 4, i + 8, i + 12) for i in range(4))
    traffic = Traffic(16, (GroupExchange("all_reduce", groups, 1e8),))
    found = map_ranks(two_level(4, 4), traffic)
    assert all(len({found.devices[p] // 4 for p in g}) == 1 for g in groups)
    assert found.seconds < found.naive / 4


def test_local_search_mends_what_greed_spoils():
    """0 and 1 talk most and go together; but then the four that want to be one block cannot be."""
    matrix = np.zeros((6, 6))
    for i, j, n in [(0, 1, 10e6), (0, 2, 9e6), (0, 3, 9e6), (1, 4, 9e6), (1, 5, 9e6), (4, 5, 9e6), (2, 3, 9e6)]:
        matrix[i, j] = n
    cluster = two_level(3, 2)
    order = {m: map_ranks(cluster, Traffic.of_matrix(matrix), m, start=[0, 3, 1, 4, 2, 5]).seconds for m in ("naive", "greedy", "local", "optimal")}
    assert order["optimal"] <= order["local"] < order["greedy"] <= order["naive"]


def test_same_input_same_placement():
    matrix = np.random.default_rng(0).integers(0, 9, (12, 12)) * 1e6
    runs = {map_ranks(two_level(4, 4), Traffic.of_matrix(matrix)).devices for _ in range(2)}
    assert len(runs) == 1


def test_failed_devices_get_nothing():
    cluster = two_level(4, 2).with_failed([0, 5])
    found = map_ranks(cluster, Traffic.of_matrix(np.ones((6, 6)) * 1e6))
    assert sorted(found.devices) == [1, 2, 3, 4, 6, 7]


def test_errors():
    cluster = two_level(2, 2)
    four = Traffic.of_matrix(np.ones((4, 4)))
    with pytest.raises(ClusterError, match="5 processes; cluster 'two-level' has 4 usable devices"):
        map_ranks(cluster, Traffic(5, ()))
    with pytest.raises(ClusterError, match="unknown method 'best' of rank mapping; allowed: naive, greedy"):
        map_ranks(cluster, four, "best")
    with pytest.raises(ClusterError, match="process 1 needs kind 'gpu'; there are 'k'"):
        map_ranks(cluster, Traffic(2, (), (Need(), Need("gpu"))))
    with pytest.raises(ClusterError, match="process 0 needs 93.1 GiB of memory; no usable device of 'two-level' has that"):
        map_ranks(cluster, Traffic(1, (), (Need(None, 100e9),)))
    with pytest.raises(ClusterError, match="4 of nothing on kind 'big'.*there are 3 k, 3 big"):
        map_ranks(mixed(), Traffic(4, (), (Need("big"),) * 4))
    with pytest.raises(ClusterError, match="allowed: 4 different devices"):
        map_ranks(cluster, four, start=[0, 0, 1, 2])
    with pytest.raises(ClusterError, match="names process 7; processes are 0 to 1"):
        Traffic(2, (Messages(((0, 7, 1.0),)),))
    with pytest.raises(ClusterError, match="a square matrix of bytes, none negative"):
        Traffic.of_matrix([[0, -1], [0, 0]])
    with pytest.raises(ClusterError, match="1 needs for 2 processes"):
        Traffic(2, (), (Need(),))
