"""Local forms of gather and scatter: indices relative to the shard when the indexed dimension is split."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import binary, broadcast, create, i64s, tensor
from pcg.ir.stablehlo import GatherDimensionNumbers
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import absent, neutral
from pcg.rules.gather_scatter import adds_on, gather_numbers, scatter_numbers, update_kind


class Components:
    """The components of index vectors, which may be replaced one by one."""

    def __init__(self, ctx: LocalContext, indices: ir.Value, vector: int) -> None:
        self.ctx, self.vector = ctx, vector
        if indices.type.element_type.width < 32:  # sizes of dimensions must fit
            indices = emit.convert(indices, ir.IntegerType.get_signless(32))
        self.indices = indices
        implicit = vector == indices.type.rank
        self.count = 1 if implicit else indices.type.shape[vector]
        self.type = indices.type if implicit else emit.resized(indices, vector, 1)

    def get(self, i: int) -> ir.Value:
        """Component `i`, with a dimension of size 1 left in place of the index vector."""
        return self.indices if self.count == 1 else emit.slice_dim(self.indices, self.vector, i, i + 1)

    def with_(self, new: dict[int, ir.Value]) -> ir.Value:
        """The indices with some components replaced."""
        return emit.concatenate([new.get(i) or self.get(i) for i in range(self.count)], self.vector)

    def full(self, value: int) -> ir.Value:
        return self.ctx.constant(value, self.type)

    def start(self, factor: int) -> ir.Value:
        """Where this device's shard of `factor` starts, in the shape of a component."""
        return broadcast(self.ctx.shard_start(factor, self.type.element_type), self.type)

    def length(self, factor: int) -> ir.Value:
        """How much of this device's shard of `factor` is not padding, in the shape of a component."""
        if not self.ctx.padded(factor):
            return self.full(self.ctx.blocks(factor)[0][1])
        return broadcast(self.ctx.shard_length(factor, self.type.element_type), self.type)


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
    local = [have if size == n else size for size, n, have in zip(sizes, full, operand.type.shape, strict=True)]
    rows = _split_rows(ctx, n.start_index_map, sizes, 0)
    slice_sizes = i64s([1 if sizes[d] == 1 else local[d] for d in range(len(sizes))])
    firsts = [a for f in _first_rows(ctx, n, sizes) for a in ctx.axes_of(f)]
    if not rows:
        return _on_first(ctx, ctx.same_op([operand, indices], slice_sizes=slice_sizes), firsts)
    parts = Components(ctx, indices, n.index_vector_dim)
    new: dict[int, ir.Value] = {}
    inside: ir.Value | None = None
    for c, f in rows.items():
        d = n.start_index_map[c]
        low, high = parts.full(0), parts.full(full[d] - 1)
        index = create("stablehlo.clamp", [low, parts.get(c), high], parts.type)
        new[c] = binary("subtract", index, parts.start(f))
        for bound, direction in ((low, "GE"), (parts.length(f), "LT")):
            test = emit.compare(new[c], bound, direction)
            inside = test if inside is None else binary("and", inside, test)
    assert inside is not None
    (rows_found,) = ctx.same_op(
        [operand, parts.with_(new)], slice_sizes=slice_sizes, indices_are_sorted=ir.BoolAttr.get(False)
    )
    result = ctx.result_types[0]
    batch = [d for d in range(result.rank) if d not in set(n.offset_dims)]
    sizes = [result.shape[d] for d in batch]
    if list(inside.type.shape) != sizes:
        inside = emit.reshape(inside, sizes)
    mask = broadcast(inside, tensor(result.shape, inside.type.element_type), batch)
    return _on_first(ctx, [_where(mask, rows_found, absent(result.element_type))], firsts)


def _first_rows(ctx: LocalContext, n: GatherDimensionNumbers, sizes: Sequence[int]) -> list[int]:
    """Split factors of dimensions of which one row is taken and no index says which: it is the first."""
    picked = {*n.start_index_map, *n.operand_batching_dims}
    rows = [d for d, size in enumerate(sizes) if size == 1 and d not in picked]
    return [f for d in rows for f in ctx.rule.operands[0][d] if ctx.axes_of(f)]


def _on_first(ctx: LocalContext, values: Sequence[ir.Value], axes: Sequence[str]) -> Sequence[ir.Value]:
    """`values` on the first device along `axes`, zeros on the others."""
    if not axes:
        return values
    is_first = ctx.is_at(axes, 0)
    return [_where(is_first, v, absent(v.type.element_type)) for v in values]


@local_form("stablehlo.scatter")
def scatter(ctx: LocalContext) -> Sequence[ir.Value]:
    op, n, count = ctx.op, scatter_numbers(ctx.op), len(ctx.op.results)
    inputs, indices, updates = ctx.operands[:count], ctx.operands[count], ctx.operands[count + 1 :]
    attributes: dict[str, ir.Attribute] = {}
    # Updates are distributed over devices: only the first of them starts from the operand.
    spread = tuple(a for f, x in enumerate(ctx.rule.factors) if x.reduce for a in ctx.axes_of(f))
    kind = update_kind(op)
    if spread and kind is not None and not adds_on(op, kind):
        is_first = ctx.is_at(spread, 0)
        inputs = [_where(is_first, x, neutral(x.type.element_type, kind)) for x in inputs]
    windows = {d: 1 for d in n.inserted_window_dims}
    rest = [d for d in range(op.operands[0].type.rank) if d not in windows and d not in n.input_batching_dims]
    windows |= {d: op.operands[count + 1].type.shape[u] for d, u in zip(rest, n.update_window_dims, strict=True)}
    sizes = [windows.get(d, 0) for d in range(op.operands[0].type.rank)]
    rows = _split_rows(ctx, n.scattered_dims_to_operand_dims, sizes, 0)
    if rows:
        parts = Components(ctx, indices, n.index_vector_dim)
        new = {c: binary("subtract", parts.get(c), parts.start(f)) for c, f in rows.items()}
        indices = parts.with_(new)
        attributes["indices_are_sorted"] = ir.BoolAttr.get(False)
    return ctx.same_op([*inputs, indices, *updates], **attributes)


def _where(condition: ir.Value, value: ir.Value, otherwise: ir.Value) -> ir.Value:
    """`value` where the condition holds (0-d, or one for each element), elsewhere the 0-d `otherwise`."""
    return emit.select(condition, value, broadcast(otherwise, value.type))
