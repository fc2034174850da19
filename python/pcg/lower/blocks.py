"""Moving pieces of a dimension between its blocks: the local form of `pcg.rules.blocks`.

One program runs on every device, so where a device cuts and puts its pieces comes from tables over devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.layout.uneven import intervals, padded_size
from pcg.lower.local import LocalContext
from pcg.rules.blocks import BlockPiece, Counts, Round, Schedule, Span, largest, preparation, schedule


def i64s(values: Sequence[int]) -> ir.Attribute:
    """An array of 64-bit integers."""
    return ir.DenseI64ArrayAttr.get(list(values))


def sized(value: ir.Value, dim: int, size: int) -> ir.RankedTensorType:
    """Type of `value` with another size of dimension `dim`."""
    shape = [size if d == dim else n for d, n in enumerate(value.type.shape)]
    return ir.RankedTensorType.get(shape, value.type.element_type)


def cut(ctx: LocalContext, value: ir.Value, dim: int, start: int, limit: int, stride: int = 1) -> ir.Value:
    """Elements start, start + stride, ... below `limit` of dimension `dim`."""
    rank = value.type.rank
    if (start, limit, stride) == (0, value.type.shape[dim], 1):
        return value
    return ctx.create(
        "stablehlo.slice", [value], [sized(value, dim, -(-(limit - start) // stride))],
        start_indices=i64s([start if d == dim else 0 for d in range(rank)]),
        limit_indices=i64s([limit if d == dim else n for d, n in enumerate(value.type.shape)]),
        strides=i64s([stride if d == dim else 1 for d in range(rank)]),
    ).result  # fmt: skip


def pad(
    ctx: LocalContext, value: ir.Value, dim: int, low: int, high: int, fill: ir.Value | None = None, interior: int = 0
) -> ir.Value:
    """`value` with `low` and `high` elements around dimension `dim`, `interior` between its own (`fill`, or 0)."""
    if low == high == interior == 0:
        return value
    rank, size = value.type.rank, value.type.shape[dim]
    fill = fill or zero(ctx, value.type.element_type)
    one = [[n if d == dim else 0 for d in range(rank)] for n in (low, high, interior)]
    type_ = sized(value, dim, low + high + size + max(0, size - 1) * interior)
    return ctx.create(
        "stablehlo.pad", [value, fill], [type_], edge_padding_low=i64s(one[0]), edge_padding_high=i64s(one[1]),
        interior_padding=i64s(one[2]),
    ).result


def zero(ctx: LocalContext, element: ir.Type) -> ir.Value:
    """A 0-d zero."""
    return ctx.constant(0, ir.RankedTensorType.get([], element))


def broadcast(ctx: LocalContext, scalar: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A 0-d value everywhere."""
    return ctx.create("stablehlo.broadcast_in_dim", [scalar], [type_], broadcast_dimensions=i64s([])).result


def compare(ctx: LocalContext, a: ir.Value, b: ir.Value, direction: str) -> ir.Value:
    """Elementwise comparison of integers."""
    i1 = ir.RankedTensorType.get(a.type.shape, ir.IntegerType.get_signless(1))
    attr = ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")
    return ctx.create("stablehlo.compare", [a, b], [i1], comparison_direction=attr).result


