"""Indices of a per-device program are made to lie where the op they belong to would move them anyway.

StableHLO moves the start of a dynamic slice that lies outside back into its operand.  XLA makes one slice of a slice
of a slice (`dynamic_slice(dynamic_slice(x, i), j)` of x at i + j), also through reshapes and transposes, and then only
the sum is moved back: the inner start when it is beyond what the outer slice can reach, the outer one never.  Devices
take their own parts by dynamic slices, so nearly every slice of a user's program meets another here.  It happens to
any op that XLA takes apart into slices, a gather or a scatter of one index.  The sum is also one of the outer index's
type: a narrow one wraps around.

So after lowering every index of such an op is one of at least 32 bits and in range, by a clamp where the program does
not show it.  A scatter drops what is outside instead: of one index it becomes a scatter into the nearest window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from pcg.ir.identities import limits
from pcg.ir.loops import trip_count
from pcg.ir.stablehlo import GatherDimensionNumbers, ScatterDimensionNumbers
from pcg.ir.walk import walk
from pcg.lower.intervals import Intervals
from pcg.rules import traits
from pcg.rules.traits import Trait


def keep_in_range(root: ir.Operation, devices: int) -> int:
    """Make it so in a per-device program that `devices` run; how many ops were changed."""
    known = Intervals(devices)
    changed = 0
    for op in list(walk(root)):
        handle = _HANDLE.get(op.name)
        if handle is not None and _static(op):
            with ir.InsertionPoint(op), op.location:
                changed += handle(op, known)
    return changed


def _static(op: ir.Operation) -> bool:
    """Whether all sizes are known, and none is 0 (then there is nothing to take)."""
    values = [*op.operands, *op.results]
    types = [v.type for v in values]
    return all(isinstance(t, ir.RankedTensorType) and t.has_static_shape and 0 not in t.shape for t in types)


# -- slices ----------------------------------------------------------------------------------------


def _dynamic_slice(op: ir.Operation, known: Intervals) -> int:
    return _scalars(op, 1, op.results[0].type.shape, known)


def _dynamic_update_slice(op: ir.Operation, known: Intervals) -> int:
    return _scalars(op, 2, op.operands[1].type.shape, known)


def _scalars(op: ir.Operation, first: int, sizes: Sequence[int], known: Intervals) -> int:
    """The start indices of an op, its operands from `first` on, for a piece of `sizes`."""
    room = [n - size for n, size in zip(op.operands[0].type.shape, sizes, strict=True)]
    indices = list(op.operands)[first:]
    if not indices:
        return 0
    type_ = _wide(indices[0].type)
    if type_ == indices[0].type and all(_inside(known.of(v), most) for v, most in zip(indices, room, strict=True)):
        return 0
    for i, (index, most) in enumerate(zip(indices, room, strict=True)):
        op.operands[first + i] = _clamped(_converted(index, type_), known.of(index), [most])
    return 1


def _inside(interval: tuple[int, int], most: int) -> bool:
    return 0 <= interval[0] and interval[1] <= most


def _wide(type_: ir.RankedTensorType) -> ir.RankedTensorType:
    """The type, or that of 32 bits."""
    if type_.element_type.width >= 32:
        return type_
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(32))


def _converted(index: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    return index if index.type == type_ else _op("stablehlo.convert", [index], type_)


def _clamped(index: ir.Value, interval: tuple[int, int], room: Sequence[int]) -> ir.Value:
    """The index within 0 and `room`, one bound for each of its elements (or one for all)."""
    if _inside(interval, min(room)):
        return index
    type_ = index.type
    most = [min(n, limits(type_.element_type)[1]) for n in room]
    if len(set(most)) == 1 and (most[0] == 0 or interval[0] == interval[1]):
        return _constant([min(max(interval[0], 0), most[0])], type_)
    return _op("stablehlo.clamp", [_constant([0], type_), index, _constant(most, type_)], type_)


# -- gather and scatter of one index ---------------------------------------------------------------


def _is_one(indices: ir.RankedTensorType, vector: int) -> bool:
    """Whether the tensor holds a single index vector."""
    return all(n == 1 for d, n in enumerate(indices.shape) if d != vector)


def _gather(op: ir.Operation, known: Intervals) -> int:
    n = GatherDimensionNumbers(op.attributes["dimension_numbers"])
    operand, index = op.operands[0].type, op.operands[1]
    if not _is_one(index.type, n.index_vector_dim) or not n.start_index_map:
        return 0
    sizes = list(op.attributes["slice_sizes"])
    room = [operand.shape[d] - sizes[d] for d in n.start_index_map]
    type_, interval = _wide(index.type), known.of(index)
    if type_ == index.type and _inside(interval, min(room)):
        return 0
    op.operands[1] = _clamped(_converted(index, type_), interval, room)
    return 1


def _scatter(op: ir.Operation, known: Intervals) -> int:
    """Into the window that the index moved into range has, by how far it was moved; the window is then put back.

    So what is dropped is still decided by the scatter.
    """
    count = len(op.results)
    n = ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    wholes, index, update = list(op.operands)[:count], op.operands[count], op.operands[count + 1].type
    picked = n.scattered_dims_to_operand_dims
    if not _is_one(index.type, n.index_vector_dim) or not picked:
        return 0
    shape = list(wholes[0].type.shape)
    taken = {*n.inserted_window_dims, *n.input_batching_dims}
    rest = [d for d in range(len(shape)) if d not in taken]
    window = [1] * len(shape)
    for d, u in zip(rest, n.update_window_dims, strict=True):
        window[d] = update.shape[u]
    room = [shape[d] - window[d] for d in picked]
    type_, interval = _wide(index.type), known.of(index)
    narrow = type_ != index.type
    if window == shape or (not narrow and not any(map(_may_be_sliced, wholes))) or (
        not narrow and _inside(interval, min(room))
    ):
        return 0
    index = _converted(index, type_)
    inside = _clamped(index, interval, room)
    scalar = ir.RankedTensorType.get([], type_.element_type)
    starts = [_constant([0], scalar)] * len(shape)
    for k, d in enumerate(picked):
        starts[d] = _component(inside, k, len(picked), scalar)
    for i, whole in enumerate(wholes):
        part = ir.RankedTensorType.get(window, whole.type.element_type)
        sizes = ir.DenseI64ArrayAttr.get(window)
        op.operands[i] = _op("stablehlo.dynamic_slice", [whole, *starts], part, slice_sizes=sizes)
    op.operands[count] = _op("stablehlo.subtract", [index, inside], type_)
    with ir.InsertionPoint.after(op):
        for result, whole in zip(op.results, wholes, strict=True):
            result.set_type(ir.RankedTensorType.get(window, whole.type.element_type))
            put = _op("stablehlo.dynamic_update_slice", [whole, result, *starts], whole.type)
            result.replace_all_uses_except(put, put.owner.operation)
    return 1


def _may_be_sliced(value: ir.Value) -> bool:
    """Whether XLA may find a dynamic slice behind a value; not behind what a loop carries, or what was written to.

    Scatters in loops are left as they are by this, where they are one of few ops.  An argument may be a slice: in a
    program of jax's that calls this one, parts of a whole are taken before the call.
    """
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner.operation
        carried = owner.name == "stablehlo.while" and value.owner == owner.regions[1].blocks[0]
        return not carried or (trip_count(owner) or 0) < 2  # a loop of one step is no loop to XLA
    op = value.owner.operation
    if not traits.has(op.name, Trait.UPDATE):
        return True
    updates = {"stablehlo.scatter": len(op.results) + 1}.get(op.name, 1)
    return math.prod(op.operands[updates].type.shape) in (0, math.prod(value.type.shape))  # of none or all of it


def _component(index: ir.Value, k: int, count: int, scalar: ir.RankedTensorType) -> ir.Value:
    """Component `k` of the one index vector, 0-d."""
    if index.type.rank == 0:
        return index
    row = _op("stablehlo.reshape", [index], ir.RankedTensorType.get([count], scalar.element_type))
    i64s = ir.DenseI64ArrayAttr.get
    one = _op(
        "stablehlo.slice", [row], ir.RankedTensorType.get([1], scalar.element_type), start_indices=i64s([k]),
        limit_indices=i64s([k + 1]), strides=i64s([1]),
    )  # fmt: skip
    return _op("stablehlo.reshape", [one], scalar)


# -- ops -------------------------------------------------------------------------------------------


def _constant(numbers: list[int], type_: ir.RankedTensorType) -> ir.Value:
    """`numbers`, or one of them everywhere, as a constant."""
    element = type_.element_type
    dtype = np.dtype(f"{'u' if element.is_unsigned else 'i'}{element.width // 8}")
    array = np.array(numbers * math.prod(type_.shape) if len(numbers) == 1 else numbers, dtype)
    value = ir.DenseElementsAttr.get(array.reshape(type_.shape), type=type_)
    return _op("stablehlo.constant", [], type_, value=value)


def _op(name: str, operands: Sequence[ir.Value], type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands), attributes=attributes).result


_HANDLE = {
    "stablehlo.dynamic_slice": _dynamic_slice, "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather, "stablehlo.scatter": _scatter,
}  # fmt: skip
