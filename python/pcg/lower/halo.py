"""Fetching the edges of neighbouring shards."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

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
        edge = _cut(ctx, value, dim, size - left, size)
        parts.insert(0, _filled(ctx, ctx.collectives.shift(edge, axes, 1, ctx.op.location), axes, 0, fill))
    if right:
        edge = _cut(ctx, value, dim, 0, right)
        last = ctx.mesh.axes_size(axes) - 1
        parts.append(_filled(ctx, ctx.collectives.shift(edge, axes, -1, ctx.op.location), axes, last, fill))
    if len(parts) == 1:
        return value
    whole = _sized(value, dim, size + left + right)
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    return ctx.create("stablehlo.concatenate", parts, [whole], dimension=dimension).result


def _filled(ctx: LocalContext, edge: ir.Value, axes: Sequence[str], outermost: int, fill: float | None) -> ir.Value:
    """`edge`, but `fill` on the devices that got nothing."""
    if fill is None or fill == 0:
        return edge
    index = ctx.axis_index(axes)
    place = ctx.constant(outermost, index.type)
    i1 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    outside = ctx.create(
        "stablehlo.compare", [index, place], [i1],
        comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction EQ>"),
    ).result
    return ctx.create("stablehlo.select", [outside, ctx.constant(fill, edge.type), edge], [edge.type]).result


def _cut(ctx: LocalContext, value: ir.Value, dim: int, start: int, limit: int) -> ir.Value:
    shape = list(value.type.shape)
    starts = [start if d == dim else 0 for d in range(len(shape))]
    limits = [limit if d == dim else n for d, n in enumerate(shape)]
    return ctx.create(
        "stablehlo.slice", [value], [_sized(value, dim, limit - start)],
        start_indices=ir.DenseI64ArrayAttr.get(starts), limit_indices=ir.DenseI64ArrayAttr.get(limits),
        strides=ir.DenseI64ArrayAttr.get([1] * len(shape)),
    ).result


def _sized(value: ir.Value, dim: int, size: int) -> ir.RankedTensorType:
    shape = [size if d == dim else n for d, n in enumerate(value.type.shape)]
    return ir.RankedTensorType.get(shape, value.type.element_type)
