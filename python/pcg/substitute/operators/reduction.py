"""Operators that take one dimension together."""

from __future__ import annotations

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.operators.contraction import not_in_time
from pcg.substitute.operators.operator import Operator, Parameters, Types, Values, dimension, of_one_device
from pcg.substitute.tensor_type import TensorType


class ReduceSum(Operator):
    """The sum over a dimension; where that is split, partial sums along the replica dimension."""

    name = "reduce_sum"
    arity = 1
    parameters = ("axis",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,) = operands
        axis = dimension(type, parameters[0], 1)
        not_in_time(type, axis)
        rest = type.dims(tuple(d for d in range(type.rank) if d != axis))
        return rest.with_dim(0, type.shape[0] * type.degrees[axis], type.degrees[0] * type.degrees[axis])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (type,), axis = types, int(parameters[0])
        shape, parts = type.shape, type.degrees[axis]
        split = values[0].reshape(
            type.degrees[0],
            shape[0] // type.degrees[0],
            *shape[1:axis],
            parts,
            shape[axis] // parts,
            *shape[axis + 1 :],
        )
        summed = np.moveaxis(on.sum(split, axis + 2), axis + 1, 1)  # [degree, parts, the rest]
        return summed.reshape(self.type_of(parameters, types).shape)


class ReduceMax(Operator):
    """The greatest over a dimension that is not split."""

    name = "reduce_max"
    arity = 1
    parameters = ("axis",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,) = operands
        axis = dimension(type, parameters[0], 1)
        of_one_device(type, axis, "operand")
        return type.dims(tuple(d for d in range(type.rank) if d != axis))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.max(values[0], int(parameters[0]))


class Softmax(Operator):
    """Exponentials that are divided by their sum over a dimension that is not split."""

    name = "softmax"
    arity = 1
    parameters = ("axis",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        of_one_device(operands[0], dimension(operands[0], parameters[0], 1), "operand")
        return operands[0]

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        axis = int(parameters[0])
        powers = on.apply("exp", values[0])
        return on.mul(powers, np.expand_dims(on.apply("reciprocal", on.sum(powers, axis)), axis))
