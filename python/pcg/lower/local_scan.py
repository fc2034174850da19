"""Local forms along a dimension that is scanned: cumulative reductions and top_k."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, clone_mapped, local_form
from pcg.rules.regions import identity, reduction

_COMBINE = {
    "sum": "stablehlo.add", "max": "stablehlo.maximum", "min": "stablehlo.minimum", "prod": "stablehlo.multiply",
    "and": "stablehlo.and", "or": "stablehlo.or",
}  # fmt: skip


def _i64s(values: Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(values))


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _tensor(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(list(shape), element)


def scan(ctx: LocalContext, numbers: dict[str, list[int]], d: int, reverse: bool) -> Sequence[ir.Value]:
    """A cumulative reduction split along its dimension `d`: scan the shard, then add what comes before it."""
    factors = ctx.rule.operands[0][d]
    axes = ctx.axes_of(factors[0]) if factors else ()
    if not axes:
        return ctx.same_op()
    local_type = ctx.result_types[0]
    shape, element = list(local_type.shape), local_type.element_type
    n = shape[d]
    window = [n if i == d else w for i, w in enumerate(numbers["window_dimensions"])]
    own = [0, n - 1] if reverse else [n - 1, 0]
    pads = [own if i == d else [0, 0] for i in range(len(shape))]
    pad_type = _tensor([len(shape), 2], ir.IntegerType.get_signless(64))
    text = "dense<" + str(pads) + f"> : {pad_type}"
    (scanned,) = ctx.same_op(window_dimensions=_i64s(window), padding=ir.Attribute.parse(text))
    at = 0 if reverse else n - 1
    edge = [1 if i == d else s for i, s in enumerate(shape)]
    total = ctx.create(
        "stablehlo.slice", [scanned], [_tensor(edge, element)],
        start_indices=_i64s([at if i == d else 0 for i in range(len(shape))]),
        limit_indices=_i64s([at + 1 if i == d else s for i, s in enumerate(shape)]), strides=_i64s([1] * len(shape)),
    ).result  # fmt: skip
    totals = ctx.collectives.all_gather(total, d, axes, ctx.op.location)
    gathered = list(totals.type.shape)
    # Keep the totals of the shards before this one (after it, in reverse), and add them up.
    i32 = ir.IntegerType.get_signless(32)
    places = ctx.create("stablehlo.iota", [], [_tensor(gathered, i32)], iota_dimension=_i64(d)).result
    here = ctx.create(
        "stablehlo.broadcast_in_dim", [ctx.axis_index(axes)], [_tensor(gathered, i32)], broadcast_dimensions=_i64s([])
    ).result
    direction = ir.Attribute.parse(f"#stablehlo<comparison_direction {'GT' if reverse else 'LT'}>")
    before = ctx.create(
        "stablehlo.compare", [places, here], [_tensor(gathered, ir.IntegerType.get_signless(1))],
        comparison_direction=direction,
    ).result
    kind = reduction(ctx.op.regions[0], 1)
    assert kind is not None
    neutral = ctx.constant(identity(element, kind), totals.type)
    kept = ctx.create("stablehlo.select", [before, totals, neutral], [totals.type]).result
    rest = _tensor([s for i, s in enumerate(shape) if i != d], element)
    start = ctx.create(
        "stablehlo.reduce", [kept, ctx.operands[1]], [rest], regions=1, dimensions=_i64s([d])
    )
    source = ctx.op.regions[0].blocks[0]
    block = start.regions[0].blocks.append(*[a.type for a in source.arguments])
    values = dict(zip(source.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for inner in source.operations:
            clone_mapped(inner.operation, values)
    spread = ctx.create(
        "stablehlo.broadcast_in_dim", [start.result], [local_type],
        broadcast_dimensions=_i64s([i for i in range(len(shape)) if i != d]),
    ).result
    return [ctx.create(_COMBINE[kind], [spread, scanned], [local_type]).result]


@local_form("chlo.top_k")
def top_k(ctx: LocalContext) -> Sequence[ir.Value]:
    """top_k of a split dimension: the k largest of every shard, gathered; the k largest of those."""
    last = len(ctx.rule.operands[0]) - 1
    factors = ctx.rule.operands[0][last]
    axes = ctx.axes_of(factors[0]) if factors else ()
    if not axes:
        return ctx.same_op()
    value_type, index_type = ctx.result_types
    k = value_type.shape[last]
    part = min(k, ctx.operands[0].type.shape[last])
    local = [*value_type.shape[:last], part]
    values, places = ctx.create(
        "chlo.top_k", ctx.operands, [_tensor(local, value_type.element_type), _tensor(local, index_type.element_type)],
        k=_i64(part),
    ).results
    start = ctx.shard_start(factors[0], index_type.element_type)
    offset = ctx.create("stablehlo.broadcast_in_dim", [start], [places.type], broadcast_dimensions=_i64s([])).result
    places = ctx.create("stablehlo.add", [places, offset], [places.type]).result
    values = ctx.collectives.all_gather(values, last, axes, ctx.op.location)
    places = ctx.collectives.all_gather(places, last, axes, ctx.op.location)
    # Candidates lie in order of their shards, so a stable sort keeps the lower index first among equals.
    sort = ctx.create(
        "stablehlo.sort", [values, places], [values.type, places.type], regions=1, dimension=_i64(last),
        is_stable=ir.BoolAttr.get(True),
    )
    scalars = [_tensor([], t.type.element_type) for t in (values, places) for _ in range(2)]
    block = sort.regions[0].blocks.append(*scalars)
    element = value_type.element_type
    kind = "TOTALORDER" if isinstance(element, ir.FloatType) else (
        "UNSIGNED" if isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1) else "SIGNED"
    )
    with ir.InsertionPoint(block):
        greater = ctx.create(
            "stablehlo.compare", [block.arguments[0], block.arguments[1]],
            [_tensor([], ir.IntegerType.get_signless(1))],
            comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction GT>"),
            compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>"),
        ).result
        ctx.create("stablehlo.return", [greater], [])
    rank = last + 1
    return [
        ctx.create(
            "stablehlo.slice", [v], [t], start_indices=_i64s([0] * rank), limit_indices=_i64s(t.shape),
            strides=_i64s([1] * rank),
        ).result
        for v, t in zip(sort.results, ctx.result_types, strict=True)
    ]
