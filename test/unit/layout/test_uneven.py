"""Blocks of dimensions that the number of shards does not divide."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import blocks, is_even, padded_size

MESH = Mesh.parse("x=2,y=3,z=4")
ORDERS = st.permutations(MESH.names).flatmap(lambda p: st.integers(0, 3).map(lambda k: tuple(p[:k])))


@given(st.integers(0, 60), ORDERS)
def test_blocks_cover_the_dimension_once(size: int, axes: tuple[str, ...]) -> None:
    found = blocks(size, axes, MESH)
    held = padded_size(size, [MESH.axis_size(a) for a in axes])
    count = [0] * size
    for group in MESH.groups(axes):
        for start, length in (found[p] for p in group):
            assert 0 <= length <= held
            for i in range(start, start + length):
                count[i] += 1
    assert count == [MESH.size // MESH.axes_size(axes)] * size


@given(st.integers(1, 60), ORDERS)
def test_one_more_axis_cuts_the_blocks_there_are(size: int, axes: tuple[str, ...]) -> None:
    for k in range(len(axes)):
        outer, inner = blocks(size, axes[:k], MESH), blocks(size, axes[: k + 1], MESH)
        for (start, length), (a, n) in zip(outer, inner, strict=True):
            assert n == 0 or start <= a and a + n <= start + length


@given(st.integers(1, 60), ORDERS)
def test_even_blocks_are_the_usual_ones(size: int, axes: tuple[str, ...]) -> None:
    counts = [MESH.axis_size(a) for a in axes]
    assert is_even(size, counts) == (size % math.prod(counts) == 0)
    if is_even(size, counts):
        part = size // math.prod(counts)
        assert blocks(size, axes, MESH) == tuple((MESH.index(p, axes) * part, part) for p in range(MESH.size))
        assert ShardSpec.of([axes]).local_shape((size,), MESH) == (part,)
