"""Local forms of markers: values pass through, and layouts written for other compilers go."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form
from pcg.lower.manual import inline_manual
from pcg.rules.manual import is_manual
from pcg.rules.opaque import is_marker


@local_form("stablehlo.custom_call")
def custom_call(ctx: LocalContext) -> Sequence[ir.Value]:
    if is_marker(ctx.op):
        return list(ctx.operands)
    if is_manual(ctx.op):
        return inline_manual(ctx)
    return ctx.same_op()
