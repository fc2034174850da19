"""Local form of convolution."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import i64_rows, i64s
from pcg.layout.uneven import padded_size
from pcg.lower.halo import with_halo
from pcg.lower.local import LocalContext, local_form
from pcg.lower.window_ranges import read_range
from pcg.rules.convolution import conv_dims, conv_sliding
from pcg.rules.halo import halo
from pcg.rules.window import padding
from pcg.rules.window_ranges import is_aligned, ranges


@local_form("stablehlo.convolution")
def convolution(ctx: LocalContext) -> Sequence[ir.Value]:
    """With split groups a device holds that many fewer of them; split spatial dimensions fetch what windows read."""
    changed: dict[str, ir.Attribute] = {}
    for name in ("feature_group_count", "batch_group_count"):
        count = ctx.op.attributes[name]
        if count.value > 1:  # groups are factor 0
            local = padded_size(count.value, ctx.counts(ctx.axes_of(0)))
            changed[name] = ir.IntegerAttr.get(count.type, local)
    n = conv_dims(ctx.op)
    value = ctx.operands[0]
    pads = padding(ctx.op, len(n.spatial))
    dilations = list(ctx.op.attributes["lhs_dilation"]) if "lhs_dilation" in ctx.op.attributes else []
    touched = False
    for d, s in enumerate(conv_sliding(ctx.op, n)):
        factors = ctx.rule.operands[0][n.spatial[d]]
        axes = ctx.axes_of(factors[0]) if factors else ()
        if not axes or s.untouched:
            continue
        touched = True
        h = halo(s)
        if h is None or not (h.with_window or is_aligned(s, ctx.counts(axes))):
            value = read_range(ctx, value, n.spatial[d], axes, ranges(s, ctx.counts(axes)))
            pads[2 * d : 2 * d + 2] = 0, 0
            if dilations:
                dilations[d] = 1
            continue
        value = with_halo(ctx, value, n.spatial[d], axes, h.left, h.right)
        pads[2 * d : 2 * d + 2] = h.low, h.high
    if touched:
        if dilations:
            changed["lhs_dilation"] = i64s(dilations)
        changed["padding"] = i64_rows([pads[2 * d : 2 * d + 2] for d in range(len(n.spatial))])
    return ctx.same_op([value, *ctx.operands[1:]], **changed)
