"""Local form of convolution."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form


@local_form("stablehlo.convolution")
def convolution(ctx: LocalContext) -> Sequence[ir.Value]:
    """With split groups a device holds that many fewer of them."""
    changed: dict[str, ir.Attribute] = {}
    for name in ("feature_group_count", "batch_group_count"):
        count = ctx.op.attributes[name]
        if count.value > 1:  # groups are factor 0
            changed[name] = ir.IntegerAttr.get(count.type, count.value // ctx.parts(0))
    return ctx.same_op(**changed)
