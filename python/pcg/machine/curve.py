"""Measured seconds as a function of size: straight lines between the measurements, in logarithms of both."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from pcg.layout.brief import brief
from pcg.machine.errors import LEAST, MOST, ClusterError

#: One size or one per strategy of an op; seconds come back in the same form.
Amount = TypeVar("Amount", float, np.ndarray)


@dataclass(frozen=True)
class Curve:
    """Seconds at each of `sizes` (rising), which never fall.

    Between two sizes log(seconds) is linear in log(size).  Beyond the last the rate (size per second) is that of the
    last.  Below the first it is that of the first, or, with `floor`, the time is: what a message takes however small.

    Raises:
      ClusterError: not as many seconds as sizes, none, or numbers that are not positive or do not rise.
    """

    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    floor: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.seconds) or not self.sizes:
            raise ClusterError(
                f"a curve has {len(self.sizes)} sizes and {len(self.seconds)} times; allowed: one or more, as many of"
                " each"
            )
        for what, numbers in (("size", self.sizes), ("time", self.seconds)):
            for x in numbers:
                if isinstance(x, bool) or not LEAST <= x <= MOST:
                    text = f"a curve has the {what} {brief(x)}; allowed: finite numbers above 0 ({LEAST:g} to {MOST:g})"
                    raise ClusterError(text, f"{what}s".replace("times", "seconds"))
        for a, b in itertools.pairwise(self.sizes):
            if math.log(b) <= math.log(a):
                raise ClusterError(f"the sizes of a curve are {a:g} and then {b:g}; allowed: rising ones", "sizes")
        for a, b in itertools.pairwise(self.seconds):
            if b < a:
                text = f"the times of a curve are {a:g} and then {b:g}; allowed: none less than one before"
                raise ClusterError(text, "seconds")

    @classmethod
    def through(cls, points: Iterable[tuple[float, float]], floor: bool = False) -> Curve:
        """The rising curve nearest to measurements (size, seconds): those out of order are averaged (in logarithms).

        Pooling of adjacent violators, the least-squares monotone fit.  Several times for one size are averaged too.
        """
        at: dict[float, list[float]] = {}
        last = 0.0
        for size, seconds in sorted(points):
            if not last or math.log(size) > math.log(last):  # what a rounding error sets apart is one size
                last = size
            at.setdefault(last, []).append(math.log(seconds))
        blocks: list[tuple[list[float], list[float]]] = []
        for size, logs in at.items():
            blocks.append(([size], logs))
            while len(blocks) > 1 and statistics.fmean(blocks[-1][1]) < statistics.fmean(blocks[-2][1]):
                sizes, logs = blocks.pop()
                blocks[-1] = (blocks[-1][0] + sizes, blocks[-1][1] + logs)
        fitted = [(size, math.exp(statistics.fmean(logs))) for sizes, logs in blocks for size in sizes]
        return cls(tuple(s for s, _ in fitted), tuple(t for _, t in fitted), floor)

    def scaled(self, factor: float) -> Curve:
        """The curve of so many times the seconds."""
        return replace(self, seconds=tuple(factor * s for s in self.seconds))

    @cached_property
    def _logs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.log(np.array(self.sizes)), np.log(np.array(self.seconds))

    def __call__(self, size: Amount) -> Amount:
        """Seconds for `size`; 0 takes no time, but with `floor` the least there is."""
        x, y = self._logs
        with np.errstate(divide="ignore"):
            at = np.log(np.asarray(size, dtype=float))
        found = np.interp(at, x, y)
        found = np.where(at > x[-1], y[-1] + (at - x[-1]), found)
        if not self.floor:
            found = np.where(at < x[0], y[0] + (at - x[0]), found)
        out = np.exp(found)
        return out if isinstance(size, np.ndarray) else float(out)


def between(curves: Sequence[tuple[float, Curve]], at: Amount, size: Amount) -> Amount:
    """Seconds for `size` from curves that hold at some values of a second quantity (rising): linear in its logarithm.

    Outside of these values the nearest curve applies.
    """
    if len(curves) == 1:
        return curves[0][1](size)
    places = np.log(np.array([p for p, _ in curves]))
    logs = np.stack([np.log(np.maximum(c(np.asarray(size, dtype=float)), 1e-30)) for _, c in curves])
    where = np.clip(np.log(np.maximum(np.asarray(at, dtype=float), 1e-30)), places[0], places[-1])
    high = np.clip(np.searchsorted(places, where), 1, len(places) - 1)
    share = (where - places[high - 1]) / (places[high] - places[high - 1])
    low_log, high_log = np.choose(high - 1, logs), np.choose(high, logs)
    out = np.exp(low_log + share * (high_log - low_log))
    out = np.where(np.asarray(size) > 0, out, 0.0)
    return out if isinstance(size, np.ndarray) or isinstance(at, np.ndarray) else float(out)
