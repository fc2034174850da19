"""Splitting a dimension whose windows are not aligned with its blocks (no padding, say).  No MLIR here.

Every block of the output reads one range of the input, which may reach over several of its blocks; ranges of different
blocks overlap.  The ranges, laid end to end with padding where they reach beyond the input, are what is fetched.
Where windows are aligned and all blocks are equal, `pcg.rules.halo` sends less often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from pcg.layout import Mesh
from pcg.layout.uneven import intervals, is_even, padded_size
from pcg.rules.blocks import Counts, OtherDim, Span, counts_of, schedule
from pcg.rules.factor import Assignment, Exchange
from pcg.rules.halo import Sliding, halo, scatter_halo


@dataclass(frozen=True)
class Ranges:
    """What devices read: room for `length` elements each; device p's lie at `p * length` of what `spans` make.

    Device p needs the first `used[p]` of them; behind those there may be anything.
    """

    spans: tuple[Span, ...]
    length: int
    used: tuple[int, ...]


@dataclass(frozen=True)
class ScatterRanges:
    """What devices read to scatter windows into their blocks: of the operand and of the source.

    The block of device p starts at `starts[p]` of its range of the operand, maybe before it or behind its end.
    """

    operand: Ranges
    source: Ranges
    starts: tuple[int, ...]


@lru_cache(maxsize=4096)
def ranges(s: Sliding, counts: Counts) -> Ranges:
    """The ranges that blocks of the output of dimension `s` read, with gaps where the input is dilated."""
    extent = (s.window - 1) * s.window_dilation + 1
    length = (padded_size(s.out, counts) - 1) * s.stride + extent
    rows = [
        (start * s.stride - s.low, (real - 1) * s.stride + extent if real else 0)
        for start, real in intervals(s.out, counts)
    ]
    return _ranges(s.size, rows, length, s.base_dilation)


def _ranges(size: int, rows: list[tuple[int, int]], length: int, dilation: int = 1) -> Ranges:
    """Device p reads `rows[p]` (first, number), counted in the dilated dimension; room for `length`."""
    spans = []
    for p, (first, number) in enumerate(rows):
        low, high = max(-(-first // dilation), 0), min(-(-(first + number) // dilation), size)
        if number and high > low:
            # Element i of the operand goes to `at + (i - low) * dilation`.
            at = p * length + low * dilation - first
            spans.append(Span(0, size, low, high - low, at, dilation=dilation))
    return Ranges(tuple(spans), length, tuple(number for _, number in rows))


@lru_cache(maxsize=4096)
def scatter_ranges(s: Sliding, counts: Counts) -> ScatterRanges:
    """What devices need to scatter windows of dimension `s` into their blocks of its operand (no dilations)."""
    rows = []
    for start, real in intervals(s.size, counts):
        first = -(-(start + s.low - s.window + 1) // s.stride)
        last = (start + real - 1 + s.low) // s.stride
        rows.append((start, first, max(0, last - first + 1) if real else 0))
    windows = max(1, *(number for _, _, number in rows))
    read = [
        (first * s.stride - s.low, (number - 1) * s.stride + s.window if number else 0) for _, first, number in rows
    ]
    # Windows behind the last one that a device needs have a source of 0, wherever they put it.
    source = _ranges(s.out, [(first, number) for _, first, number in rows], windows)
    return ScatterRanges(
        _ranges(s.size, read, (windows - 1) * s.stride + s.window),
        Ranges(source.spans, windows, (windows,) * len(rows)),
        tuple(start - first * s.stride + s.low for start, first, _ in rows),
    )


def is_aligned(s: Sliding, counts: Counts) -> bool:
    """Whether blocks need no more than the edges of their neighbours: see `pcg.rules.halo`."""
    return halo(s) is not None and is_even(s.size, counts) and is_even(s.out, counts)


def is_scatter_aligned(s: Sliding, counts: Counts) -> bool:
    """The same, where windows scatter into their input."""
    return scatter_halo(s) is not None and is_even(s.size, counts) and is_even(s.out, counts)


@dataclass(frozen=True)
class WindowExchange(Exchange):
    """Fetching the ranges of dimension `sliding` of `count` operands when `factor` is split.

    `elements` are those of the halo, which is sent where blocks are aligned.  `of`: the ranges are those of the
    "input", or of what is scattered into an "operand" by a "source".
    """

    sliding: Sliding | None = None
    others: tuple[OtherDim, ...] = ()
    count: int = 1
    of: str = "input"

    def wire_elements(self, a: Assignment, mesh: Mesh) -> float:
        counts = counts_of(a.axes[self.factor], mesh)
        if math.prod(counts) == 1 or self.sliding is None:
            return 0.0
        if (is_aligned if self.of == "input" else is_scatter_aligned)(self.sliding, counts):
            return super().wire_elements(a, mesh)
        if self.of == "input":
            read = ranges(self.sliding, counts)
        else:
            both = scatter_ranges(self.sliding, counts)
            read = both.operand if self.of == "operand" else both.source
        rows = self.count * math.prod(other.local_size(a, mesh) for other in self.others)
        return float(schedule(read.spans, math.prod(counts) * read.length, counts).elements * rows)

