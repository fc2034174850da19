"""Sharing a number of like things among unlike workers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.machine import ClusterError
from pcg.machine.apportion import apportion


@given(st.integers(3, 30), st.lists(st.floats(0.1, 10), min_size=2, max_size=3))
def test_the_longest_is_least(total, speeds):
    names = "abc"[: len(speeds)]
    by_name = dict(zip(names, speeds, strict=True))
    shares = apportion(total, by_name)
    assert sum(shares.values()) == total and min(shares.values()) >= 1
    every = (s for s in itertools.product(range(1, total + 1), repeat=len(speeds)) if sum(s) == total)
    best = min(max(n / v for n, v in zip(s, speeds, strict=True)) for s in every)
    assert max(shares[n] / by_name[n] for n in names) == pytest.approx(best)


@given(st.integers(8, 200), st.floats(0.1, 10), st.integers(1, 4), st.integers(1, 4))
def test_whole_units_are_distributed_first(total, speed, a, b):
    shares = apportion(total, {"a": 1.0, "b": speed}, {"a": a, "b": b})
    assert sum(shares.values()) == total and min(shares.values()) >= 1
    # At most what is less than a unit of either is distributed singly.
    assert min(shares["a"] % a + shares["b"] % b, total) < a + b


def test_shares_are_proportional():
    assert apportion(16, {"a": 5.0, "b": 3.0}) == {"a": 10, "b": 6}
    assert apportion(96, {"a": 2.0, "b": 1.0}, {"a": 8, "b": 8}) == {"a": 64, "b": 32}


def test_errors():
    with pytest.raises(ClusterError, match="1 to share among 2; allowed: one each at least"):
        apportion(1, {"a": 1.0, "b": 1.0})
    with pytest.raises(ClusterError, match="the speed of 'b' is 0; allowed: a number above 0"):
        apportion(4, {"a": 1.0, "b": 0.0})
