"""Unity's dynamic program against enumeration, on random series-parallel graphs."""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.search.unity import DecisionGraph, Dynamic, OutOfTime, Rules
from pcg.search.unity.shape import backbone
from pcg.solve.network import Network


def grow(
    source: int, sink: int, depth: int, rng: np.random.Generator, edges: list[tuple[int, int]], count: list[int]
) -> None:
    """A random series-parallel graph between two nodes, which `edges` is given."""
    kind = rng.integers(3) if depth else 0
    if kind == 0:
        edges.append((source, sink))
    elif kind == 1:
        count[0] += 1
        middle = count[0] - 1
        grow(source, middle, depth - 1, rng, edges, count)
        grow(middle, sink, depth - 1, rng, edges, count)
    else:
        grow(source, sink, depth - 1, rng, edges, count)
        grow(source, sink, depth - 1, rng, edges, count)


def random_pcg(seed: int, *, most: int = 7, whole: bool = True) -> DecisionGraph:
    """A series-parallel graph of at most `most` nodes, with random costs."""
    rng = np.random.default_rng(seed)
    while True:
        edges: list[tuple[int, int]] = []
        count = [2]
        grow(0, 1, 4, rng, edges, count)
        if count[0] <= most:
            break
    # Number the nodes in topological order.
    order = topological(count[0], edges)
    number = {n: k for k, n in enumerate(order)}
    network = Network()
    for _ in range(count[0]):
        network.add(rng.random(int(rng.integers(1, 4))))
    pairs = {(number[i], number[j]) for i, j in edges}
    for i, j in sorted(pairs):
        network.connect(i, j, rng.random((len(network.unary[i]), len(network.unary[j]))))
    succ, left = backbone(count[0], dict.fromkeys(pairs, 1.0), [])
    assert not left
    masks = [np.ones(len(u), bool) if whole else np.arange(len(u)) % 2 == 0 for u in network.unary]
    return DecisionGraph(network, succ, reduced=masks)


def topological(count: int, edges: list[tuple[int, int]]) -> list[int]:
    left = set(range(count))
    order = []
    while left:
        n = min(n for n in left if not any(j == n and i in left for i, j in edges))
        left.discard(n)
        order.append(n)
    return order


def best(pcg: DecisionGraph) -> float:
    return min(pcg.network.cost(x) for x in itertools.product(*(range(len(u)) for u in pcg.network.unary)))


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_it_finds_the_least_cost(seed: int) -> None:
    pcg = random_pcg(seed)
    expected = best(pcg)
    for parts in ((), ("split",), ("cache",), ("dp",), ("split", "cache", "dp")):
        for threshold in (1, 3):
            rules = Rules(**{p: p not in parts for p in ("split", "cache", "dp")}, threshold=threshold)
            seconds, x = Dynamic(pcg, rules).run()
            assert seconds == pytest.approx(expected)
            assert pcg.network.cost(x) == pytest.approx(expected)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_values_are_whole_where_the_graph_is_split(seed: int) -> None:
    pcg = random_pcg(seed, whole=False)
    free, x = Dynamic(pcg, Rules(split=False)).run()
    assert free == pytest.approx(best(pcg))
    seconds, x = Dynamic(pcg, Rules(threshold=1)).run()
    assert seconds == pytest.approx(pcg.network.cost(x))
    assert seconds >= free - 1e-12
    assert seconds == pytest.approx(Dynamic(pcg, Rules(threshold=1, cache=False)).run()[0])


def chain(length: int, choices: int = 3, seed: int = 0) -> DecisionGraph:
    """Equal layers, one after the other."""
    rng = np.random.default_rng(seed)
    unary, pair = rng.random(choices), rng.random((choices, choices))
    network = Network()
    for i in range(length):
        network.add(unary)
        if i:
            network.connect(i - 1, i, pair)
    succ, _ = backbone(length, {(i, i + 1): 1.0 for i in range(length - 1)}, [])
    return DecisionGraph(network, succ, reduced=[np.ones(choices, bool)] * length)


