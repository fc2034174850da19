"""Exchanging pieces of a split dimension: the local form of `pcg.rules.blocks`.

One program runs on every device, so where a device takes and writes its pieces comes from tables over devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import broadcast, concatenate, create, resized, select, tensor
from pcg.layout.uneven import intervals, padded_size
from pcg.lower.local import LocalContext
from pcg.rules.blocks import BlockPiece, Counts, PieceRounds, Round, Span, largest, preparation, schedule


def sliced(value: ir.Value, dim: int, start: int, limit: int, stride: int = 1) -> ir.Value:
    """Elements start, start + stride, ... below `limit` of dimension `dim`; no op if these are all."""
    if (start, limit, stride) == (0, value.type.shape[dim], 1):
        return value
    return emit.slice_dim(value, dim, start, limit, stride)


def pad(
    ctx: LocalContext, value: ir.Value, dim: int, low: int, high: int, fill: ir.Value | None = None, interior: int = 0
) -> ir.Value:
    """`value` with `low` and `high` elements around dimension `dim`, `interior` between its own (`fill`, or 0)."""
    if low == high == interior == 0:
        return value
    rows = [[n if d == dim else 0 for d in range(value.type.rank)] for n in (low, high, interior)]
    return emit.pad(value, fill or scalar_zero(ctx, value.type.element_type), *rows)


def scalar_zero(ctx: LocalContext, element: ir.Type) -> ir.Value:
    return ctx.constant(0, tensor([], element))


def per_device(ctx: LocalContext, axes: Sequence[str], values: Sequence[int]) -> ir.Value:
    """0-d i32: `values[i]` on the device of linear index i along `axes`."""
    if len(set(values)) == 1:
        return ctx.constant(values[0], tensor([], ir.IntegerType.get_signless(32)))
    return ctx.per_device([values[ctx.mesh.index(p, axes)] for p in range(ctx.mesh.size)])


def window(ctx: LocalContext, value: ir.Value, dim: int, start: ir.Value, size: int) -> ir.Value:
    """`size` elements of dimension `dim` from `start` (0-d)."""
    return emit.dynamic_slice(value, _starts(ctx, value, dim, start), resized(value, dim, size).shape)


def put(ctx: LocalContext, value: ir.Value, dim: int, start: ir.Value, part: ir.Value) -> ir.Value:
    """`value` with `part` written over it from `start` (0-d) of dimension `dim`."""
    return create("stablehlo.dynamic_update_slice", [value, part, *_starts(ctx, value, dim, start)], value.type)


def _starts(ctx: LocalContext, value: ir.Value, dim: int, start: ir.Value) -> list[ir.Value]:
    none = ctx.constant(0, start.type)
    return [start if d == dim else none for d in range(value.type.rank)]


# -- rearranging -----------------------------------------------------------------------------------


def rearrange(
    ctx: LocalContext, values: Sequence[ir.Value], dim: int, axes: Sequence[str], spans: tuple[Span, ...], result: int,
    fill: ir.Value | None = None, fill_is_zero: bool = False, used: Sequence[int] | None = None,
) -> ir.Value:  # fmt: skip
    """Dimension `dim`, split over `axes`, of a result of (global) size `result` that `spans` of `values` make.

    What no span covers is `fill`, a 0-d value; `fill_is_zero` says that it is known to be 0.  Behind the elements of a
    block (behind the first `used[p]` of block p, if given) there may be anything.
    """
    counts = ctx.counts(axes)
    plan = schedule(spans, result, counts)
    if used is None:
        used = [length for _, length in intervals(result, counts)]
    block = padded_size(result, counts)
    if not spans:
        type_ = resized(values[0], dim, block)
        return broadcast(fill or scalar_zero(ctx, type_.element_type), type_)
    parts: list[ir.Value] = []
    seen = set()
    for span in spans:
        if (key := preparation(span)) not in seen:
            seen.add(key)
            parts.append(_prepared(ctx, values[span.operand], dim, axes, span, counts))
    return _assembled(ctx, concatenate(parts, dim), dim, axes, plan, block, used, fill, fill_is_zero)


def _prepared(
    ctx: LocalContext, value: ir.Value, dim: int, axes: Sequence[str], span: Span, counts: Counts
) -> ir.Value:
    """The block reversed, or sliced with the stride, as `Span.prepared` counts it."""
    if span.stride < 0:
        return create("stablehlo.reverse", [value], value.type, dimensions=emit.i64s([dim]))
    if span.stride == 1:
        return value
    phases = [span.phase(q, counts) for q in range(ctx.mesh.axes_size(axes))]
    reach = (span.most(counts) - 1) * span.stride + 1
    value = pad(ctx, value, dim, 0, max(0, max(phases) + reach - value.type.shape[dim]))
    return sliced(window(ctx, value, dim, per_device(ctx, axes, phases), reach), dim, 0, reach, span.stride)


def _assembled(
    ctx: LocalContext, buffer: ir.Value, dim: int, axes: Sequence[str], plan: PieceRounds, block: int,
    used: Sequence[int], fill: ir.Value | None, fill_is_zero: bool,
) -> ir.Value:  # fmt: skip
    n = ctx.mesh.axes_size(axes)
    rounds = [*((r, False) for r in plan.local), *((r, True) for r in plan.rounds)]
    parts = []
    for pieces, remote in rounds:
        part = _taken(ctx, buffer, dim, axes, pieces, n)
        if remote:
            part = ctx.collectives.send(part, axes, [(p.source, p.target) for p in pieces])
        parts.append(pad(ctx, part, dim, 0, 0, fill, plan.dilation - 1))
    if (places := _same_everywhere(plan, used)) is not None:
        if fill is not None:
            for k, (pieces, remote) in enumerate(rounds):
                if len(pieces) < n and not (remote and fill_is_zero):
                    flag = per_device(ctx, axes, [int(any(p.target == t for p in pieces)) for t in range(n)])
                    is_target = emit.compare(flag, ctx.constant(1, flag.type), "EQ")
                    parts[k] = select(is_target, parts[k], broadcast(fill, parts[k].type))
        return _side_by_side(ctx, buffer, dim, [*zip(places, parts, strict=True)], block, fill)
    most = max((p.type.shape[dim] for p in parts), default=0)
    # What a device has no piece for is written behind the block.
    result = broadcast(fill or scalar_zero(ctx, buffer.type.element_type), resized(buffer, dim, block + most))
    for (pieces, _), part in zip(rounds, parts, strict=True):
        result = _written(ctx, result, dim, axes, pieces, part, plan.dilation, block, n)
    return sliced(result, dim, 0, block)


def _taken(ctx: LocalContext, buffer: ir.Value, dim: int, axes: Sequence[str], pieces: Round, n: int) -> ir.Value:
    """The piece that this device takes in this round, and what follows it up to the size of the largest."""
    size = largest(pieces)
    takes = {p.source: p.take for p in pieces}
    beyond = max(takes.values()) + size - buffer.type.shape[dim]
    if len(set(takes.values())) == 1:
        start = pieces[0].take
        return sliced(pad(ctx, buffer, dim, 0, max(0, beyond)), dim, start, start + size)
    starts = per_device(ctx, axes, [takes.get(q, pieces[0].take) for q in range(n)])
    return window(ctx, pad(ctx, buffer, dim, 0, max(0, beyond)), dim, starts, size)


def _written(
    ctx: LocalContext, result: ir.Value, dim: int, axes: Sequence[str], pieces: Round, part: ir.Value, dilation: int,
    block: int, n: int,
) -> ir.Value:  # fmt: skip
    """Write the part where this device has it; behind the block if it has none; of a short one only what there is."""
    width = part.type.shape[dim]
    to = {p.target: p for p in pieces}
    place = per_device(ctx, axes, [to[t].put if t in to else block for t in range(n)])
    if any(p.size != largest(pieces) for p in pieces):
        ends = [extent(to[t], dilation) if t in to else width for t in range(n)]
        index = emit.iota(tensor(part.type.shape, ir.IntegerType.get_signless(32)), dim)
        is_own = emit.compare(index, broadcast(per_device(ctx, axes, ends), index.type), "LT")
        part = select(is_own, part, window(ctx, result, dim, place, width))
    return put(ctx, result, dim, place, part)


def _same_everywhere(plan: PieceRounds, used: Sequence[int]) -> list[int] | None:
    """Where each round's part goes when that is the same on all devices, so that parts can be laid side by side.

    Devices without a piece in a round must have none at that place either: there the part is fill.  Behind a piece
    that is shorter than the part there must be nothing but what is not `used` of the block.
    """
    n = len(used)
    rounds = (*plan.local, *plan.rounds)
    received: list[list[BlockPiece]] = [[] for _ in range(n)]
    for pieces in rounds:
        for p in pieces:
            received[p.target].append(p)
    places = []
    for pieces in rounds:
        low, size = pieces[0].put, largest(pieces)
        if any(p.put != low for p in pieces):
            return None
        if any(p.size != size and low + p.size * plan.dilation < used[p.target] for p in pieces):
            return None
        high = low + (size - 1) * plan.dilation + 1
        for t in set(range(n)) - {p.target for p in pieces}:
            if any(p.put < high and low < p.put + extent(p, plan.dilation) for p in received[t]):
                return None
        places.append(low)
    return places


def extent(piece: BlockPiece, dilation: int) -> int:
    """Room that a piece takes in the result."""
    return (piece.size - 1) * dilation + 1


def _side_by_side(
    ctx: LocalContext, like: ir.Value, dim: int, parts: Sequence[tuple[int, ir.Value]], block: int,
    fill: ir.Value | None,
) -> ir.Value:  # fmt: skip
    """Parts at their places, with fill in between."""
    row: list[ir.Value] = []
    end = 0

    def gap(to: int) -> None:
        if to > end:
            row.append(broadcast(fill or scalar_zero(ctx, like.type.element_type), resized(like, dim, to - end)))

    for place, part in sorted(parts, key=lambda p: p[0]):
        gap(place)
        row.append(part)
        end = place + part.type.shape[dim]
    gap(block)
    return concatenate(row, dim)
