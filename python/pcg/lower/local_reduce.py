"""Local form of reduce: initial values that count once, and reducers that no collective knows.

XLA takes initial values for neutral: a reduction over dimensions of size 1, as a shard may have them, is a reshape to
it, and one of a concatenation is taken of each part; what an all-to-all or a halo brings is one, so that this is said
of dimensions that are not split, too.  So a reduction of a shard starts from the neutral element, and an initial value
that is another is combined with what it makes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.clone import clone_mapped
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import neutral
from pcg.rules.reduce import idempotent, reducer_kinds
from pcg.rules.regions import REDUCERS, is_neutral
from pcg.rules.scalars import idempotent_on


@local_form("stablehlo.reduce")
def reduce(ctx: LocalContext) -> Sequence[ir.Value]:
    """The same op on the shard; see the rule for what is different when reduced dimensions are split."""
    n = len(ctx.op.results)
    reduced = [f for d in ctx.op.attributes["dimensions"] for f in ctx.rule.operands[0][d]]
    axes = [a for f in reduced for a in ctx.axes_of(f)]
    if not axes:
        return _unsplit(ctx, n)
    if ctx.rule.exchanges:
        return _again(ctx, ctx.same_op(), ctx.operands[n:], axes)
    kinds = reducer_kinds(ctx.op)
    assert kinds is not None
    if all(is_neutral(v, kinds[0]) for v in ctx.op.operands[n:]):
        return ctx.same_op()
    nothing = [neutral(v.type.element_type, kinds[0], ctx.op.location) for v in ctx.operands[n:]]
    made = ctx.same_op([*ctx.operands[:n], *nothing])
    where = () if idempotent(kinds[0]) else axes
    return [
        _started(ctx, kinds[0], value, start, other, where)
        for value, start, other in zip(made, ctx.operands[n:], nothing, strict=True)
    ]


def _unsplit(ctx: LocalContext, n: int) -> Sequence[ir.Value]:
    """The same op where no reduced dimension is split."""
    sizes = [ctx.op.operands[0].type.shape[d] for d in ctx.op.attributes["dimensions"]]
    kinds = reducer_kinds(ctx.op)
    starts = ctx.op.operands[n:]
    # XLA takes a reduction over size 1 for a reshape on one device, too.
    if math.prod(sizes) <= 1 or (kinds is not None and all(map(is_neutral, starts, kinds))):
        return ctx.same_op()
    if kinds is None:
        if n > 1 or idempotent_on(ctx.op.regions[0], starts):
            return ctx.same_op()
        value = ctx.operands[0]
        apart = ctx.create("stablehlo.optimization_barrier", [value], [value.type]).result
        return ctx.same_op([apart, *ctx.operands[n:]])
    nothing = [neutral(v.type.element_type, k, ctx.op.location) for v, k in zip(ctx.operands[n:], kinds, strict=True)]
    made = ctx.same_op([*ctx.operands[:n], *nothing])
    return [
        _started(ctx, k, value, start, start, ())
        for k, value, start in zip(kinds, made, ctx.operands[n:], strict=True)
    ]


def windows_reduced(
    ctx: LocalContext, values: Sequence[ir.Value], kind: str | None, **attributes: ir.Attribute
) -> Sequence[ir.Value]:
    """The reduction of windows of `values` (inputs, then initial values), each window started once.

    `kind` is the reduction; None for a reducer that is applied to initial values and results once more.
    """
    n = len(ctx.op.results)
    if kind is None:
        return _mapped(ctx, values[n:], ctx.same_op(values, **attributes))
    if all(is_neutral(v, kind) for v in ctx.op.operands[n:]):
        return ctx.same_op(values, **attributes)
    nothing = [neutral(v.type.element_type, kind, ctx.op.location) for v in values[n:]]
    made = ctx.same_op([*values[:n], *nothing], **attributes)
    return [_started(ctx, kind, v, start, start, ()) for v, start in zip(made, values[n:], strict=True)]


def _started(
    ctx: LocalContext, kind: str, value: ir.Value, start: ir.Value, other: ir.Value, axes: Sequence[str]
) -> ir.Value:
    """`value` combined with `start`; with `other` on all but the first device along `axes`."""
    if axes:
        index = ctx.axis_index(axes)
        i1 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
        first = ctx.create(
            "stablehlo.compare", [index, ctx.constant(0, index.type)], [i1],
            comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction EQ>"),
        ).result  # fmt: skip
        start = ctx.create("stablehlo.select", [first, start, other], [start.type]).result
    return ctx.create(REDUCERS[kind], [_spread(ctx, start, value.type), value], [value.type]).result


def _spread(ctx: LocalContext, start: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    if start.type.element_type != type_.element_type:  # a reducer may widen what it adds up
        wide = ir.RankedTensorType.get([], type_.element_type)
        start = ctx.create("stablehlo.convert", [start], [wide]).result
    return ctx.create(
        "stablehlo.broadcast_in_dim", [start], [type_], broadcast_dimensions=ir.DenseI64ArrayAttr.get([])
    ).result


def _mapped(ctx: LocalContext, starts: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
    """The reducer of `starts` and `values`, elementwise."""
    operands = [*(_spread(ctx, s, v.type) for s, v in zip(starts, values, strict=True)), *values]
    dimensions = ir.DenseI64ArrayAttr.get(list(range(values[0].type.rank)))
    source = ctx.op.regions[0].blocks[0]
    results = []
    for i, value in enumerate(values):
        made = ctx.create("stablehlo.map", operands, [value.type], regions=1, dimensions=dimensions)
        block = made.regions[0].blocks.append(*[a.type for a in source.arguments])
        known = dict(zip(source.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            *body, last = source.operations
            for inner in body:
                clone_mapped(inner.operation, known)
            ctx.create("stablehlo.return", [known[last.operation.operands[i]]], [])
        results.append(made.result)
    return results


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
