"""Local form of reduce: initial values that must be combined once, and reducers that no collective knows.

XLA assumes that initial values are neutral: it replaces a reduction over dimensions of size 1, as a shard may have
them, by a reshape, and a reduction of a concatenation by one of each part.  What an all-to-all or a halo yields is a
concatenation, so this concerns dimensions that are not split, too.  So a reduction of a shard starts from the neutral
element, and an initial value that is not neutral is combined with its result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.clone import clone_mapped
from pcg.ir.emit import create, create_op, i64s
from pcg.lower.local import LocalContext, clone_block, local_form
from pcg.lower.neutral import neutral
from pcg.rules.reduce import idempotent, reducer_kinds
from pcg.rules.regions import REDUCERS, is_neutral
from pcg.rules.scalars import idempotent_on


@local_form("stablehlo.reduce")
def reduce(ctx: LocalContext) -> Sequence[ir.Value]:
    """The same op on the shard; see the rule for what is different when reduced dimensions are split."""
    n = len(ctx.op.results)
    axes = [a for d in ctx.op.attributes["dimensions"] for f in ctx.rule.operands[0][d] for a in ctx.axes_of(f)]
    if not axes:
        return _unsplit(ctx, n)
    if ctx.rule.exchanges:
        return _reduced_again(ctx, ctx.same_op(), ctx.operands[n:], axes)
    kinds = reducer_kinds(ctx.op)
    assert kinds is not None
    if all(is_neutral(v, kinds[0]) for v in ctx.op.operands[n:]):
        return ctx.same_op()
    neutrals = [neutral(v.type.element_type, kinds[0]) for v in ctx.operands[n:]]
    reduced = ctx.same_op([*ctx.operands[:n], *neutrals])
    return [
        _combined(ctx, kinds[0], value, start, other, () if idempotent(kinds[0]) else axes)
        for value, start, other in zip(reduced, ctx.operands[n:], neutrals, strict=True)
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
        barrier = create("stablehlo.optimization_barrier", [value], value.type)
        return ctx.same_op([barrier, *ctx.operands[n:]])
    return _from_neutral(ctx, ctx.operands, kinds)


def _from_neutral(
    ctx: LocalContext, values: Sequence[ir.Value], kinds: Sequence[str], **attributes: ir.Attribute
) -> Sequence[ir.Value]:
    """The reduction of `values` (inputs, then initial values) from neutral elements, combined with initial values."""
    n = len(kinds)
    neutrals = [neutral(v.type.element_type, k) for v, k in zip(values[n:], kinds, strict=True)]
    reduced = ctx.same_op([*values[:n], *neutrals], **attributes)
    return [_combined(ctx, k, v, start, start, ()) for k, v, start in zip(kinds, reduced, values[n:], strict=True)]


def windows_reduced(
    ctx: LocalContext, values: Sequence[ir.Value], kind: str | None, **attributes: ir.Attribute
) -> Sequence[ir.Value]:
    """The reduction of windows of `values` (inputs, then initial values), each combined with its initial value once.

    `kind` is the reduction; None for a reducer that is applied to initial values and results once more.
    """
    n = len(ctx.op.results)
    if kind is None:
        return _mapped(ctx, values[n:], ctx.same_op(values, **attributes))
    if all(is_neutral(v, kind) for v in ctx.op.operands[n:]):
        return ctx.same_op(values, **attributes)
    return _from_neutral(ctx, values, [kind] * n, **attributes)


def _combined(
    ctx: LocalContext, kind: str, value: ir.Value, start: ir.Value, other: ir.Value, axes: Sequence[str]
) -> ir.Value:
    """`value` combined with `start`; with `other` on all but the first device along `axes`."""
    if axes:
        start = emit.select(ctx.is_at(axes, 0), start, other)
    return create(REDUCERS[kind], [_broadcast(start, value.type), value], value.type)


def _broadcast(start: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    return emit.broadcast(emit.convert(start, type_.element_type), type_)  # a reducer may widen its operands


def _mapped(ctx: LocalContext, starts: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
    """The reducer of `starts` and `values`, elementwise."""
    operands = [*(_broadcast(s, v.type) for s, v in zip(starts, values, strict=True)), *values]
    dimensions = i64s(range(values[0].type.rank))
    source = ctx.op.regions[0].blocks[0]
    results = []
    for i, value in enumerate(values):
        map_ = create_op("stablehlo.map", operands, [value.type], 1, dimensions=dimensions)
        block = map_.regions[0].blocks.append(*[a.type for a in source.arguments])
        known = dict(zip(source.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            *body, last = source.operations
            for inner in body:
                clone_mapped(inner.operation, known)
            create_op("stablehlo.return", [known[last.operation.operands[i]]], [])
        results.append(map_.result)
    return results


def _reduced_again(
    ctx: LocalContext, partial: Sequence[ir.Value], starts: Sequence[ir.Value], axes: Sequence[str]
) -> Sequence[ir.Value]:
    """The results of the shards, gathered in their order, and reduced once more."""
    rows = [ctx.collectives.all_gather(emit.reshape(v, [1, *v.type.shape]), 0, axes) for v in partial]
    again = create_op("stablehlo.reduce", [*rows, *starts], ctx.result_types, 1, dimensions=i64s([0]))
    clone_block(ctx.op.regions[0].blocks[0], again.regions[0])
    return list(again.results)
