"""Local forms of slice and dynamic_slice: their attributes hold sizes of dimensions they do not touch.

`pad`, `reverse` and `dynamic_update_slice` are the same op on local shapes.  A start index on a split
dimension needs no change: there the slice is as large as the dimension, which clamps the index to 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form


@local_form("stablehlo.slice")
def slice_(ctx: LocalContext) -> Sequence[ir.Value]:
    """Limits of the untouched dimensions become their local sizes."""
    before, after = ctx.op.operands[0].type.shape, ctx.operands[0].type.shape
    limits = [
        n if n != s else limit
        for limit, s, n in zip(ctx.op.attributes["limit_indices"], before, after, strict=True)
    ]  # fmt: skip
    return ctx.same_op(limit_indices=ir.DenseI64ArrayAttr.get(limits))


@local_form("stablehlo.dynamic_slice")
def dynamic_slice(ctx: LocalContext) -> Sequence[ir.Value]:
    """Slice sizes are those of the local result."""
    return ctx.same_op(slice_sizes=ir.DenseI64ArrayAttr.get(list(ctx.result_types[0].shape)))
