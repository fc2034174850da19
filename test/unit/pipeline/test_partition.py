"""Chains in stages: as short as the best of all partitions, and of those with the fewest bytes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import named
from pcg.pipeline.partition import partition
from pcg.pipeline.problem import Pipeline

TIMES = st.lists(st.integers(0, 9), min_size=1, max_size=9)


def stages_of(seconds, boundaries):
    ends = (0, *boundaries, len(seconds))
    return [sum(seconds[a:b]) for a, b in zip(ends, ends[1:], strict=False)]


@given(TIMES, st.data())
def test_no_partition_is_better(seconds, data):
    stages = data.draw(st.integers(1, len(seconds)))
    crossing = data.draw(st.lists(st.integers(0, 9), min_size=len(seconds), max_size=len(seconds)))
    slack = data.draw(st.sampled_from([0.0, 0.25]))
    found = partition(seconds, crossing, stages, slack)
    every = list(combinations(range(1, len(seconds)), stages - 1))
    longest = {b: max(stages_of(seconds, b)) for b in every}
    allowed = [b for b in every if longest[b] <= min(longest.values()) * (1 + slack) + 1e-9]
    assert found in allowed
    assert sum(crossing[b] for b in found) == min(sum(crossing[b] for b in boundaries) for boundaries in allowed)


def test_the_head_of_a_language_model_gets_fewer_layers():
    """The profile of the notes: eight layers of 3 and a head of 6 on three stages."""
    assert partition([3.0] * 8 + [6.0], [1.0] * 9, 3) == (3, 6)
    assert stages_of([3.0] * 8 + [6.0], (3, 6)) == [9, 9, 12]


#: F, B and W of the eight stages of a language model as the authors of the zero-bubble paper measured them (us): the
#: last one has the head.
MEASURED = (
    (30715, 31308, 18746), (29233, 29344, 18789), (29106, 29357, 19062), (29078, 29455, 19367), (28850, 29217, 19455),
    (28919, 29384, 19967), (28924, 29354, 20096), (41678, 38731, 32833),
)  # fmt: skip


def test_a_measured_imbalance_is_removed():
    """Stages of four layers, each of four equal parts, and a head: divided again, and scheduled before and after."""
    layer = [t / 16 for t in MEASURED[3]]
    parts = [layer] * (16 * 8)
    parts[0] = [a + b - c for a, b, c in zip(layer, MEASURED[0], MEASURED[3], strict=True)]
    parts.append([b - c for b, c in zip(MEASURED[7], MEASURED[3], strict=True)])
    seconds = [sum(p) for p in parts]
    mean = sum(seconds) / 8
    as_measured = max(sum(t) for t in MEASURED)
    ends = (0, *partition(seconds, [1.0] * len(parts), 8), len(parts))
    stages = [[sum(p[k] for p in parts[a:b]) for k in range(3)] for a, b in zip(ends, ends[1:], strict=False)]
    assert as_measured > 1.3 * mean
    assert max(map(sum, stages)) < 1.1 * mean

    def span(costs):
        columns = [tuple(t[k] for t in costs) for k in range(3)]
        return named(Pipeline(tuple(range(8)), 32, *columns, 473.0), "auto", "span").span

    before, after = span(MEASURED), span(stages)
    assert before == pytest.approx(32 * as_measured)  # nothing but the longest stage counts
    assert after < 0.85 * before


@pytest.mark.parametrize("stages", [0, 4])
def test_stages_have_ops(stages):
    with pytest.raises(PipelineError, match=f"{stages} stages for 3 ops; allowed: 1 to 3"):
        partition([1.0] * 3, [1.0] * 3, stages)


@given(st.data())
def test_stages_on_several_kinds_of_devices(data):
    """A row of times for each stage: as short as the best of all partitions."""
    count = data.draw(st.integers(1, 8))
    stages = data.draw(st.integers(1, count))
    row = st.lists(st.integers(0, 9), min_size=count, max_size=count)
    rows = data.draw(st.lists(row, min_size=stages, max_size=stages))

    def longest(boundaries):
        ends = (0, *boundaries, count)
        return max(sum(r[a:b]) for r, a, b in zip(rows, ends, ends[1:], strict=False))

    least = min(map(longest, combinations(range(1, count), stages - 1)))
    assert longest(partition(rows, [0.0] * count, stages, slack=0.0)) == least


def test_with_one_op_more_the_longest_stage_may_be_shorter():
    """The first three ops take 6 in two stages, the first four 4, as the second stage may begin behind the slow ones."""
    rows = [[0, 0, 4, 0, 0], [0, 5, 6, 3, 0], [0, 0, 0, 0, 0]]
    assert partition(rows, [0.0] * 5, 3, slack=0.0) == (3, 4)


def test_rows_for_other_stages():
    with pytest.raises(PipelineError, match="times of 2 stages for 3; allowed: one row per stage"):
        partition([[1.0] * 4] * 2, [0.0] * 4, 3)
