"""Which rules change rounding: a table by hand, execution in float32 with sums from left to right, the algebra of
expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.library import for_programs, known, rule_of
from pcg.substitute.rounding import Expressions, is_exact
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import apply, variable, variables

Array = Any
RULES = {s.name: s for s in for_programs()}

#: Of each rule whether both sides compute the same sums of the same products in the same order.
EXPECTED = {
    # One sum of k+l products is split into two, or two become one: other brackets.
    "split-contraction": False, "split-contraction-right": False, "one-contraction": False,
    # Every element is the same sum of k products, computed elsewhere.
    "split-rows": True, "split-columns": True, "rows-of-product": True, "columns-of-product": True,
    "one-product-of-rows": True, "one-product-of-columns": True,
    "concat-of-blocks": True, "slice-of-blocks": True,
    # (x + y) w for x w + y w rounds before the product; x (y z) for (x y) z rounds other products.
    "sum-of-left": False, "sum-of-right": False, "product-from-right": False, "product-from-left": False,
    # Where a row is named twice, t + (g + h) becomes (t + g) + h, and (g + h) c becomes g c + h c; a sign is exact.
    "add-to-table": False, "subtract-from-table": False, "scaled-rows": False, "negated-rows": True,
}  # fmt: skip
#: Those of which only sums of rows that are named twice differ.
OF_REPEATED_ROWS = ("add-to-table", "subtract-from-table", "scaled-rows")


class Sequential:
    """Entries of float32; sums go from left to right, and every sum and product is rounded."""

    def constant(self, value: int, shape: tuple[int, ...]) -> Array:
        return np.full(shape, value, np.float32)

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y)

    def mul(self, x: Array, y: Array) -> Array:
        return np.asarray(x * y)

    def matmul(self, x: Array, y: Array) -> Array:
        products = x[..., :, :, None] * y[..., None, :, :]
        return self.sum(products, products.ndim - 2)

    def sum(self, x: Array, axis: int) -> Array:
        first, *others = np.moveaxis(x, axis, 0)
        for term in others:
            first = first + term
        return np.asarray(first)

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(x.max(axis))

    def divide(self, x: Array, by: int) -> Array:
        return np.asarray(x / np.float32(by))

    def apply(self, function: str, x: Array) -> Array:
        """Of each element by itself, the same for the same one."""
        of: dict[str, Callable[[float], float]] = {"relu": lambda v: max(v, 0.0), "tanh": np.tanh, "exp": np.exp}
        return np.vectorize(lambda v: np.float32(of.get(function, np.sinh)(float(v))), otypes=[np.float32])(x)


def same(rule: Rule, seed: int, rows: Array | None = None) -> bool:
    """Whether both sides have the same bits for random inputs, zeros of either sign being the same.

    `rows` are those that indices name, by default any of two.
    """
    random = np.random.default_rng(seed)
    names = indices(*rule.source, *rule.destination)
    inputs: dict[str, Array] = {}
    for name, type in variables(*rule.source).items():
        if name in names:
            inputs[name] = random.integers(0, 2, type.shape) if rows is None else rows
        else:
            inputs[name] = random.standard_normal(type.shape).astype(np.float32)
    source, destination = evaluate([rule.source[0], rule.destination[0]], inputs, Sequential())
    assert source.dtype == destination.dtype == np.float32
    return np.array_equal(source, destination)


def test_the_table_has_every_rule() -> None:
    assert EXPECTED.keys() == RULES.keys()


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_exact_or_not(name: str) -> None:
    assert is_exact(RULES[name].example()) == EXPECTED[name]


@pytest.mark.parametrize("name", [n for n, exact in EXPECTED.items() if exact])
def test_an_exact_rule_is_the_same_in_float32(name: str) -> None:
    assert all(same(RULES[name].example(), seed) for seed in range(50))


@pytest.mark.parametrize("name", [n for n, exact in EXPECTED.items() if not exact])
def test_a_rule_that_is_not_exact_differs_in_float32(name: str) -> None:
    assert not all(same(RULES[name].example(), seed) for seed in range(50))


def table_rule(name: str, rows: int, added: int, columns: int = 3) -> Rule:
    """A rule of a table of so many rows to which so many are added."""
    shapes = {"t": (1, rows, columns), "i": (1, added), "g": (1, added, columns), "c": ()}
    schema = RULES[name]
    return schema.rule({n: TensorType.of(shapes[n]) for n in schema.types}, {"v": rows, "n": columns})


@pytest.mark.parametrize("name", OF_REPEATED_ROWS)
def test_sums_into_a_table_differ_only_where_rows_repeat(name: str) -> None:
    rule = table_rule(name, rows=4, added=3)
    assert all(same(rule, seed, np.array([[2, 0, 3]])) for seed in range(50))
    assert not all(same(rule, seed, np.array([[2, 0, 2]])) for seed in range(50))


@pytest.mark.parametrize("name", OF_REPEATED_ROWS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_sums_of_two_rows_are_not_exact_for_a_table_of_any_size(name: str, rows: int) -> None:
    """The two may be the same row, whichever indices are tried."""
    assert not any(is_exact(table_rule(name, rows, added=2, columns=n)) for n in (1, 2, 3, 4))


@pytest.mark.parametrize("name", OF_REPEATED_ROWS)
def test_one_row_is_added_exactly(name: str) -> None:
    rule = table_rule(name, rows=4, added=1)
    assert is_exact(rule) and all(same(rule, seed) for seed in range(50))


@pytest.mark.parametrize("name", ["split-contraction", "split-contraction-right"])
def test_to_split_off_one_product_at_the_end_is_exact(name: str) -> None:
    """(a + b) + c is what the one sum is, too; a + (b + c) is not."""

    def of(k: int, l: int) -> Rule:
        shapes = (
            {"x": (1, 2, k), "y": (1, 2, l), "w": (1, k + l, 2)}
            if name == "split-contraction"
            else {"x": (1, 2, k + l), "w": (1, k, 2), "v": (1, l, 2)}
        )
        return RULES[name].rule({n: TensorType.of(s) for n, s in shapes.items()}, {"k": k, "l": l})

    assert is_exact(of(3, 1)) and all(same(of(3, 1), seed) for seed in range(50))
    assert not is_exact(of(1, 3)) and not all(same(of(1, 3), seed) for seed in range(50))


def test_no_known_rule_that_is_exact_differs_in_float32() -> None:
    exact = [s for s in known().values() if is_exact(s.example())]
    assert len(exact) > 500
    wrong = [str(s) for s in exact if not all(same(s.example(), seed) for seed in range(3))]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("add(x, y) => add(y, x)", True),
        ("mul(x, y) => mul(y, x)", True),
        ("add(add(x, y), z) => add(x, add(y, z))", False),
        ("add(add(x, y), z) => add(z, add(y, x))", True),
        ("mul(mul(x, y), z) => mul(x, mul(y, z))", False),
        ("mul(add(x, y), z) => add(mul(x, z), mul(y, z))", False),
        ("neg(add(x, y)) => add(neg(x), neg(y))", True),
        ("neg(mul(x, y)) => mul(x, neg(y))", True),
        ("mul(neg(x), neg(y)) => mul(x, y)", True),
        ("neg(neg(x)) => x", True),
        ("add(x, neg(y)) => add(neg(y), x)", True),
        ("add(x, neg(y)) => neg(add(y, neg(x)))", True),
        ("add(x, add(y, neg(y))) => x", True),
        ("add(add(x, y), neg(y)) => x", False),
        ("mul(x, ones_like(x)) => x", True),
        ("transpose[1, 2](mul(x, y)) => mul(transpose[1, 2](x), transpose[1, 2](y))", True),
        ("unary['tanh'](transpose[1, 2](x)) => transpose[1, 2](unary['tanh'](x))", True),
        ("matmul['none'](x, identity[3]()) => x", True),
        ("matmul['none'](x, y) => transpose[1, 2](matmul['none'](transpose[1, 2](y), transpose[1, 2](x)))", True),
        ("reduce_sum[1](add(x, y)) => add(reduce_sum[1](x), reduce_sum[1](y))", False),
        ("add(x, zeros[3, 3]()) => x", True),
    ],
)
def test_what_floats_do_exactly(text: str, exact: bool) -> None:
    """By the table and in float32: the two sides of a rule that is not exact differ for some inputs."""
    rule = rule_of(f"r: {text} for x: 1x3x3, y: 1x3x3, z: 1x3x3")
    assert is_exact(rule) == exact
    assert all(same(rule, seed) for seed in range(20)) == exact


def test_it_looks_at_every_result() -> None:
    x, y, z = (variable(n, TensorType.of((1, 2, 2))) for n in "xyz")
    left = apply("add", (), (apply("add", (), (x, y)), z))
    right = apply("add", (), (x, apply("add", (), (y, z))))
    assert is_exact(Rule("r", (left, left), (left, left)))
    assert not is_exact(Rule("r", (left, left), (left, right)))
    assert not is_exact(Rule("r", (left, left), (right, left)))


ON = Expressions()


def words(count: int = 3) -> list[Array]:
    """Arrays of variables, of variables with the sign exchanged, and of constants."""
    random = np.random.default_rng(5)
    one = ON.constant(-1, (1,))
    found = []
    for _ in range(count):
        fresh = ON.fresh(random, (24,))
        parts = [fresh[:12], ON.mul(fresh[12:20], one), ON.constant(0, (2,)), ON.constant(1, (1,)), one]
        found.append(random.permutation(np.concatenate(parts)))
    return found


def variables_of(count: int) -> list[Array]:
    random = np.random.default_rng(6)
    return [ON.fresh(random, (16,)) for _ in range(count)]


def minus(x: Array) -> Array:
    return ON.mul(x, ON.constant(-1, x.shape))


def test_sums_and_products_commute() -> None:
    x, y, _ = words()
    np.testing.assert_array_equal(ON.add(x, y), ON.add(y, x))
    np.testing.assert_array_equal(ON.mul(x, y), ON.mul(y, x))


def test_sums_and_products_are_not_associative_and_do_not_distribute() -> None:
    x, y, z = variables_of(3)
    assert (ON.add(ON.add(x, y), z) != ON.add(x, ON.add(y, z))).all()
    assert (ON.mul(ON.mul(x, y), z) != ON.mul(x, ON.mul(y, z))).all()
    assert (ON.mul(ON.add(x, y), z) != ON.add(ON.mul(x, z), ON.mul(y, z))).all()


def test_other_expressions_are_other_words() -> None:
    x, y, z = variables_of(3)
    found = [
        x, minus(x), y, ON.add(x, y), ON.add(x, minus(y)), ON.add(x, z), ON.mul(x, y), minus(ON.mul(x, y)),
        ON.mul(x, z), ON.add(x, x), ON.mul(x, x), ON.apply("exp", x), ON.apply("tanh", x),
        ON.divide(x, 2), ON.divide(x, 3),
        ON.constant(0, x.shape), ON.constant(1, x.shape), ON.constant(-1, x.shape),
        ON.constant(2, x.shape),
    ]  # fmt: skip
    assert len(np.unique(np.stack(found, 1)[0])) == len(found)
    for i, a in enumerate(found):
        assert all((a != b).all() for b in found[:i])


def test_signs_go_through_sums_and_products() -> None:
    x, y, _ = words()
    np.testing.assert_array_equal(minus(minus(x)), x)
    np.testing.assert_array_equal(ON.mul(minus(x), y), ON.mul(x, minus(y)))
    np.testing.assert_array_equal(ON.mul(minus(x), minus(y)), ON.mul(x, y))
    np.testing.assert_array_equal(minus(ON.mul(x, y)), ON.mul(minus(x), y))
    np.testing.assert_array_equal(minus(ON.add(x, y)), ON.add(minus(x), minus(y)))
    np.testing.assert_array_equal(ON.add(x, minus(x)), ON.constant(0, x.shape))


@pytest.mark.parametrize("value", [0, 1, 2, 3])
def test_constants_of_opposite_sign(value: int) -> None:
    np.testing.assert_array_equal(ON.constant(-value, (2,)), minus(ON.constant(value, (2,))))


def test_sums_with_0_and_products_with_1_are_exact() -> None:
    x, *_ = words()
    zero, one = ON.constant(0, x.shape), ON.constant(1, x.shape)
    np.testing.assert_array_equal(ON.add(x, zero), x)
    np.testing.assert_array_equal(ON.add(zero, x), x)
    np.testing.assert_array_equal(ON.mul(x, one), x)
    np.testing.assert_array_equal(ON.mul(one, x), x)
    np.testing.assert_array_equal(ON.mul(x, zero), zero)
    np.testing.assert_array_equal(ON.mul(zero, x), zero)


def test_sums_go_from_left_to_right() -> None:
    a, b, c, d = variables_of(4)
    want = ON.add(ON.add(ON.add(a, b), c), d)
    np.testing.assert_array_equal(ON.sum(np.stack([a, b, c, d]), 0), want)
    assert (ON.sum(np.stack([b, c, a, d]), 0) != want).all()


def test_a_product_of_matrices_is_sums_of_products() -> None:
    random = np.random.default_rng(8)
    x, y = ON.fresh(random, (2, 3)), ON.fresh(random, (3, 4))
    found = ON.matmul(x, y)
    for i, j in np.ndindex(2, 4):
        products = [ON.mul(x[i, k], y[k, j]) for k in range(3)]
        assert found[i, j] == ON.add(ON.add(products[0], products[1]), products[2])


def test_the_greatest_is_the_same_in_any_order() -> None:
    a, b, c = variables_of(3)
    np.testing.assert_array_equal(ON.max(np.stack([a, b, c]), 0), ON.max(np.stack([c, a, b]), 0))
    np.testing.assert_array_equal(ON.max(np.stack([a, b, a, b]), 0), ON.max(np.stack([a, b]), 0))
    assert (ON.max(np.stack([a, b]), 0) != ON.add(a, b)).all()
