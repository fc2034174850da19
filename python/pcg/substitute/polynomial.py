"""Entries that are symbols: polynomials of the entries of the inputs, and of functions of which nothing is known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pcg.substitute.entries import Array

#: Powers of symbols, as a sorted tuple of their numbers.
Monomial = tuple[int, ...]


class Polynomial:
    """A sum of monomials with rational coefficients, none of them 0.  Two are equal if their terms are."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[Monomial, Fraction | int]) -> None:
        self.terms = terms

    def __add__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) < len(other.terms):
            self, other = other, self
        found = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = found.get(monomial, 0) + coefficient
            if total:
                found[monomial] = total
            else:
                del found[monomial]
        return Polynomial(found)

    def __mul__(self, other: Polynomial) -> Polynomial:
        found: dict[Monomial, Fraction | int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                monomial = tuple(sorted(a + b)) if a and b else a or b
                total = found.get(monomial, 0) + x * y
                if total:
                    found[monomial] = total
                else:
                    del found[monomial]
        return Polynomial(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __int__(self) -> int:
        """Its value, if it is an integer."""
        (value,) = self.terms.values() or (0,)
        if self.terms and () not in self.terms or value != int(value):
            raise ValueError("not an integer")
        return int(value)


_ZERO = Polynomial({})


class Symbols:
    """Arithmetic of polynomials.  A function of one is a symbol, the same for the same function of an equal one."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._greatest: dict[int, frozenset[Polynomial]] = {}

    def symbols(self, name: str, shape: tuple[int, ...]) -> Array:
        """An array of symbols that are nowhere else."""
        found = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            found[index] = self._symbol((name, index))
        return found

    def _symbol(self, key: object) -> Polynomial:
        return Polynomial({(self._numbers.setdefault(key, len(self._numbers)),): 1})

    @staticmethod
    def number(symbol: Polynomial) -> int:
        """The number of a symbol."""
        ((number,),) = symbol.terms
        return number

    def greatest(self, p: Polynomial) -> frozenset[Polynomial] | None:
        """What it is the greatest of, if it is that of several."""
        for monomial in p.terms:
            return self._greatest.get(monomial[0]) if len(monomial) == 1 else None
        return None

    def constant(self, value: int, shape: tuple[int, ...]) -> Array:
        found = np.empty(shape, dtype=object)
        found.fill(Polynomial({(): value}) if value else _ZERO)
        return found

    @staticmethod
    def integers(values: Array) -> Array:
        """Constants of these values."""
        found = np.empty(values.shape, dtype=object)
        for index in np.ndindex(values.shape):
            found[index] = Polynomial({(): int(values[index])}) if values[index] else _ZERO
        return found

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y, dtype=object)

    def mul(self, x: Array, y: Array) -> Array:
        return np.asarray(x * y, dtype=object)

    def matmul(self, x: Array, y: Array) -> Array:
        return np.asarray(np.matmul(x, y), dtype=object)

    def sum(self, x: Array, axis: int) -> Array:
        return np.asarray(np.add.reduce(x, axis=axis), dtype=object)

    def max(self, x: Array, axis: int) -> Array:
        last = np.moveaxis(x, axis, -1)
        found = np.empty(last.shape[:-1], dtype=object)
        for index in np.ndindex(found.shape):
            found[index] = self._max(last[index])
        return found

    def _max(self, of: Array) -> Polynomial:
        """The greatest of a set: it does not matter in which order or how often they are compared."""
        every: set[Polynomial] = set()
        for p in of:
            (symbol,) = next(iter(p.terms)) if len(p.terms) == 1 and len(next(iter(p.terms))) == 1 else (-1,)
            known = self._greatest.get(symbol) if p.terms == {(symbol,): 1} else None
            every |= known if known is not None else {p}
        if len(every) == 1:
            return every.pop()
        key = frozenset(every)
        found = self._symbol(("max", key))
        self._greatest[next(iter(found.terms))[0]] = key
        return found

    def divide(self, x: Array, by: int) -> Array:
        return self.mul(x, np.asarray(Polynomial({(): Fraction(1, by)}), dtype=object))

    def apply(self, function: str, x: Array) -> Array:
        found = np.empty(x.shape, dtype=object)
        for index in np.ndindex(x.shape):
            found[index] = self._symbol((function, x[index]))
        return found
