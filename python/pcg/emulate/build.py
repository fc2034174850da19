"""The few StableHLO ops that the emulator creates, at the current insertion point and location.

Slices and concatenations are not built by `pcg.ir.emit`, as those of the lowering are, so that a mistake there shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from torch_mlir import ir

from pcg.ir.emit import create, i64
from pcg.ir.types import number_attr


def tensor(shape: Sequence[int], like: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(list(shape), like.element_type)


def slice_box(value: ir.Value, start: Sequence[int], limit: Sequence[int]) -> ir.Value:
    """`value[start:limit]` in every dimension."""
    if list(limit) == list(value.type.shape) and not any(start):
        return value
    array = ir.DenseI64ArrayAttr.get
    return create(
        "stablehlo.slice", [value], tensor([b - a for a, b in zip(start, limit, strict=True)], value.type),
        start_indices=array(list(start)), limit_indices=array(list(limit)), strides=array([1] * len(start)),
    )


def slice_dim(value: ir.Value, dim: int, start: int, limit: int) -> ir.Value:
    """`value[start:limit]` in dimension `dim`."""
    starts, limits = [0] * value.type.rank, list(value.type.shape)
    starts[dim], limits[dim] = start, limit
    return slice_box(value, starts, limits)


def concatenate(values: Sequence[ir.Value], dim: int) -> ir.Value:
    if len(values) == 1:
        return values[0]
    shape = list(values[0].type.shape)
    shape[dim] = sum(v.type.shape[dim] for v in values)
    return create("stablehlo.concatenate", values, tensor(shape, values[0].type), dimension=i64(dim))


def constant_u32(value: int) -> ir.Value:
    type_ = ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32))
    attr = ir.DenseElementsAttr.get(np.array(value, dtype=np.uint32), type=type_)
    return create("stablehlo.constant", [], type_, value=attr)


def zeros(type_: ir.RankedTensorType) -> ir.Value:
    """Zeros of any element type (via a conversion, for complex numbers and small floats)."""
    i1 = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(1))
    attr = ir.DenseElementsAttr.get_splat(i1, ir.BoolAttr.get(False))
    value = create("stablehlo.constant", [], i1, value=attr)
    return value if i1 == type_ else create("stablehlo.convert", [value], type_)


def flag_type() -> ir.RankedTensorType:
    """0-d i1."""
    return ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))


def true() -> ir.Value:
    """0-d i1."""
    value = ir.DenseElementsAttr.get_splat(flag_type(), ir.BoolAttr.get(True))
    return create("stablehlo.constant", [], flag_type(), value=value)


def padded_high(value: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """`value` as one of a larger type: poison (NaN, or the largest number) follows the end of every dimension."""
    padding = [n - have for n, have in zip(type_.shape, value.type.shape, strict=True)]
    if not any(padding):
        return value
    none = ir.DenseI64ArrayAttr.get([0] * len(padding))
    return create(
        "stablehlo.pad", [value, _poison(type_.element_type)], type_, edge_padding_low=none,
        edge_padding_high=ir.DenseI64ArrayAttr.get(padding), interior_padding=none,
    )


def _poison(element: ir.Type) -> ir.Value:
    scalar = ir.RankedTensorType.get([], element)
    if isinstance(element, ir.ComplexType):
        return create("stablehlo.complex", [_poison(element.element_type)] * 2, scalar)
    number: float | int = float("nan")
    if isinstance(element, ir.IntegerType):
        number = 2 ** (element.width if element.is_unsigned or element.width == 1 else element.width - 1) - 1
    elif str(element) in _WITHOUT_NAN:
        number = _WITHOUT_NAN[str(element)]
    value = ir.DenseElementsAttr.get_splat(scalar, number_attr(number, element))
    return create("stablehlo.constant", [], scalar, value=value)


#: Largest numbers of the float types that have no NaN.
_WITHOUT_NAN = {"f4E2M1FN": 6.0, "f6E2M3FN": 7.5, "f6E3M2FN": 28.0}


def same_bits(a: ir.Value, b: ir.Value) -> ir.Value:
    """0-d i1: whether two tensors agree bit for bit (NaNs of equal bits agree)."""
    element = a.type.element_type
    if isinstance(element, ir.ComplexType):
        part = ir.RankedTensorType.get(a.type.shape, element.element_type)
        halves = [same_bits(*(create(f"stablehlo.{p}", [x], part) for x in (a, b))) for p in ("real", "imag")]
        return create("stablehlo.and", halves, halves[0].type)
    order = "UNSIGNED"
    if not isinstance(element, ir.IntegerType):
        bits = ir.RankedTensorType.get(a.type.shape, ir.IntegerType.get_unsigned(element.width))
        a, b = (create("stablehlo.bitcast_convert", [x], bits) for x in (a, b))
    elif element.is_signed or (element.is_signless and element.width > 1):
        order = "SIGNED"
    scalar = flag_type()
    equal = create(
        "stablehlo.compare", [a, b], tensor(a.type.shape, scalar),
        comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction EQ>"),
        compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {order}>"),
    )
    reduce = ir.Operation.create(
        "stablehlo.reduce", results=[scalar], operands=[equal, true()], regions=1,
        attributes={"dimensions": ir.DenseI64ArrayAttr.get(list(range(a.type.rank)))},
    )
    block = reduce.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        both = create("stablehlo.and", list(block.arguments), scalar)
        ir.Operation.create("stablehlo.return", operands=[both])
    return reduce.result


def all_agree(groups: Iterable[Sequence[ir.Value]]) -> ir.Value:
    """0-d i1: whether the values of each group, if they are tensors, hold the same bits."""
    agree = true()
    for first, *others in groups:
        for other in others:
            if other != first and isinstance(other.type, ir.RankedTensorType):
                agree = create("stablehlo.and", [agree, same_bits(first, other)], agree.type)
    return agree


def function(name: str, inputs: Sequence[ir.Type], results: Sequence[ir.Type], locs: Sequence[ir.Location]) -> ir.Block:
    """The block of a new function; `locs`: where its arguments are from."""
    kind = ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results)))
    attributes = {"sym_name": ir.StringAttr.get(name), "function_type": kind}
    new = ir.Operation.create("func.func", regions=1, attributes=attributes)
    return new.regions[0].blocks.append(*inputs, arg_locs=list(locs))
