"""Bottlenecks, branches and the series-parallel part of a graph."""

from __future__ import annotations

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
