"""Chains in stages: as short as the best of all partitions, and of those with the fewest bytes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.partition import partition

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


@pytest.mark.parametrize("stages", [0, 4])
def test_stages_have_ops(stages):
    with pytest.raises(PipelineError, match=f"{stages} stages for 3 ops; allowed: 1 to 3"):
        partition([1.0] * 3, [1.0] * 3, stages)