def test_what_is_left_out_costs_effort_but_not_the_optimum() -> None:
    found = {}
    for parts in ((), ("split",), ("cache",), ("split", "cache")):
        dynamic = Dynamic(chain(60), Rules.without(parts))
        found[parts] = (dynamic.run()[0], dynamic.work)
    assert len({round(seconds, 9) for seconds, _ in found.values()}) == 1
    full, unsplit, uncached, neither = (effort for _, effort in found.values())
    assert full.tables < unsplit.tables < uncached.tables < neither.tables
    assert full.hits and not uncached.hits
    assert full.splits and not unsplit.splits


def test_without_dynamic_programming_the_effort_is_exponential() -> None:
    work = {}
    for parts in ((), ("dp",), ("dp", "split")):
        for length in (6, 9):
            pcg = chain(length)
            flat = DecisionGraph(Network([np.ones(3)] * length, [{} for _ in range(length)]), pcg.succ, reduced=pcg.reduced)
            dynamic = Dynamic(flat, Rules(**{p: p not in parts for p in ("split", "cache", "dp")}, threshold=3))
            assert dynamic.run()[0] == pytest.approx(length)
            work[parts, length] = dynamic.work.solved
    assert work[(), 9] <= 2 * work[(), 6]
    assert work[("dp", "split"), 9] >= 20 * work[("dp", "split"), 6]
    assert work[(), 9] < work[("dp",), 9] < work[("dp", "split"), 9]


def test_equal_layers_are_solved_once() -> None:
    short, long = Dynamic(chain(24)), Dynamic(chain(48))
    short.run(), long.run()
    # Each further piece is known but for what is left to its right.
    assert long.work.tables - short.work.tables <= 4
    assert long.work.hits > short.work.hits


def test_a_sequence_longer_than_the_stack() -> None:
    pcg = chain(300, choices=2)
    with_split, _ = Dynamic(pcg).run()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(220)
    try:
        without, x = Dynamic(pcg, Rules(split=False)).run()
    finally:
        sys.setrecursionlimit(limit)
    assert with_split == pytest.approx(without)
    assert pcg.network.cost(x) == pytest.approx(without)


def test_time_is_kept() -> None:
    with pytest.raises(OutOfTime):
        Dynamic(chain(30, choices=8), Rules(dp=False, split=False), until=time.perf_counter() + 0.05).run()


def test_there_is_no_other_part() -> None:
    with pytest.raises(ValueError, match="cannot leave out 'memo'; allowed: split, cache, dp"):
        Rules.without(["memo"])


def towers(send: float) -> DecisionGraph:
    """Two equal towers that meet. Choice 0 uses no axis and takes 4, choice 1 the only axis and takes 3."""
    network = Network()
    for _ in range(3):
        network.add(np.array([4.0, 3.0]))
    network.connect(0, 2, np.zeros((2, 2)))
    network.connect(1, 2, np.zeros((2, 2)))
    succ, _ = backbone(3, {(0, 2): 1.0, (1, 2): 1.0}, [])
    uses = [np.array([0, 1])] * 3
    return DecisionGraph(
        network, succ, 1, uses, [np.ones(2, bool)] * 3, lambda i, bit: np.full(2, send), lambda axes: network
    )


def test_branches_run_on_disjoint_devices_where_that_is_faster() -> None:
    # One after the other 3 + 3; at the same time on a half each max(4, 4), and each sends its result.
    assert Dynamic(towers(0.5)).run()[0] == pytest.approx(9.0)
    seconds, x = Dynamic(towers(0.5), Rules(disjoint=True)).run()
    assert seconds == pytest.approx(4.5 + 3.0)
    assert x == [0, 0, 1]
    seconds, x = Dynamic(towers(2.5), Rules(disjoint=True)).run()
    assert seconds == pytest.approx(9.0)
    assert x == [1, 1, 1]
