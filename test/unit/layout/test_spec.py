"""Shard specs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.layout import Mesh, ShardSpec, SpecError

MESH = Mesh.parse("x=2,y=3,z=5")


@st.composite
def specs(draw: st.DrawFn) -> ShardSpec:
    rank = draw(st.integers(0, 3))
    dims: list[list[str]] = [[] for _ in range(rank)]
    partial = []
    for axis in draw(st.permutations(["x", "y", "z"])):
        where = draw(st.integers(-2, rank - 1))
        if where == -2:
            partial.append((axis, draw(st.sampled_from(["sum", "max"]))))
        elif where >= 0:
            dims[where].append(axis)
    return ShardSpec.of(dims, partial)


@given(specs())
def test_text_round_trips(spec: ShardSpec) -> None:
    assert ShardSpec.parse(str(spec)) == spec


@given(specs())
def test_local_shape_times_shards_is_the_global_shape(spec: ShardSpec) -> None:
    shape = (30,) * spec.rank
    local = spec.local_shape(shape, MESH)
    assert tuple(a * b for a, b in zip(local, spec.shards(MESH), strict=True)) == shape
    spec.check(MESH, shape)


def test_what_does_not_divide_is_padded() -> None:
    spec = ShardSpec.of([["x"]])
    assert spec.local_shape((7,), MESH) == (4,)
    assert spec.uneven_dims((7,), MESH) == (0,) and spec.uneven_dims((8,), MESH) == ()
    spec.check(MESH, (7,))
    with pytest.raises(SpecError, match=r"dimension 0 of size 7 is not divisible by 2 \(x\)"):
        spec.check(MESH, (7,), even=True)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (ShardSpec.of([["w"]]), "unknown axis 'w'"),
        (ShardSpec.of([["x"], ["x"]]), "axis 'x' is used twice"),
        (ShardSpec.of([["x"]], [("x", "sum")]), "axis 'x' is used twice"),
        (ShardSpec.of([[]], [("x", "mean")]), "partial by 'mean'; allowed: sum"),
    ],
)
def test_check_names_what_is_wrong(spec: ShardSpec, text: str) -> None:
    with pytest.raises(SpecError, match=text):
        spec.check(MESH)
