"""Fetching the edges of neighbouring shards."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.lower.local import LocalContext


def with_halo(
    ctx: LocalContext, value: ir.Value, dim: int, axes: Sequence[str], left: int, right: int, fill: float | None = None
) -> ir.Value:
    """The local `value` with `left` elements of the shard before it along `dim`, and `right` of the one after it.

    Where there is no such shard the halo is zero, or `fill`.
    """
    parts = [value]
    size = value.type.shape[dim]
    if left:
        edge = emit.slice_dim(value, dim, size - left, size)
        parts.insert(0, _filled(ctx, ctx.collectives.shift(edge, axes, 1), axes, 0, fill))
    if right:
        edge = emit.slice_dim(value, dim, 0, right)
        parts.append(_filled(ctx, ctx.collectives.shift(edge, axes, -1), axes, ctx.mesh.axes_size(axes) - 1, fill))
    return emit.concatenate(parts, dim)


def _filled(ctx: LocalContext, edge: ir.Value, axes: Sequence[str], outermost: int, fill: float | None) -> ir.Value:
    """`edge`, but `fill` on the devices that received nothing."""
    if fill is None or fill == 0:
        return edge
    return emit.select(ctx.is_at(axes, outermost), ctx.constant(fill, edge.type), edge)
