"""Redistribution steps as StableHLO collectives on local shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import create, i64, i64s, tensor
from pcg.ir.types import is_bool
from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import padded_sizes
from pcg.lower.neutral import neutral, zero
from pcg.lower.ordered import needs_order, ordered, unordered
from pcg.reshard import (
    AllGather,
    AllReduce,
    AllToAll,
    Mask,
    Permute,
    ReduceScatter,
    Regroup,
    ReshardStep,
    Slice,
    permutation,
)
from pcg.rules.regions import ON_BOOLEANS, REDUCERS


class CollectiveBuilder:
    """Creates the collectives of one lowered function: hands out channels and builds attributes once.

    Tensors without elements are not sent.  Values are local; specs are those of the global value.  New ops go to the
    current insertion point and location.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.channels = 0
        self._groups: dict[tuple[str, ...], ir.Attribute] = {}

    def take(self, step: ReshardStep, value: ir.Value, spec: ShardSpec, shape: Sequence[int]) -> ir.Value:
        """The local value after `step`, taken from the local `value` of layout `spec` and global `shape`."""
        match step:
            case AllReduce(axes, kind):
                return self.all_reduce(value, axes, kind)
            case ReduceScatter(dim, axes, kind):
                return self.reduce_scatter(self._pad(value, dim, axes), dim, axes, kind)
            case AllGather(dim, axes):
                return self._trim(self.all_gather(value, dim, axes), dim, axes, step.apply(spec), shape)
            case AllToAll(split_dim, concat_dim, axes):
                value = self.all_to_all(self._pad(value, split_dim, axes), split_dim, concat_dim, axes)
                return self._trim(value, concat_dim, axes, step.apply(spec), shape)
            case Slice(dim, axes):
                return self.slice(value, dim, axes)
            case Permute(result):
                return self._permuted(value, permutation(spec, result, self.mesh))
            case Mask(axes, kind):
                return self.mask(value, axes, kind)
            case Regroup():
                return self.regroup(value, step, spec, shape)
        raise TypeError(f"{step} is not a redistribution step")

    def _pad(self, value: ir.Value, dim: int, axes: Sequence[str]) -> ir.Value:
        """`value`, before `dim` is split over `axes`, with padding so that each axis splits it into equal parts."""
        counts = [self.mesh.axis_size(a) for a in axes]
        sizes = padded_sizes(value.type.shape[dim], counts)
        parts = 1
        for n, size, part in zip(counts, sizes, sizes[1:], strict=False):
            if n * part != size:
                rows = _unflattened(value, dim, parts, size)
                padding = [0] * rows.type.rank
                padding[dim + 1] = n * part - size
                value = _flattened(pad_high(rows, padding), dim)
            parts *= n
        return value

    def _trim(self, value: ir.Value, dim: int, axes: Sequence[str], after: ShardSpec, shape: Sequence[int]) -> ir.Value:
        """`value`, after its parts along `dim` were gathered over `axes`, without the padding that is inside."""
        counts = [self.mesh.axis_size(a) for a in axes]
        sizes = padded_sizes(after.local_shape(shape, self.mesh)[dim], counts)
        parts = [math.prod(counts[:k]) for k in range(len(counts))]
        for n, size, part, k in reversed(list(zip(counts, sizes, sizes[1:], parts, strict=False))):
            if n * part != size:
                rows = _unflattened(value, dim, k, n * part)
                value = _flattened(emit.slice_dim(rows, dim + 1, 0, size), dim)
        return value

    # -- one function per step -----------------------------------------------------------------

    def all_reduce(self, value: ir.Value, axes: Sequence[str], kind: str) -> ir.Value:
        type_ = value.type
        if 0 in type_.shape:
            return value
        kind = ON_BOOLEANS[kind] if is_bool(type_) else kind
        if not _native(kind, type_.element_type):
            return self._gather_and_reduce(value, axes, kind)
        if needs_order(kind, type_.element_type):
            return unordered(self.all_reduce(ordered(value, kind), axes, kind), type_.element_type)
        op = emit.create_op("stablehlo.all_reduce", [value], [type_], 1, **self._attributes(axes))
        _reducer(op.regions[0], kind, type_.element_type)
        return op.result

    def reduce_scatter(self, value: ir.Value, dim: int, axes: Sequence[str], kind: str) -> ir.Value:
        element = value.type.element_type
        result = self._split(value.type, dim, axes)
        if 0 in result.shape:
            return empty(result)
        kind = ON_BOOLEANS[kind] if is_bool(value.type) else kind
        if not _native(kind, element):
            return self.slice(self._gather_and_reduce(value, axes, kind), dim, axes)
        if needs_order(kind, element):
            return unordered(self.reduce_scatter(ordered(value, kind), dim, axes, kind), element)
        op = emit.create_op(
            "stablehlo.reduce_scatter", [value], [result], 1, **self._attributes(axes), scatter_dimension=i64(dim)
        )
        _reducer(op.regions[0], kind, element)
        return op.result

    def all_gather(self, value: ir.Value, dim: int, axes: Sequence[str]) -> ir.Value:
        result = emit.resized(value, dim, value.type.shape[dim] * self.mesh.axes_size(axes))
        if 0 in result.shape:
            return empty(result)
        if _has_two_bits(value):
            return emit.convert(self.all_gather(_as_bytes(value), dim, axes), result.element_type)
        return create("stablehlo.all_gather", [value], result, **self._attributes(axes), all_gather_dim=i64(dim))

    def all_to_all(self, value: ir.Value, split_dim: int, concat_dim: int, axes: Sequence[str]) -> ir.Value:
        n = self.mesh.axes_size(axes)
        dims = list(value.type.shape)
        dims[split_dim] //= n
        dims[concat_dim] *= n
        result = tensor(dims, value.type.element_type)
        if 0 in dims:
            return empty(result)
        if _has_two_bits(value):
            return emit.convert(self.all_to_all(_as_bytes(value), split_dim, concat_dim, axes), result.element_type)
        return create(
            "stablehlo.all_to_all", [value], result, **self._attributes(axes, global_ids=False),
            split_dimension=i64(split_dim), concat_dimension=i64(concat_dim), split_count=i64(n),
        )

    def regroup(self, value: ir.Value, step: Regroup, spec: ShardSpec, shape: Sequence[int]) -> ir.Value:
        """An all-to-all over several axes: the value is split into one piece per device, and what comes assembled."""
        gone, come = step.axis_changes(spec)
        for d, axes in come.items():
            value = self._pad(value, d, axes)
        size = self.mesh.axis_size
        group = step.devices(spec)

        def transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
            type_ = tensor([value.type.shape[i] for i in order], value.type.element_type)
            return create("stablehlo.transpose", [value], type_, permutation=i64s(order))

        # [.., n_d * L, ..] -> [n_d, n_e, .., L, M, ..]: whom a piece goes to comes first.
        sizes: list[int] = []
        first: list[int] = []
        rest: list[int] = []
        for d, have in enumerate(value.type.shape):
            if d in come:
                parts = self.mesh.axes_size(come[d])
                first.append(len(sizes))
                sizes += [parts, have // parts]
            else:
                sizes.append(have)
            rest.append(len(sizes) - 1)
        pieces = [sizes[i] for i in rest]
        value = transposed(emit.reshape(value, sizes), first + rest)
        value = self.all_to_all(emit.reshape(value, [self.mesh.axes_size(group), *pieces]), 0, 0, group)
        # Now a piece's number is whom it came from: its axes go in front of the dimensions that they split.
        order = []
        for d in range(len(pieces)):
            order += [group.index(a) for a in gone.get(d, ())] + [len(group) + d]
        value = transposed(emit.reshape(value, [*(size(a) for a in group), *pieces]), order)
        value = emit.reshape(value, [m * self.mesh.axes_size(gone.get(d, ())) for d, m in enumerate(pieces)])
        for d, axes in gone.items():
            value = self._trim(value, d, axes, step.result, shape)
        return value

    def shift(self, value: ir.Value, axes: Sequence[str], by: int) -> ir.Value:
        """What the device `by` places before this one along `axes` holds; zeros where there is none."""
        n = self.mesh.axes_size(axes)
        return self.send(value, axes, [(i, i + by) for i in range(n) if 0 <= i + by < n])

    def send(self, value: ir.Value, axes: Sequence[str], pairs: Sequence[tuple[int, int]]) -> ir.Value:
        """What the source of this device's pair holds; zeros on devices that are no target.

        `pairs` are (source, target) places along `axes`, the same in every group of devices.
        """
        return self._permuted(value, [(group[s], group[t]) for group in self.mesh.groups(axes) for s, t in pairs])

    def _permuted(self, value: ir.Value, pairs: Sequence[tuple[int, int]]) -> ir.Value:
        if 0 in value.type.shape:
            return value
        if _has_two_bits(value):
            return emit.convert(self._permuted(_as_bytes(value), pairs), value.type.element_type)
        table = ir.DenseElementsAttr.get(np.array(pairs, dtype=np.int64))
        return create(
            "stablehlo.collective_permute", [value], value.type, channel_handle=self.channel(),
            source_target_pairs=table,
        )

    def slice(self, value: ir.Value, dim: int, axes: Sequence[str]) -> ir.Value:
        """This device's part of `dim`: where it starts comes from a table over devices."""
        value = self._pad(value, dim, axes)
        result = self._split(value.type, dim, axes)
        start = per_device([self.mesh.index(p, axes) * result.shape[dim] for p in range(self.mesh.size)])
        none = zero(start.type.element_type)
        return emit.dynamic_slice(value, [start if d == dim else none for d in range(result.rank)], result.shape)

    def mask(self, value: ir.Value, axes: Sequence[str], kind: str) -> ir.Value:
        """`value` on the first device along `axes`, elsewhere the neutral element of a reduction by `kind`."""
        flag = per_device([int(self.mesh.index(p, axes) == 0) for p in range(self.mesh.size)])
        is_first = emit.convert(flag, ir.IntegerType.get_signless(1))
        return emit.select(is_first, value, emit.broadcast(neutral(value.type.element_type, kind), value.type))

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

    def _split(self, type_: ir.RankedTensorType, dim: int, axes: Sequence[str]) -> ir.RankedTensorType:
        dims = list(type_.shape)
        dims[dim] //= self.mesh.axes_size(axes)
        return tensor(dims, type_.element_type)

    def _gather_and_reduce(self, value: ir.Value, axes: Sequence[str], kind: str) -> ir.Value:
        """Where XLA has no all_reduce of this kind on this element: gather the parts and reduce them here."""
        type_ = value.type
        gathered = self.all_gather(emit.reshape(value, [1, *type_.shape]), 0, axes)
        # One part after another: taken from the gathered tensor, then combined.
        parts = (
            emit.reshape(emit.slice_dim(gathered, 0, i, i + 1), type_.shape) for i in range(self.mesh.axes_size(axes))
        )
        return reduce(lambda a, b: create(REDUCERS[kind], [a, b], type_), parts)


def _native(kind: str, element: ir.Type) -> bool:
    """Whether XLA reduces this across devices: no bitwise reductions of integers, complex sums only."""
    if isinstance(element, ir.IntegerType):
        return element.width == 1 or (kind not in ("and", "or") and element.width >= 8)
    if isinstance(element, ir.ComplexType):
        return kind == "sum"
    return getattr(element, "width", 0) >= 16


def _has_two_bits(value: ir.Value) -> bool:
    """Whether elements have two bits: XLA's collectives on CPU write such tensors beyond their ends."""
    element = value.type.element_type
    return isinstance(element, ir.IntegerType) and element.width == 2


def _as_bytes(value: ir.Value) -> ir.Value:
    return emit.convert(value, ir.IntegerType.get_signless(8))


def _reducer(region: ir.Region, kind: str, element: ir.Type) -> None:
    scalar, loc = tensor([], element), ir.Location.current
    block = region.blocks.append(scalar, scalar, arg_locs=[loc, loc])
    with ir.InsertionPoint(block):
        emit.create_op("stablehlo.return", [create(REDUCERS[kind], list(block.arguments), scalar)], [])


def per_device(numbers: Sequence[int]) -> ir.Value:
    """0-d i32: on the device at mesh position p, `numbers[p]`."""
    i32 = ir.IntegerType.get_signless(32)
    row = tensor([len(numbers)], i32)
    table = create("stablehlo.constant", [], row, value=ir.DenseElementsAttr.get(np.array(numbers, np.int32), type=row))
    position = create("stablehlo.partition_id", [], tensor([], ir.IntegerType.get_unsigned(32)))
    return emit.reshape(emit.dynamic_slice(table, [emit.convert(position, i32)], [1]), [])


def pad_high(value: ir.Value, padding: Sequence[int]) -> ir.Value:
    """`value` with `padding[d]` zeros after the end of every dimension d."""
    return emit.pad(value, zero(value.type.element_type), [0] * len(padding), padding)


def empty(type_: ir.RankedTensorType) -> ir.Value:
    """A tensor without elements."""
    return emit.broadcast(zero(type_.element_type), type_)


def _unflattened(value: ir.Value, dim: int, parts: int, size: int) -> ir.Value:
    """Dimension `dim` as two: `parts` blocks of `size`."""
    shape = value.type.shape
    return emit.reshape(value, [*shape[:dim], parts, size, *shape[dim + 1 :]])


def _flattened(value: ir.Value, dim: int) -> ir.Value:
    """Dimensions `dim` and `dim + 1` as one."""
    shape = value.type.shape
    return emit.reshape(value, [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]])