def select(ctx: LocalContext, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """`a` where the condition (0-d, or of their shape) holds, else `b`."""
    return ctx.create("stablehlo.select", [condition, a, b], [a.type]).result


def per_device(ctx: LocalContext, axes: Sequence[str], values: Sequence[int]) -> ir.Value:
    """0-d i32: `values[i]` on the device of linear index i along `axes`."""
    if len(set(values)) == 1:
        return ctx.constant(values[0], ir.RankedTensorType.get([], ir.IntegerType.get_signless(32)))
    return ctx.per_device([values[ctx.mesh.index(p, axes)] for p in range(ctx.mesh.size)])


def window(ctx: LocalContext, value: ir.Value, dim: int, start: ir.Value, size: int) -> ir.Value:
    """`size` elements of dimension `dim` from `start` (0-d)."""
    type_ = sized(value, dim, size)
    starts = _starts(ctx, value, dim, start)
    return ctx.create("stablehlo.dynamic_slice", [value, *starts], [type_], slice_sizes=i64s(type_.shape)).result


def put(ctx: LocalContext, value: ir.Value, dim: int, start: ir.Value, part: ir.Value) -> ir.Value:
    """`value` with `part` written over it from `start` (0-d) of dimension `dim`."""
    starts = _starts(ctx, value, dim, start)
    return ctx.create("stablehlo.dynamic_update_slice", [value, part, *starts], [value.type]).result


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
        type_ = sized(values[0], dim, block)
        return broadcast(ctx, fill or zero(ctx, type_.element_type), type_)
    parts: list[ir.Value] = []
    seen = set()
    for span in spans:
        if (key := preparation(span)) not in seen:
            seen.add(key)
            parts.append(_prepared(ctx, values[span.operand], dim, axes, span, counts))
    return _assembled(ctx, _concatenated(ctx, parts, dim), dim, axes, plan, block, used, fill, fill_is_zero)


def _prepared(
    ctx: LocalContext, value: ir.Value, dim: int, axes: Sequence[str], span: Span, counts: Counts
) -> ir.Value:
    """The block flipped or thinned out, as `Span.prepared` counts it."""
    if span.stride < 0:
        return ctx.create("stablehlo.reverse", [value], [value.type], dimensions=i64s([dim])).result
    if span.stride == 1:
        return value
    phases = [span.phase(q, counts) for q in range(ctx.mesh.axes_size(axes))]
    reach = (span.most(counts) - 1) * span.stride + 1
    value = pad(ctx, value, dim, 0, max(0, max(phases) + reach - value.type.shape[dim]))
    return cut(ctx, window(ctx, value, dim, per_device(ctx, axes, phases), reach), dim, 0, reach, span.stride)


def _concatenated(ctx: LocalContext, parts: Sequence[ir.Value], dim: int) -> ir.Value:
    if len(parts) == 1:
        return parts[0]
    type_ = sized(parts[0], dim, sum(p.type.shape[dim] for p in parts))
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    return ctx.create("stablehlo.concatenate", parts, [type_], dimension=dimension).result


def _assembled(
    ctx: LocalContext, buffer: ir.Value, dim: int, axes: Sequence[str], plan: Schedule, block: int,
    used: Sequence[int], fill: ir.Value | None, fill_is_zero: bool,
) -> ir.Value:  # fmt: skip
    n = ctx.mesh.axes_size(axes)
    rounds = [*((r, False) for r in plan.local), *((r, True) for r in plan.rounds)]
    parts = []
    for pieces, sent in rounds:
        part = _taken(ctx, buffer, dim, axes, pieces, n)
        if sent:
            part = ctx.collectives.send(part, axes, [(p.source, p.target) for p in pieces], ctx.op.location)
        parts.append(pad(ctx, part, dim, 0, 0, fill, plan.dilation - 1))
    if (places := _same_everywhere(plan, used)) is not None:
        if fill is not None:
            for k, (pieces, sent) in enumerate(rounds):
                if len(pieces) < n and not (sent and fill_is_zero):
                    holds = per_device(ctx, axes, [int(any(p.target == t for p in pieces)) for t in range(n)])
                    holds = compare(ctx, holds, ctx.constant(1, holds.type), "EQ")
                    parts[k] = select(ctx, holds, parts[k], broadcast(ctx, fill, parts[k].type))
        return _laid(ctx, buffer, dim, [*zip(places, parts, strict=True)], block, fill)
    most = max((p.type.shape[dim] for p in parts), default=0)
    result = broadcast(
        ctx, fill or zero(ctx, buffer.type.element_type), sized(buffer, dim, block + most)
    )  # what a device has no piece for goes behind the block
    for (pieces, _), part in zip(rounds, parts, strict=True):
        result = _put(ctx, result, dim, axes, pieces, part, plan.dilation, block, n)
    return cut(ctx, result, dim, 0, block)


def _taken(ctx: LocalContext, buffer: ir.Value, dim: int, axes: Sequence[str], pieces: Round, n: int) -> ir.Value:
    """The piece that this device cuts in this round, and what follows it up to the size of the largest."""
    size = largest(pieces)
    takes = {p.source: p.take for p in pieces}
    beyond = max(takes.values()) + size - buffer.type.shape[dim]
    if len(set(takes.values())) == 1:
        start = pieces[0].take
        return cut(ctx, pad(ctx, buffer, dim, 0, max(0, beyond)), dim, start, start + size)
    starts = per_device(ctx, axes, [takes.get(q, pieces[0].take) for q in range(n)])
    return window(ctx, pad(ctx, buffer, dim, 0, max(0, beyond)), dim, starts, size)


def _put(
    ctx: LocalContext, result: ir.Value, dim: int, axes: Sequence[str], pieces: Round, part: ir.Value, dilation: int,
    block: int, n: int,
) -> ir.Value:  # fmt: skip
    """Write the part where this device has it; behind the block if it has none; of a short one only what there is."""
    width = part.type.shape[dim]
    to = {p.target: p for p in pieces}
    place = per_device(ctx, axes, [to[t].put if t in to else block for t in range(n)])
    if any(p.size != largest(pieces) for p in pieces):
        ends = [(to[t].size - 1) * dilation + 1 if t in to else width for t in range(n)]
        i32 = ir.IntegerType.get_signless(32)
        at = ir.RankedTensorType.get(part.type.shape, i32)
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
        index = ctx.create("stablehlo.iota", [], [at], iota_dimension=number).result
        mine = compare(ctx, index, broadcast(ctx, per_device(ctx, axes, ends), at), "LT")
        part = select(ctx, mine, part, window(ctx, result, dim, place, width))
    return put(ctx, result, dim, place, part)


def _same_everywhere(plan: Schedule, used: Sequence[int]) -> list[int] | None:
    """Where each round's part goes when that is the same on all devices, so that parts can be laid side by side.

    Devices without a piece in a round must have none at that place either: there the part is fill.  Behind a piece
    that is shorter than the part there must be nothing but what is not `used` of the block.
    """
    n = len(used)
    held: list[list[BlockPiece]] = [[] for _ in range(n)]
    for pieces in (*plan.local, *plan.rounds):
        for p in pieces:
            held[p.target].append(p)
    places = []
    for pieces in (*plan.local, *plan.rounds):
        low, size = pieces[0].put, largest(pieces)
        if any(p.put != low for p in pieces):
            return None
        if any(p.size != size and low + p.size * plan.dilation < used[p.target] for p in pieces):
            return None
        high = low + (size - 1) * plan.dilation + 1
        for t in set(range(n)) - {p.target for p in pieces}:
            if any(p.put < high and low < p.put + extent(p, plan.dilation) for p in held[t]):
                return None
        places.append(low)
    return places


def extent(piece: BlockPiece, dilation: int) -> int:
    """Room that a piece takes in the result."""
    return (piece.size - 1) * dilation + 1


def _laid(
    ctx: LocalContext, like: ir.Value, dim: int, parts: Sequence[tuple[int, ir.Value]], block: int,
    fill: ir.Value | None,
) -> ir.Value:  # fmt: skip
    """Parts at their places, with fill in between."""
    row: list[ir.Value] = []
    end = 0

    def gap(to: int) -> None:
        if to > end:
            row.append(broadcast(ctx, fill or zero(ctx, like.type.element_type), sized(like, dim, to - end)))

    for place, part in sorted(parts, key=lambda p: p[0]):
        gap(place)
        row.append(part)
        end = place + part.type.shape[dim]
    gap(block)
    return _concatenated(ctx, row, dim)
