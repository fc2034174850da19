"""Redistribution steps as StableHLO collectives on local shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from pcg.layout import Mesh, ShardSpec
from pcg.reshard import AllGather, AllReduce, AllToAll, Permute, ReduceScatter, Slice, Step, permutation

_REDUCERS = {
    "sum": "stablehlo.add", "prod": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
    "and": "stablehlo.and", "or": "stablehlo.or",
}  # fmt: skip
#: On booleans XLA's collectives know `and` and `or` only.
_BOOLEAN = {"sum": "or", "max": "or", "prod": "and", "min": "and", "and": "and", "or": "or"}


class Collectives:
    """Creates collectives for one lowered function: hands out channels and builds attributes once.

    Values are local; specs are those of the global value.  New ops go to the current insertion point.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.channels = 0
        self._groups: dict[tuple[str, ...], ir.Attribute] = {}

    def take(self, step: Step, value: ir.Value, spec: ShardSpec, loc: ir.Location) -> ir.Value:
        """The local value after `step`, taken from the local `value` of layout `spec`."""
        match step:
            case AllReduce(axes, kind):
                return self.all_reduce(value, axes, kind, loc)
            case ReduceScatter(dim, axes, kind):
                return self.reduce_scatter(value, dim, axes, kind, loc)
            case AllGather(dim, axes):
                return self.all_gather(value, dim, axes, loc)
            case AllToAll(split_dim, concat_dim, axes):
                return self.all_to_all(value, split_dim, concat_dim, axes, loc)
            case Slice(dim, axes):
                return self.slice(value, dim, axes, loc)
            case Permute(result):
                return self.permute(value, spec, result, loc)
        raise TypeError(f"{step} is not a redistribution step")

    # -- one function per step -----------------------------------------------------------------

    def all_reduce(self, value: ir.Value, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        kind = _for_element(kind, value.type.element_type)
        if not _native(kind, value.type.element_type):
            return self._gather_and_reduce(value, axes, kind, loc)
        op = ir.Operation.create(
            "stablehlo.all_reduce", results=[value.type], operands=[value], regions=1, loc=loc,
            attributes=self._attributes(axes),
        )
        _reducer(op.regions[0], kind, value.type.element_type, loc)
        return op.result

    def reduce_scatter(self, value: ir.Value, dim: int, axes: Sequence[str], kind: str, loc: ir.Location) -> ir.Value:
        kind = _for_element(kind, value.type.element_type)
        if not _native(kind, value.type.element_type):
            return self.slice(self._gather_and_reduce(value, axes, kind, loc), dim, axes, loc)
        op = ir.Operation.create(
            "stablehlo.reduce_scatter", results=[_scaled(value.type, dim, 1, self.mesh.axes_size(axes))],
            operands=[value], regions=1, loc=loc,
            attributes=self._attributes(axes) | {"scatter_dimension": _i64(dim)},
        )
        _reducer(op.regions[0], kind, value.type.element_type, loc)
        return op.result

    def all_gather(self, value: ir.Value, dim: int, axes: Sequence[str], loc: ir.Location) -> ir.Value:
        return ir.Operation.create(
            "stablehlo.all_gather", results=[_scaled(value.type, dim, self.mesh.axes_size(axes), 1)],
            operands=[value], loc=loc, attributes=self._attributes(axes) | {"all_gather_dim": _i64(dim)},
        ).result

    def all_to_all(
        self, value: ir.Value, split_dim: int, concat_dim: int, axes: Sequence[str], loc: ir.Location
    ) -> ir.Value:
        n = self.mesh.axes_size(axes)
        result = _scaled(_scaled(value.type, split_dim, 1, n), concat_dim, n, 1)
        attributes = self._attributes(axes, global_ids=False) | {
            "split_dimension": _i64(split_dim), "concat_dimension": _i64(concat_dim), "split_count": _i64(n),
        }
        return ir.Operation.create(
            "stablehlo.all_to_all", results=[result], operands=[value], loc=loc, attributes=attributes
        ).result

    def permute(self, value: ir.Value, src: ShardSpec, dst: ShardSpec, loc: ir.Location) -> ir.Value:
        pairs = np.array(permutation(src, dst, self.mesh), dtype=np.int64)
        attributes = {"channel_handle": self._channel(), "source_target_pairs": ir.DenseElementsAttr.get(pairs)}
        return ir.Operation.create(
            "stablehlo.collective_permute", results=[value.type], operands=[value], loc=loc, attributes=attributes
        ).result

    def shift(self, value: ir.Value, axes: Sequence[str], by: int, loc: ir.Location) -> ir.Value:
        """What the device `by` places before this one along `axes` holds; zeros where there is none."""
        pairs = []
        for group in self.mesh.groups(axes):
            pairs += [(p, group[i + by]) for i, p in enumerate(group) if 0 <= i + by < len(group)]
        attributes = {
            "channel_handle": self._channel(),
            "source_target_pairs": ir.DenseElementsAttr.get(np.array(pairs, dtype=np.int64)),
        }
        return ir.Operation.create(
            "stablehlo.collective_permute", results=[value.type], operands=[value], loc=loc, attributes=attributes
        ).result

    def slice(self, value: ir.Value, dim: int, axes: Sequence[str], loc: ir.Location) -> ir.Value:
        """This device's part of `dim`: where it starts comes from a table over devices."""
        result = _scaled(value.type, dim, 1, self.mesh.axes_size(axes))
        size = result.shape[dim]
        starts = np.array([self.mesh.index(p, axes) * size for p in range(self.mesh.size)], dtype=np.int32)
        i32 = ir.IntegerType.get_signless(32)
        scalar = ir.RankedTensorType.get([], i32)

        def make(name: str, operands: list[ir.Value], type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
            return ir.Operation.create(
                name, results=[type_], operands=operands, attributes=attributes, loc=loc
            ).result

        table = make(
            "stablehlo.constant", [], ir.RankedTensorType.get([len(starts)], i32),
            value=ir.DenseElementsAttr.get(starts),
        )
        device = make("stablehlo.partition_id", [], ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32)))
        device = make("stablehlo.convert", [device], scalar)
        start = make(
            "stablehlo.dynamic_slice", [table, device], ir.RankedTensorType.get([1], i32),
            slice_sizes=ir.DenseI64ArrayAttr.get([1]),
        )
        start = make("stablehlo.reshape", [start], scalar)
        zero = make("stablehlo.constant", [], scalar, value=ir.DenseElementsAttr.get(np.zeros((), np.int32)))
        offsets = [start if d == dim else zero for d in range(value.type.rank)]
        return make(
            "stablehlo.dynamic_slice", [value, *offsets], result, slice_sizes=ir.DenseI64ArrayAttr.get(result.shape)
        )

    # -- helpers -------------------------------------------------------------------------------

    def _channel(self) -> ir.Attribute:
        self.channels += 1
        return ir.Attribute.parse(f"#stablehlo.channel_handle<handle = {self.channels}, type = 1>")

    def _attributes(self, axes: Sequence[str], global_ids: bool = True) -> dict[str, ir.Attribute]:
        key = tuple(axes)
        if key not in self._groups:
            self._groups[key] = ir.DenseElementsAttr.get(np.array(self.mesh.groups(key), dtype=np.int64))
        attributes = {"channel_handle": self._channel(), "replica_groups": self._groups[key]}
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
                _REDUCERS[kind], results=[type_], operands=[total, part], loc=loc
            ).result
        assert total is not None
        return total


