"""Whether the two sides of a rule are the same on floats bit by bit, in the order that the definitions compute in.

Entries are names of floating-point expressions: a sum of two is the same as that in the other order, one of three is
not the same with other brackets.  Products with 1, sums with 0 and signs are exact; zeros of both signs are the same.
"""

from __future__ import annotations

import numpy as np

from pcg.substitute.entries import Array
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.rule import Rule
from pcg.substitute.term import variables

_SEED = 7


def is_exact(rule: Rule) -> bool:
    """Whether `rule` changes no rounding."""
    random = np.random.default_rng(_SEED)
    on, types = Expressions(), variables(*rule.source)
    rows = indices(*rule.source, *rule.destination)
    inputs = {
        # All indices name one row: what is added to it is added in some order.
        name: np.zeros(type.shape, dtype=int) if name in rows else on.fresh(random, type.shape)
        for name, type in types.items()
    }
    left, right = evaluate(rule.source, inputs, on), evaluate(rule.destination, inputs, on)
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


class Expressions:
    """Arithmetic on expressions, each a word of 64 bits; the one of opposite sign is its complement."""

    _ZERO, _ONE = np.uint64(0x1234567), np.uint64(0x89ABCDE)

    @staticmethod
    def fresh(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Variables."""
        return random.integers(0, 1 << 63, shape, dtype=np.uint64)

    def constant(self, value: int, shape: tuple[int, ...]) -> Array:
        known = {0: self._ZERO, 1: self._ONE, -1: ~self._ONE}
        found = known.get(value)
        if found is None:
            found = _mix(np.uint64(abs(value)), "constant")
            found = ~found if value < 0 else found
        return np.full(shape, found, np.uint64)

    def add(self, x: Array, y: Array) -> Array:
        x, y = np.broadcast_arrays(np.asarray(x, np.uint64), np.asarray(y, np.uint64))
        # Both signs exchanged are the sum with its sign exchanged.
        low, high = np.minimum(x, y), np.maximum(x, y)
        other_low, other_high = ~high, ~low
        flip = (other_low < low) | ((other_low == low) & (other_high < high))
        a, b = np.where(flip, other_low, low), np.where(flip, other_high, high)
        found = _mix(_mix(a, "first") ^ b, "add")
        found = np.where(flip, ~found, found)
        found = np.where(y == ~x, self._ZERO, found)
        return np.where(self._is_zero(x), y, np.where(self._is_zero(y), x, found))

    def mul(self, x: Array, y: Array) -> Array:
        x, y = np.broadcast_arrays(np.asarray(x, np.uint64), np.asarray(y, np.uint64))
        a, b = np.minimum(x, ~x), np.minimum(y, ~y)
        negative = (a != x) ^ (b != y)
        one = np.minimum(self._ONE, ~self._ONE)
        own = np.where(one == self._ONE, a, ~a), np.where(one == self._ONE, b, ~b)
        low, high = np.minimum(a, b), np.maximum(a, b)
        found = _mix(_mix(low, "first") ^ high, "mul")
        found = np.minimum(found, ~found)
        found = np.where(a == one, own[1], np.where(b == one, own[0], found))
        found = np.where(negative, ~found, found)
        return np.where(self._is_zero(x) | self._is_zero(y), self._ZERO, found)

    def matmul(self, x: Array, y: Array) -> Array:
        products = self.mul(x[..., :, :, None], y[..., None, :, :])
        return self.sum(products, products.ndim - 2)

    def sum(self, x: Array, axis: int) -> Array:
        terms = np.moveaxis(x, axis, 0)
        found = terms[0]
        for term in terms[1:]:
            found = self.add(found, term)
        return found

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(x.max(axis))  # any order of words will do

    def divide(self, x: Array, by: int) -> Array:
        return _mix(x, f"divide {by}")

    def apply(self, function: str, x: Array) -> Array:
        return _mix(x, function)

    def _is_zero(self, x: Array) -> Array:
        return (x == self._ZERO) | (x == ~self._ZERO)


def _mix(x: Array, what: str) -> Array:
    """A word for an expression of `x` (finaliser of splitmix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        x = np.asarray(x, np.uint64) + np.uint64(_word(what))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _word(text: str) -> int:
    """A word for a text, the same in every process."""
    found = 0
    for byte in text.encode():
        found = (found * 1099511628211 + byte + 1) & (2**63 - 1)
    return found
