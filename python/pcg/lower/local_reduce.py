"""Local form of reduce: initial values that count once, and reducers that no collective knows."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.clone import clone_mapped
from pcg.lower.local import LocalContext, local_form
from pcg.rules.reduce import starts_elsewhere
from pcg.rules.regions import identity


@local_form("stablehlo.reduce")
def reduce(ctx: LocalContext) -> Sequence[ir.Value]:
    """The same op on the shard; see the rule for what is different when reduced dimensions are split."""
    n = len(ctx.op.results)
    reduced = [f for d in ctx.op.attributes["dimensions"] for f in ctx.rule.operands[0][d]]
    axes = [a for f in reduced for a in ctx.axes_of(f)]
    if not axes:
        return ctx.same_op()
    if ctx.rule.exchanges:
        return _again(ctx, ctx.same_op(), ctx.operands[n:], axes)
    kind = starts_elsewhere(ctx.op)
    if kind is None:
        return ctx.same_op()
    starts = [_on_first(ctx, v, kind, axes) for v in ctx.operands[n:]]
    return ctx.same_op([*ctx.operands[:n], *starts])


def _on_first(ctx: LocalContext, start: ir.Value, kind: str, axes: Sequence[str]) -> ir.Value:
    """The initial value `start` on the first device along `axes`, the neutral one on the others."""
    index = ctx.axis_index(axes)
    i1 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    first = ctx.create(
        "stablehlo.compare", [index, ctx.constant(0, index.type)], [i1],
        comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction EQ>"),
    ).result  # fmt: skip
    neutral = ctx.constant(identity(start.type.element_type, kind), start.type)
    return ctx.create("stablehlo.select", [first, start, neutral], [start.type]).result


def _again(
    ctx: LocalContext, partial: Sequence[ir.Value], starts: Sequence[ir.Value], axes: Sequence[str]
) -> Sequence[ir.Value]:
    """What the shards made, gathered in their order, and reduced once more."""
    rows = []
    for value in partial:
        row = ir.RankedTensorType.get([1, *value.type.shape], value.type.element_type)
        one = ctx.create("stablehlo.reshape", [value], [row]).result
        rows.append(ctx.collectives.all_gather(one, 0, axes, ctx.op.location))
    made = ctx.create(
        "stablehlo.reduce", [*rows, *starts], ctx.result_types, regions=1, dimensions=ir.DenseI64ArrayAttr.get([0])
    )
    source = ctx.op.regions[0].blocks[0]
    block = made.regions[0].blocks.append(*[a.type for a in source.arguments])
    values = dict(zip(source.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for inner in source.operations:
            clone_mapped(inner.operation, values)
    return list(made.results)
