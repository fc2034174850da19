"""Local form of reduce_window: halos for windows that cross shards, scans for cumulative reductions."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.halo import with_halo
from pcg.lower.local import LocalContext, local_form
from pcg.lower.local_scan import scan
from pcg.rules.halo import halo
from pcg.rules.regions import splat
from pcg.rules.registry import shape
from pcg.rules.window import cumulative, sliding, window_numbers


@local_form("stablehlo.reduce_window")
def reduce_window(ctx: LocalContext) -> Sequence[ir.Value]:
    """Windows that reach into a neighbour's shard read its edge; outside the tensor they read the initial value."""
    numbers = window_numbers(ctx.op)
    if (found := cumulative(ctx.op, numbers)) is not None:
        return scan(ctx, numbers, *found)
    count = len(ctx.op.results)
    values = list(ctx.operands)
    pads = list(numbers["padding"])
    touched = False
    for d, factors in enumerate(ctx.rule.operands[0]):
        axes = ctx.axes_of(factors[0]) if factors else ()
        h = halo(sliding(numbers, d, shape(ctx.op.operands[0]), shape(ctx.op.results[0])))
        if not axes or h is None:
            continue
        for i in range(count):
            fill = splat(ctx.op.operands[count + i])
            values[i] = with_halo(ctx, values[i], d, axes, h.left, h.right, fill)
        pads[2 * d : 2 * d + 2] = h.low, h.high
        touched = True
    if not touched:
        return ctx.same_op()
    rows = [pads[2 * d : 2 * d + 2] for d in range(len(pads) // 2)]
    i64 = ir.IntegerType.get_signless(64)
    padding = ir.Attribute.parse(f"dense<{rows}> : {ir.RankedTensorType.get([len(rows), 2], i64)}")
    return ctx.same_op(values, padding=padding)
