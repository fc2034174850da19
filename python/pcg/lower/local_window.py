"""Local forms of reduce_window and select_and_scatter: halos where windows cross shards, scans for cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import i64_rows, i64s, tensor
from pcg.ir.identities import neutral_element
from pcg.lower.blocks import pad, per_device, sliced, window
from pcg.lower.halo import with_halo
from pcg.lower.local import LocalContext, clone_local, local_form
from pcg.lower.local_reduce import windows_reduced
from pcg.lower.local_scan import scan
from pcg.lower.neutral import neutral
from pcg.lower.window_ranges import read_range
from pcg.rules.halo import halo, scatter_halo
from pcg.rules.regions import reduction
from pcg.rules.registry import shape
from pcg.rules.values import splat
from pcg.rules.window import cumulative, selection, sliding, window_numbers
from pcg.rules.window_ranges import is_aligned, is_scatter_aligned, ranges, scatter_ranges


@local_form("stablehlo.reduce_window")
def reduce_window(ctx: LocalContext) -> Sequence[ir.Value]:
    """Windows that reach into a neighbour's shard read its edge; outside the tensor they read what changes nothing."""
    numbers = window_numbers(ctx.op)
    if (found := cumulative(ctx.op, numbers)) is not None:
        return scan(ctx, numbers, *found)
    count = len(ctx.op.results)
    kind = reduction(ctx.op.regions[0], count)
    values = list(ctx.operands)
    pads, dilations = list(numbers["padding"]), list(numbers["base_dilations"])
    touched = False
    for d, factors in enumerate(ctx.rule.operands[0]):
        axes = ctx.axes_of(factors[0]) if factors else ()
        slide = sliding(numbers, d, shape(ctx.op.operands[0]), shape(ctx.op.results[0]))
        if not axes or slide.untouched:
            continue
        touched = True
        h = halo(slide)
        counts = ctx.counts(axes)
        if h is None or not is_aligned(slide, counts):
            for i in range(count):
                fill = ctx.operands[count + i]
                if kind is not None:
                    fill = neutral(fill.type.element_type, kind)
                values[i] = read_range(ctx, values[i], d, axes, ranges(slide, counts), fill)
            pads[2 * d : 2 * d + 2] = 0, 0
            dilations[d] = 1
            continue
        for i in range(count):
            start = ctx.op.operands[count + i]
            outside = splat(start) if kind is None else neutral_element(start.type.element_type, kind)
            values[i] = with_halo(ctx, values[i], d, axes, h.left, h.right, outside)
        pads[2 * d : 2 * d + 2] = h.low, h.high
    if not touched:
        return ctx.same_op()
    changed = {} if dilations == numbers["base_dilations"] else {"base_dilations": i64s(dilations)}
    return windows_reduced(ctx, values, kind, padding=_padding(pads), **changed)


def _padding(flat: Sequence[int]) -> ir.Attribute:
    return i64_rows([flat[i : i + 2] for i in range(0, len(flat), 2)])


@local_form("stablehlo.select_and_scatter")
def select_and_scatter(ctx: LocalContext) -> Sequence[ir.Value]:
    """The windows that reach into this block run here too; what they add outside of it is cut off.

    Beyond the ends of the tensor the operand is the number that is selected last (-inf of a maximum) and the source 0.
    So a window that reaches over an end and holds nothing but that number inside may lose its source, as it does when
    the operand is padded with that number in the program.
    """
    numbers = window_numbers(ctx.op)
    value, source, init = ctx.operands
    pads = list(numbers["padding"])
    kind = selection(ctx.op.regions[0])
    own: dict[int, tuple[int | tuple[int, ...], int]] = {}  # dimension -> where the block starts, its size
    for d, factors in enumerate(ctx.rule.operands[0]):
        axes = ctx.axes_of(factors[0]) if factors else ()
        slide = sliding(numbers, d, shape(ctx.op.operands[0]), shape(ctx.op.operands[1]))
        if not axes or kind is None or slide.untouched:
            continue
        h, size = scatter_halo(slide), value.type.shape[d]
        last = neutral_element(value.type.element_type, kind)
        if h is not None and is_scatter_aligned(slide, ctx.counts(axes)):
            if not (h.left or h.right or any(pads[2 * d : 2 * d + 2])):
                continue
            own[d] = h.left, size
            value = with_halo(ctx, value, d, axes, h.left, h.right, last)
            source = with_halo(ctx, source, d, axes, h.before, h.after)
        else:
            both = scatter_ranges(slide, ctx.counts(axes))
            own[d] = both.starts, size
            fill = ctx.constant(last, tensor([], value.type.element_type))
            value = read_range(ctx, value, d, axes, both.operand, fill)
            source = read_range(ctx, source, d, axes, both.source)
        pads[2 * d : 2 * d + 2] = 0, 0
    if not own:
        return ctx.same_op()
    (result,) = clone_local(ctx.op, [value, source, init], [value.type], {"padding": _padding(pads)})
    for d, (start, size) in own.items():
        if isinstance(start, int):
            result = sliced(result, d, start, start + size)
            continue
        # What no window reaches, before the first one or behind the last one, is what the result starts from.
        before, behind = max(0, -min(start)), max(0, max(start) + size - result.type.shape[d])
        result = pad(ctx, result, d, before, behind, init)
        axes = ctx.axes_of(ctx.rule.operands[0][d][0])
        result = window(ctx, result, d, per_device(ctx, axes, [s + before for s in start]), size)
    return [result]
