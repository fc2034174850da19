"""Types of terms: which splits there are, types that differ in one dimension or in their order, how they print."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.substitute.errors import TermError
from pcg.substitute.tensor_type import TensorType

#: Of a dimension: what a slice on a device has, how many devices and how many slices there are.
DIMENSIONS = st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=1, max_size=5)


def of_parts(parts: list[tuple[int, int, int]]) -> TensorType:
    sizes, degrees, slices = zip(*parts, strict=True)
    return TensorType(tuple(math.prod(p) for p in zip(sizes, degrees, slices, strict=True)), degrees, slices)


@pytest.mark.parametrize(
    ("shape", "degrees", "microbatches", "says"),
    [
        ((1, 3), (1, 2), (1, 1), "dimension 1 of size 3 cannot be split 2 times"),
        ((1, 3), (1, 1), (1, 2), "dimension 1 of size 3 cannot be split 2 times"),
        ((4, 1), (2, 1), (4, 1), "dimension 0 of size 4 cannot be split 8 times"),
        ((1, 2), (1, 4), (1, 1), "dimension 1 of size 2 cannot be split 4 times"),
        ((1, 0), (1, 1), (1, 1), "dimension 1 of size 0 cannot be split 1 times"),
        ((1, 2), (1, 0), (1, 1), "dimension 1 of size 2 cannot be split 0 times"),
    ],
)
def test_a_dimension_is_split_evenly(
    shape: tuple[int, ...], degrees: tuple[int, ...], microbatches: tuple[int, ...], says: str
) -> None:
    with pytest.raises(TermError, match=says):
        TensorType(shape, degrees, microbatches)


def test_there_is_a_degree_for_every_dimension() -> None:
    with pytest.raises(ValueError):
        TensorType.of((1, 2), (1,))
    with pytest.raises(ValueError):
        TensorType((1, 2), (1, 2), (1,))


def test_without_degrees_it_is_of_one_device() -> None:
    one = TensorType.of((1, 2, 4))
    assert one == TensorType((1, 2, 4), (1, 1, 1), (1, 1, 1))
    assert (one.rank, one.elements) == (3, 8)
    assert (TensorType.of(()).rank, TensorType.of(()).elements) == (0, 1)


def test_it_prints_sizes_degrees_and_microbatches() -> None:
    assert str(TensorType.of((1, 2, 4))) == "1x2x4"
    assert str(TensorType((4, 6, 12), (4, 1, 2), (1, 3, 2))) == "4{4}x6/3x12{2}/2"
    assert str(TensorType.of(())) == ""


@given(DIMENSIONS, st.data())
def test_one_dimension_changes_and_no_other(parts: list[tuple[int, int, int]], data: st.DataObject) -> None:
    type = of_parts(parts)
    dim = data.draw(st.integers(0, type.rank - 1))
    size, degree, slices = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    found = type.with_dim(dim, size * degree * slices, degree, slices)
    assert (found.shape[dim], found.degrees[dim], found.microbatches[dim]) == (size * degree * slices, degree, slices)
    others = tuple(d for d in range(type.rank) if d != dim)
    assert found.dims(others) == type.dims(others)
    assert type.with_dim(dim, size * degree * type.microbatches[dim], degree).microbatches == type.microbatches
    assert type.with_dim(dim, type.shape[dim], type.degrees[dim]) == type


@given(DIMENSIONS, st.data())
def test_dimensions_in_another_order_and_back(parts: list[tuple[int, int, int]], data: st.DataObject) -> None:
    type = of_parts(parts)
    order = tuple(data.draw(st.permutations(range(type.rank))))
    found = type.dims(order)
    assert found == of_parts([parts[d] for d in order])
    assert found.elements == type.elements
    assert found.dims(tuple(order.index(d) for d in range(type.rank))) == type
