"""Values of terms: every operator against numpy or jax.lax, and what is split, computed in parts and gathered again
against what one device computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jax import lax

from pcg.substitute.entries import Floats
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.operators import OPERATORS
from pcg.substitute.operators.operator import FUNCTIONS
from pcg.substitute.polynomial import Symbols
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, apply, variable

Array = Any
PARALLEL = ("partition", "combine", "replicate", "reduce", "pipeline", "batch")
SIZES, DEGREES = st.integers(1, 3), st.integers(1, 3)


def integers(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Small ones, as floats: sums and products of them are exact."""
    return np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(float)


def value(term: Term, **inputs: Array) -> Array:
    (found,) = evaluate([term], inputs, Floats())
    assert found.shape == term.type.shape
    return found


def computed(operator: str, parameters: tuple[Parameter, ...], *operands: Array) -> Array:
    """What an operator computes of arrays on one device."""
    terms = tuple(variable(f"x{i}", TensorType.of(o.shape)) for i, o in enumerate(operands))
    return value(apply(operator, parameters, terms), **{f"x{i}": o for i, o in enumerate(operands)})


def conv(x: Array, w: Array, stride: int, padding: str) -> Array:
    """By jax.lax, of ``[1, n, c, h, w]`` and ``[1, o, i, kh, kw]``."""
    pads = [((k - 1) // 2, k // 2) if padding == "same" else (0, 0) for k in w.shape[3:]]
    groups = x.shape[2] // w.shape[2]
    found = lax.conv_general_dilated(
        x[0].astype("float32"), w[0].astype("float32"), (stride, stride), pads,
        dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=groups, precision=lax.Precision.HIGHEST,
    )  # fmt: skip
    return np.asarray(found)[None]


def pool(x: Array, kernel: int, stride: int, padding: str, start: float, combine: Callable[..., Any]) -> Array:
    pads = ((0, 0),) * 3 + (((kernel - 1) // 2, kernel // 2) if padding == "same" else (0, 0),) * 2
    window, strides = (1, 1, 1, kernel, kernel), (1, 1, 1, stride, stride)
    return np.asarray(lax.reduce_window(x.astype("float32"), start, combine, window, strides, pads))


def placed(size: int, kernel: Array) -> Array:
    """A kernel in the middle of zeros."""
    sides = [((size - k) // 2,) * 2 for k in kernel.shape[3:]]
    return np.pad(kernel, [(0, 0)] * 3 + sides)


def scattered(table: Array, rows: Array, added: Array) -> Array:
    """By numpy, which adds to a row as often as it is named."""
    found = table.copy()
    np.add.at(found[0], rows[0].astype(int) % table.shape[1], added[0])
    return found


OTHERS: list[tuple[str, tuple[Parameter, ...], list[tuple[int, ...]], Callable[..., Array]]] = [
    ("add", (), [(2, 3, 4)] * 2, lambda x, y: x + y),
    ("mul", (), [(2, 3, 4)] * 2, lambda x, y: x * y),
    ("scale", (), [(2, 3, 4), ()], lambda x, y: x * float(y)),
    ("neg", (), [(2, 3, 4)], lambda x: 0 - x),
    ("neg", (), [()], lambda x: 0 - x),
    ("multiple", (3,), [(2, 3, 4)], lambda x: x + x + x),
    ("matmul", ("none",), [(1, 2, 3), (1, 3, 4)], lambda x, y: np.einsum("rmk,rkn->rmn", x, y)),
    ("matmul", ("relu",), [(1, 2, 3), (1, 3, 4)], lambda x, y: np.maximum(np.einsum("rmk,rkn->rmn", x, y), 0)),
    ("matmul", ("none",), [(1, 5, 2, 3), (1, 5, 3, 4)], lambda x, y: np.einsum("rbmk,rbkn->rbmn", x, y)),
    ("matmul", ("none",), [(3, 2, 3), (3, 3, 4)], lambda x, y: np.einsum("rmk,rkn->rmn", x, y)),
    ("matmul", ("none",), [(3, 2, 3), (1, 3, 4)], lambda x, y: np.einsum("rmk,kn->rmn", x, y[0])),
    ("linear", ("none",), [(1, 2, 3), (1, 4, 3)], lambda x, w: np.einsum("rmk,rnk->rmn", x, w)),
    ("linear", ("tanh",), [(1, 2, 3), (1, 4, 3)], lambda x, w: np.tanh(np.einsum("rmk,rnk->rmn", x, w))),
    ("scatter_add", (), [(1, 5, 3), (1, 4), (1, 4, 3)], scattered),
    ("scatter_add", (), [(1, 2, 3), (1, 7), (1, 7, 3)], scattered),
    ("reduce_sum", (1,), [(2, 3, 4)], lambda x: x.sum(1)),
    ("reduce_sum", (2,), [(2, 3, 4)], lambda x: x.sum(2)),
    ("reduce_max", (1,), [(2, 3, 4)], lambda x: x.max(1)),
    ("softmax", (2,), [(2, 3, 4)], lambda x: jax.nn.softmax(x, axis=2)),
    ("softmax", (1,), [(2, 3, 4)], lambda x: jax.nn.softmax(x, axis=1)),
    (
        "concat", (1,), [(2, 3, 4), (2, 5, 4)],
        lambda x, y: np.block([[[x[0]], [y[0]]], [[x[1]], [y[1]]]]).reshape(2, 8, 4),
    ),
    ("slice", (1, 1, 2), [(2, 4, 3)], lambda x: x[:, 1:3]),
    ("transpose", (1, 3), [(1, 2, 3, 4)], lambda x: np.einsum("rabc->rcba", x)),
    ("merge", (1,), [(2, 3, 4, 5)], lambda x: np.stack([x[:, i, j] for i in range(3) for j in range(4)], 1)),
    ("unmerge", (1, 4), [(2, 12, 5)], lambda x: np.stack([x[:, 4 * i : 4 * i + 4] for i in range(3)], 1)),
    ("broadcast", (1, 3), [(2, 4)], lambda x: np.stack([x] * 3, 1)),
    ("broadcast", (2, 3), [(2, 4)], lambda x: np.stack([x] * 3, 2)),
    ("enlarge", (5,), [(1, 2, 3, 3, 1)], lambda w: placed(5, w)),
    ("ones_like", (), [(2, 3)], lambda x: x * 0 + 1),
    ("identity", (3,), [], lambda: np.eye(3)[None]),
    ("conv_identity", (2, 3), [], lambda: placed(3, np.eye(2).reshape(1, 2, 2, 1, 1))),
    ("pool_kernel", (2, 3), [], lambda: np.full((1, 2, 1, 3, 3), 1 / 9)),
    ("zeros", (2, 3), [], lambda: np.zeros((1, 2, 3))),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "parameters", "shapes", "other"), OTHERS)
def test_an_operator_computes_what_numpy_does(
    operator: str, parameters: tuple[Parameter, ...], shapes: list[tuple[int, ...]], other: Callable[..., Array]
) -> None:
    operands = [np.asarray(integers(s, i)) for i, s in enumerate(shapes)]
    np.testing.assert_allclose(computed(operator, parameters, *operands), other(*operands), rtol=1e-5, atol=1e-6)


def test_values_of_all_operators_are_tested() -> None:
    elsewhere = {"unary", "conv", "embedding", "pool_average", "pool_max", *PARALLEL}
    assert {operator for operator, *_ in OTHERS} | elsewhere == OPERATORS.keys()


FUNCTIONS_OF_JAX: dict[str, Callable[[Array], Array]] = {
    "exp": jax.numpy.exp, "gelu": jax.nn.gelu, "log": jax.numpy.log, "reciprocal": lambda x: 1 / x,
    "relu": jax.nn.relu, "rsqrt": lax.rsqrt, "sigmoid": jax.nn.sigmoid, "tanh": jax.numpy.tanh,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_jax_and_nan_where_they_have_no_value(name: str) -> None:
    x = np.array([[-2.5, -1.0, -0.25, 0.0, 0.25, 1.0, 3.5]])
    want = np.asarray(FUNCTIONS_OF_JAX[name](jax.numpy.asarray(x, "float32")))
    want = np.where(np.isfinite(want), want, np.nan)
    np.testing.assert_allclose(computed("unary", (name,), x), want, rtol=1e-5, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]), SIZES, st.integers(1, 6), st.integers(1, 6),
    st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 2, 3]), st.integers(1, 3), st.sampled_from(["same", "valid"]),
)  # fmt: skip
def test_convolutions_are_those_of_lax(
    groups: tuple[int, int], n: int, h: int, width: int, kh: int, kw: int, stride: int, padding: str
) -> None:
    """Groups, strides, padding by half of an odd or even window."""
    assume(padding == "same" or h >= kh and width >= kw)
    count, inner = groups
    x, w = integers((1, n, count * inner, h, width)), integers((1, 2 * count, inner, kh, kw), 1)
    found = computed("conv", (stride, padding, "none"), x, w)
    np.testing.assert_array_equal(found, conv(x, w, stride, padding))
    np.testing.assert_array_equal(computed("conv", (stride, padding, "relu"), x, w), np.maximum(found, 0))


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_padding_of_an_odd_window_is_that_of_xla_where_it_does_not_stride(kernel: int) -> None:
    x, w = integers((1, 2, 3, 4, 6)), integers((1, 2, 3, kernel, kernel), 1)
    want = lax.conv_general_dilated(x[0].astype("float32"), w[0].astype("float32"), (1, 1), "SAME")
    np.testing.assert_array_equal(computed("conv", (1, "same", "none"), x, w)[0], want)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.sampled_from(["same", "valid"]))
def test_pooling_is_that_of_lax(h: int, width: int, kernel: int, stride: int, padding: str) -> None:
    assume(padding == "same" or min(h, width) >= kernel)
    x = integers((1, 2, 2, h, width))
    parameters = (kernel, stride, padding)
    greatest = pool(x, kernel, stride, padding, -np.inf, lax.max)
    np.testing.assert_array_equal(computed("pool_max", parameters, x), greatest)
    mean = pool(x, kernel, stride, padding, 0.0, lax.add) / kernel**2
    np.testing.assert_allclose(computed("pool_average", parameters, x), mean, rtol=1e-6)


def test_an_embedding_is_the_rows_that_indices_name() -> None:
    table, rows = integers((1, 5, 3)), np.array([[4, 0, 0, 2]])
    np.testing.assert_array_equal(computed("embedding", (), rows, table), table[:, rows[0]])
    tables = integers((2, 5, 3))  # of two elements of the replica dimension, each with indices of its own
    both = np.array([[4, 0], [1, 3]])
    np.testing.assert_array_equal(computed("embedding", (), both, tables), [tables[0][both[0]], tables[1][both[1]]])
    # Any integer names a row.
    np.testing.assert_array_equal(computed("embedding", (), rows + 5 * 7, table), table[:, rows[0]])


def test_rows_are_added_to_those_that_indices_name() -> None:
    table, added = np.zeros((1, 3, 2)), np.array([[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]])
    want = [[[101.0, 202.0], [0.0, 0.0], [10.0, 20.0]]]
    np.testing.assert_array_equal(computed("scatter_add", (), table, np.array([[0, 2, 0]]), added), want)
    # Any integer names a row.
    np.testing.assert_array_equal(computed("scatter_add", (), table, np.array([[3, -1, 6]]), added), want)
    np.testing.assert_array_equal(computed("scatter_add", (), table + 7, np.array([[0, 2, 0]]), added), np.add(want, 7))


def test_rows_are_added_one_after_another() -> None:
    """In the order of the indices, to the table first: of floats another order is another sum."""
    large = 2.0**60
    table, rows = np.full((1, 1, 1), 1.0), np.zeros((1, 2), int)
    added = np.array([[[large], [-large]]])
    assert computed("scatter_add", (), table, rows, added).item() == 0.0
    assert computed("scatter_add", (), table * large, rows, np.array([[[-large], [1.0]]])).item() == 1.0


def test_variables_that_name_rows_are_found_through_operators() -> None:
    def of(name: str, shape: tuple[int, ...]) -> Term:
        return variable(name, TensorType.of(shape))

    rows = apply("concat", (1,), (of("i", (1, 2)), apply("slice", (1, 0, 2), (of("j", (1, 4)),))))
    term = apply("add", (), (apply("embedding", (), (rows, of("t", (1, 8, 3)))), of("x", (1, 4, 3))))
    assert indices(term) == {"i", "j"}
    assert indices(of("x", (1, 2, 3))) == set()
    into = apply("scatter_add", (), (of("t", (1, 8, 3)), rows, of("g", (1, 4, 3))))
    assert indices(into) == {"i", "j"} and indices(into, apply("embedding", (), (of("k", (1, 4)), into))) == set("ijk")


def parallel(operator: str, dim: int, degree: int, term: Term) -> Term:
    """A parallel operator, or nothing where it is of one device."""
    return term if degree == 1 else apply(operator, (dim, degree), (term,))


def test_parallel_operators_by_hand() -> None:
    x = variable("x", TensorType.of((1, 4, 2)))
    array = integers((1, 4, 2))
    split = apply("partition", (1, 2), (x,))
    copies = apply("replicate", (1, 3), (x,))
    slices = apply("pipeline", (1, 2), (x,))
    for same in (split, apply("combine", (1, 2), (split,)), slices, apply("batch", (1, 2), (slices,))):
        np.testing.assert_array_equal(value(same, x=array), array)
    np.testing.assert_array_equal(value(copies, x=array), np.concatenate([array, array, array], 1))
    np.testing.assert_array_equal(value(apply("reduce", (1, 3), (copies,)), x=array), 3 * array)
    halves = apply("reduce", (1, 2), (split,))
    np.testing.assert_array_equal(value(halves, x=array), array[:, :2] + array[:, 2:])


@settings(max_examples=60, deadline=None)
@given(*[SIZES] * 3, *[DEGREES] * 4, st.sampled_from(["matmul", "linear"]), st.integers(0, 99))
def test_a_product_that_is_split_along_any_dimensions(
    m: int, k: int, n: int, rows: int, inner: int, columns: int, common: int, operator: str, seed: int
) -> None:
    """Rows, columns, what is summed over, copies that both have, and all of them at once."""
    shape, last = (1, m * rows, k * inner), (n * columns, k * inner)
    x = variable("x", TensorType.of(shape))
    w = variable("w", TensorType.of((1, *(last if operator == "linear" else last[::-1]))))
    k_dim, n_dim = (2, 1) if operator == "linear" else (1, 2)
    plain = apply(operator, ("none",), (x, w))
    left = parallel("partition", 2, inner, parallel("partition", 1, rows, x))
    left = parallel("replicate", 0, common, parallel("replicate", 0, columns, left))
    right = parallel("partition", n_dim, columns, parallel("partition", k_dim, inner, w))
    right = parallel("replicate", 0, common, parallel("replicate", 0, rows, right))
    product = apply(operator, ("none",), (left, right))
    assert product.type.degrees == (common * inner, rows, columns)
    gathered = parallel("combine", 2, columns, parallel("combine", 1, rows, product))
    inputs = {"x": integers(x.type.shape, seed), "w": integers(w.type.shape, seed + 1)}
    want = value(plain, **inputs)
    # Outer ones are copies, inner ones partial sums: the sum of the latter is the product, in each copy.
    partial = value(gathered, **inputs).reshape(common, inner, *want.shape[1:])
    np.testing.assert_array_equal(partial.sum(1), np.repeat(want, common, 0))
    summed = parallel("reduce", 0, common, parallel("reduce", 0, inner, gathered))
    assert summed.type == plain.type
    np.testing.assert_array_equal(value(summed, **inputs), common * want)


@given(st.integers(0, 99), st.integers(2, 3))
@settings(max_examples=10, deadline=None)
def test_partial_sums_are_those_of_each_part(seed: int, inner: int) -> None:
    x, w = (variable(name, TensorType.of(shape)) for name, shape in (("x", (1, 2, 6)), ("w", (1, 3, 6))))
    split = [apply("partition", (2, inner), (t,)) for t in (x, w)]
    a, b = integers((1, 2, 6), seed), integers((1, 3, 6), seed + 1)
    found = value(apply("linear", ("none",), (split[0], split[1])), x=a, w=b)
    size = 6 // inner
    for part in range(inner):
        columns = slice(part * size, part * size + size)
        np.testing.assert_array_equal(found[part], a[0, :, columns] @ b[0, :, columns].T)


@settings(max_examples=20, deadline=None)
@given(*[SIZES] * 3, DEGREES, DEGREES, st.integers(0, 99))
def test_products_of_batches_that_are_split(m: int, k: int, n: int, batch: int, rows: int, seed: int) -> None:
    x = variable("x", TensorType.of((1, 2 * batch, m * rows, k)))
    w = variable("w", TensorType.of((1, 2 * batch, k, n)))
    left = parallel("partition", 2, rows, parallel("partition", 1, batch, x))
    right = parallel("replicate", 0, rows, parallel("partition", 1, batch, w))
    product = apply("matmul", ("relu",), (left, right))
    gathered = parallel("combine", 2, rows, parallel("combine", 1, batch, product))
    plain = apply("matmul", ("relu",), (x, w))
    inputs = {"x": integers(x.type.shape, seed), "w": integers(w.type.shape, seed + 1)}
    assert gathered.type == plain.type
    np.testing.assert_array_equal(value(gathered, **inputs), value(plain, **inputs))


def test_a_product_with_several_elements_of_the_replica_dimension_on_a_device() -> None:
    """One operand has two on each of two devices, the other one that serves both."""
    x = variable("x", TensorType.of((4, 2, 3), (2, 1, 1)))
    w = variable("w", TensorType.of((2, 3, 5), (2, 1, 1)))
    a, b = integers((4, 2, 3)), integers((2, 3, 5))
    found = value(apply("matmul", ("none",), (x, w)), x=a, w=b)
    np.testing.assert_array_equal(found, [a[0] @ b[0], a[1] @ b[0], a[2] @ b[1], a[3] @ b[1]])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 3]), st.integers(1, 2), st.sampled_from(["same", "valid"]),
    *[st.integers(1, 2)] * 6, st.integers(0, 99),
)  # fmt: skip
def test_a_convolution_that_is_split_along_any_dimensions(
    kernel: int, stride: int, padding: str, batch: int, inner: int, outer: int, h: int, width: int, common: int,
    seed: int,
) -> None:  # fmt: skip
    """Images, channels of both kinds, height and width: those read what neighbours have."""
    x = variable("x", TensorType.of((1, 2, 2, 6, 4) if padding == "same" else (1, 2, 2, 8, 8)))
    w = variable("w", TensorType.of((1, 4, 2, kernel, kernel)))
    plain = apply("conv", (stride, padding, "none"), (x, w))
    assume(plain.type.shape[3] % h == 0 and plain.type.shape[4] % width == 0)
    image, weight = x, w
    for dim, degree in ((1, batch), (2, inner), (3, h), (4, width)):
        image = parallel("partition", dim, degree, image)
    for degree in (outer, common):
        image = parallel("replicate", 0, degree, image)
    for dim, degree in ((1, outer), (2, inner)):
        weight = parallel("partition", dim, degree, weight)
    for degree in (batch, h, width, common):
        weight = parallel("replicate", 0, degree, weight)
    found = apply("conv", (stride, padding, "none"), (image, weight))
    assert found.type.degrees == (common * inner, batch, outer, h, width)
    for dim, degree in ((1, batch), (2, outer), (3, h), (4, width)):
        found = parallel("combine", dim, degree, found)
    inputs = {"x": integers(x.type.shape, seed), "w": integers(w.type.shape, seed + 1)}
    want = value(plain, **inputs)
    partial = value(found, **inputs).reshape(common, inner, *want.shape[1:])
    np.testing.assert_array_equal(partial.sum(1), np.repeat(want, common, 0))
    found = parallel("reduce", 0, common, parallel("reduce", 0, inner, found))
    assert found.type == plain.type
    np.testing.assert_array_equal(value(found, **inputs), common * want)


