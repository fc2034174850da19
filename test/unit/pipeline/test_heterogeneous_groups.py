"""Groups of unlike sizes: divisions of a chain over devices, beside all that there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from pcg.pipeline.heterogeneous_groups import Candidate, heterogeneous_groups


def _candidates(times: Sequence[float], devices: int, rates: dict[int, float]) -> list[Candidate]:
    """A mesh of each size that is `rates[size]` times as fast as one device, wherever it begins."""
    return [
        Candidate(size, tuple(b + size <= devices for b in range(devices)), tuple(t / rate for t in times), (1.0,) * len(times))
        for size, rate in rates.items()
    ]  # fmt: skip


def _every(found: Sequence[Candidate], units: int, devices: int) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """All divisions of the first units and devices: candidates, sum and longest of the stages."""
    if units == devices == 0:
        yield (), 0.0, 0.0
    for k, c in enumerate(found):
        if c.size <= devices and c.begins[devices - c.size]:
            for a in range(units):
                if sum(c.state[a:units]) + c.other <= MEMORY:
                    own = sum(c.seconds[a:units])
                    for groups, total, most in _every(found, a, devices - c.size):
                        yield (*groups, k), total + own, max(most, own)


MEMORY = 4.0


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 20),
    st.lists(st.floats(0.5, 4), min_size=3, max_size=3),
)  # fmt: skip
def test_the_best_of_all_divisions(times: list[int], devices: int, microbatches: int, rates: list[float]) -> None:
    """Up to the steps between limits; none needs more memory, and all devices and units are used."""
    candidates = _candidates(times, devices, dict(zip((1, 2, 3), rates, strict=True)))
    found = heterogeneous_groups(candidates, microbatches, MEMORY)
    every: dict[tuple[int, ...], float] = {}
    for groups, total, most in _every(candidates, len(times), devices):
        every[groups] = min(every.get(groups, math.inf), total + (microbatches - 1) * most)
    assert {*found} <= {*every}
    assert bool(found) == bool(every)
    if found:
        assert every[found[0]] <= 1.1 * min(every.values()) * (1 + 1e-9)


def test_the_head_gets_more_devices() -> None:
    """Three layers and a head that takes as long as all of them, on six devices: three have the head."""
    candidates = _candidates([1.0, 1.0, 1.0, 3.0], 6, {1: 1.0, 2: 2.0, 3: 3.0})
    best = heterogeneous_groups(candidates, 32)[0]
    assert [candidates[k].size for k in best] in ([1, 1, 1, 3], [3, 3])
    few = _candidates([1.0, 1.0, 3.0], 5, {1: 1.0, 2: 1.5, 3: 3.0})
    assert [few[k].size for k in heterogeneous_groups(few, 32)[0]] == [1, 1, 3]


def test_groups_begin_where_they_may() -> None:
    """Devices 0 and 1 are slower than 2 and 3; no group has devices of both."""
    slow = Candidate(2, (True, False, False, False), (2.0,) * 4, (1.0,) * 4)
    fast = Candidate(2, (False, False, True, False), (1.0,) * 4, (1.0,) * 4)
    assert heterogeneous_groups([slow, fast], 8)[0] == (0, 1)
    assert not heterogeneous_groups([slow], 8)
    assert not heterogeneous_groups([], 8)
    assert not heterogeneous_groups([slow, fast], 8, memory=1.0)
