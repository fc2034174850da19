"""What moves between the blocks of a dimension that an op cuts, pads, joins, flips or shifts.  No MLIR here.

Along the dimension an op copies *spans*: element `start + i * stride` of an operand becomes element `at + i * dilation`
of the result, for i in [0, count).  Operands and result are cut into as many blocks, each by its own size, and block p
of each is on device p; what a short block has behind its elements is in no piece.  The part of a block of an operand
that lies in a block of the result is a *piece*; pieces that stay on their device move nothing, the others are sent in
*rounds*, in each of which a device sends at most one piece and receives at most one: a round is one collective_permute
of the size of its largest piece.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pcg.layout import Mesh
from pcg.layout.uneven import intervals, padded_size
from pcg.rules.factor import Assignment, Exchange

#: Where no more devices than this could exchange equal pieces, short tensors are rather held whole.
FEW = 8
#: Sizes of the axes that cut a dimension, major to minor.
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """Elements `start + i * stride` of operand `operand` (of `size`) become `at + i * dilation`, for i in [0, count).

    `stride` is -1 for elements taken backwards; of `abs(stride)` and `dilation` one is 1.
    `whole`: every device has all of the operand and takes what it needs.
    """

    operand: int
    size: int
    start: int
    count: int
    at: int
    stride: int = 1
    dilation: int = 1
    whole: bool = False

    def block(self, counts: Counts) -> int:
        """Elements that a device holds of the operand, padding included."""
        return self.size if self.whole else padded_size(self.size, counts)

    def held(self, q: int, counts: Counts) -> tuple[int, int]:
        """(first, number) of the elements of the operand that device `q` holds."""
        return (0, self.size) if self.whole else intervals(self.size, counts)[q]

    def part(self, q: int, counts: Counts) -> tuple[int, int]:
        """Range of i whose elements device `q` holds; empty if there are none."""
        low, length = self.held(q, counts)
        high = low + length
        if self.stride > 0:
            first, last = -(-(low - self.start) // self.stride), -(-(high - self.start) // self.stride)
        else:
            first, last = self.start - high + 1, self.start - low + 1
        first, last = max(first, 0), min(last, self.count)
        return (first, last) if first < last else (0, 0)

    def most(self, counts: Counts) -> int:
        """The most elements that a device holds."""
        return max(last - first for first, last in (self.part(q, counts) for q in range(math.prod(counts))))

    def phase(self, q: int, counts: Counts) -> int:
        """Position in block `q` of its first element."""
        first, last = self.part(q, counts)
        return self.start + first * self.stride - self.held(q, counts)[0] if last > first else 0

    def prepared(self, counts: Counts) -> int:
        """Size of a block once it is thinned out by a stride."""
        return self.most(counts) if self.stride > 1 else self.block(counts)

    def place(self, i: int, q: int, counts: Counts) -> int:
        """Position of element number `i` in the prepared block `q` (thinned out or flipped)."""
        if self.stride > 1:
            return i - self.part(q, counts)[0]
        offset = self.start + i * self.stride - self.held(q, counts)[0]
        return self.block(counts) - 1 - offset if self.stride < 0 else offset


@dataclass(frozen=True)
class Piece:
    """`size` elements at `take` of device `source` go to `put`, `put + dilation`, ... in the block of `target`."""

    source: int
    target: int
    take: int
    put: int
    size: int


Round = tuple[Piece, ...]


@dataclass(frozen=True)
class Schedule:
    """Pieces that stay (`local`: at most one a device in each) and pieces that are sent (`rounds`)."""

    local: tuple[Round, ...]
    rounds: tuple[Round, ...]
    dilation: int = 1

    @property
    def elements(self) -> int:
        """What one device sends, in elements along the dimension."""
        return sum(largest(r) for r in self.rounds)


def largest(pieces: Sequence[Piece]) -> int:
    """Size of the largest piece."""
    return max(p.size for p in pieces)


@lru_cache(maxsize=4096)
def schedule(spans: tuple[Span, ...], result: int, counts: Counts) -> Schedule:
    """How blocks of the operands of `spans` (all of one dilation) become blocks of a result of size `result`.

    `take` counts from the start of all prepared blocks laid end to end, see `offsets`.
    """
    n = math.prod(counts)
    targets = sorted((start, length, p) for p, (start, length) in enumerate(intervals(result, counts)) if length)
    firsts = [start for start, _, _ in targets]
    local: list[Piece] = []
    remote: list[Piece] = []
    for span, offset in zip(spans, offsets(spans, counts), strict=True):
        for q in range(n):
            i, last = span.part(q, counts)
            while i < last:
                at = span.at + i * span.dilation
                start, length, p = targets[bisect.bisect_right(firsts, at) - 1]
                end = min(last, -(-(start + length - span.at) // span.dilation))
                piece = Piece(q, p, offset + span.place(i, q, counts), at - start, end - i)
                if p == q:
                    local.append(piece)
                elif not span.whole:
                    remote.append(piece)
                i = end
    return Schedule(_numbered(local), _rounds(remote, n), spans[0].dilation if spans else 1)


def offsets(spans: Sequence[Span], counts: Counts) -> list[int]:
    """Where the prepared block of each span starts when they are laid end to end; spans that share one share it."""
    found: dict[tuple, int] = {}
    out, end = [], 0
    for span in spans:
        key = preparation(span)
        if key not in found:
            found[key] = end
            end += span.prepared(counts)
        out.append(found[key])
    return out


def preparation(span: Span) -> tuple:
    """What tells prepared blocks apart: spans with equal ones read the same."""
    thinned = (span.start, span.count) if span.stride > 1 else ()
    return (span.operand, span.stride, *thinned)


def _numbered(pieces: Sequence[Piece]) -> tuple[Round, ...]:
    """At most one piece of a device in each."""
    rounds: list[list[Piece]] = []
    seen: dict[int, int] = {}
    for p in pieces:
        k = seen[p.source] = seen.get(p.source, -1) + 1
        if k == len(rounds):
            rounds.append([])
        rounds[k].append(p)
    return tuple(map(tuple, rounds))


# -- rounds ----------------------------------------------------------------------------------------


def _rounds(pieces: Sequence[Piece], n: int) -> tuple[Round, ...]:
    """The cheapest of three ways to put pieces into rounds: elements sent first, then the number of rounds."""
    ways = [_by_distance(pieces), _first_fit(pieces), _fewest(pieces, n)]
    best = min(ways, key=lambda rounds: (sum(map(largest, rounds)), len(rounds)))
    return tuple(map(tuple, best))


def _by_distance(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces that go equally far together: regular tables, often the same on every device."""
    groups: dict[tuple[int, int], list[Piece]] = {}
    count: dict[tuple[int, int], int] = {}
    for p in pieces:
        number = count[p.source, p.target] = count.get((p.source, p.target), -1) + 1
        groups.setdefault((p.target - p.source, number), []).append(p)
    # Going round the end is the same shift: the last device sends to the first.
    merged: list[list[Piece]] = []
    for key in sorted(groups):
        group = groups[key]
        for other in merged:
            if not {p.source for p in other} & {p.source for p in group} and not (
                {p.target for p in other} & {p.target for p in group}
            ) and {p.size for p in other} == {p.size for p in group}:
                other += group
                break
        else:
            merged.append(list(group))
    return merged


