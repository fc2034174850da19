"""Local forms along a dimension that is scanned: cumulative reductions and top_k."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import broadcast, compare, create, create_op, i64, i64_rows, i64s, tensor
from pcg.lower.local import LocalContext, clone_block, local_form
from pcg.lower.neutral import neutral
from pcg.rules.regions import REDUCERS, reduction


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
    (scanned,) = ctx.same_op(window_dimensions=i64s(window), padding=i64_rows(pads))
    last = 0 if reverse else n - 1
    totals = ctx.collectives.all_gather(emit.slice_dim(scanned, d, last, last + 1), d, axes)
    # Keep the totals of the shards before this one (after it, in reverse), and add them up.
    numbered = emit.iota(tensor(totals.type.shape, ir.IntegerType.get_signless(32)), d)
    before = compare(numbered, broadcast(ctx.axis_index(axes), numbered.type), "GT" if reverse else "LT")
    kind = reduction(ctx.op.regions[0], 1)
    assert kind is not None
    kept = emit.select(before, totals, broadcast(neutral(element, kind), totals.type))
    others = [i for i in range(len(shape)) if i != d]
    start = create_op(
        "stablehlo.reduce", [kept, ctx.operands[1]], [tensor([shape[i] for i in others], element)], 1,
        dimensions=i64s([d]),
    )
    clone_block(ctx.op.regions[0].blocks[0], start.regions[0])
    return [create(REDUCERS[kind], [broadcast(start.result, local_type, others), scanned], local_type)]


def _where_below(places: ir.Value, end: ir.Value, inside: ir.Value, outside: ir.Value) -> ir.Value:
    """`inside` where `places` are below `end` (0-d), else `outside`."""
    return emit.select(compare(places, broadcast(end, places.type), "LT", "SIGNED"), inside, outside)


def _without_padding(ctx: LocalContext, value: ir.Value, d: int, length: ir.Value) -> ir.Value:
    """`value` with the last of all elements in total order (of floats a NaN) from `length` on along dimension `d`."""
    shape, element = value.type.shape, value.type.element_type
    if isinstance(element, ir.IntegerType):
        least = neutral(element, "max")
    else:  # all bits set: a negative NaN, below -inf
        ones = ctx.constant(-1, tensor([], ir.IntegerType.get_signless(element.width)))
        least = create("stablehlo.bitcast_convert", [ones], tensor([], element))
    filled = broadcast(least, value.type)
    return _where_below(emit.iota(tensor(shape, ir.IntegerType.get_signless(32)), d), length, value, filled)


@local_form("chlo.top_k")
def top_k(ctx: LocalContext) -> Sequence[ir.Value]:
    """top_k of a split dimension: the k largest of every shard, gathered; the k largest of those.

    Padding gets the least value that there is, with the last index, so that it comes after equal elements.
    """
    last = len(ctx.rule.operands[0]) - 1
    factors = ctx.rule.operands[0][last]
    axes = ctx.axes_of(factors[0]) if factors else ()
    value_type, index_type = ctx.result_types
    element = value_type.element_type
    value = ctx.operands[0]
    if isinstance(element, ir.IntegerType) and element.width in (2, 4):  # XLA:CPU compiles those of whole bytes only
        element = ir.IntegerType.get_unsigned(8) if element.is_unsigned else ir.IntegerType.get_signless(8)
        value = emit.convert(value, element)
    elif not axes:
        return ctx.same_op()
    k = value_type.shape[last]
    if not axes:
        types = [tensor(value_type.shape, element), index_type]
        values, places = create_op("chlo.top_k", [value], types, k=i64(k)).results
        return [emit.convert(values, value_type.element_type), places]
    part = min(k, value.type.shape[last])
    length = ctx.shard_length(factors[0]) if ctx.padded(factors[0]) else None
    if length is not None:
        value = _without_padding(ctx, value, last, length)
    local = [*value_type.shape[:last], part]
    values, local_places = create_op(
        "chlo.top_k", [value], [tensor(local, element), tensor(local, index_type.element_type)], k=i64(part)
    ).results
    start = ctx.shard_start(factors[0], index_type.element_type)
    places = emit.binary("add", local_places, broadcast(start, local_places.type))
    if length is not None:
        length = emit.convert(length, index_type.element_type)
        behind = ctx.constant(2 ** (index_type.element_type.width - 1) - 1, places.type)
        places = _where_below(local_places, length, places, behind)
    values = ctx.collectives.all_gather(values, last, axes)
    places = ctx.collectives.all_gather(places, last, axes)
    # Candidates lie in order of their shards, so a stable sort keeps the lower index first among equals; but padding
    # may be equal to elements of later shards.
    found = _sorted_descending(values, places, last, length is not None)
    first_k = [emit.slice_box(v, [0] * (last + 1), t.shape) for v, t in zip(found, ctx.result_types, strict=True)]
    return [emit.convert(first_k[0], value_type.element_type), first_k[1]]


def _sorted_descending(values: ir.Value, places: ir.Value, dim: int, by_place: bool) -> Sequence[ir.Value]:
    """`values` and `places`, sorted by value from the largest on; equal values as they are, or `by_place`."""
    sort = create_op(
        "stablehlo.sort", [values, places], [values.type, places.type], 1, dimension=i64(dim),
        is_stable=ir.BoolAttr.get(True),
    )
    element = values.type.element_type
    scalars = [tensor([], element)] * 2 + [tensor([], places.type.element_type)] * 2
    block = sort.regions[0].blocks.append(*scalars)
    a, b, place_a, place_b = block.arguments
    order = "TOTALORDER" if isinstance(element, ir.FloatType) else (
        "UNSIGNED" if isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1) else "SIGNED"
    )
    with ir.InsertionPoint(block):
        greater = compare(a, b, "GT", order)
        if by_place:
            equal, first = compare(a, b, "EQ", order), compare(place_a, place_b, "LT", "SIGNED")
            greater = emit.binary("or", greater, emit.binary("and", equal, first))
        create_op("stablehlo.return", [greater], [])
    return sort.results
