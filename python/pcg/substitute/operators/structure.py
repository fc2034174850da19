"""Operators that change shapes and compute nothing."""

from __future__ import annotations

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.operator import Operator, Parameters, Types, Values, dimension, of_one_device
from pcg.substitute.tensor_type import TensorType


class Concat(Operator):
    """Two tensors one after the other along a dimension that neither is split along."""

    name = "concat"
    arity = 2
    parameters = ("axis",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        x, y = operands
        axis = dimension(x, parameters[0])
        of_one_device(x, axis, "operand")
        if axis < y.rank:
            of_one_device(y, axis, "operand")
        if x.rank != y.rank or y.with_dim(axis, x.shape[axis], 1, 1) != x:
            raise TermError(f"operands {x} and {y}; allowed: types that are equal but for the size of dimension {axis}")
        return x.with_dim(axis, x.shape[axis] + y.shape[axis], 1)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return np.concatenate(values, int(parameters[0]))


class Slice(Operator):
    """`size` elements of a dimension that is not split, from `start` on: a result of what other systems call split."""

    name = "slice"
    arity = 1
    parameters = ("axis", "start", "size")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,), (axis, start, size) = operands, parameters
        axis = dimension(type, axis)
        of_one_device(type, axis, "operand")
        if not isinstance(start, int) or not isinstance(size, int) or start < 0 or size < 1:
            raise TermError(f"elements {start} to {start}+{size}; allowed: at least one, from 0 on")
        if start + size > type.shape[axis]:
            raise TermError(f"elements {start} to {start + size} of dimension {axis} of {type}; allowed: those it has")
        return type.with_dim(axis, size, 1)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        axis, start, size = (int(p) for p in parameters)
        return np.take(values[0], range(start, start + size), axis)


class Transpose(Operator):
    """Exchanges two dimensions, and how they are split with them."""

    name = "transpose"
    arity = 1
    parameters = ("dim", "other")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,) = operands
        return type.dims(_order(type, parameters))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return values[0].transpose(_order(types[0], parameters))


def _order(type: TensorType, parameters: Parameters) -> tuple[int, ...]:
    dim, other = (dimension(type, p, 1) for p in parameters)
    if dim >= other:
        raise TermError(f"dimensions {dim} and {other}; allowed: the lesser one first")
    order = list(range(type.rank))
    order[dim], order[other] = other, dim
    return tuple(order)


class Merge(Operator):
    """A reshape that makes one dimension of `dim` and the next, which is not split."""

    name = "merge"
    arity = 1
    parameters = ("dim",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,) = operands
        dim = dimension(type, parameters[0], 1)
        dimension(type, dim + 1)
        of_one_device(type, dim + 1, "operand")
        rest = type.dims(tuple(d for d in range(type.rank) if d != dim + 1))
        return rest.with_dim(dim, type.shape[dim] * type.shape[dim + 1], type.degrees[dim])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return values[0].reshape(self.type_of(parameters, types).shape)


class Unmerge(Operator):
    """A reshape that makes two dimensions of `dim`, the inner one of `size`: the inverse of Merge."""

    name = "unmerge"
    arity = 1
    parameters = ("dim", "size")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,), size = operands, parameters[1]
        dim = dimension(type, parameters[0], 1)
        if not isinstance(size, int) or size < 1 or type.shape[dim] % size:
            raise TermError(f"size {size}; allowed: what divides {type.shape[dim]}")
        both = type.dims((*range(dim + 1), *range(dim, type.rank)))
        return both.with_dim(dim + 1, size, 1, 1).with_dim(dim, type.shape[dim] // size, type.degrees[dim])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return values[0].reshape(self.type_of(parameters, types).shape)


class Broadcast(Operator):
    """The same tensor `size` times along a new dimension."""

    name = "broadcast"
    arity = 1
    parameters = ("dim", "size")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,), (dim, size) = operands, parameters
        if not isinstance(dim, int) or not 1 <= dim <= type.rank:
            raise TermError(f"dimension {dim}; allowed: 1 to {type.rank}")
        if not isinstance(size, int) or size < 1:
            raise TermError(f"size {size}; allowed: 1 or more")
        order = (*range(dim), 0, *range(dim, type.rank))
        return type.dims(order).with_dim(dim, size, 1, 1)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        dim, size = (int(p) for p in parameters)
        return np.repeat(np.expand_dims(values[0], dim), size, dim)