def _first_fit(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Large pieces first, each into the first round in which both its devices are free."""
    rounds: list[tuple[set[int], set[int], list[Piece]]] = []
    for p in sorted(pieces, key=lambda p: -p.size):
        k = 0
        while k < len(rounds) and (p.source in rounds[k][0] or p.target in rounds[k][1]):
            k += 1
        if k == len(rounds):
            rounds.append((set(), set(), []))
        rounds[k][0].add(p.source)
        rounds[k][1].add(p.target)
        rounds[k][2].append(p)
    return [members for _, _, members in rounds]


def _fewest(pieces: Sequence[Piece], n: int) -> list[list[Piece]]:
    """As many rounds as the busiest device has pieces: edge colouring of a bipartite multigraph (König)."""
    if not pieces:
        return []
    ends = [(("s", p.source), ("t", p.target)) for p in pieces]
    degree: dict[tuple[str, int], int] = {}
    for a, b in ends:
        degree[a], degree[b] = degree.get(a, 0) + 1, degree.get(b, 0) + 1
    colours = max(degree.values())
    at: dict[tuple[tuple[str, int], int], int] = {}  # (device, colour) -> piece
    colour = [-1] * len(pieces)

    def free(device: tuple[str, int]) -> int:
        return next(c for c in range(colours) if (device, c) not in at)

    for k in sorted(range(len(pieces)), key=lambda k: -pieces[k].size):
        a, b = ends[k]
        here, there = free(a), free(b)
        if (b, here) in at:
            # Swap the two colours along the path from b that starts with `here`; it cannot reach a.
            path, device, c = [], b, here
            while (device, c) in at:
                edge = at[device, c]
                path.append(edge)
                device = ends[edge][1] if ends[edge][0] == device else ends[edge][0]
                c = there if c == here else here
            for edge in path:
                for device in ends[edge]:
                    del at[device, colour[edge]]
            for edge in path:
                colour[edge] = there if colour[edge] == here else here
                for device in ends[edge]:
                    at[device, colour[edge]] = edge
        colour[k] = here
        at[a, here] = at[b, here] = k
    rounds: list[list[Piece]] = [[] for _ in range(colours)]
    for k, p in enumerate(pieces):
        rounds[colour[k]].append(p)
    return [r for r in rounds if r]


# -- price -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Around:
    """Another dimension of the value that is moved: its factors, its size when they are whole or split."""

    factors: tuple[int, ...]
    whole: int
    split: int

    def held(self, a: Assignment, mesh: Mesh) -> int:
        """Elements that a device holds of it, padding included."""
        axes = [x for f in self.factors for x in a.axes[f]]
        return padded_size(self.split, [mesh.axis_size(x) for x in axes]) if axes else self.whole


def beside(factors: Sequence[int], whole: int, split: int | None = None) -> Around:
    """`Around` of a dimension of these factors; its size when split is `whole` too by default."""
    return Around(tuple(factors), whole, whole if split is None else split)


def counts_of(axes: Sequence[str], mesh: Mesh) -> Counts:
    """Sizes of axes."""
    return tuple(mesh.axis_size(x) for x in axes)


@dataclass(frozen=True)
class Pieces(Exchange):
    """The rounds that move `spans` into a result of size `result` when `factor` is split.

    `elements` is not used: what is sent depends on how many blocks there are.
    """

    spans: tuple[Span, ...] = ()
    result: int = 0
    around: tuple[Around, ...] = ()

    def wire_elements(self, a: Assignment, mesh: Mesh) -> float:
        counts = counts_of(a.axes[self.factor], mesh)
        if math.prod(counts) == 1:
            return 0.0
        rows = math.prod(other.held(a, mesh) for other in self.around)
        return float(schedule(self.spans, self.result, counts).elements * rows)


# -- the spans of ops ------------------------------------------------------------------------------


def sliced(size: int, start: int, limit: int, stride: int) -> tuple[Span, ...]:
    """Of `slice`: elements start, start + stride, ... below limit."""
    return (Span(0, size, start, -(-(limit - start) // stride), 0, stride),)


def padded(size: int, result: int, low: int, interior: int) -> tuple[Span, ...]:
    """Of `pad`; elements cut off by negative padding are left out."""
    step = interior + 1
    first = max(0, -(low // step))
    last = min(size, (result - 1 - low) // step + 1)
    return (Span(0, size, first, last - first, low + first * step, 1, step),) if last > first else ()


def reversed_(size: int) -> tuple[Span, ...]:
    """Of `reverse`."""
    return (Span(0, size, size - 1, size, 0, -1),)


def joined(sizes: Sequence[int], split: Sequence[bool]) -> tuple[Span, ...]:
    """Of `concatenate`, of whose operands those that are not `split` are whole."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(
        Span(i, s, 0, s, end - s, whole=not cut)
        for i, (s, end, cut) in enumerate(zip(sizes, ends, split, strict=True)) if s
    )  # fmt: skip


def common(*sizes: int) -> int:
    """The most blocks that can divide all of these sizes exactly."""
    return math.gcd(*sizes)
