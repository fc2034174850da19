"""What Unity's dynamic program works on: a series-parallel graph of decisions, and its segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.solve.network import Network

#: Differences of costs that rounding makes, as a share of the network's unit.  Chosen: eleven bits above those of a
#: double, for sums of a few thousand costs.
_SAME = 2.0**-42


@dataclass(frozen=True, slots=True)
class Segment:
    """The nodes between two others, and the devices they may use.

    `edge` says whether the edge from source to sink is part of it. `axes` are the mesh axes that may be used, as bits.
    `dropped` are axes along which the segment runs on one slice only: what it sends to its sink goes to the others.
    `from_split` and `to_split` say whether the graph was split at that end, where the value must then be reduced.
    """

    source: int
    sink: int
    inner: tuple[int, ...]
    edge: bool
    axes: int
    dropped: int = 0
    from_split: bool = False
    to_split: bool = False


@dataclass
class DecisionGraph:
    """A graph of decisions; nodes are numbers in topological order.

    Args:
      network: costs of choices and of pairs of choices, on the whole machine. Only pairs in `succ` have a cost.
      succ: successors, also of -1, the source of all, and of nodes whose successor is `sink`.
      axes: all mesh axes, as bits.
      uses: per node and choice the axes that it uses, as bits.
      reduced: per node and choice whether the value is reduced, not partial: only then a graph may be split there.
      spread: per node, axis (bit number) and choice: seconds to send the value from one slice of the axis to others.
      on: costs where only the axes of the bits may be used by what stands behind the principals.
    """

    network: Network
    succ: Mapping[int, Sequence[int]]
    axes: int = 0
    uses: Sequence[np.ndarray] = ()
    reduced: Sequence[np.ndarray] = ()
    spread: Callable[[int, int], np.ndarray] | None = None
    on: Callable[[int], Network] | None = None
    _unary: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    _open: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict)
    _ids: dict[bytes, int] = field(default_factory=dict)
    _known: dict[tuple, int] = field(default_factory=dict)
    _networks: dict[int, Network] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network.settle()

    @property
    def sink(self) -> int:
        """The number of the sink of all."""
        return len(self.network.unary)

    def choices(self, i: int) -> int:
        """How many choices a node has; the ends of the graph have one."""
        return len(self.network.unary[i]) if 0 <= i < self.sink else 1

    def is_splittable(self, i: int) -> bool:
        """Whether the graph may be split at node `i`."""
        return not self.reduced or bool(self.reduced[i].any())

    def open(self, i: int, split: bool) -> np.ndarray:
        """Choices that node `i` has at an end of a segment: those that are reduced where the graph was split."""
        key = (i, split)
        if key not in self._open:
            all_ = np.arange(self.choices(i))
            self._open[key] = all_[self.reduced[i]] if split and self.reduced else all_
        return self._open[key]

    def network_on(self, axes: int) -> Network:
        """The costs where only `axes` are used."""
        if axes == self.axes or self.on is None:
            return self.network
        if axes not in self._networks:
            self._networks[axes] = self.on(axes)
        return self._networks[axes]

    def unary(self, i: int, axes: int) -> np.ndarray:
        """Seconds per choice of node `i`; what uses other axes is forbidden."""
        key = (i, axes)
        if key not in self._unary:
            u = self.network_on(axes).unary[i]
            if axes != self.axes and self.uses:
                u = u + self.network.forbidden * ((self.uses[i] & ~axes) != 0)
            self._unary[key] = u
        return self._unary[key]

    def pair(self, i: int, j: int, axes: int, dropped: int = 0) -> np.ndarray:
        """Seconds between the choices of `i` and those of `j`; zero where there is no edge."""
        m = self.network_on(axes).pair[i].get(j) if 0 <= i and j < self.sink else None
        if m is None:
            m = np.zeros((self.choices(i), self.choices(j)))
        if dropped and 0 <= i and j < self.sink and self.spread is not None:
            for bit in _bits(dropped):
                m = m + self.spread(i, bit)[:, None]
        return m

    # -- structural keys -----------------------------------------------------------------------

    def key(self, s: Segment) -> tuple:
        """Equal for segments with the same structure and costs, wherever they are in the graph."""
        number = {s.source: 0, **{i: n for n, i in enumerate(s.inner, 1)}, s.sink: len(s.inner) + 1}
        nodes = tuple([self._unary_id(i, s.axes) for i in s.inner])
        edges = tuple(
            [
                (number[i], number[j], self._pair_id(i, j, s.axes, s.dropped if j == s.sink else 0))
                for i in (s.source, *s.inner)
                for j in self.succ.get(i, ())
                if j in number and (s.edge or i != s.source or j != s.sink)
            ]
        )
        ends = self._end_id(s.source, s.from_split), self._end_id(s.sink, s.to_split)
        return (ends, nodes, edges, s.axes, s.dropped)

    def _end_id(self, i: int, split: bool) -> int:
        key = (i, split)
        if key not in self._known:
            self._known[key] = self._id(self.open(i, split).tobytes())
        return self._known[key]

    def _unary_id(self, i: int, axes: int) -> int:
        key = (i, axes)
        if key not in self._known:
            more = self.reduced[i].tobytes() if self.reduced else b""
            self._known[key] = self._id(self._rounded(self.unary(i, axes)) + more)
        return self._known[key]

    def _pair_id(self, i: int, j: int, axes: int, dropped: int) -> int:
        key = (i, j, axes, dropped)
        if key not in self._known:
            self._known[key] = self._id(self._rounded(self.pair(i, j, axes, dropped)))
        return self._known[key]

    def _rounded(self, seconds: np.ndarray) -> bytes:
        """Costs that differ in rounding only are the same."""
        return bytes(str(seconds.shape), "ascii") + np.rint(seconds / (_SAME * self.network.unit)).tobytes()

    def _id(self, text: bytes) -> int:
        return self._ids.setdefault(text, len(self._ids))


def _bits(mask: int) -> list[int]:
    return [b for b in range(mask.bit_length()) if mask >> b & 1]
