"""Local forms of markers: values pass through, and layouts written for other compilers go."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form
from pcg.rules.opaque import is_marker


@local_form("stablehlo.custom_call")
def custom_call(ctx: LocalContext) -> Sequence[ir.Value]:
    if is_marker(ctx.op):
        return list(ctx.operands)
    return ctx.same_op()
