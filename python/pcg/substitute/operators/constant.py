"""Tensors that are known: of one device, or of the type of another."""

from __future__ import annotations

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.operator import Operator, Parameters, Types, Values
from pcg.substitute.tensor_type import TensorType


def _sizes(parameters: Parameters) -> tuple[int, ...]:
    sizes = tuple(int(p) for p in parameters)
    if min(sizes) < 1:
        raise TermError(f"sizes {', '.join(map(str, sizes))}; allowed: 1 or more")
    return sizes


class OnesLike(Operator):
    """Ones, of the type of the operand."""

    name = "ones_like"
    arity = 1

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        return operands[0]

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.constant(1, types[0].shape)


class Identity(Operator):
    """The matrix that a matrix product does not change."""

    name = "identity"
    arity = 0
    parameters = ("size",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (size,) = _sizes(parameters)
        return TensorType.of((1, size, size))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (size,) = _sizes(parameters)
        return np.where(np.eye(size, dtype=bool), on.constant(1, (1, size, size)), on.constant(0, (1, size, size)))


class ConvIdentity(Operator):
    """The kernel that a convolution with padding does not change."""

    name = "conv_identity"
    arity = 0
    parameters = ("channels", "kernel")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        channels, kernel = _sizes(parameters)
        if kernel % 2 == 0:
            raise TermError(f"kernel {kernel}; allowed: an odd number")
        return TensorType.of((1, channels, channels, kernel, kernel))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        channels, kernel = _sizes(parameters)
        found = on.constant(0, (1, channels, channels, kernel, kernel))
        one = on.constant(1, (1,))[0]
        for c in range(channels):
            found[0, c, c, kernel // 2, kernel // 2] = one
        return found


class PoolKernel(Operator):
    """The kernel with which a convolution of as many groups as channels is the mean of each window."""

    name = "pool_kernel"
    arity = 0
    parameters = ("channels", "kernel")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        channels, kernel = _sizes(parameters)
        return TensorType.of((1, channels, 1, kernel, kernel))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        channels, kernel = _sizes(parameters)
        return on.divide(on.constant(1, (1, channels, 1, kernel, kernel)), kernel * kernel)


class Zeros(Operator):
    """A matrix of zeros."""

    name = "zeros"
    arity = 0
    parameters = ("rows", "columns")

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        return TensorType.of((1, *_sizes(parameters)))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.constant(0, (1, *_sizes(parameters)))
