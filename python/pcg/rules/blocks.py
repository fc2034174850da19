"""What devices exchange when an op slices, pads, concatenates or reverses a split dimension.  No MLIR here.

Along the dimension an op copies *spans*: element `start + i * stride` of an operand becomes element `at + i * dilation`
of the result, for i in [0, count).  Operands and result are split into as many blocks, each by its own size, and
block p of each is on device p; the padding of a short block is in no piece.  The part of a block of an operand that
lies in a block of the result is a *piece*; pieces that stay on their device are not sent, the others are sent in
*rounds*, in each of which a device sends at most one piece and receives at most one: a round is one collective_permute
of the size of its largest piece.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pcg.layout import Mesh
from pcg.layout.uneven import intervals, padded_size
from pcg.rules.factor import Assignment, Exchange

#: A choice: a short tensor beside a long one is split only if more devices than this divide both sizes.  The pieces of
#: fewer devices save little memory, and each round of them costs the latency of a collective.
FEW = 8
#: Sizes of the axes that split a dimension, major to minor.
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """Elements `start + i * stride` of operand `operand` (of `size`) become `at + i * dilation`, for i in [0, count).

    `stride` is -1 for elements taken backwards; of `abs(stride)` and `dilation` one is 1.
    `replicated`: every device has all of the operand and takes what it needs.
    """

    operand: int
    size: int
    start: int
    count: int
    at: int
    stride: int = 1
    dilation: int = 1
    replicated: bool = False

    def block(self, counts: Counts) -> int:
        """Elements that a device holds of the operand, padding included."""
        return self.size if self.replicated else padded_size(self.size, counts)

    def resident(self, q: int, counts: Counts) -> tuple[int, int]:
        """(first, number) of the elements of the operand that device `q` holds."""
        return (0, self.size) if self.replicated else intervals(self.size, counts)[q]

    def part(self, q: int, counts: Counts) -> tuple[int, int]:
        """Range of i whose elements device `q` holds; empty if there are none."""
        low, length = self.resident(q, counts)
        high = low + length
        if self.stride > 0:
            first, last = -(-(low - self.start) // self.stride), -(-(high - self.start) // self.stride)
        else:
            first, last = self.start - high + 1, self.start - low + 1
        first, last = max(first, 0), min(last, self.count)
        return (first, last) if first < last else (0, 0)

    def most(self, counts: Counts) -> int:
        """The most elements of the span that a device holds."""
        return max(last - first for first, last in (self.part(q, counts) for q in range(math.prod(counts))))

    def phase(self, q: int, counts: Counts) -> int:
        """Position in block `q` of the first element of the span there."""
        first, last = self.part(q, counts)
        return self.start + first * self.stride - self.resident(q, counts)[0] if last > first else 0

    def prepared(self, counts: Counts) -> int:
        """Size of a block after it was sliced with the stride."""
        return self.most(counts) if self.stride > 1 else self.block(counts)

    def position(self, i: int, q: int, counts: Counts) -> int:
        """Position of element `i` of the span in the prepared block `q` (sliced with the stride, or reversed)."""
        if self.stride > 1:
            return i - self.part(q, counts)[0]
        offset = self.start + i * self.stride - self.resident(q, counts)[0]
        return self.block(counts) - 1 - offset if self.stride < 0 else offset


@dataclass(frozen=True)
class BlockPiece:
    """`size` elements at `take` of device `source` go to `put`, `put + dilation`, ... in the block of `target`."""

    source: int
    target: int
    take: int
    put: int
    size: int


Round = tuple[BlockPiece, ...]


@dataclass(frozen=True)
class PieceRounds:
    """Pieces that stay (`local`: at most one a device in each) and pieces that are sent (`rounds`)."""

    local: tuple[Round, ...]
    rounds: tuple[Round, ...]
    dilation: int = 1

    @property
    def elements(self) -> int:
        """What one device sends, in elements along the dimension."""
        return sum(largest(r) for r in self.rounds)


def largest(pieces: Sequence[BlockPiece]) -> int:
    """Size of the largest piece."""
    return max(p.size for p in pieces)


@lru_cache(maxsize=4096)
def schedule(spans: tuple[Span, ...], result: int, counts: Counts) -> PieceRounds:
    """How blocks of the operands of `spans` (all of one dilation) become blocks of a result of size `result`.

    `take` counts from the start of all prepared blocks laid end to end, see `offsets`.
    """
    n = math.prod(counts)
    targets = sorted((start, length, p) for p, (start, length) in enumerate(intervals(result, counts)) if length)
    firsts = [start for start, _, _ in targets]
    local: list[BlockPiece] = []
    remote: list[BlockPiece] = []
    for span, offset in zip(spans, offsets(spans, counts), strict=True):
        for q in range(n):
            i, last = span.part(q, counts)
            while i < last:
                at = span.at + i * span.dilation
                start, length, p = targets[bisect.bisect_right(firsts, at) - 1]
                end = min(last, -(-(start + length - span.at) // span.dilation))
                piece = BlockPiece(q, p, offset + span.position(i, q, counts), at - start, end - i)
                if p == q:
                    local.append(piece)
                elif not span.replicated:
                    remote.append(piece)
                i = end
    return PieceRounds(_numbered(local), _rounds(remote, n), spans[0].dilation if spans else 1)


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
    """A key of the prepared block of a span: spans with equal keys read the same block."""
    return (span.operand, span.stride, *((span.start, span.count) if span.stride > 1 else ()))


def _numbered(pieces: Sequence[BlockPiece]) -> tuple[Round, ...]:
    """At most one piece of a device in each."""
    rounds: list[list[BlockPiece]] = []
    seen: dict[int, int] = {}
    for p in pieces:
        k = seen[p.source] = seen.get(p.source, -1) + 1
        if k == len(rounds):
            rounds.append([])
        rounds[k].append(p)
    return tuple(map(tuple, rounds))


# -- rounds ----------------------------------------------------------------------------------------


def _rounds(pieces: Sequence[BlockPiece], n: int) -> tuple[Round, ...]:
    """The cheapest of three assignments of pieces to rounds: elements sent first, then the number of rounds."""
    found = [_by_distance(pieces), _first_fit(pieces), _fewest(pieces, n)]
    best = min(found, key=lambda rounds: (sum(map(largest, rounds)), len(rounds)))
    return tuple(map(tuple, best))


def _by_distance(pieces: Sequence[BlockPiece]) -> list[list[BlockPiece]]:
    """Pieces that go equally far together: regular tables, often the same on every device."""
    groups: dict[tuple[int, int], list[BlockPiece]] = {}
    count: dict[tuple[int, int], int] = {}
    for p in pieces:
        number = count[p.source, p.target] = count.get((p.source, p.target), -1) + 1
        groups.setdefault((p.target - p.source, number), []).append(p)
    # Going round the end is the same shift: the last device sends to the first.
    merged: list[list[BlockPiece]] = []
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


def _first_fit(pieces: Sequence[BlockPiece]) -> list[list[BlockPiece]]:
    """Large pieces first, each into the first round in which both its devices are free."""
    rounds: list[tuple[set[int], set[int], list[BlockPiece]]] = []
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


def _fewest(pieces: Sequence[BlockPiece], n: int) -> list[list[BlockPiece]]:
    """As many rounds as the busiest device has pieces: edge colouring of a bipartite multigraph (König)."""
    if not pieces:
        return []
    ends = [(("s", p.source), ("t", p.target)) for p in pieces]
    colours = max(Counter(device for pair in ends for device in pair).values())
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
    rounds: list[list[BlockPiece]] = [[] for _ in range(colours)]
    for k, p in enumerate(pieces):
        rounds[colour[k]].append(p)
    return [r for r in rounds if r]


# -- cost ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherDim:
    """Another dimension of the tensor that is exchanged: its factors, its size when they are replicated or split."""

    factors: tuple[int, ...]
    size: int
    split_size: int

    def local_size(self, a: Assignment, mesh: Mesh) -> int:
        """Elements that a device holds of it, padding included."""
        axes = [x for f in self.factors for x in a.axes[f]]
        return padded_size(self.split_size, counts_of(axes, mesh)) if axes else self.size


def other_dims(dims: Sequence[Sequence[int]], sizes: Sequence[int], d: int) -> tuple[OtherDim, ...]:
    """The dimensions of a tensor besides `d`: `dims` are the factors of each, `sizes` their sizes."""
    return tuple(OtherDim(tuple(dims[e]), size, size) for e, size in enumerate(sizes) if e != d)


def counts_of(axes: Sequence[str], mesh: Mesh) -> Counts:
    """Sizes of axes."""
    return tuple(mesh.axis_size(x) for x in axes)


@dataclass(frozen=True)
class PieceExchange(Exchange):
    """The rounds that move `spans` into a result of size `result` when `factor` is split.

    `elements` is not used: what is sent depends on how many blocks there are.
    """

    spans: tuple[Span, ...] = ()
    result: int = 0
    others: tuple[OtherDim, ...] = ()

    def wire_elements(self, a: Assignment, mesh: Mesh) -> float:
        counts = counts_of(a.axes[self.factor], mesh)
        if math.prod(counts) == 1:
            return 0.0
        rows = math.prod(other.local_size(a, mesh) for other in self.others)
        return float(schedule(self.spans, self.result, counts).elements * rows)


# -- the spans of ops ------------------------------------------------------------------------------


def slice_spans(size: int, start: int, limit: int, stride: int) -> tuple[Span, ...]:
    """Of `slice`: elements start, start + stride, ... below limit."""
    return (Span(0, size, start, -(-(limit - start) // stride), 0, stride),)


def pad_spans(size: int, result: int, low: int, interior: int) -> tuple[Span, ...]:
    """Of `pad`; elements that negative padding drops are left out."""
    step = interior + 1
    first = max(0, -(low // step))
    last = min(size, (result - 1 - low) // step + 1)
    return (Span(0, size, first, last - first, low + first * step, 1, step),) if last > first else ()


def reverse_spans(size: int) -> tuple[Span, ...]:
    """Of `reverse`."""
    return (Span(0, size, size - 1, size, 0, -1),)


def concatenate_spans(sizes: Sequence[int], split: Sequence[bool]) -> tuple[Span, ...]:
    """Of `concatenate`, of whose operands those that are not `split` are replicated."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(
        Span(i, s, 0, s, end - s, replicated=not x)
        for i, (s, end, x) in enumerate(zip(sizes, ends, split, strict=True)) if s
    )  # fmt: skip