def _for_element(kind: str, element: ir.Type) -> str:
    return _BOOLEAN[kind] if isinstance(element, ir.IntegerType) and element.width == 1 else kind


def _native(kind: str, element: ir.Type) -> bool:
    """Whether XLA reduces this across devices: no bitwise reductions of integers, complex sums only."""
    if isinstance(element, ir.IntegerType):
        return element.width == 1 or (kind not in ("and", "or") and element.width >= 8)
    if isinstance(element, ir.ComplexType):
        return kind == "sum"
    return getattr(element, "width", 0) >= 16


def _reducer(region: ir.Region, kind: str, element: ir.Type, loc: ir.Location) -> None:
    scalar = ir.RankedTensorType.get([], element)
    block = region.blocks.append(scalar, scalar, arg_locs=[loc, loc])
    ip = ir.InsertionPoint(block)
    made = ir.Operation.create(_REDUCERS[kind], results=[scalar], operands=list(block.arguments), loc=loc, ip=ip)
    ir.Operation.create("stablehlo.return", operands=[made.result], loc=loc, ip=ip)


def _scaled(type_: ir.RankedTensorType, dim: int, times: int, over: int) -> ir.RankedTensorType:
    dims = list(type_.shape)
    dims[dim] = dims[dim] * times // over
    return ir.RankedTensorType.get(dims, type_.element_type)


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
