"""Path relinking between plans."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh
from pcg.search.graph import Edge, Graph, Node
from pcg.search.relink import relink
from pcg.search.table import Tables

TABLE = Tables.on(Mesh.parse("x=2")).of_value((4, 4), None)


def graph(count: int, edges: list[tuple[int, int]]) -> Graph:
    out = Graph()
    for i in range(count):
        out.nodes.append(Node("op", str(i), TABLE, np.zeros(len(TABLE))))
    for a, b in edges:
        out.edges.append(Edge(a, 0, b, 0, (4, 4), 4, 1.0))
    return out


def more(_choice, change):
    return sum(k for _, k in change)


def test_parts_are_judged_one_by_one():
    """Of two parts that are apart in the graph one saves time and the other does not."""
    plans = []

    def simulate(found):
        plans.extend(found)
        return [10.0 - 2 * (plan[0] + plan[1]) + 3 * plan[3] for plan in found]

    chain = graph(4, [(0, 1), (1, 2), (2, 3)])
    found = relink(chain, [0, 0, 0, 0], [[1, 1, 0, 1]], 10.0, estimate=more, before=0, simulate=simulate, most=9)
    assert found == [([1, 1, 0, 0], 6.0)]
    assert plans == [[1, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 1]]


def test_a_part_may_save_time_only_with_another():
    """What does not pay alone is tried again from the plan that others have made."""

    def simulate(plans):
        return [10.0 - 2 * a - b * (3 * a - 1) for a, b in plans]

    found = relink(graph(2, []), [0, 0], [[1, 1]], 10.0, estimate=more, before=0, simulate=simulate, most=9)
    assert found == [([1, 0], 8.0), ([1, 1], 6.0)]
    found = relink(graph(2, []), [0, 0], [[1, 1]], 10.0, estimate=more, before=0, simulate=simulate, most=2)
    assert found == [([1, 0], 8.0)]


def test_parts_that_save_time_are_taken_together():
    """Of two plans with other choices for a node the one that saves more counts; all parts may be too many."""
    apart, others = graph(4, []), [[1, 1, 1, 0], [2, 0, 0, 0]]

    def found(limit):
        def simulate(plans):
            return [10.0 - [0, 1, 3][p[0]] - p[1] - 0.5 * p[2] + 5 * (sum(p) > limit) for p in plans]

        return relink(apart, [0] * 4, others, 10.0, estimate=more, before=0, simulate=simulate, most=16)

    assert found(9) == [([2, 1, 1, 0], 5.5)]
    assert found(3) == [([2, 1, 0, 0], 6.0)]


def test_what_changes_the_estimate_comes_first():
    plans = []

    def simulate(found):
        plans.extend(found)
        return [10.0] * len(found)

    apart = graph(3, [])
    weight = np.array([0.0, 5.0, 1e-9])
    estimate = lambda _, change: sum(weight[n] for n, _ in change)  # noqa: E731
    found = relink(apart, [0] * 3, [[1] * 3], 10.0, estimate=estimate, before=1.0, simulate=simulate, most=2)
    assert found == [([0] * 3, 10.0)]
    assert plans == [[0, 1, 0], [1, 0, 0]]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_it_is_never_worse_and_counts_its_simulations(data):
    n = data.draw(st.integers(1, 7))
    pairs = list(itertools.combinations(range(n), 2))
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    plan = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    choice, others = data.draw(plan), data.draw(st.lists(plan, max_size=3))
    costs = {}

    def simulate(plans):
        assert all(k in {choice[i], *(o[i] for o in others)} for plan in plans for i, k in enumerate(plan))
        return [costs.setdefault(tuple(plan), data.draw(st.floats(0, 10) | st.just(float("inf")))) for plan in plans]

    most = data.draw(st.integers(0, 5))
    rounds = relink(graph(n, edges), choice, others, 5.0, estimate=more, before=0, simulate=simulate, most=most)
    found, seconds = rounds[-1]
    assert [s for _, s in rounds] == sorted((s for _, s in rounds), reverse=True)
    assert len(costs) <= most
    assert seconds <= 5.0
    assert (found == choice and seconds == 5.0) or costs[tuple(found)] == pytest.approx(seconds)
