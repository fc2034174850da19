"""Indices of a per-device program are clamped to where the op that reads them would move them anyway.

StableHLO moves the start of a dynamic slice that lies outside back into its operand.  XLA makes one slice of a slice
of a slice (`dynamic_slice(dynamic_slice(x, i), j)` of x at i + j), also through reshapes and transposes, and then only
the sum is moved back: the inner start when it is beyond what the outer slice can reach, the outer one never.  Devices
take their own parts by dynamic slices, so nearly every slice of a user's program is one of a slice here.  It happens to
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

from pcg.ir import emit
from pcg.ir.emit import create, tensor
from pcg.ir.identities import integer_range
from pcg.ir.loops import trip_count
from pcg.ir.stablehlo import GatherDimensionNumbers, ScatterDimensionNumbers
from pcg.ir.walk import walk
from pcg.lower.intervals import Intervals
from pcg.rules import traits
from pcg.rules.traits import Trait


def keep_in_range(root: ir.Operation, devices: int) -> int:
    """Bring all indices of a per-device program that `devices` run into range; how many ops were changed."""
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
    element = _wide(indices[0].type.element_type)
    in_range = all(_inside(known.of(v), most) for v, most in zip(indices, room, strict=True))
    if element == indices[0].type.element_type and in_range:
        return 0
    for i, (index, most) in enumerate(zip(indices, room, strict=True)):
        op.operands[first + i] = _clamped(emit.convert(index, element), known.of(index), [most])
    return 1


def _inside(interval: tuple[int, int], most: int) -> bool:
    return 0 <= interval[0] and interval[1] <= most


def _wide(element: ir.IntegerType) -> ir.IntegerType:
    """The type if it has 32 bits at least, else that of 32."""
    return element if element.width >= 32 else ir.IntegerType.get_signless(32)


def _clamped(index: ir.Value, interval: tuple[int, int], room: Sequence[int]) -> ir.Value:
    """The index within 0 and `room`, one bound for each of its elements (or one for all)."""
    if _inside(interval, min(room)):
        return index
    type_ = index.type
    most = [min(n, integer_range(type_.element_type)[1]) for n in room]
    if len(set(most)) == 1 and (most[0] == 0 or interval[0] == interval[1]):
        return _constant([min(max(interval[0], 0), most[0])], type_)
    return create("stablehlo.clamp", [_constant([0], type_), index, _constant(most, type_)], type_)


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
    element, interval = _wide(index.type.element_type), known.of(index)
    if element == index.type.element_type and _inside(interval, min(room)):
        return 0
    op.operands[1] = _clamped(emit.convert(index, element), interval, room)
    return 1


def _scatter(op: ir.Operation, known: Intervals) -> int:
    """Make it scatter into the window at the clamped index, by how far that was moved, and write the window back.

    So what is dropped is still decided by the scatter.
    """
    count = len(op.results)
    n = ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    inputs, index, update = list(op.operands)[:count], op.operands[count], op.operands[count + 1].type
    picked = n.scattered_dims_to_operand_dims
    if not _is_one(index.type, n.index_vector_dim) or not picked:
        return 0
    shape = list(inputs[0].type.shape)
    taken = {*n.inserted_window_dims, *n.input_batching_dims}
    rest = [d for d in range(len(shape)) if d not in taken]
    window = [1] * len(shape)
    for d, u in zip(rest, n.update_window_dims, strict=True):
        window[d] = update.shape[u]
    room = [shape[d] - window[d] for d in picked]
    element, interval = _wide(index.type.element_type), known.of(index)
    narrow = element != index.type.element_type
    if window == shape or not (narrow or (any(map(_may_be_sliced, inputs)) and not _inside(interval, min(room)))):
        return 0
    index = emit.convert(index, element)
    inside = _clamped(index, interval, room)
    scalar = tensor([], element)
    starts = [_constant([0], scalar)] * len(shape)
    for k, d in enumerate(picked):
        starts[d] = _component(inside, k, len(picked), scalar)
    for i, value in enumerate(inputs):
        op.operands[i] = emit.dynamic_slice(value, starts, window)
    op.operands[count] = emit.binary("subtract", index, inside)
    with ir.InsertionPoint.after(op):
        for result, value in zip(op.results, inputs, strict=True):
            result.set_type(tensor(window, value.type.element_type))
            updated = create("stablehlo.dynamic_update_slice", [value, result, *starts], value.type)
            result.replace_all_uses_except(updated, updated.owner.operation)
    return 1


def _may_be_sliced(value: ir.Value) -> bool:
    """Whether XLA may find a dynamic slice behind a value; not behind what a loop carries, or what was written to.

    So scatters in loops, where they are one of few ops, are left as they are.  An argument may be a slice: a program of
    jax that calls this one may slice it before the call.
    """
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner.operation
        carried = owner.name == "stablehlo.while" and value.owner == owner.regions[1].blocks[0]
        return not carried or (trip_count(owner) or 0) < 2  # XLA inlines a loop of one iteration
    op = value.owner.operation
    if not traits.has(op.name, Trait.UPDATE):
        return True
    updates = {"stablehlo.scatter": len(op.results) + 1}.get(op.name, 1)
    return math.prod(op.operands[updates].type.shape) in (0, math.prod(value.type.shape))  # of none or all of it


def _component(index: ir.Value, k: int, count: int, scalar: ir.RankedTensorType) -> ir.Value:
    """Component `k` of the one index vector, 0-d."""
    if index.type.rank == 0:
        return index
    return emit.reshape(emit.slice_dim(emit.reshape(index, [count]), 0, k, k + 1), [])


# -- ops -------------------------------------------------------------------------------------------


def _constant(numbers: list[int], type_: ir.RankedTensorType) -> ir.Value:
    """`numbers`, or one of them everywhere, as a constant."""
    element = type_.element_type
    dtype = np.dtype(f"{'u' if element.is_unsigned else 'i'}{element.width // 8}")
    array = np.array(numbers * math.prod(type_.shape) if len(numbers) == 1 else numbers, dtype)
    value = ir.DenseElementsAttr.get(array.reshape(type_.shape), type=type_)
    return create("stablehlo.constant", [], type_, value=value)


_HANDLE = {
    "stablehlo.dynamic_slice": _dynamic_slice, "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather, "stablehlo.scatter": _scatter,
}  # fmt: skip
