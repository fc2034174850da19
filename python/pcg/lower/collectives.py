"""Redistribution steps as StableHLO collectives on local shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import padded_sizes
from pcg.lower.neutral import neutral, zero
from pcg.lower.ordered import needs_order, ordered, unordered
from pcg.reshard import AllGather, AllReduce, AllToAll, Mask, Permute, ReduceScatter, Regroup, Slice, Step, permutation
from pcg.rules.regions import ON_BOOLEANS, REDUCERS

#: On booleans XLA's collectives know `and` and `or` only.


class Collectives:
    """Creates collectives for one lowered function: hands out channels and builds attributes once.

    Tensors without elements are not sent.  Values are local; specs are those of the global value.  New ops go to the
    current insertion point.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.channels = 0
        self._groups: dict[tuple[str, ...], ir.Attribute] = {}

    def take(
        self, step: Step, value: ir.Value, spec: ShardSpec, shape: Sequence[int], loc: ir.Location
    ) -> ir.Value:
        """The local value after `step`, taken from the local `value` of layout `spec` and global `shape`."""
        match step:
            case AllReduce(axes, kind):
                return self.all_reduce(value, axes, kind, loc)
            case ReduceScatter(dim, axes, kind):
                value = self._pad(value, dim, axes, loc)
                return self.reduce_scatter(value, dim, axes, kind, loc)
            case AllGather(dim, axes):
                value = self.all_gather(value, dim, axes, loc)
                return self._trim(value, dim, axes, step.apply(spec), shape, loc)
            case AllToAll(split_dim, concat_dim, axes):
                value = self._pad(value, split_dim, axes, loc)
                value = self.all_to_all(value, split_dim, concat_dim, axes, loc)
                return self._trim(value, concat_dim, axes, step.apply(spec), shape, loc)
            case Slice(dim, axes):
                return self.slice(value, dim, axes, loc)
            case Permute(result):
                return self.permute(value, spec, result, loc)
            case Mask(axes, kind):
                return self.mask(value, axes, kind, loc)
            case Regroup():
                return self.regroup(value, step, spec, shape, loc)
        raise TypeError(f"{step} is not a redistribution step")

    def _pad(self, value: ir.Value, dim: int, axes: Sequence[str], loc: ir.Location) -> ir.Value:
        """`value`, before `dim` is cut over `axes`, so that each cut finds equal parts."""
        counts = [self.mesh.axis_size(a) for a in axes]
        sizes = padded_sizes(value.type.shape[dim], counts)
        parts = 1
        for n, size, part in zip(counts, sizes, sizes[1:], strict=False):
            if n * part != size:
                rows = _viewed(value, dim, parts, size, loc)
                beyond = [0] * rows.type.rank
                beyond[dim + 1] = n * part - size
                value = _merged(grown(rows, beyond, loc), dim, loc)
            parts *= n
        return value

    def _trim(
        self, value: ir.Value, dim: int, axes: Sequence[str], after: ShardSpec, shape: Sequence[int], loc: ir.Location
    ) -> ir.Value:
        """`value`, after its parts along `dim` were put together over `axes`, without what was padding inside."""
        counts = [self.mesh.axis_size(a) for a in axes]
        sizes = padded_sizes(after.local_shape(shape, self.mesh)[dim], counts)
        parts = [math.prod(counts[:k]) for k in range(len(counts))]
        for n, size, part, k in reversed(list(zip(counts, sizes, sizes[1:], parts, strict=False))):
            if n * part != size:
                rows = _viewed(value, dim, k, n * part, loc)
                value = _merged(_shortened(rows, dim + 1, size, loc), dim, loc)
        return value

    # -- one function per step -----------------------------------------------------------------

    def all_reduce(self, value: ir.Value, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        if 0 in value.type.shape:
            return value
        kind = _for_element(kind, value.type.element_type)
        if not _native(kind, value.type.element_type):
            return self._gather_and_reduce(value, axes, kind, loc)
        if needs_order(kind, value.type.element_type):
            found = self.all_reduce(ordered(value, kind, loc), axes, kind, loc)
            return unordered(found, value.type.element_type, loc)
        op = ir.Operation.create(
            "stablehlo.all_reduce", results=[value.type], operands=[value], regions=1, loc=loc,
            attributes=self._attributes(axes),
        )
        _reducer(op.regions[0], kind, value.type.element_type, loc)
        return op.result

    def reduce_scatter(self, value: ir.Value, dim: int, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        result = _scaled(value.type, dim, 1, self.mesh.axes_size(axes))
        if 0 in result.shape:
            return nothing(result, loc)
        kind = _for_element(kind, value.type.element_type)
        if not _native(kind, value.type.element_type):
            return self.slice(self._gather_and_reduce(value, axes, kind, loc), dim, axes, loc)
        if needs_order(kind, value.type.element_type):
            found = self.reduce_scatter(ordered(value, kind, loc), dim, axes, kind, loc)
            return unordered(found, value.type.element_type, loc)
        op = ir.Operation.create(
            "stablehlo.reduce_scatter", results=[result], operands=[value], regions=1, loc=loc,
            attributes=self._attributes(axes) | {"scatter_dimension": _i64(dim)},
        )
        _reducer(op.regions[0], kind, value.type.element_type, loc)
        return op.result

    def all_gather(self, value: ir.Value, dim: int, axes: Sequence[str], loc: ir.Location) -> ir.Value:
        result = _scaled(value.type, dim, self.mesh.axes_size(axes), 1)
        if 0 in result.shape:
            return nothing(result, loc)
        if _two_bits(value):
            return _as(self.all_gather(_as(value, _byte(), loc), dim, axes, loc), result.element_type, loc)
        return ir.Operation.create(
            "stablehlo.all_gather", results=[result], operands=[value], loc=loc,
            attributes=self._attributes(axes) | {"all_gather_dim": _i64(dim)},
        ).result

    def all_to_all(
        self, value: ir.Value, split_dim: int, concat_dim: int, axes: Sequence[str], loc: ir.Location
    ) -> ir.Value:
        n = self.mesh.axes_size(axes)
        result = _scaled(_scaled(value.type, split_dim, 1, n), concat_dim, n, 1)
        if 0 in result.shape:
            return nothing(result, loc)
        if _two_bits(value):
            sent = self.all_to_all(_as(value, _byte(), loc), split_dim, concat_dim, axes, loc)
            return _as(sent, result.element_type, loc)
        attributes = self._attributes(axes, global_ids=False) | {
            "split_dimension": _i64(split_dim), "concat_dimension": _i64(concat_dim), "split_count": _i64(n),
        }
        return ir.Operation.create(
            "stablehlo.all_to_all", results=[result], operands=[value], loc=loc, attributes=attributes
        ).result

    def regroup(
        self, value: ir.Value, step: Regroup, spec: ShardSpec, shape: Sequence[int], loc: ir.Location
    ) -> ir.Value:
        """An all-to-all over several axes: pieces, one per device, are sent and laid where they belong."""
        gone, come = step.moved(spec)
        for d, axes in come.items():
            value = self._pad(value, d, axes, loc)
        size = self.mesh.axis_size
        element, local = value.type.element_type, list(value.type.shape)
        group = step.devices(spec)
        n = self.mesh.axes_size(group)

        def make(name: str, shape: Sequence[int], **attributes: ir.Attribute) -> ir.Value:
            type_ = ir.RankedTensorType.get(list(shape), element)
            return ir.Operation.create(name, results=[type_], operands=[value], attributes=attributes, loc=loc).result

        # [.., n_d * L, ..] -> [n_d, n_e, .., L, M, ..]: whom a piece goes to comes first.
        cut: list[int] = []
        first: list[int] = []
        rest: list[int] = []
        for d, have in enumerate(local):
            if d in come:
                parts = self.mesh.axes_size(come[d])
                first.append(len(cut))
                cut += [parts, have // parts]
            else:
                cut.append(have)
            rest.append(len(cut) - 1)
        value = make("stablehlo.reshape", cut)
        order = first + rest
        value = make(
            "stablehlo.transpose", [cut[i] for i in order], permutation=ir.DenseI64ArrayAttr.get(order)
        )
        pieces = [cut[i] for i in rest]
        value = make("stablehlo.reshape", [n, *pieces])
        value = self.all_to_all(value, 0, 0, group, loc)
        # Now a piece's number is whom it came from: its axes go in front of the dimensions that they split.
        value = make("stablehlo.reshape", [*(size(a) for a in group), *pieces])
        order = []
        for d in range(len(pieces)):
            order += [group.index(a) for a in gone.get(d, ())] + [len(group) + d]
        sizes = [*(size(a) for a in group), *pieces]
        value = make("stablehlo.transpose", [sizes[i] for i in order], permutation=ir.DenseI64ArrayAttr.get(order))
        value = make(
            "stablehlo.reshape", [m * self.mesh.axes_size(gone.get(d, ())) for d, m in enumerate(pieces)]
        )
        for d, axes in gone.items():
            value = self._trim(value, d, axes, step.result, shape, loc)
        return value

    def permute(self, value: ir.Value, src: ShardSpec, dst: ShardSpec, loc: ir.Location) -> ir.Value:
        return self._permuted(value, permutation(src, dst, self.mesh), loc)

    def shift(self, value: ir.Value, axes: Sequence[str], by: int, loc: ir.Location) -> ir.Value:
        """What the device `by` places before this one along `axes` holds; zeros where there is none."""
        n = self.mesh.axes_size(axes)
        return self.send(value, axes, [(i, i + by) for i in range(n) if 0 <= i + by < n], loc)

    def send(
        self, value: ir.Value, axes: Sequence[str], pairs: Sequence[tuple[int, int]], loc: ir.Location
    ) -> ir.Value:
        """What the source of this device's pair holds; zeros on devices that are no target.

        `pairs` are (source, target) places along `axes`, the same in every group of devices.
        """
        found = [(group[s], group[t]) for group in self.mesh.groups(axes) for s, t in pairs]
        return self._permuted(value, found, loc)

    def _permuted(self, value: ir.Value, pairs: Sequence[tuple[int, int]], loc: ir.Location) -> ir.Value:
        if 0 in value.type.shape:
            return value
        if _two_bits(value):
            return _as(self._permuted(_as(value, _byte(), loc), pairs, loc), value.type.element_type, loc)
        attributes = {
            "channel_handle": self.channel(),
            "source_target_pairs": ir.DenseElementsAttr.get(np.array(pairs, dtype=np.int64)),
        }
        return ir.Operation.create(
            "stablehlo.collective_permute", results=[value.type], operands=[value], loc=loc, attributes=attributes
        ).result

    def slice(self, value: ir.Value, dim: int, axes: Sequence[str], loc: ir.Location) -> ir.Value:
        """This device's part of `dim`: where it starts comes from a table over devices."""
        value = self._pad(value, dim, axes, loc)
        result = _scaled(value.type, dim, 1, self.mesh.axes_size(axes))
        size = result.shape[dim]
        start = per_device([self.mesh.index(p, axes) * size for p in range(self.mesh.size)], loc)
        nowhere = zero(start.type.element_type, loc)
        offsets = [start if d == dim else nowhere for d in range(value.type.rank)]
        return _op(
            "stablehlo.dynamic_slice", [value, *offsets], result, loc,
            slice_sizes=ir.DenseI64ArrayAttr.get(result.shape),
        )

    def mask(self, value: ir.Value, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        """`value` on the first device along `axes`, elsewhere what adds nothing to a reduction by `kind`."""
        keep = per_device([int(self.mesh.index(p, axes) == 0) for p in range(self.mesh.size)], loc)
        flag = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
        mine = _op("stablehlo.convert", [keep], flag, loc)
        neither = _op(
            "stablehlo.broadcast_in_dim", [neutral(value.type.element_type, kind, loc)], value.type, loc,
            broadcast_dimensions=ir.DenseI64ArrayAttr.get([]),
        )
        return _op("stablehlo.select", [mine, value, neither], value.type, loc)

    # -- helpers -------------------------------------------------------------------------------

    def channel(self) -> ir.Attribute:
        """A channel that no other collective of the function has."""
        self.channels += 1
        return ir.Attribute.parse(f"#stablehlo.channel_handle<handle = {self.channels}, type = 1>")

    def _attributes(self, axes: Sequence[str], global_ids: bool = True) -> dict[str, ir.Attribute]:
        key = tuple(axes)
        if key not in self._groups:
            self._groups[key] = ir.DenseElementsAttr.get(np.array(self.mesh.groups(key), dtype=np.int64))
        attributes = {"channel_handle": self.channel(), "replica_groups": self._groups[key]}
        return attributes | ({"use_global_device_ids": ir.UnitAttr.get()} if global_ids else {})

    def _gather_and_reduce(self, value: ir.Value, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        """Where XLA has no all_reduce of this kind on this element: gather the parts and reduce them here."""
        type_ = value.type
        row = ir.RankedTensorType.get([1, *type_.shape], type_.element_type)
        row_value = ir.Operation.create("stablehlo.reshape", results=[row], operands=[value], loc=loc).result
        parts = self.all_gather(row_value, 0, axes, loc)
        total: ir.Value | None = None
        for i in range(self.mesh.axes_size(axes)):
            rank = type_.rank
            part = ir.Operation.create(
                "stablehlo.slice", results=[row], operands=[parts], loc=loc,
                attributes={
                    "start_indices": ir.DenseI64ArrayAttr.get([i] + [0] * rank),
                    "limit_indices": ir.DenseI64ArrayAttr.get([i + 1, *type_.shape]),
                    "strides": ir.DenseI64ArrayAttr.get([1] * (rank + 1)),
                },
            ).result
            part = ir.Operation.create("stablehlo.reshape", results=[type_], operands=[part], loc=loc).result
            total = part if total is None else ir.Operation.create(
                REDUCERS[kind], results=[type_], operands=[total, part], loc=loc
            ).result
        assert total is not None
        return total


def _for_element(kind: str, element: ir.Type) -> str:
    return ON_BOOLEANS[kind] if isinstance(element, ir.IntegerType) and element.width == 1 else kind


def _native(kind: str, element: ir.Type) -> bool:
    """Whether XLA reduces this across devices: no bitwise reductions of integers, complex sums only."""
    if isinstance(element, ir.IntegerType):
        return element.width == 1 or (kind not in ("and", "or") and element.width >= 8)
    if isinstance(element, ir.ComplexType):
        return kind == "sum"
    return getattr(element, "width", 0) >= 16


def _two_bits(value: ir.Value) -> bool:
    """Whether elements have two bits: XLA's collectives on CPU write such tensors beyond their ends."""
    element = value.type.element_type
    return isinstance(element, ir.IntegerType) and element.width == 2


def _byte() -> ir.Type:
    return ir.IntegerType.get_signless(8)


def _as(value: ir.Value, element: ir.Type, loc: ir.Location) -> ir.Value:
    return _op("stablehlo.convert", [value], ir.RankedTensorType.get(value.type.shape, element), loc)


def _reducer(region: ir.Region, kind: str, element: ir.Type, loc: ir.Location) -> None:
    scalar = ir.RankedTensorType.get([], element)
    block = region.blocks.append(scalar, scalar, arg_locs=[loc, loc])
    ip = ir.InsertionPoint(block)
    made = ir.Operation.create(REDUCERS[kind], results=[scalar], operands=list(block.arguments), loc=loc, ip=ip)
    ir.Operation.create("stablehlo.return", operands=[made.result], loc=loc, ip=ip)


def per_device(numbers: Sequence[int], loc: ir.Location) -> ir.Value:
    """0-d i32: on the device at mesh position p, `numbers[p]`."""
    i32 = ir.IntegerType.get_signless(32)
    scalar, row = ir.RankedTensorType.get([], i32), ir.RankedTensorType.get([len(numbers)], i32)
    attr = ir.DenseElementsAttr.get(np.array(numbers, np.int32), type=row)
    table = _op("stablehlo.constant", [], row, loc, value=attr)
    position = _op("stablehlo.partition_id", [], ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32)), loc)
    position = _op("stablehlo.convert", [position], scalar, loc)
    one = _op(
        "stablehlo.dynamic_slice", [table, position], ir.RankedTensorType.get([1], i32), loc,
        slice_sizes=ir.DenseI64ArrayAttr.get([1]),
    )
    return _op("stablehlo.reshape", [one], scalar, loc)


def _op(
    name: str, operands: Sequence[ir.Value], type_: ir.Type, loc: ir.Location, **attributes: ir.Attribute
) -> ir.Value:
    return ir.Operation.create(
        name, results=[type_], operands=list(operands), attributes=attributes, loc=loc
    ).result


def grown(value: ir.Value, beyond: Sequence[int], loc: ir.Location) -> ir.Value:
    """`value` with `beyond[d]` zeros after the end of every dimension d."""
    element = value.type.element_type
    none = ir.DenseI64ArrayAttr.get([0] * len(beyond))
    result = ir.RankedTensorType.get([n + k for n, k in zip(value.type.shape, beyond, strict=True)], element)
    return ir.Operation.create(
        "stablehlo.pad", results=[result], operands=[value, zero(element, loc)], loc=loc,
        attributes={
            "edge_padding_low": none, "edge_padding_high": ir.DenseI64ArrayAttr.get(list(beyond)),
            "interior_padding": none,
        },
    ).result


def nothing(type_: ir.RankedTensorType, loc: ir.Location) -> ir.Value:
    """A tensor without elements."""
    nowhere = ir.DenseI64ArrayAttr.get([])
    return _op("stablehlo.broadcast_in_dim", [zero(type_.element_type, loc)], type_, loc, broadcast_dimensions=nowhere)


def _viewed(value: ir.Value, dim: int, parts: int, size: int, loc: ir.Location) -> ir.Value:
    """Dimension `dim` as two: `parts` blocks of `size`."""
    shape = list(value.type.shape)
    type_ = ir.RankedTensorType.get([*shape[:dim], parts, size, *shape[dim + 1 :]], value.type.element_type)
    return ir.Operation.create("stablehlo.reshape", results=[type_], operands=[value], loc=loc).result


def _merged(value: ir.Value, dim: int, loc: ir.Location) -> ir.Value:
    """Dimensions `dim` and `dim + 1` as one."""
    shape = list(value.type.shape)
    dims = [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]]
    type_ = ir.RankedTensorType.get(dims, value.type.element_type)
    return ir.Operation.create("stablehlo.reshape", results=[type_], operands=[value], loc=loc).result


def _shortened(value: ir.Value, dim: int, size: int, loc: ir.Location) -> ir.Value:
    """The first `size` elements of dimension `dim`."""
    shape = [size if d == dim else n for d, n in enumerate(value.type.shape)]
    attributes = {
        "start_indices": ir.DenseI64ArrayAttr.get([0] * len(shape)), "limit_indices": ir.DenseI64ArrayAttr.get(shape),
        "strides": ir.DenseI64ArrayAttr.get([1] * len(shape)),
    }
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return ir.Operation.create(
        "stablehlo.slice", results=[type_], operands=[value], loc=loc, attributes=attributes
    ).result


def _scaled(type_: ir.RankedTensorType, dim: int, times: int, over: int) -> ir.RankedTensorType:
    dims = list(type_.shape)
    dims[dim] = dims[dim] * times // over
    return ir.RankedTensorType.get(dims, type_.element_type)


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
