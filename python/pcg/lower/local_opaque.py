"""Local forms of custom calls: markers pass values through; what was written for other compilers goes."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form
from pcg.lower.manual import inline_manual
from pcg.rules.custom_call import ATTRIBUTE
from pcg.rules.manual import is_manual
from pcg.rules.opaque import is_marker


@local_form("stablehlo.custom_call")
def custom_call(ctx: LocalContext) -> Sequence[ir.Value]:
    if is_marker(ctx.op):
        return list(ctx.operands)
    if is_manual(ctx.op):
        return inline_manual(ctx)
    made = ctx.same_op()
    if made and ATTRIBUTE in (local := made[0].owner).attributes:
        # The sizes in Shardy's rule are those of the whole op; jaxlib refuses it on shards.
        del local.attributes[ATTRIBUTE]
    return made
