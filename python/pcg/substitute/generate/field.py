"""Entries of a finite field, and operators on many tensors at once.

What an operator computes is found once by its definition on symbols, and then evaluated for any number of operands with
numpy: every element of a result is a sum of products of elements of operands, a function of such a sum, or the greatest
of some.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pcg.substitute.entries import Array
from pcg.substitute.operators import OPERATORS
from pcg.substitute.operators.operator import NONE
from pcg.substitute.polynomial import Symbols
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter

#: A prime: products of two residues, eight of them summed, are below 2^63.
PRIME = 536870909
#: Elements of the products of one chunk.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class BatchedOperator:
    """An operator with parameters on operands of given types, as index arrays ``[elements, terms]``."""

    coefficients: Array
    """Residues; 0 for terms that pad the shorter sums."""
    left: Array
    """Elements of the first operand, or of 1 where its number is that of its elements."""
    right: Array | None
    """As `left`, of the second operand."""
    greatest: bool
    """Take the greatest in place of the sum."""
    function: str

    def __call__(self, *operands: Array) -> Array:
        """Values ``[count, elements]`` of results, of values of operands ``[count, elements]``."""
        count = len(operands[0]) if operands else 1
        found = np.empty((count, len(self.left)), dtype=np.int64)
        step = max(1, _CHUNK // max(self.left.size, 1))
        padded = [np.concatenate((o, np.ones((len(o), 1), dtype=np.int64)), axis=1) for o in operands]
        for start in range(0, count, step):
            chunk = slice(start, start + step)
            value = self._chunk([o[chunk] for o in padded])
            found[chunk] = value if self.function == NONE else mixed(self.function, value)
        return found

    def _chunk(self, operands: list[Array]) -> Array:
        if not operands:
            return self.coefficients.sum(1, keepdims=False)[None] % PRIME
        products = operands[0][:, self.left]
        if self.greatest:
            return products.max(2)
        if self.right is not None:
            products = products * operands[1][:, self.right] % PRIME
        if (self.coefficients != 1).any():
            products = products * self.coefficients % PRIME
        return products.sum(2) % PRIME


def batched(operator: str, parameters: tuple[Parameter, ...], types: tuple[TensorType, ...]) -> BatchedOperator:
    """The operator for many operands of such types."""
    op = OPERATORS[operator]
    function = NONE
    inner = list(parameters)
    if "activation" in op.parameters:
        at = op.parameters.index("activation")
        function, inner[at] = str(parameters[at]), NONE
    if operator == "unary":
        return _identity(types[0].elements, str(parameters[0]))
    on = Symbols()
    values = tuple(on.symbols(str(i), t.shape) for i, t in enumerate(types))
    result = op.value_of(tuple(inner), types, values, on).reshape(-1)
    place = {
        on.number(values[i][index]): (i, j) for i, t in enumerate(types) for j, index in enumerate(np.ndindex(t.shape))
    }
    maxima = [on.greatest(p) for p in result]
    if any(m is not None for m in maxima):
        sets = [
            sorted(place[on.number(p)][1] for p in (m if m is not None else {result[i]})) for i, m in enumerate(maxima)
        ]
        most = max(map(len, sets))
        left = np.array([s + [s[0]] * (most - len(s)) for s in sets])
        return BatchedOperator(np.ones(left.shape, dtype=np.int64), left, None, True, function)
    most = max(1, *(len(p.terms) for p in result))
    coefficients = np.zeros((len(result), most), dtype=np.int64)
    ends = [t.elements for t in types] or [0]
    sides = [np.full((len(result), most), end) for end in ends]
    for i, polynomial in enumerate(result):
        for j, (monomial, coefficient) in enumerate(polynomial.terms.items()):
            coefficients[i, j] = residue(coefficient)
            for symbol in monomial:
                operand, element = place[symbol]
                sides[operand][i, j] = element
    return BatchedOperator(coefficients, sides[0], sides[1] if len(sides) > 1 else None, False, function)


def _identity(elements: int, function: str) -> BatchedOperator:
    left = np.arange(elements).reshape(-1, 1)
    return BatchedOperator(np.ones(left.shape, dtype=np.int64), left, None, False, function)


def residue(value: Fraction | int) -> int:
    """A rational number in the field."""
    fraction = Fraction(value)
    return fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME


def mixed(function: str, x: Array) -> Array:
    """A function of which nothing is known: equal for equal residues, and else as if drawn by chance."""
    seed = sum(ord(c) << (8 * (i % 7)) for i, c in enumerate(function))
    with np.errstate(over="ignore"):
        bits = x.astype(np.uint64) + np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
    return (bits % np.uint64(PRIME)).astype(np.int64)
