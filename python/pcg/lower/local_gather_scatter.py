"""Local forms of gather and scatter: indices relative to the shard when the indexed dimension is split."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.stablehlo import GatherDimensionNumbers
from pcg.lower import blocks
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import absent, neutral
from pcg.rules.gather_scatter import adds_on, gather_numbers, scatter_numbers, update_kind

_I1 = 1


def _bool(shape: Sequence[int]) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(list(shape), ir.IntegerType.get_signless(_I1))


def _binary(ctx: LocalContext, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return ctx.create(name, [a, b], [a.type]).result


def _compare(ctx: LocalContext, a: ir.Value, b: ir.Value, direction: str) -> ir.Value:
    attr = ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")
    return ctx.create("stablehlo.compare", [a, b], [_bool(a.type.shape)], comparison_direction=attr).result


def _broadcast(ctx: LocalContext, value: ir.Value, type_: ir.RankedTensorType, dims: Sequence[int] = ()) -> ir.Value:
    attr = ir.DenseI64ArrayAttr.get(list(dims))
    return ctx.create("stablehlo.broadcast_in_dim", [value], [type_], broadcast_dimensions=attr).result


def _wide(ctx: LocalContext, indices: ir.Value) -> ir.Value:
    """Indices in a type of at least 32 bits, so that sizes of dimensions fit."""
    if indices.type.element_type.width >= 32:
        return indices
    type_ = ir.RankedTensorType.get(indices.type.shape, ir.IntegerType.get_signless(32))
    return ctx.create("stablehlo.convert", [indices], [type_]).result


class Components:
    """Components of index vectors, taken apart and put together again."""

    def __init__(self, ctx: LocalContext, indices: ir.Value, vector: int) -> None:
        self.ctx, self.vector = ctx, vector
        self.indices = _wide(ctx, indices)
        shape = list(self.indices.type.shape)
        self.implicit = vector == len(shape)
        self.count = 1 if self.implicit else shape[vector]
        self.shape = shape
        self.slab = shape if self.implicit else [1 if d == vector else n for d, n in enumerate(shape)]
        self.type = ir.RankedTensorType.get(self.slab, self.indices.type.element_type)

    def get(self, i: int) -> ir.Value:
        """Component `i`, with a dimension of size 1 left in place of the index vector."""
        if self.count == 1:
            return self.indices
        start, limit = [0] * len(self.shape), list(self.shape)
        start[self.vector], limit[self.vector] = i, i + 1
        return self.ctx.create(
            "stablehlo.slice", [self.indices], [self.type], start_indices=ir.DenseI64ArrayAttr.get(start),
            limit_indices=ir.DenseI64ArrayAttr.get(limit), strides=ir.DenseI64ArrayAttr.get([1] * len(start)),
        ).result  # fmt: skip

    def with_(self, new: dict[int, ir.Value]) -> ir.Value:
        """The indices with some components replaced."""
        if self.count == 1:
            return new.get(0, self.indices)
        parts = [new.get(i) or self.get(i) for i in range(self.count)]
        dim = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.vector)
        return self.ctx.create("stablehlo.concatenate", parts, [self.indices.type], dimension=dim).result

    def full(self, value: int) -> ir.Value:
        return self.ctx.constant(value, self.type)

    def start(self, factor: int) -> ir.Value:
        """Where this device's shard of `factor` starts, in the shape of a component."""
        return _broadcast(self.ctx, self.ctx.shard_start(factor, self.type.element_type), self.type)

    def length(self, factor: int) -> ir.Value:
        """How much of this device's shard of `factor` is not padding, in the shape of a component."""
        if not self.ctx.padded(factor):
            return self.full(self.ctx.blocks(factor)[0][1])
        return _broadcast(self.ctx, self.ctx.shard_length(factor, self.type.element_type), self.type)


def _split_rows(ctx: LocalContext, picked: Sequence[int], sizes: Sequence[int], tensor: int) -> dict[int, int]:
    """Split row dimensions: index component -> factor."""
    found = {}
    for component, d in enumerate(picked):
        for f in ctx.rule.operands[tensor][d]:
            if ctx.axes_of(f) and sizes[d] == 1:
                found[component] = f
    return found


