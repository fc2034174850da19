"""Operators that work on every element: they may be split along any dimension."""

from __future__ import annotations

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.operator import FUNCTIONS, Operator, Parameters, Types, Values
from pcg.substitute.tensor_type import TensorType


class _Binary(Operator):
    arity = 2

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        if operands[0] != operands[1]:
            raise TermError(f"operands {operands[0]} and {operands[1]}; allowed: equal types")
        return operands[0]


class Add(_Binary):
    """The sum of two tensors."""

    name = "add"

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.add(*values)


class Mul(_Binary):
    """The product of the elements of two tensors."""

    name = "mul"

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.mul(*values)


class Scale(Operator):
    """A tensor times a number, which is a tensor of no dimensions: every device has it."""

    name = "scale"
    arity = 2

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        tensor, number = operands
        if number.rank or not tensor.rank:
            raise TermError(f"operands {tensor} and {number}; allowed: a tensor and one of no dimensions")
        return tensor

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.mul(*values)


class Neg(Operator):
    """A tensor times -1."""

    name = "neg"
    arity = 1

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        return operands[0]

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.mul(values[0], on.constant(-1, (1,) * types[0].rank))


class Multiple(Operator):
    """A tensor times an integer that is known, as the sum of so many copies."""

    name = "multiple"
    arity = 1
    parameters = ("factor",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        return operands[0]

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.mul(values[0], on.constant(int(parameters[0]), (1,) * types[0].rank))


class Unary(Operator):
    """A function of every element."""

    name = "unary"
    arity = 1
    parameters = ("function",)
    named = frozenset(parameters)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        if parameters[0] not in FUNCTIONS:
            raise TermError(f"function {parameters[0]!r}; allowed: {', '.join(FUNCTIONS)}")
        return operands[0]

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        return on.apply(str(parameters[0]), values[0])
