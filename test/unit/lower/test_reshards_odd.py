"""Redistribution of what does not divide: uneven shards, sizes below the number of devices, axes that are odd or three."""

import itertools

import pytest

from pcg.layout import Mesh
from support.layoutpairs import REDUCERS, layouts, moves, program, sums
from support.lowercheck import check

#: Meshes with shapes: no dimension divides, some have fewer rows than devices, or one, or none.
ODD = [
    ("a=2,b=3", "13x7"), ("a=3,b=2", "5x3"), ("a=5", "7x11"), ("a=7", "3x13"), ("a=2,b=2,c=2", "3x9"),
    ("a=3,b=1,c=2", "1x7"), ("a=2,b=4", "1x1"), ("a=2,b=3", "0x5"), ("a=2,b=2", "13"), ("a=2,b=3", "5x2x3"),
]  # fmt: skip


def every(mesh: Mesh, shape: str) -> list:
    return layouts(mesh, shape.count("x") + 1)


def check_some(mesh: Mesh, pairs: list, shape: str, *, step: int, body=moves, element: str = "i32", **more) -> None:
    check(program(mesh, pairs[::step], shape, body, element), **more)


@pytest.mark.parametrize(("mesh", "shape"), ODD)
def test_whole_values(mesh, shape):
    mesh = Mesh.parse(mesh)
    pairs = list(itertools.product(every(mesh, shape), repeat=2))
    check_some(mesh, pairs, shape, step=1 + len(pairs) // 18)


@pytest.mark.parametrize(("mesh", "shape"), [ODD[0], ODD[3], ODD[4], ODD[5]])
def test_whole_values_on_devices(mesh, shape):
    mesh = Mesh.parse(mesh)
    pairs = list(itertools.product(every(mesh, shape), repeat=2))[1:]
    check_some(mesh, pairs, shape, step=1 + len(pairs) // 6, devices=True)


@pytest.mark.parametrize("kind", REDUCERS)
def test_partial_values(kind):
    """From values partial by each reduction, the partial dimension uneven too."""
    mesh = Mesh.parse("a=3,b=2")
    sources = [s for s in layouts(mesh, 2, True, kind) if s.partial]
    pairs = list(itertools.product(sources, layouts(mesh, 2)))
    check_some(mesh, pairs, "5x7", step=1 + len(pairs) // 6, body=sums, devices=kind in ("max", "and"))


@pytest.mark.parametrize("element", ["i1", "i8", "ui8", "i16", "ui32", "i64", "ui64", "f64", "f16", "bf16", "complex<f32>"])
def test_element_types(element):
    mesh = Mesh.parse("a=2,b=3")
    pairs = list(itertools.product(layouts(mesh, 2), repeat=2))
    check_some(mesh, pairs, "7x5", step=67, element=element)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("mesh", "shape"), ODD)
@pytest.mark.parametrize("fuse", [True, False])
def test_every_pair(mesh, shape, fuse):
    mesh = Mesh.parse(mesh)
    pairs = list(itertools.product(every(mesh, shape), repeat=2))
    for first in range(0, min(len(pairs), 1000), 100):
        check(program(mesh, pairs[first : first + 100], shape, moves), fuse=fuse, devices=first % 300 == 0)
