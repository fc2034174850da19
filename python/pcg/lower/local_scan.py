"""Local forms along a dimension that is scanned: cumulative reductions and top_k."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.clone import clone_mapped
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import neutral
from pcg.rules.regions import REDUCERS, reduction


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
    nothing = ctx.create(
        "stablehlo.broadcast_in_dim", [neutral(element, kind, ctx.op.location)], [totals.type],
        broadcast_dimensions=_i64s([]),
    ).result
    kept = ctx.create("stablehlo.select", [before, totals, nothing], [totals.type]).result
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
    return [ctx.create(REDUCERS[kind], [spread, scanned], [local_type]).result]


def _compare(ctx: LocalContext, a: ir.Value, b: ir.Value, direction: str, kind: str) -> ir.Value:
    """Elementwise comparison in the order `kind`."""
    return ctx.create(
        "stablehlo.compare", [a, b], [_tensor(a.type.shape, ir.IntegerType.get_signless(1))],
        comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>"),
    ).result


def _select(ctx: LocalContext, places: ir.Value, end: ir.Value, inside: ir.Value, outside: ir.Value) -> ir.Value:
    """`inside` where `places` are below `end` (0-d), else `outside`."""
    ends = ctx.create("stablehlo.broadcast_in_dim", [end], [places.type], broadcast_dimensions=_i64s([])).result
    real = _compare(ctx, places, ends, "LT", "SIGNED")
    return ctx.create("stablehlo.select", [real, inside, outside], [inside.type]).result


def _without_padding(ctx: LocalContext, value: ir.Value, d: int, length: ir.Value) -> ir.Value:
    """`value` with the last of all elements in total order (of floats a NaN) from `length` on along dimension `d`."""
    shape, element = value.type.shape, value.type.element_type
    if isinstance(element, ir.IntegerType):
        least = neutral(element, "max", ctx.op.location)
    else:  # all bits set: a negative NaN, below -inf
        ones = ctx.constant(-1, _tensor([], ir.IntegerType.get_signless(element.width)))
        least = ctx.create("stablehlo.bitcast_convert", [ones], [_tensor([], element)]).result
    filled = ctx.create("stablehlo.broadcast_in_dim", [least], [value.type], broadcast_dimensions=_i64s([])).result
    i32 = _tensor(shape, ir.IntegerType.get_signless(32))
    return _select(ctx, ctx.create("stablehlo.iota", [], [i32], iota_dimension=_i64(d)).result, length, value, filled)


@local_form("chlo.top_k")
def top_k(ctx: LocalContext) -> Sequence[ir.Value]:
    """top_k of a split dimension: the k largest of every shard, gathered; the k largest of those.

    What stands in padding is the least that there is, with the last index: behind all elements that are as little.
    """
    last = len(ctx.rule.operands[0]) - 1
    factors = ctx.rule.operands[0][last]
    axes = ctx.axes_of(factors[0]) if factors else ()
    value_type, index_type = ctx.result_types
    element = value_type.element_type
    value = ctx.operands[0]
    if isinstance(element, ir.IntegerType) and element.width in (2, 4):  # XLA:CPU compiles those of whole bytes only
        element = ir.IntegerType.get_unsigned(8) if element.is_unsigned else ir.IntegerType.get_signless(8)
        value = ctx.create("stablehlo.convert", [value], [_tensor(value.type.shape, element)]).result
    elif not axes:
        return ctx.same_op()
    k = value_type.shape[last]
    if not axes:
        wide = [_tensor(value_type.shape, element), index_type]
        values, places = ctx.create("chlo.top_k", [value], wide, k=_i64(k)).results
        return [_converted(ctx, values, value_type), places]
    part = min(k, value.type.shape[last])
    length = ctx.shard_length(factors[0]) if ctx.padded(factors[0]) else None
    if length is not None:
        value = _without_padding(ctx, value, last, length)
    local = [*value_type.shape[:last], part]
    values, places = ctx.create(
        "chlo.top_k", [value], [_tensor(local, element), _tensor(local, index_type.element_type)],
        k=_i64(part),
    ).results
    start = ctx.shard_start(factors[0], index_type.element_type)
    offset = ctx.create("stablehlo.broadcast_in_dim", [start], [places.type], broadcast_dimensions=_i64s([])).result
    local_places = places
    places = ctx.create("stablehlo.add", [places, offset], [places.type]).result
    if length is not None:
        if length.type.element_type != index_type.element_type:
            scalar = _tensor([], index_type.element_type)
            length = ctx.create("stablehlo.convert", [length], [scalar]).result
        nowhere = ctx.constant(2 ** (index_type.element_type.width - 1) - 1, places.type)
        places = _select(ctx, local_places, length, places, nowhere)
    values = ctx.collectives.all_gather(values, last, axes, ctx.op.location)
    places = ctx.collectives.all_gather(places, last, axes, ctx.op.location)
    # Candidates lie in order of their shards, so a stable sort keeps the lower index first among equals.
    sort = ctx.create(
        "stablehlo.sort", [values, places], [values.type, places.type], regions=1, dimension=_i64(last),
        is_stable=ir.BoolAttr.get(True),
    )
    scalars = [_tensor([], t.type.element_type) for t in (values, places) for _ in range(2)]
    block = sort.regions[0].blocks.append(*scalars)
    kind = "TOTALORDER" if isinstance(element, ir.FloatType) else (
        "UNSIGNED" if isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1) else "SIGNED"
    )
    with ir.InsertionPoint(block):
        greater = _compare(ctx, block.arguments[0], block.arguments[1], "GT", kind)
        if length is not None:  # in padding values may be equal to those of later shards
            equal = _compare(ctx, block.arguments[0], block.arguments[1], "EQ", kind)
            first = _compare(ctx, block.arguments[2], block.arguments[3], "LT", "SIGNED")
            first = ctx.create("stablehlo.and", [equal, first], [greater.type]).result
            greater = ctx.create("stablehlo.or", [greater, first], [greater.type]).result
        ctx.create("stablehlo.return", [greater], [])
    rank = last + 1
    first_k = [
        ctx.create(
            "stablehlo.slice", [v], [_tensor(t.shape, v.type.element_type)], start_indices=_i64s([0] * rank),
            limit_indices=_i64s(t.shape), strides=_i64s([1] * rank),
        ).result
        for v, t in zip(sort.results, ctx.result_types, strict=True)
    ]
    return [_converted(ctx, first_k[0], value_type), first_k[1]]


def _converted(ctx: LocalContext, value: ir.Value, type_: ir.Type) -> ir.Value:
    return value if value.type == type_ else ctx.create("stablehlo.convert", [value], [type_]).result
