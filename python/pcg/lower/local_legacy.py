"""Local form of the old broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import i64s
from pcg.lower.local import LocalContext, local_form


@local_form("stablehlo.broadcast")
def broadcast(ctx: LocalContext) -> Sequence[ir.Value]:
    """With the sizes of this device's part."""
    new = ctx.result_types[0].rank - ctx.operands[0].type.rank
    return ctx.same_op(broadcast_sizes=i64s(ctx.result_types[0].shape[:new]))
