"""Bottlenecks, branches and the series-parallel part of a graph."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.search.unity.shape import backbone, bottlenecks, branches, nearest

#: A residual block: 0 splits, 1-2 is the branch, 3 joins, 4 follows.
BLOCK = {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 1.0, (3, 4): 1.0}


def test_bottlenecks_of_a_residual_block() -> None:
    succ, left = backbone(5, BLOCK, [])
    assert left == []
    assert bottlenecks(-1, 5, range(5), succ) == [0, 3, 4]
    assert bottlenecks(0, 3, (1, 2), succ) == [1, 2]


def test_branches_between_two_nodes() -> None:
    succ, _ = backbone(5, {(0, 1): 1.0, (0, 2): 1.0, (1, 3): 1.0, (2, 4): 1.0, (3, 4): 1.0}, [])
    assert bottlenecks(0, 4, (1, 2, 3), succ) == []
    assert branches((1, 2, 3), succ) == [(1, 3), (2,)]


def test_several_sources_meet() -> None:
    succ, left = backbone(3, {(0, 2): 1.0, (1, 2): 1.0}, [])
    assert succ[-1] == [0, 1] and succ[2] == [3] and left == []


def test_the_least_edge_goes_where_the_graph_is_not_series_parallel() -> None:
    edges = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 0.1, (1, 3): 1.0, (2, 3): 1.0}
    succ, left = backbone(4, edges, [])
    assert left == [(1, 2)]
    assert branches((1, 2), succ) == [(1,), (2,)]


@given(st.integers(0, 10**6), st.integers(2, 9))
@settings(max_examples=150, deadline=None)
def test_any_graph_has_a_series_parallel_part(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    edges = {}
    for _ in range(2 * count):
        i, j = sorted(int(n) for n in rng.choice(count, 2, replace=False))
        edges[i, j] = float(rng.integers(3))
    succ, left = backbone(count, edges, [])
    kept = {(i, j) for i, js in succ.items() for j in js}
    assert all((e in kept) != (e in left) for e in edges)
    stack = [(-1, count, tuple(range(count)))]
    while stack:  # every segment has a bottleneck or branches
        source, sink, inner = stack.pop()
        if not inner:
            continue
        cuts = bottlenecks(source, sink, inner, succ)
        if cuts:
            before, after = (tuple(i for i in inner if (i < cuts[0]) == side and i != cuts[0]) for side in (True, False))
            stack += [(source, cuts[0], before), (cuts[0], sink, after)]
        else:
            parts = branches(inner, succ)
            assert len(parts) > 1
            stack += [(source, sink, part) for part in parts]


def test_further_edges_keep_the_structure() -> None:
    succ, left = backbone(5, BLOCK, [(0, 2), (1, 3), (2, 4)])
    # None of them joins the ends of a segment: each would pass over a bottleneck of one.
    assert left == [(0, 2), (1, 3), (2, 4)]
    # The ends of a branch that runs beside another may be joined.
    succ, left = backbone(4, {(0, 1): 1.0, (0, 2): 1.0, (1, 3): 1.0, (2, 3): 1.0}, [(0, 3)])
    assert left == [] and succ[0] == [1, 2, 3]


def test_a_cut_near_a_size() -> None:
    assert nearest([2, 5, 9], range(12), 6, lambda _: True) == 5
    assert nearest([2, 5, 9], range(12), 6, lambda n: n != 5) == 9
    assert nearest([2], range(12), 6, lambda _: False) is None
