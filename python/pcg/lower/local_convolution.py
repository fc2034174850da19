"""Local form of convolution."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.halo import with_halo
from pcg.lower.local import LocalContext, local_form
from pcg.rules.convolution import layout, padding, sliding
from pcg.rules.halo import halo


@local_form("stablehlo.convolution")
def convolution(ctx: LocalContext) -> Sequence[ir.Value]:
    """With split groups a device holds that many fewer of them; split spatial dimensions fetch their halos."""
    changed: dict[str, ir.Attribute] = {}
    for name in ("feature_group_count", "batch_group_count"):
        count = ctx.op.attributes[name]
        if count.value > 1:  # groups are factor 0
            changed[name] = ir.IntegerAttr.get(count.type, count.value // ctx.parts(0))
    n = layout(ctx.op)
    value = ctx.operands[0]
    pads = padding(ctx.op, len(n.spatial))
    touched = False
    for d, s in enumerate(sliding(ctx.op, n)):
        factors = ctx.rule.operands[0][n.spatial[d]]
        axes = ctx.axes_of(factors[0]) if factors else ()
        if not axes:
            continue
        h = halo(s)
        assert h is not None
        value = with_halo(ctx, value, n.spatial[d], axes, h.left, h.right)
        pads[2 * d : 2 * d + 2] = h.low, h.high
        touched = True
    if touched:
        i64 = ir.IntegerType.get_signless(64)
        rows = [[pads[2 * d], pads[2 * d + 1]] for d in range(len(n.spatial))]
        changed["padding"] = ir.Attribute.parse(f"dense<{rows}> : {ir.RankedTensorType.get([len(rows), 2], i64)}")
    return ctx.same_op([value, *ctx.operands[1:]], **changed)