@settings(max_examples=40, deadline=None)
@given(*[SIZES] * 3, *[DEGREES] * 4, st.integers(0, 99))
def test_an_embedding_that_is_split_along_any_dimensions(
    m: int, v: int, n: int, rows: int, inner: int, columns: int, common: int, seed: int
) -> None:
    i = variable("i", TensorType.of((1, m * rows)))
    table = variable("t", TensorType.of((1, v * inner, n * columns)))
    plain = apply("embedding", (), (i, table))
    left, right = parallel("partition", 1, rows, i), parallel("partition", 2, columns, table)
    for degree in (columns, inner, common):
        left = parallel("replicate", 0, degree, left)
    right = parallel("partition", 1, inner, right)
    for degree in (rows, common):
        right = parallel("replicate", 0, degree, right)
    found = apply("embedding", (), (left, right))
    assert found.type.degrees == (common * inner, rows, columns)
    inputs = {
        "i": np.random.default_rng(seed).integers(0, v * inner, i.type.shape), "t": integers(table.type.shape, seed)
    }  # fmt: skip
    want = value(plain, **inputs)
    found = parallel("combine", 2, columns, parallel("combine", 1, rows, found))
    partial = value(found, **inputs).reshape(common, inner, *want.shape[1:])
    np.testing.assert_array_equal(partial.sum(1), np.repeat(want, common, 0))
    for part in range(inner):  # 0 for rows of others
        here = inputs["i"][0] // v == part
        np.testing.assert_array_equal(partial[0, part], np.where(here[:, None], want[0], 0))


