"""Every redistribution, executed: pairs of layouts of small meshes, from whole and from partial values."""

import itertools

import pytest

from pcg.layout import Mesh
from support.layoutpairs import layouts, moves, program, sums
from support.lowercheck import check


@pytest.mark.parametrize("mesh", ["a=2,b=4", "a=2,b=2"])
@pytest.mark.parametrize("fuse", [True, False])
def test_every_pair_of_whole_layouts(mesh, fuse):
    mesh = Mesh.parse(mesh)
    every = layouts(mesh, 2)
    check(program(mesh, list(itertools.product(every, every)), "16x8", moves), fuse=fuse)


@pytest.mark.parametrize("part", range(3))
def test_every_pair_from_partial(part):
    mesh = Mesh.parse("a=2,b=2")
    sources = [s for s in layouts(mesh, 2, True) if s.partial]
    pairs = list(itertools.product(sources, layouts(mesh, 2)))
    check(program(mesh, pairs[part::3], "8x4", sums))


def test_three_axes():
    mesh = Mesh.parse("a=2,b=2,c=2")
    pairs = list(itertools.product(layouts(mesh, 2), repeat=2))
    check(program(mesh, pairs[::37], "8x16", moves))
