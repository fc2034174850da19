"""Splitting a dimension that windows slide over: what a shard needs of its neighbours.  No MLIR here.

Along one dimension, output o of a windowed op reads `x[(o * stride + t * window_dilation - low) / base_dilation]`
for t in the window.  When the input is split into as many blocks as the output (or the window), block p reads its own
block of the input and a few elements on either side: the halo.  At the ends of the dimension the halo is padding.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sliding:
    """One dimension of a windowed op: sizes of input, output and window, and the op's numbers for it."""

    size: int
    out: int
    window: int
    stride: int = 1
    base_dilation: int = 1
    window_dilation: int = 1
    low: int = 0
    reversed: bool = False

    @property
    def untouched(self) -> bool:
        """Whether every output reads one input, the one at its place."""
        return self.window == self.stride == self.base_dilation == 1 and self.low == 0 and self.size == self.out


@dataclass(frozen=True)
class Halo:
    """How a `Sliding` dimension can be split.

    `with_window` tells whether input and window are split together (a reduction) instead of input and
    output.  A block reads `left` elements of the block before it and `right` of the one after it;
    the op on the block with its halo is padded by `low` and `high`.  `least` is the smallest part of
    the factor (sized like the smaller of the two tensors) that keeps halos inside direct neighbours.
    """

    with_window: bool
    size: int
    left: int
    right: int
    low: int
    high: int
    least: int


def halo(s: Sliding) -> Halo | None:
    """How dimension `s` can be split, None if it cannot."""
    extent = (s.window - 1) * s.window_dilation + 1
    if s.base_dilation == 1 and s.out * s.stride == s.size:
        right = extent - s.stride - s.low
        return _halo(False, s.out, s.stride, s.low, right)
    if s.base_dilation == s.stride == 1 and s.window * s.window_dilation == s.size and not s.reversed:
        right = s.out - s.low - s.window_dilation
        return _halo(True, s.window, s.window_dilation, s.low, right)
    d = s.base_dilation
    if s.stride == 1 and d > 1 and s.size * d == s.out:
        left = max(0, s.low) // d
        beyond = extent - s.low - 2
        right = beyond // d + 1 if beyond >= 0 else 0
        low = s.low - left * d
        # So that a block of k inputs yields k * d outputs, whatever k is.
        high = extent - 2 - low - (left + right - 1) * d
        return Halo(False, s.size, left, right, low, high, max(left, right, 1))
    return None


@dataclass(frozen=True)
class ScatterHalo:
    """How a `Sliding` dimension is split when windows scatter into their input (gradients of pooling).

    A block of the input is reached by its own windows, the last `before` windows of the block before it and the first
    `after` of the one after it.  Those read `left` and `right` elements on either side of the block.
    """

    left: int
    right: int
    before: int
    after: int
    least: int


def scatter_halo(s: Sliding) -> ScatterHalo | None:
    """How dimension `s` can be split, None if it cannot."""
    if s.base_dilation != 1 or s.window_dilation != 1 or s.out * s.stride != s.size or s.low < 0:
        return None
    before, after = max(0, (s.window - 1 - s.low) // s.stride), -(-s.low // s.stride)
    left = before * s.stride + s.low
    right = max(0, (after - 1) * s.stride - s.low + s.window)
    least = max(-(-left // s.stride), -(-right // s.stride), before, after, 1)
    return ScatterHalo(left, right, before, after, least)


def _halo(with_window: bool, size: int, ratio: int, low: int, right: int) -> Halo | None:
    if low < 0:
        return None
    reach = max(low, right, 1)
    return Halo(with_window, size, low, max(right, 0), 0, min(right, 0), -(-reach // ratio))
