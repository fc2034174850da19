"""Unity's dynamic program over sequence and parallel splits, with graph splits and a cache; each can be left out.

The optimum of a segment, for every choice of its source and of its sink, is a table (`Dynamic.table`):
- *sequence split*: at a bottleneck, over all its choices;
- *parallel split*: the first branch and the rest, one after the other on the same devices, or, with `disjoint`, each on
  a slice of a mesh axis that both do without, so that the slower one counts;
- *graph split*: a segment of more than `threshold` nodes is first split where about that many come before, at a value
  that is reduced, not partial, over all layouts of that value.
Tables of segments with the same structure are computed once (*cache*).

What Unity computes sub-problem by sub-problem is done for all boundary choices at once; `Work.solved` counts the
sub-problems.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from pcg.search.unity.enumerate import enumerate_segment
from pcg.search.unity.problem import DecisionGraph, Segment
from pcg.search.unity.shape import bottlenecks, branches, nearest
from pcg.solve.products import min_plus

#: What can be left out.
PARTS = ("split", "cache", "dp")


class OutOfTime(Exception):
    """The time limit is over."""


@dataclass(frozen=True)
class Rules:
    """Which parts of the algorithm are used, and from how many nodes on a segment is split first (the paper: 10)."""

    split: bool = True
    cache: bool = True
    dp: bool = True
    disjoint: bool = False
    threshold: int = 10

    @classmethod
    def without(cls, parts: Iterable[str], *, disjoint: bool = False) -> Rules:
        """All parts but these.

        Raises:
          ValueError: there is no such part.
        """
        parts = list(parts)
        for part in parts:
            if part not in PARTS:
                raise ValueError(f"cannot leave out {part!r}; allowed: {', '.join(PARTS)}")
        return cls(**{part: part not in parts for part in PARTS}, disjoint=disjoint)


@dataclass
class Work:
    """What a search did: tables computed and found in the cache, sub-problems solved, graph splits."""

    tables: int = 0
    hits: int = 0
    solved: int = 0
    splits: int = 0


@dataclass
class Dynamic:
    """The search on one graph; `until` is when it must stop, as `time.perf_counter` counts."""

    pcg: DecisionGraph
    rules: Rules = Rules()
    until: float = float("inf")
    work: Work = field(default_factory=Work)
    _cache: dict[tuple, np.ndarray] = field(default_factory=dict)
    _known: dict[Segment, np.ndarray] = field(default_factory=dict)
    """Tables of the very same segments, to be found without a look at their costs."""
    _bottlenecks: dict[Segment, tuple[int, bool] | None] = field(default_factory=dict)

    def run(self) -> tuple[float, list[int]]:
        """The least seconds, and the choice of every node.

        Raises:
          OutOfTime: it takes longer than allowed.
        """
        pcg = self.pcg
        everything = Segment(-1, pcg.sink, tuple(range(pcg.sink)), False, pcg.axes)
        x = [0] * pcg.sink
        with _deep(20 * pcg.sink):
            seconds = float(self.table(everything)[0, 0])
            self._assign(everything, 0, 0, x)
        return seconds, x

    # -- tables --------------------------------------------------------------------------------

    def table(self, s: Segment) -> np.ndarray:
        """Least seconds of a segment, without its ends' own, per open choice of source and of sink."""
        if not s.inner:
            return self._between(s)
        if self.rules.cache:
            if (found := self._known.get(s)) is None:
                key = self.pcg.key(s)
                found = self._cache.get(key)
            if found is not None:
                self.work.hits += 1
                self._known[s] = found
                return found
        if time.perf_counter() > self.until:
            raise OutOfTime
        out = self._solve(s) if self.rules.dp else self._enumerate(s)
        if s.edge and s.sink in self.pcg.succ.get(s.source, ()):
            out = out + self._between(s)
        self.work.tables += 1
        self.work.splits += self.rules.split and (at := self._bottleneck(s)) is not None and at[1]
        self.work.solved += out.size
        if self.rules.cache:
            self._cache[key] = self._known[s] = out
        return out

    def _between(self, s: Segment) -> np.ndarray:
        """The edge from source to sink."""
        m = self.pcg.pair(s.source, s.sink, s.axes, s.dropped)
        return m[np.ix_(self.pcg.open(s.source, s.from_split), self.pcg.open(s.sink, s.to_split))]

    def _solve(self, s: Segment) -> np.ndarray:
        if (at := self._bottleneck(s)) is not None:
            before, after, u = self._sequence(s, *at)
            return min_plus(self.table(before) + u[None, :], self.table(after))
        return np.minimum.reduce(list(self._parallel(s)))

    def _bottleneck(self, s: Segment) -> tuple[int, bool] | None:
        """The bottleneck to split at, and whether that is a graph split, with only reduced values allowed."""
        if s not in self._bottlenecks:
            self._bottlenecks[s] = self._find_bottleneck(s)
        return self._bottlenecks[s]

    def _find_bottleneck(self, s: Segment) -> tuple[int, bool] | None:
        found = bottlenecks(s.source, s.sink, s.inner, self.pcg.succ)
        if not found:
            return None
        if self._is_large(s):
            at = nearest(found, s.inner, self.rules.threshold, self.pcg.is_splittable)
            if at is not None:
                return at, True
        return found[0], False

    def _is_large(self, s: Segment) -> bool:
        return self.rules.split and len(s.inner) > self.rules.threshold

    def _sequence(self, s: Segment, at: int, split: bool) -> tuple[Segment, Segment, np.ndarray]:
        place = bisect_left(s.inner, at)
        before = Segment(s.source, at, s.inner[:place], True, s.axes, from_split=s.from_split, to_split=split)
        inner = s.inner[place + 1 :]
        after = Segment(at, s.sink, inner, True, s.axes, s.dropped, from_split=split, to_split=s.to_split)
        return before, after, self.pcg.unary(at, s.axes)[self.pcg.open(at, split)]

    def _parallel_splits(self, s: Segment) -> Iterator[tuple[bool, Segment, Segment]]:
        """How branches can be run: (at the same time, first, rest)."""
        parts = branches(s.inner, self.pcg.succ)
        assert len(parts) > 1, f"nodes {s.inner} are not series-parallel"
        first, rest = parts[0], tuple(sorted(i for p in parts[1:] for i in p))

        def pair(axes: int, dropped: int) -> tuple[Segment, Segment]:
            part = replace(s, edge=False, axes=axes, dropped=dropped)
            return replace(part, inner=first), replace(part, inner=rest)

        yield False, *pair(s.axes, s.dropped)
        if self.rules.disjoint:
            for bit in range(s.axes.bit_length()):
                if s.axes >> bit & 1:
                    yield True, *pair(s.axes & ~(1 << bit), s.dropped | 1 << bit)

    def _parallel(self, s: Segment) -> Iterator[np.ndarray]:
        for at_once, first, rest in self._parallel_splits(s):
            a, b = self.table(first), self.table(rest)
            yield np.maximum(a, b) if at_once else a + b

    def _enumerate(self, s: Segment) -> np.ndarray:
        """Without dynamic programming: pieces by graph splits, if they are on, else everything is tried."""
        if self._is_large(s) and (at := self._bottleneck(s)) is not None and at[1]:
            before, after, u = self._sequence(s, *at)
            return min_plus(self.table(before) + u[None, :], self.table(after))
        return np.array(
            [
                [self._tried(s, int(a), int(b))[0] for b in self.pcg.open(s.sink, s.to_split)]
                for a in self.pcg.open(s.source, s.from_split)
            ]
        )

    def _tried(self, s: Segment, a: int, b: int) -> tuple[float, list[int]]:
        def alarm() -> None:
            if time.perf_counter() > self.until:
                raise OutOfTime

        found = enumerate_segment(self.pcg, s, a, b, alarm)
        self.work.solved += found.tried
        return found.seconds, found.x

    # -- the plan ------------------------------------------------------------------------------

    def _assign(self, s: Segment, a: int, b: int, x: list[int]) -> None:
        """Set the choices of the nodes of `s`, given those of its ends, as numbers of the choices open there."""
        while s.inner:
            at = self._bottleneck(s)
            if not self.rules.dp and not (at is not None and at[1]):
                ends = self.pcg.open(s.source, s.from_split)[a], self.pcg.open(s.sink, s.to_split)[b]
                for i, k in zip(s.inner, self._tried(s, int(ends[0]), int(ends[1]))[1], strict=True):
                    x[i] = k
                return
            if at is None:
                splits = list(self._parallel_splits(s))
                times = [t[a, b] for t in self._parallel(s)]
                _, first, rest = splits[int(np.argmin(times))]
                self._assign(first, a, b, x)
                s = rest
                continue
            before, after, u = self._sequence(s, *at)
            k = int(np.argmin(self.table(before)[a] + u + self.table(after)[:, b]))
            x[at[0]] = int(self.pcg.open(*at)[k])
            self._assign(before, a, k, x)
            s, a = after, k


@contextmanager
def _deep(frames: int) -> Iterator[None]:
    """A sequence is split node by node: one call inside the other."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, frames + 1000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
