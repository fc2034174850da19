"""Schedules of pieces against what the ops mean, for random sizes: no tensors, only indices."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pcg.layout.uneven import intervals, is_even, padded_size
from pcg.rules.blocks import (
    Span,
    concatenate_spans,
    largest,
    pad_spans,
    preparation,
    reverse_spans,
    schedule,
    slice_spans,
)
from pcg.rules.halo import Sliding
from pcg.rules.window_ranges import ranges

FILL, POISON = -1, -2


def run(spans: tuple[Span, ...], operands: list[np.ndarray], result: int, counts: tuple[int, ...]) -> list[int]:
    """Cut, send and put the pieces; checks that a round is a permutation and, of equal blocks, cheaper than a gather."""
    plan = schedule(spans, result, counts)
    n = math.prod(counts)
    if is_even(result, counts) and all(is_even(s.size, counts) for s in spans):
        sent = sum(s.size for s in {preparation(s): s for s in spans}.values()) * (n - 1) // n
        assert plan.elements <= sent
    buffers = []
    for q in range(n):
        parts: dict[tuple, list[int]] = {}
        for s in spans:
            first, length = (0, s.size) if s.replicated else intervals(s.size, counts)[q]
            own = np.full(s.size if s.replicated else padded_size(s.size, counts), POISON)
            own[:length] = operands[s.operand][first : first + length]
            if s.stride > 1:
                own = np.append(own, [POISON] * s.stride * s.most(counts))[s.phase(q, counts) :: s.stride]
                own = own[: s.most(counts)]
            parts[preparation(s)] = list(own[::-1] if s.stride < 0 else own)
        buffers.append(sum(parts.values(), []))
    out = [[FILL] * padded_size(result, counts) for _ in range(n)]
    for rounds, stays in ((plan.local, True), (plan.rounds, False)):
        for pieces in rounds:
            assert len({p.source for p in pieces}) == len({p.target for p in pieces}) == len(pieces)
            assert largest(pieces) > 0
            for p in pieces:
                assert (p.source == p.target) == stays
                end = p.put + (p.size - 1) * plan.dilation + 1
                out[p.target][p.put : end : plan.dilation] = buffers[p.source][p.take : p.take + p.size]
    assert all(len(o) == padded_size(result, counts) for o in out)
    return sum((o[:length] for o, (_, length) in zip(out, intervals(result, counts), strict=True)), [])


PARTS = st.sampled_from([(2,), (3,), (4,), (8,), (2, 2), (3, 2), (2, 4)])
SIZE = st.integers(1, 100)


@given(PARTS, SIZE, SIZE, st.integers(0, 5), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_slice(counts: tuple[int, ...], a: int, b: int, start: int, stride: int) -> None:
    limit = start + (b - 1) * stride + 1
    assume(limit <= a)
    x = np.arange(a)
    assert run(slice_spans(a, start, limit, stride), [x], b, counts) == list(x[start:limit:stride])


@given(PARTS, SIZE, st.integers(1, 250), st.integers(-6, 6), st.integers(0, 2))
@settings(max_examples=300, deadline=None)
def test_pad(counts: tuple[int, ...], a: int, b: int, low: int, interior: int) -> None:
    line = np.full(1000, FILL)
    step = interior + 1
    line[500 + low : 500 + low + (a - 1) * step + 1 : step] = np.arange(a)
    spans = pad_spans(a, b, low, interior)
    assume(spans)
    assert run(spans, [np.arange(a)], b, counts) == list(line[500 : 500 + b])


@given(PARTS, st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_concatenate(counts: tuple[int, ...], parts: list[tuple[int, bool]]) -> None:
    sizes, split = [a for a, _ in parts], [b for _, b in parts]
    operands = [np.arange(a) + 100 * i for i, a in enumerate(sizes)]
    assert run(concatenate_spans(sizes, split), operands, sum(sizes), counts) == list(np.concatenate(operands))


@given(PARTS, st.integers(1, 60))
def test_reverse(counts: tuple[int, ...], a: int) -> None:
    assert run(reverse_spans(a), [np.arange(a)], a, counts) == list(range(a))[::-1]


@given(PARTS, st.integers(1, 40), st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2),
       st.integers(-2, 4), st.integers(-2, 4))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_ranges_of_windows(
    counts: tuple[int, ...], size: int, window: int, stride: int, base: int, dilation: int, low: int, high: int
) -> None:
    """The windows of each range are the windows of its outputs."""
    extent = (window - 1) * dilation + 1
    dilated = (size - 1) * base + 1
    assume(dilated + low + high >= extent)
    out = (dilated + low + high - extent) // stride + 1
    line = np.full(1000, FILL)
    line[500 : 500 + dilated : base] = np.arange(size)
    if high < 0:
        line[500 + dilated + high :] = FILL
    want = [list(line[500 - low + o * stride :][:extent:dilation]) for o in range(out)]
    s = Sliding(size, out, window, stride, base, dilation, low)
    read = ranges(s, counts)
    n = math.prod(counts)
    got = np.array(run(read.spans, [np.arange(size)] if read.spans else [], n * read.length, counts) if read.spans else
                   [FILL] * n * read.length).reshape(n, -1)  # fmt: skip
    found = [
        list(got[p][o * stride :][:extent:dilation])
        for p, (_, length) in enumerate(intervals(out, counts)) for o in range(length)
    ]  # fmt: skip
    if high >= 0:  # what a negative high padding cuts off, no window of `out` reads
        assert found == want
    assert [len(w) for w in found] == [len(w) for w in want]
    for p, (_, length) in enumerate(intervals(out, counts)):
        assert read.used[p] == ((length - 1) * stride + extent if length else 0) <= read.length


def test_what_is_sent() -> None:
    thirds = schedule(slice_spans(3072, 0, 1024, 1), 1024, (8,))
    assert (thirds.elements, len(thirds.rounds)) == (3 * 128, 3)  # the second device has three pieces to send
    halves = schedule(concatenate_spans([64, 64], [True, True]), 128, (8,))
    assert (halves.elements, len(halves.rounds)) == (16, 2)  # both operands share the rounds
    assert schedule(slice_spans(64, 1, 64, 2), 32, (8,)).elements == 0
    shift = schedule(pad_spans(64, 64, 1, 0), 64, (8,))
    assert (shift.elements, len(shift.rounds)) == (1, 1)
    tail = schedule(slice_spans(4096, 1, 4096, 1), 4095, (8,))
    assert (tail.elements, len(tail.rounds), len(tail.rounds[0])) == (1, 1, 7)
    assert schedule(slice_spans(4096, 0, 4095, 1), 4095, (8,)).elements == 0
    assert schedule(concatenate_spans([4095, 1], [True, False]), 4096, (8,)).elements == 0
    assert schedule(concatenate_spans([1, 4095], [False, True]), 4096, (8,)).elements == 1
