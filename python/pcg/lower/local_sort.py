"""Local form of sort along a dimension that devices hold in blocks: columnsort, or gather, sort and keep a part.

`rules/distributed_sort.py` describes both and decides between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.clone import clone_mapped
from pcg.lower.local import LocalContext, local_form
from pcg.rules.distributed_sort import SortExchange
from pcg.rules.sort import Ties, sorted_dimension, ties

Values = list[ir.Value]


@local_form("stablehlo.sort")
def sort(ctx: LocalContext) -> Sequence[ir.Value]:
    """The part of the sorted whole that this device holds."""
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

    def gather(self) -> Values:
        """The part of this device, of the whole that it sorts by itself."""
        ctx, collectives = self.ctx, self.ctx.collectives
        whole = [collectives.all_gather(v, self.d, self.axes, ctx.op.location) for v in ctx.operands]
        return [collectives.slice(v, self.d, self.axes, ctx.op.location) for v in self._sorted(whole, None)]

    def columns(self) -> Values:
        """Leighton's columnsort; device j holds column j."""
        ctx, loc, n, size = self.ctx, self.ctx.op.location, self.n, self.size
        how = ties(ctx.op)
        values = list(ctx.operands)
        if how.index is not None:
            values.append(self._index(how.index))
            how = Ties(None, len(values) - 1)
        # In a block equal keys stand in the order of their index, so that a stable sort needs no index.
        values = self._sorted(values, None)
        # Element i goes to device i mod n.
        cut = [self._reshaped(v, size // n, n) for v in values]
        cut = [ctx.collectives.all_to_all(v, self.d + 1, self.d, self.axes, loc) for v in cut]
        # What comes from different devices comes in the order of its index, too.
        values = self._sorted([self._reshaped(v, size) for v in cut], None)
        # The inverse: the k-th chunk of the column goes to device k, and is every n-th element there.
        cut = [self._reshaped(v, size, 1) for v in values]
        cut = [ctx.collectives.all_to_all(v, self.d, self.d + 1, self.axes, loc) for v in cut]
        values = self._sorted([self._reshaped(v, size) for v in cut], how)
        # Around every boundary: the end of a column is sorted with the start of the next one, by the device of that.
        half = size // 2
        tops = [self._cut(v, 0, size - half) for v in values]
        ends = [self._cut(v, size - half, size) for v in values]
        before = [ctx.collectives.shift(v, self.axes, 1, loc) for v in ends]
        mixed = self._sorted([self._joined([b, t]) for b, t in zip(before, tops, strict=True)], how)
        after = [ctx.collectives.shift(self._cut(v, 0, half), self.axes, -1, loc) for v in mixed]
        first, last = self._is_at(0), self._is_at(n - 1)
        out = []
        for top, end, mix, back in list(zip(tops, ends, mixed, after, strict=True))[: len(ctx.operands)]:
            start = ctx.create("stablehlo.select", [first, top, self._cut(mix, half, size)], [top.type]).result
            rest = ctx.create("stablehlo.select", [last, end, back], [end.type]).result
            out.append(self._joined([start, rest]))
        return out

    # -- pieces --------------------------------------------------------------------------------

    def _sorted(self, values: Values, how: Ties | None) -> Values:
        """`values` sorted along the dimension by the op's comparator, equal keys as they stand or as `how` says."""
        ctx = self.ctx
        made = ctx.create(
            "stablehlo.sort", values, [v.type for v in values], regions=1, dimension=_i64(self.d),
            is_stable=ir.BoolAttr.get(True),
        )
        scalars = [ir.RankedTensorType.get([], v.type.element_type) for v in values for _ in range(2)]
        block = made.regions[0].blocks.append(*scalars)
        source = ctx.op.regions[0].blocks[0]
        own = list(block.arguments)[: len(source.arguments)]
        with ir.InsertionPoint(block):
            less = self._compared(source, own)
            if how is not None and how.operand >= 0:
                swapped = [own[i ^ 1] for i in range(len(own))]
                pair = block.arguments[2 * how.operand], block.arguments[2 * how.operand + 1]
                earlier = self._compare(*(pair[::-1] if how.reverse else pair), "LT")
                more = ctx.create("stablehlo.not", [self._compared(source, swapped)], [less.type]).result
                both = ctx.create("stablehlo.and", [more, earlier], [less.type]).result
                less = ctx.create("stablehlo.or", [less, both], [less.type]).result
            ctx.create("stablehlo.return", [less], [])
        return list(made.results)

    def _compared(self, source: ir.Block, arguments: Sequence[ir.Value]) -> ir.Value:
        """What the op's comparator says of `arguments`, at the insertion point."""
        values: dict[ir.Value, ir.Value] = dict(zip(source.arguments, arguments, strict=True))
        ops = [o.operation for o in source.operations]
        for op in ops[:-1]:
            clone_mapped(op, values)
        return values[ops[-1].operands[0]]

    def _index(self, element: ir.IntegerType) -> ir.Value:
        """The positions of this device's elements in the whole."""
        ctx = self.ctx
        wide = ir.IntegerType.get_unsigned(64 if element.width == 64 else 32)
        type_ = ir.RankedTensorType.get(ctx.operands[0].type.shape, wide)
        places = ctx.create("stablehlo.iota", [], [type_], iota_dimension=_i64(self.d)).result
        start = ctx.create(
            "stablehlo.broadcast_in_dim", [ctx.shard_start(self.factor, wide)], [type_],
            broadcast_dimensions=ir.DenseI64ArrayAttr.get([]),
        ).result
        index = ctx.create("stablehlo.add", [places, start], [type_]).result
        if element == wide:
            return index
        return ctx.create("stablehlo.convert", [index], [ir.RankedTensorType.get(type_.shape, element)]).result

    def _is_at(self, place: int) -> ir.Value:
        """Whether this device is number `place` along the axes."""
        index = self.ctx.axis_index(self.axes)
        return self._compare(index, self.ctx.constant(place, index.type), "EQ")

    def _compare(self, a: ir.Value, b: ir.Value, direction: str) -> ir.Value:
        element = a.type.element_type
        kind = "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"
        return self.ctx.create(
            "stablehlo.compare", [a, b], [ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))],
            comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
            compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>"),
        ).result

    def _reshaped(self, value: ir.Value, *sizes: int) -> ir.Value:
        """What belongs to dimension d as dimensions of `sizes`; the other dimensions as in the op."""
        shape = list(self.ctx.operands[0].type.shape)
        dims = [*shape[: self.d], *sizes, *shape[self.d + 1 :]]
        type_ = ir.RankedTensorType.get(dims, value.type.element_type)
        return self.ctx.create("stablehlo.reshape", [value], [type_]).result

    def _cut(self, value: ir.Value, start: int, limit: int) -> ir.Value:
        """Elements `start` to `limit` of the dimension."""
        shape = list(value.type.shape)
        dims = [limit - start if i == self.d else s for i, s in enumerate(shape)]
        return self.ctx.create(
            "stablehlo.slice", [value], [ir.RankedTensorType.get(dims, value.type.element_type)],
            start_indices=ir.DenseI64ArrayAttr.get([start if i == self.d else 0 for i in range(len(shape))]),
            limit_indices=ir.DenseI64ArrayAttr.get([limit if i == self.d else s for i, s in enumerate(shape)]),
            strides=ir.DenseI64ArrayAttr.get([1] * len(shape)),
        ).result

    def _joined(self, values: Values) -> ir.Value:
        """Values one after another along the dimension."""
        shape = list(values[0].type.shape)
        shape[self.d] = sum(v.type.shape[self.d] for v in values)
        type_ = ir.RankedTensorType.get(shape, values[0].type.element_type)
        return self.ctx.create("stablehlo.concatenate", values, [type_], dimension=_i64(self.d)).result


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
