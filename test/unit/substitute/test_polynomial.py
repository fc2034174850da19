"""Entries that are symbols: polynomials are a ring, the greatest is one of a set, functions are symbols."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.substitute.polynomial import Polynomial, Symbols

COEFFICIENTS = st.integers(-5, 5).filter(bool) | st.fractions(-2, 2, max_denominator=4).filter(bool)
MONOMIALS = st.lists(st.integers(0, 2), max_size=3).map(lambda m: tuple(sorted(m)))
POLYNOMIALS = st.dictionaries(MONOMIALS, COEFFICIENTS, max_size=4).map(Polynomial)
ZERO, ONE, MINUS = Polynomial({}), Polynomial({(): 1}), Polynomial({(): -1})
#: More than a polynomial of such degree in three symbols can vanish on unless it is 0.
POINTS = list(product((-3, -2, -1, 0, 1, 2, 5), repeat=3))


def at(p: Polynomial, point: tuple[int, ...]) -> Fraction:
    return sum((c * math.prod(point[s] for s in m) for m, c in p.terms.items()), Fraction(0))


def array(*polynomials: Polynomial) -> Any:
    found = np.empty(len(polynomials), dtype=object)
    found[:] = polynomials
    return found


@settings(max_examples=30, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_sums_and_products_have_the_values_of_sums_and_products(p: Polynomial, q: Polynomial) -> None:
    for point in POINTS[::17]:
        assert at(p + q, point) == at(p, point) + at(q, point)
        assert at(p * q, point) == at(p, point) * at(q, point)


@settings(max_examples=30, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_polynomials_are_equal_if_their_values_are(p: Polynomial, q: Polynomial) -> None:
    assert (p == q) == all(at(p, point) == at(q, point) for point in POINTS)
    assert (p == q) <= (hash(p) == hash(q))


@settings(max_examples=40, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS, POLYNOMIALS)
def test_they_are_a_commutative_ring(p: Polynomial, q: Polynomial, r: Polynomial) -> None:
    assert p + q == q + p and p * q == q * p
    assert (p + q) + r == p + (q + r) and (p * q) * r == p * (q * r)
    assert p * (q + r) == p * q + p * r
    assert p + ZERO == p and p * ONE == p and p * ZERO == ZERO
    assert p + MINUS * p == ZERO
    for left, right in ((p + q, q + p), (p * q, q * p), (p * (q + r), p * q + p * r)):
        assert hash(left) == hash(right)


@settings(max_examples=40, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_no_coefficient_is_zero_and_symbols_are_in_order(p: Polynomial, q: Polynomial) -> None:
    for found in (p + q, p * q, p + MINUS * p):
        assert all(found.terms.values())
        assert all(m == tuple(sorted(m)) for m in found.terms)


@given(st.integers(-9, 9))
def test_integers_are_read_back(n: int) -> None:
    assert int(Symbols().constant(n, (1,))[0]) == n
    assert int(Polynomial({(): Fraction(n, 1)} if n else {})) == n


def test_what_is_no_integer_is_not_read() -> None:
    (x,) = Symbols().symbols("x", (1,))
    for p in (x, x + ONE, Polynomial({(): Fraction(1, 2)}), x * Polynomial({(): 3})):
        with pytest.raises(ValueError):
            int(p)
    assert x != 1 and ONE != 1


def test_symbols_are_nowhere_else() -> None:
    on = Symbols()
    x, y = on.symbols("x", (2, 3)), on.symbols("y", (2, 3))
    every = [*x.flat, *y.flat, *on.apply("relu", x).flat, on.max(x, 0)[0]]
    assert len(set(every)) == len(every) == 19
    assert (on.symbols("x", (2, 3)) == x).all()


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0)])
def test_arrays_of_constants(shape: tuple[int, ...]) -> None:
    for n in (0, 1, -2):
        found = Symbols().constant(n, shape)
        assert found.shape == shape and found.dtype == object and all(int(p) == n for p in found.flat)


def test_arithmetic_is_elementwise_and_products_of_matrices_are_sums() -> None:
    on = Symbols()
    x, y = on.symbols("x", (2, 3)), on.symbols("y", (3, 2))
    z = on.symbols("z", (2, 3))
    for index in np.ndindex(2, 3):
        assert on.add(x, z)[index] == x[index] + z[index]
        assert on.mul(x, z)[index] == x[index] * z[index]
    for i, j in product(range(2), repeat=2):
        assert on.matmul(x, y)[i, j] == x[i, 0] * y[0, j] + x[i, 1] * y[1, j] + x[i, 2] * y[2, j]
        assert on.sum(x, 1)[i] == x[i, 0] + x[i, 1] + x[i, 2]
    # As numpy broadcasts.
    many = on.matmul(on.symbols("a", (5, 1, 2, 3)), on.symbols("b", (4, 3, 2)))
    assert many.shape == (5, 4, 2, 2)


@settings(max_examples=30, deadline=None)
@given(POLYNOMIALS, st.integers(1, 9))
def test_quotients_are_exact(p: Polynomial, by: int) -> None:
    (found,) = Symbols().divide(array(p), by)
    assert sum([found] * by, ZERO) == p


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_the_greatest_is_one_of_a_set(numbers: list[int], data: st.DataObject) -> None:
    """It does not matter in which order, how often and in which groups they are compared."""
    on = Symbols()
    x = on.symbols("x", (5,))
    (want,) = on.max(array(*(x[i] for i in numbers))[None], 1)
    shuffled = data.draw(st.permutations(numbers + data.draw(st.lists(st.sampled_from(numbers), max_size=3))))
    (found,) = on.max(array(*(x[i] for i in shuffled))[None], 1)
    assert found == want
    at = data.draw(st.integers(0, len(shuffled)))
    groups = [array(*(x[i] for i in part)) for part in (shuffled[:at], shuffled[at:]) if part]
    (found,) = on.max(array(*(on.max(g, 0)[()] for g in groups))[None], 1)
    assert found == want
    assert (want == x[numbers[0]]) == (len(set(numbers)) == 1)
    (less,) = on.max(array(*x)[None], 1)
    assert (want == less) == (len(set(numbers)) == 5)


def test_the_greatest_of_other_values_is_another() -> None:
    on = Symbols()
    x, y, z = on.symbols("x", (3,))

    def greatest(*of: Polynomial) -> Polynomial:
        (found,) = on.max(array(*of)[None], 1)
        return found

    two = Polynomial({(): 2})
    assert greatest(x, y) not in (x, y, greatest(x, z), greatest(x, y, z), on.apply("relu", array(x))[0])
    # A sum, a multiple or a product that has a greatest in it is none of its own.
    assert greatest(two * greatest(x, y), z) != greatest(x, y, z)
    assert greatest(greatest(x, y) + z, z) != greatest(x, y, z)
    assert greatest(greatest(x, y) * greatest(x, y), z) != greatest(x, y, z)
    assert greatest(x + y, y + x) == x + y
    assert greatest(ONE, two) == greatest(two, ONE)


def test_the_greatest_is_along_one_dimension() -> None:
    on = Symbols()
    x = on.symbols("x", (2, 3, 2))
    for axis in range(3):
        found = on.max(x, axis)
        last = np.moveaxis(x, axis, -1)
        assert found.shape == last.shape[:-1]
        assert all(found[i] == on.max(last[i][None], 1)[0] for i in np.ndindex(found.shape))


def test_nothing_is_known_of_a_function_but_that_it_is_one() -> None:
    on = Symbols()
    x, y = on.symbols("x", (2,))

    def of(name: str, p: Polynomial) -> Polynomial:
        (found,) = on.apply(name, array(p))
        return found

    assert of("relu", x) == of("relu", x)
    assert of("relu", x + y) == of("relu", y + x)
    assert of("relu", of("tanh", x * y)) == of("relu", of("tanh", y * x))
    assert of("relu", x) not in (x, of("relu", y), of("tanh", x), of("relu", of("relu", x)), ZERO)
    assert of("relu", x + y) != of("relu", x) + of("relu", y)
    assert of("relu", Polynomial({(): 2}) * x) != Polynomial({(): 2}) * of("relu", x)
    assert of("relu", ZERO) != ZERO
