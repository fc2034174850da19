"""Building StableHLO ops at the current insertion point and location."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir


def create_op(
    name: str, operands: Sequence[ir.Value], types: Sequence[ir.Type], regions: int = 0, **attributes: ir.Attribute
) -> ir.Operation:
    """An op with any number of results and regions."""
    return ir.Operation.create(
        name, results=list(types), operands=list(operands), attributes=attributes, regions=regions
    )


def create(name: str, operands: Sequence[ir.Value], type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    """The result of an op that has one."""
    return ir.Operation.create(name, results=[type_], operands=list(operands), attributes=attributes).result


# -- types and attributes --------------------------------------------------------------------------


def i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def i64s(values: Sequence[int]) -> ir.Attribute:
    """An array of 64-bit integers."""
    return ir.DenseI64ArrayAttr.get(list(values))


def i64_rows(rows: Sequence[Sequence[int]]) -> ir.Attribute:
    """A matrix of 64-bit integers, as the padding of windows is."""
    type_ = tensor([len(rows), len(rows[0])], ir.IntegerType.get_signless(64))
    return ir.Attribute.parse(f"dense<{[list(row) for row in rows]}> : {type_}")


def tensor(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(list(shape), element)


def resized(value: ir.Value, dim: int, size: int) -> ir.RankedTensorType:
    """Type of `value` with another size of dimension `dim`."""
    return tensor([size if d == dim else n for d, n in enumerate(value.type.shape)], value.type.element_type)


# -- ops -------------------------------------------------------------------------------------------


def convert(value: ir.Value, element: ir.Type) -> ir.Value:
    """`value` with elements of another type; no op if it has them."""
    if value.type.element_type == element:
        return value
    return create("stablehlo.convert", [value], tensor(value.type.shape, element))


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    return create("stablehlo.reshape", [value], tensor(shape, value.type.element_type))


def broadcast(value: ir.Value, type_: ir.RankedTensorType, dims: Sequence[int] = ()) -> ir.Value:
    """`value`, whose dimensions become `dims` of the result; by default a 0-d value everywhere."""
    return create("stablehlo.broadcast_in_dim", [value], type_, broadcast_dimensions=i64s(dims))


def iota(type_: ir.RankedTensorType, dim: int) -> ir.Value:
    return create("stablehlo.iota", [], type_, iota_dimension=i64(dim))


def compare(a: ir.Value, b: ir.Value, direction: str, order: str = "") -> ir.Value:
    """Elementwise comparison: `direction` is EQ, LT, ...; `order` SIGNED, TOTALORDER, ..., if it is to be written."""
    attributes = {"comparison_direction": ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")}
    if order:
        attributes["compare_type"] = ir.Attribute.parse(f"#stablehlo<comparison_type {order}>")
    i1 = tensor(a.type.shape, ir.IntegerType.get_signless(1))
    return create("stablehlo.compare", [a, b], i1, **attributes)


def select(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """`a` where the condition (0-d, or of their shape) holds, else `b`."""
    return create("stablehlo.select", [condition, a, b], a.type)


def binary(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """An elementwise op of two values of one type, such as `add`."""
    return create(f"stablehlo.{name}", [a, b], a.type)


def slice_box(
    value: ir.Value, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
) -> ir.Value:
    """`value[start:limit:strides]` in every dimension; strides are 1 by default."""
    strides = strides or [1] * len(start)
    sizes = [-(-(b - a) // n) for a, b, n in zip(start, limit, strides, strict=True)]
    return create(
        "stablehlo.slice", [value], tensor(sizes, value.type.element_type), start_indices=i64s(start),
        limit_indices=i64s(limit), strides=i64s(strides),
    )


def slice_dim(value: ir.Value, dim: int, start: int, limit: int, stride: int = 1) -> ir.Value:
    """`value[start:limit:stride]` in dimension `dim`."""
    starts, limits, strides = [0] * value.type.rank, list(value.type.shape), [1] * value.type.rank
    starts[dim], limits[dim], strides[dim] = start, limit, stride
    return slice_box(value, starts, limits, strides)


def dynamic_slice(value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """The part of `value` of `sizes` from 0-d `starts`, one for each dimension."""
    type_ = tensor(sizes, value.type.element_type)
    return create("stablehlo.dynamic_slice", [value, *starts], type_, slice_sizes=i64s(sizes))


def concatenate(values: Sequence[ir.Value], dim: int) -> ir.Value:
    """Values one after another along a dimension; no op for one value."""
    if len(values) == 1:
        return values[0]
    type_ = resized(values[0], dim, sum(v.type.shape[dim] for v in values))
    return create("stablehlo.concatenate", values, type_, dimension=i64(dim))


def pad(
    value: ir.Value, fill: ir.Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int] | None = None
) -> ir.Value:
    """`value` with `low` and `high` elements around every dimension, `interior` between its own: 0-d `fill`."""
    interior = interior or [0] * len(low)
    sizes = [
        a + n + b + max(0, n - 1) * k for n, a, b, k in zip(value.type.shape, low, high, interior, strict=True)
    ]
    return create(
        "stablehlo.pad", [value, fill], tensor(sizes, value.type.element_type), edge_padding_low=i64s(low),
        edge_padding_high=i64s(high), interior_padding=i64s(interior),
    )
