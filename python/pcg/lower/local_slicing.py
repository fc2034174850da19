"""Local forms of slice, pad, reverse, concatenate, dynamic_slice and dynamic_update_slice.

Attributes of slices hold sizes, which become local ones.  Split dimensions that are sliced, padded,
concatenated or reversed are rearranged (`pcg.lower.blocks`); where the start of a slice is known only at run time, each
device computes what it owns of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import binary, create, i64s, tensor
from pcg.layout import uneven
from pcg.lower import blocks
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import absent
from pcg.rules.blocks import concatenate_spans, reverse_spans
from pcg.rules.registry import shape
from pcg.rules.slicing import Resized, pad_resizes, pads_with_zeros, slice_resizes


def _axes(ctx: LocalContext, tensor: Sequence[tuple[int, ...]], d: int) -> tuple[str, ...]:
    """Axes that split dimension `d` of a tensor."""
    return tuple(a for f in tensor[d] for a in ctx.axes_of(f))


def _own(ctx: LocalContext, value: ir.Value, resizes: Sequence[Resized | None]) -> ir.Value:
    """This device's part of the dimensions that only the result is split in."""
    for d, how in enumerate(resizes):
        axes = _axes(ctx, ctx.rule.results[0], d)
        if how is not None and how.kind == "replicated" and axes:
            value = ctx.collectives.slice(value, d, axes)
    return value


@local_form("stablehlo.slice")
def slice_(ctx: LocalContext) -> Sequence[ir.Value]:
    """Dimensions that are not split first: less is left to send."""
    op, value = ctx.op, ctx.operands[0]
    resizes = slice_resizes(op)
    split = [_axes(ctx, ctx.rule.operands[0], d) for d in range(len(resizes))]
    rows = (op.attributes[n] for n in ("start_indices", "limit_indices", "strides"))
    bounds = [*zip(*rows, strict=True)]
    unsplit = [b if how and not x else None for b, how, x in zip(bounds, resizes, split, strict=True)]
    value = _sliced(ctx, value, unsplit)
    for d, how in enumerate(resizes):
        if how and how.kind == "owners" and split[d]:
            value = _contribution(ctx, value, d, split[d], *bounds[d])
    value = _own(ctx, value, resizes)
    for d, how in enumerate(resizes):
        if how and how.kind == "pieces" and split[d]:
            value = blocks.rearrange(ctx, [value], d, split[d], how.spans, shape(op.results[0])[d])
    return [value]


def _sliced(ctx: LocalContext, value: ir.Value, bounds: Sequence[tuple[int, int, int] | None]) -> ir.Value:
    """A slice of the dimensions that have bounds: start, limit, stride."""
    if not any(bounds):
        return value
    full = [b or (0, n, 1) for b, n in zip(bounds, value.type.shape, strict=True)]
    return emit.slice_box(value, *zip(*full, strict=True))