@settings(max_examples=20, deadline=None)
@given(DEGREES, DEGREES, SIZES, SIZES, st.integers(0, 99))
def test_a_sum_over_a_dimension_that_is_split(copies: int, parts: int, m: int, n: int, seed: int) -> None:
    x = variable("x", TensorType((copies, m * parts, n), (copies, parts, 1), (1, 1, 1)))
    array = integers(x.type.shape, seed)
    found = value(apply("reduce_sum", (1,), (x,)), x=array)
    want = array.reshape(copies, parts, m, n).sum(2)
    np.testing.assert_array_equal(found.reshape(copies, parts, n), want)
    summed = value(parallel("reduce", 0, copies * parts, apply("reduce_sum", (1,), (x,))), x=array)
    np.testing.assert_array_equal(summed, array.sum((0, 1))[None])


@pytest.mark.parametrize(
    ("operator", "parameters", "shapes"),
    [
        (name, parameters, shapes)
        for name, parameters, shapes, _ in OTHERS
        if "relu" not in parameters and "tanh" not in parameters and name not in ("softmax", "reduce_max")
    ]
    + [
        ("conv", (2, "same", "none"), [(1, 1, 4, 3, 3), (1, 2, 2, 3, 3)]),
        ("pool_average", (2, 1, "same"), [(1, 1, 2, 2, 3)]),
        ("replicate", (1, 2), [(1, 2, 3)]),
        ("reduce", (1, 1 + 1), [(1, 4, 3)]),
    ],
)
def test_numbers_are_the_same_as_polynomials(
    operator: str, parameters: tuple[Parameter, ...], shapes: list[tuple[int, ...]]
) -> None:
    """Arithmetic of the two kinds of entries is that of the same ring."""
    degrees = [(1, 2, 1) if operator == "reduce" else (1,) * len(s) for s in shapes]
    terms = [variable(f"x{i}", TensorType.of(s, d)) for i, (s, d) in enumerate(zip(shapes, degrees, strict=True))]
    term = apply(operator, parameters, tuple(terms))
    arrays = {f"x{i}": np.asarray(integers(s, i)) for i, s in enumerate(shapes)}
    on = Symbols()
    entries = {
        name: np.asarray(np.vectorize(lambda v: on.constant(int(v), (1,))[0], otypes=[object])(array), dtype=object)
        for name, array in arrays.items()
    }
    (found,) = evaluate([term], entries, on)
    numbers = np.vectorize(lambda p: float(sum(p.terms.values())), otypes=[float])(found)
    assert all(set(p.terms) <= {()} for p in found.flat)
    np.testing.assert_allclose(numbers, value(term, **arrays), rtol=1e-12)
