"""Comparing times of candidates on a machine whose speed changes."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.timing import steady

_SECONDS = st.floats(1e-4, 1e2)


@given(st.lists(_SECONDS, min_size=1, max_size=5), st.lists(st.floats(0.1, 10.0), min_size=1, max_size=9))
def test_what_slows_all_candidates_alike_is_taken_out(seconds: list[float], slow: list[float]) -> None:
    found = steady([[s * factor for factor in slow] for s in seconds])
    typical = statistics.median(slow)
    for s, own in zip(seconds, found, strict=True):
        assert own == pytest.approx([s * typical] * len(slow))


@given(st.lists(st.tuples(_SECONDS, _SECONDS, _SECONDS), min_size=1, max_size=9))
def test_ratios_of_one_round_stay(rounds: list[tuple[float, ...]]) -> None:
    series = list(map(list, zip(*rounds, strict=True)))
    found = steady(series)
    for i, before in enumerate(rounds):
        after = [own[i] for own in found]
        assert [x / after[0] for x in after] == pytest.approx([x / before[0] for x in before])


def test_a_candidate_that_is_slow_once_is_not_slow() -> None:
    quick, slow = steady([[1.0, 9.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
    assert statistics.median(quick) == pytest.approx(1.0) and statistics.median(slow) == pytest.approx(2.0)