def _contribution(
    ctx: LocalContext, value: ir.Value, d: int, axes: Sequence[str], start: int, limit: int, stride: int
) -> ir.Value:
    """The slice of a split dimension, zero where another device owns it."""
    block = value.type.shape[d]
    reach = max((-(-(limit - start) // stride) - 1) * stride + 1, 0)  # a slice may have no elements
    around = blocks.pad(ctx, value, d, reach, reach)
    firsts = [first for first, _ in uneven.blocks(shape(ctx.op.operands[0])[d], tuple(axes), ctx.mesh)]
    at = ctx.per_device([min(max(start - first + reach, 0), block + reach) for first in firsts])
    return blocks.sliced(blocks.window(ctx, around, d, at, reach), d, 0, reach, stride)


@local_form("stablehlo.pad")
def pad(ctx: LocalContext) -> Sequence[ir.Value]:
    """Split dimensions first: less is there to send."""
    op, (value, fill) = ctx.op, ctx.operands
    resizes = pad_resizes(op)
    split = [_axes(ctx, ctx.rule.operands[0], d) for d in range(len(resizes))]
    for d, how in enumerate(resizes):
        if how and how.kind == "pieces" and split[d]:
            size = shape(op.results[0])[d]
            value = blocks.rearrange(ctx, [value], d, split[d], how.spans, size, fill, pads_with_zeros(op))
    rows = [
        [0 if x else n for n, x in zip(op.attributes[name], split, strict=True)]
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    ]
    if any(map(any, rows)):
        value = emit.pad(value, fill, *rows)
    return [_own(ctx, value, resizes)]


@local_form("stablehlo.reverse")
def reverse(ctx: LocalContext) -> Sequence[ir.Value]:
    value = ctx.operands[0]
    dims = list(ctx.op.attributes["dimensions"])
    split = {d: axes for d in dims if (axes := _axes(ctx, ctx.rule.operands[0], d))}
    here = [d for d in dims if d not in split]
    if here:
        value = create("stablehlo.reverse", [value], value.type, dimensions=i64s(here))
    for d, axes in split.items():
        size = shape(ctx.op.operands[0])[d]
        value = blocks.rearrange(ctx, [value], d, axes, reverse_spans(size), size)
    return [value]


@local_form("stablehlo.concatenate")
def concatenate(ctx: LocalContext) -> Sequence[ir.Value]:
    op = ctx.op
    d = op.attributes["dimension"].value
    axes = _axes(ctx, ctx.rule.results[0], d)
    if not axes or len(ctx.operands) == 1:
        return ctx.same_op()
    sizes = [shape(v)[d] for v in op.operands]
    split = [bool(_axes(ctx, row, d)) for row in ctx.rule.operands]
    if any(split):
        return [blocks.rearrange(ctx, ctx.operands, d, axes, concatenate_spans(sizes, split), shape(op.results[0])[d])]
    return [ctx.collectives.slice(emit.concatenate(ctx.operands, d), d, axes)]


# -- starts known at run time ----------------------------------------------------------------------


def _starts(ctx: LocalContext, indices: Sequence[ir.Value], sizes: Sequence[int]) -> list[ir.Value]:
    """Start indices clamped to what the op allows for pieces of `sizes`, as signed integers of at least 32 bits."""
    operand = shape(ctx.op.operands[0])
    out = []
    wide = ir.IntegerType.get_signless(64 if max(operand) >= 2**31 else 32)
    for index, n, size in zip(indices, operand, sizes, strict=True):
        if n == size:  # there is one place to start at
            out.append(ctx.constant(0, tensor([], wide)))
            continue
        if index.type.element_type.width < 32:  # the bound need not fit
            index = emit.convert(index, wide)
        out.append(emit.convert(_clamped(ctx, index, n - size), wide))
    return out


def _clamped(ctx: LocalContext, index: ir.Value, most: int) -> ir.Value:
    low, high = ctx.constant(0, index.type), ctx.constant(most, index.type)
    return create("stablehlo.clamp", [low, index, high], index.type)


def _relative(ctx: LocalContext, start: ir.Value, d: int, axes: Sequence[str]) -> ir.Value:
    """A global index along dimension `d` as one into this device's block; may be outside of it."""
    firsts = [first for first, _ in uneven.blocks(shape(ctx.op.operands[0])[d], tuple(axes), ctx.mesh)]
    return binary("subtract", start, ctx.per_device(firsts, start.type.element_type))


def _inside(ctx: LocalContext, index: ir.Value, end: int) -> ir.Value:
    """Whether 0 <= index < end, elementwise."""
    low = emit.compare(index, ctx.constant(0, index.type), "GE")
    return binary("and", low, emit.compare(index, ctx.constant(end, index.type), "LT"))


def _split_windows(ctx: LocalContext, window: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The split dimensions of which the op reads or writes only a part, of the size in `window`, and their axes."""
    return {
        d: axes
        for d, (a, b) in enumerate(zip(shape(ctx.op.operands[0]), window, strict=True))
        if a != b and (axes := _axes(ctx, ctx.rule.operands[0], d))
    }


@local_form("stablehlo.dynamic_slice")
def dynamic_slice(ctx: LocalContext) -> Sequence[ir.Value]:
    """Slice sizes are those of the local result; what a device does not own of the slice is zero."""
    result = shape(ctx.op.results[0])
    split = _split_windows(ctx, result)
    value, type_ = ctx.operands[0], ctx.result_types[0]
    if not split:
        # On a split dimension that stays the slice is as large as the dimension, which clamps the index to 0.
        return ctx.same_op(slice_sizes=i64s(type_.shape))
    starts = _starts(ctx, ctx.operands[1:], result)
    none = absent(type_.element_type)
    owned: ir.Value | None = None
    for d, axes in split.items():
        block, size = value.type.shape[d], result[d]
        starts[d] = _relative(ctx, starts[d], d, axes)
        if size == 1:
            inside = _inside(ctx, starts[d], block)
            owned = inside if owned is None else binary("and", owned, inside)
        else:  # a slice of zeros on either side: whatever is outside of the block reads them
            value = blocks.pad(ctx, value, d, size, size, none)
            starts[d] = binary("add", starts[d], ctx.constant(size, starts[d].type))
    taken = emit.dynamic_slice(value, starts, type_.shape)
    return [taken if owned is None else emit.select(owned, taken, emit.broadcast(none, type_))]


@local_form("stablehlo.dynamic_update_slice")
def dynamic_update_slice(ctx: LocalContext) -> Sequence[ir.Value]:
    """Each device writes what it owns of the update: over the nearest window of its block, masked, so in place."""
    size = shape(ctx.op.operands[1])
    split = _split_windows(ctx, size)
    if not split:
        return ctx.same_op()
    value, update, *indices = ctx.operands
    starts = _starts(ctx, indices, size)
    skipped: dict[int, ir.Value] = {}
    for d, axes in split.items():
        block = value.type.shape[d]
        width = min(size[d], block)
        wanted = _relative(ctx, starts[d], d, axes)
        starts[d] = _clamped(ctx, wanted, block - width)
        skipped[d] = binary("subtract", starts[d], wanted)  # of the update, before the window
        if size[d] > 1:
            around = blocks.pad(ctx, update, d, width, width)
            first = binary("add", skipped[d], ctx.constant(width, wanted.type))
            update = blocks.window(ctx, around, d, first, width)
    owned: ir.Value | None = None
    for d, skip in skipped.items():
        places = emit.iota(tensor(update.type.shape, skip.type.element_type), d)
        inside = _inside(ctx, binary("add", places, emit.broadcast(skip, places.type)), size[d])
        owned = inside if owned is None else binary("and", owned, inside)
    assert owned is not None
    update = emit.select(owned, update, emit.dynamic_slice(value, starts, update.type.shape))
    return [create("stablehlo.dynamic_update_slice", [value, update, *starts], value.type)]
