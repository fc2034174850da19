"""When streams of rows have ended: in whatever order their parts come."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.controller.exchange_progress import ExchangeError, ExchangeProgress


def shuffled(counts: list[list[int]], seed: int) -> list[Any]:
    """Punctuation of every sender, and the rows that there are, in some order."""
    events: list[Any] = [(s, own) for s, own in enumerate(counts)]
    events += [(s, r, "rows") for s, own in enumerate(counts) for r, n in enumerate(own) if n]
    random.Random(seed).shuffle(events)
    return events


@given(
    st.integers(1, 3).flatmap(
        lambda receivers: st.lists(
            st.lists(st.integers(0, 2), min_size=receivers, max_size=receivers), min_size=1, max_size=4
        )
    ),
    st.integers(0, 1000),
)
def test_it_ends_with_the_last_part_and_not_before(counts: list[list[int]], seed: int) -> None:
    progress = ExchangeProgress(len(counts), len(counts[0]))
    for event in shuffled(counts, seed):
        assert not progress.ended
        assert progress.waits_for()
        if len(event) == 2:
            progress.punctuate(*event)
        else:
            progress.arrive(*event[:2])
    assert progress.ended
    assert not progress.waits_for()
    assert progress.counts == [tuple(own) for own in counts]


def test_rows_may_come_before_their_punctuation() -> None:
    progress = ExchangeProgress(2, 2)
    progress.arrive(0, 1)
    progress.punctuate(1, [0, 0])  # nothing at all: the end of its stream all the same
    assert not progress.ended
    assert progress.waits_for() == "the end of the streams of shards 0"
    with pytest.raises(ExchangeError, match="sender 0 has not ended its stream"):
        _ = progress.counts
    progress.punctuate(0, [3, 4])
    assert not progress.ended
    assert progress.waits_for() == "rows from 0 to 0"
    progress.arrive(0, 0)
    assert progress.ended


def test_parts_that_contradict_each_other() -> None:
    progress = ExchangeProgress(2, 2)
    progress.punctuate(0, [1, 0])
    wrong: list[tuple[Any, str]] = [
        (lambda: progress.punctuate(0, [1, 0]), "sender 0 has ended its stream twice; allowed: once"),
        (lambda: progress.punctuate(2, [1, 0]), "sender 2; allowed: 0 to 1"),
        (lambda: progress.punctuate(1, [1]), r"sender 1 announces \[1\]; allowed: 2 numbers, 0 or more"),
        (lambda: progress.punctuate(1, [1, -1]), r"sender 1 announces \[1, -1\]"),
        (lambda: progress.arrive(0, 1), "rows from 0 to 1 were not announced"),
        (lambda: progress.arrive(0, 2), "rows from 0 to 2; there are 2 and 2 shards"),
    ]
    for act, message in wrong:
        with pytest.raises(ExchangeError, match=message):
            act()
    progress.arrive(0, 0)
    with pytest.raises(ExchangeError, match="rows from 0 to 0 came twice"):
        progress.arrive(0, 0)
    progress.arrive(1, 1)
    with pytest.raises(ExchangeError, match="sender 1 has sent rows to 1, and announces none"):
        progress.punctuate(1, [0, 0])
