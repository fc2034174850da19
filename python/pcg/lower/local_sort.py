"""Local form of sort along a dimension that devices hold in blocks: columnsort, or gather, sort and keep a part.

`rules/distributed_sort.py` describes both and decides between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.clone import clone_mapped
from pcg.ir.emit import binary, create_op, i64, slice_dim, tensor
from pcg.lower.local import LocalContext, local_form
from pcg.rules.distributed_sort import SortExchange
from pcg.rules.sort import Ties, sorted_dimension, ties


@local_form("stablehlo.sort")
def sort(ctx: LocalContext) -> Sequence[ir.Value]:
    """The part of the sorted tensor that this device holds."""
    along = sorted_dimension(ctx.op)
    factors = ctx.rule.operands[0][along] if ctx.rule.operands[0] else ()
    if not factors or not ctx.axes_of(factors[0]):
        return ctx.same_op()
    exchange = ctx.rule.exchanges[0]
    assert isinstance(exchange, SortExchange)
    plan = exchange.plan(ctx.assignment, ctx.mesh)
    form = _Sort(ctx, along, factors[0])
    return form.columns() if plan is not None and plan.algorithm == "columns" else form.gather()


class _Sort:
    """Sorts arrays along dimension `d`, whose factor `factor` is split over `axes` into `n` blocks of `size`."""

    def __init__(self, ctx: LocalContext, d: int, factor: int) -> None:
        self.ctx = ctx
        self.d = d
        self.factor = factor
        self.axes = ctx.axes_of(factor)
        self.n = ctx.parts(factor)
        self.size = ctx.operands[0].type.shape[d]

    def gather(self) -> list[ir.Value]:
        """This device's part of all elements, which it gathers and sorts by itself."""
        collectives = self.ctx.collectives
        gathered = [collectives.all_gather(v, self.d, self.axes) for v in self.ctx.operands]
        return [collectives.slice(v, self.d, self.axes) for v in self._sorted(gathered, None)]

    def columns(self) -> list[ir.Value]:
        """Leighton's columnsort; device j holds column j."""
        ctx, d, n, size = self.ctx, self.d, self.n, self.size
        how = ties(ctx.op)
        values = list(ctx.operands)
        if how.index is not None:
            values.append(self._index(how.index))
            how = Ties(None, len(values) - 1)
        # In a block equal keys stand in the order of their index, so that a stable sort needs no index.
        values = self._sorted(values, None)
        # Element i goes to device i mod n.
        parts = [self._reshaped(v, size // n, n) for v in values]
        parts = [ctx.collectives.all_to_all(v, d + 1, d, self.axes) for v in parts]
        # What comes from different devices comes in the order of its index, too.
        values = self._sorted([self._reshaped(v, size) for v in parts], None)
        # The inverse: the k-th chunk of the column goes to device k, and is every n-th element there.
        parts = [self._reshaped(v, size, 1) for v in values]
        parts = [ctx.collectives.all_to_all(v, d, d + 1, self.axes) for v in parts]
        values = self._sorted([self._reshaped(v, size) for v in parts], how)
        # Around every boundary: the end of a column is sorted with the start of the next one, by the device of that.
        half = size // 2
        tops = [slice_dim(v, d, 0, size - half) for v in values]
        ends = [slice_dim(v, d, size - half, size) for v in values]
        before = [ctx.collectives.shift(v, self.axes, 1) for v in ends]
        mixed = self._sorted([emit.concatenate([b, t], d) for b, t in zip(before, tops, strict=True)], how)
        after = [ctx.collectives.shift(slice_dim(v, d, 0, half), self.axes, -1) for v in mixed]
        first, last = self._is_at(0), self._is_at(n - 1)
        out = []
        for top, end, mix, back in list(zip(tops, ends, mixed, after, strict=True))[: len(ctx.operands)]:
            start = emit.select(first, top, slice_dim(mix, d, half, size))
            out.append(emit.concatenate([start, emit.select(last, end, back)], d))
        return out

    # -- pieces --------------------------------------------------------------------------------

    def _sorted(self, values: Sequence[ir.Value], how: Ties | None) -> list[ir.Value]:
        """`values` sorted along the dimension by the op's comparator, equal keys as they stand or as `how` says."""
        sort = create_op(
            "stablehlo.sort", values, [v.type for v in values], 1, dimension=i64(self.d),
            is_stable=ir.BoolAttr.get(True),
        )
        block = sort.regions[0].blocks.append(*[tensor([], v.type.element_type) for v in values for _ in range(2)])
        source = self.ctx.op.regions[0].blocks[0]
        own = list(block.arguments)[: len(source.arguments)]
        with ir.InsertionPoint(block):
            less = self._compared(source, own)
            if how is not None and how.operand >= 0:
                swapped = [own[i ^ 1] for i in range(len(own))]
                pair = block.arguments[2 * how.operand], block.arguments[2 * how.operand + 1]
                earlier = self._compare(*(pair[::-1] if how.reverse else pair), "LT")
                more = emit.create("stablehlo.not", [self._compared(source, swapped)], less.type)
                less = binary("or", less, binary("and", more, earlier))
            create_op("stablehlo.return", [less], [])
        return list(sort.results)

    def _compared(self, source: ir.Block, arguments: Sequence[ir.Value]) -> ir.Value:
        """What the op's comparator says of `arguments`, at the insertion point."""
        values: dict[ir.Value, ir.Value] = dict(zip(source.arguments, arguments, strict=True))
        ops = [o.operation for o in source.operations]
        for op in ops[:-1]:
            clone_mapped(op, values)
        return values[ops[-1].operands[0]]

    def _index(self, element: ir.IntegerType) -> ir.Value:
        """The positions of this device's elements in the global tensor."""
        wide = ir.IntegerType.get_unsigned(64 if element.width == 64 else 32)
        places = emit.iota(tensor(self.ctx.operands[0].type.shape, wide), self.d)
        start = emit.broadcast(self.ctx.shard_start(self.factor, wide), places.type)
        return emit.convert(binary("add", places, start), element)

    def _is_at(self, place: int) -> ir.Value:
        """Whether this device is number `place` along the axes."""
        index = self.ctx.axis_index(self.axes)
        return self._compare(index, self.ctx.constant(place, index.type), "EQ")

    def _compare(self, a: ir.Value, b: ir.Value, direction: str) -> ir.Value:
        element = a.type.element_type
        kind = "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"
        return emit.compare(a, b, direction, kind)

    def _reshaped(self, value: ir.Value, *sizes: int) -> ir.Value:
        """What belongs to dimension d as dimensions of `sizes`; the other dimensions as in the op."""
        shape = list(self.ctx.operands[0].type.shape)
        return emit.reshape(value, [*shape[: self.d], *sizes, *shape[self.d + 1 :]])