@local_form("stablehlo.gather")
def gather(ctx: LocalContext) -> Sequence[ir.Value]:
    op, n = ctx.op, gather_numbers(ctx.op)
    operand, indices = ctx.operands
    sizes = list(op.attributes["slice_sizes"])
    full = list(op.operands[0].type.shape)
    local = [have if size == whole else size for size, whole, have in zip(sizes, full, operand.type.shape, strict=True)]
    rows = _split_rows(ctx, n.start_index_map, sizes, 0)
    slice_sizes = ir.DenseI64ArrayAttr.get([1 if sizes[d] == 1 else local[d] for d in range(len(sizes))])
    firsts = [a for f in _first_rows(ctx, n, sizes) for a in ctx.axes_of(f)]
    if not rows:
        return _on_first(ctx, ctx.same_op([operand, indices], slice_sizes=slice_sizes), firsts)
    parts = Components(ctx, indices, n.index_vector_dim)
    new: dict[int, ir.Value] = {}
    inside: ir.Value | None = None
    for c, f in rows.items():
        d = n.start_index_map[c]
        low, high = parts.full(0), parts.full(full[d] - 1)
        index = ctx.create("stablehlo.clamp", [low, parts.get(c), high], [parts.type]).result
        new[c] = _binary(ctx, "stablehlo.subtract", index, parts.start(f))
        for bound, direction in ((low, "GE"), (parts.length(f), "LT")):
            test = _compare(ctx, new[c], bound, direction)
            inside = test if inside is None else _binary(ctx, "stablehlo.and", inside, test)
    assert inside is not None
    (rows_found,) = ctx.same_op(
        [operand, parts.with_(new)], slice_sizes=slice_sizes, indices_are_sorted=ir.BoolAttr.get(False)
    )
    result = ctx.result_types[0]
    batch = [d for d in range(result.rank) if d not in set(n.offset_dims)]
    mask_type = _bool([result.shape[d] for d in batch])
    if list(inside.type.shape) != list(mask_type.shape):
        inside = ctx.create("stablehlo.reshape", [inside], [mask_type]).result
    mask = _broadcast(ctx, inside, _bool(result.shape), batch)
    return _on_first(ctx, [_on(ctx, mask, rows_found, absent(result.element_type, op.location))], firsts)


def _first_rows(ctx: LocalContext, n: GatherDimensionNumbers, sizes: Sequence[int]) -> list[int]:
    """Split factors of dimensions of which one row is taken and no index says which: it is the first."""
    picked = {*n.start_index_map, *n.operand_batching_dims}
    rows = [d for d, size in enumerate(sizes) if size == 1 and d not in picked]
    return [f for d in rows for f in ctx.rule.operands[0][d] if ctx.axes_of(f)]


def _on_first(ctx: LocalContext, values: Sequence[ir.Value], axes: Sequence[str]) -> Sequence[ir.Value]:
    """`values` on the first device along `axes`, zeros on the others."""
    if not axes:
        return values
    index = ctx.axis_index(axes)
    first = _compare(ctx, index, ctx.constant(0, index.type), "EQ")
    return [_on(ctx, first, v, absent(v.type.element_type, ctx.op.location)) for v in values]


@local_form("stablehlo.scatter")
def scatter(ctx: LocalContext) -> Sequence[ir.Value]:
    op, n, count = ctx.op, scatter_numbers(ctx.op), len(ctx.op.results)
    inputs, indices, updates = ctx.operands[:count], ctx.operands[count], ctx.operands[count + 1 :]
    attributes: dict[str, ir.Attribute] = {}
    # Updates are spread over devices: only the first of them starts from the operand.
    spread = tuple(a for f, x in enumerate(ctx.rule.factors) if x.reduce for a in ctx.axes_of(f))
    kind = update_kind(op)
    if spread and kind is not None and not adds_on(op, kind):
        first = ctx.axis_index(spread)
        is_first = _compare(ctx, first, ctx.constant(0, first.type), "EQ")
        inputs = [_on(ctx, is_first, x, neutral(x.type.element_type, kind, op.location)) for x in inputs]
    windows = {d: 1 for d in n.inserted_window_dims}
    rest = [d for d in range(op.operands[0].type.rank) if d not in windows and d not in n.input_batching_dims]
    windows |= {d: op.operands[count + 1].type.shape[u] for d, u in zip(rest, n.update_window_dims, strict=True)}
    sizes = [windows.get(d, 0) for d in range(op.operands[0].type.rank)]
    rows = _split_rows(ctx, n.scattered_dims_to_operand_dims, sizes, 0)
    if rows:
        parts = Components(ctx, indices, n.index_vector_dim)
        new = {c: _binary(ctx, "stablehlo.subtract", parts.get(c), parts.start(f)) for c, f in rows.items()}
        indices = parts.with_(new)
        attributes["indices_are_sorted"] = ir.BoolAttr.get(False)
    return ctx.same_op([*inputs, indices, *updates], **attributes)


def _on(ctx: LocalContext, condition: ir.Value, value: ir.Value, otherwise: ir.Value) -> ir.Value:
    """`value` where the condition holds (0-d, or one for each element), elsewhere the 0-d `otherwise`."""
    return blocks.select(ctx, condition, value, blocks.broadcast(ctx, otherwise, value.type))
