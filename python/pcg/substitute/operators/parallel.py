"""The six operators of parallel computation graphs (Unity, OSDI'22, section 3.3), each with a dimension and a number.

Partition and Combine change how a tensor is split and not its value; Replicate makes copies of it along a dimension,
each on devices of its own, and Reduce sums them; Pipeline and Batch change in how many slices it is run.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.operator import Operator, Parameters, Types, Values, dimension
from pcg.substitute.tensor_type import TensorType


class _Parallel(Operator):
    arity = 1
    parameters = ("dim", "degree")
    changes_value = False

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (type,), (dim, degree) = operands, parameters
        dim = dimension(type, dim)
        if not isinstance(degree, int) or degree < 2:
            raise TermError(f"degree {degree}; allowed: 2 or more")
        return self._type(type, dim, degree)

    @abstractmethod
    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        """The type of the result, where there is such a dimension."""

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return values[0]


def _lower(type: TensorType, dim: int, of: str, has: int, by: int) -> int:
    if has % by:
        raise TermError(f"{of} {has} of dimension {dim} of {type}; allowed: what {by} divides")
    return has // by


class Partition(_Parallel):
    """Splits a dimension over `degree` times as many devices."""

    name = "partition"

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        return type.with_dim(dim, type.shape[dim], type.degrees[dim] * degree)


class Combine(_Parallel):
    """Gathers a dimension that is split: the inverse of Partition."""

    name = "combine"

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        return type.with_dim(dim, type.shape[dim], _lower(type, dim, "degree", type.degrees[dim], degree))


class Replicate(_Parallel):
    """Copies of a tensor, one after another along a dimension, on devices of their own."""

    name = "replicate"
    changes_value = True

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        return type.with_dim(dim, type.shape[dim] * degree, type.degrees[dim] * degree)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return np.concatenate([values[0]] * int(parameters[1]), int(parameters[0]))


class Reduce(_Parallel):
    """The sum of the `degree` parts of a dimension that is split."""

    name = "reduce"
    changes_value = True

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        lower = _lower(type, dim, "degree", type.degrees[dim], degree)
        return type.with_dim(dim, type.shape[dim] // degree, lower)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        dim, degree = int(parameters[0]), int(parameters[1])
        shape = values[0].shape
        parts = values[0].reshape(*shape[:dim], degree, shape[dim] // degree, *shape[dim + 1 :])
        return on.sum(parts, dim)


class Pipeline(_Parallel):
    """Runs a dimension in `degree` times as many slices, one after another."""

    name = "pipeline"

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        return type.with_dim(dim, type.shape[dim], type.degrees[dim], type.microbatches[dim] * degree)


class Batch(_Parallel):
    """Puts slices in time together: the inverse of Pipeline."""

    name = "batch"

    def _type(self, type: TensorType, dim: int, degree: int) -> TensorType:
        slices = _lower(type, dim, "microbatches", type.microbatches[dim], degree)
        return type.with_dim(dim, type.shape[dim], type.degrees[dim], slices)
