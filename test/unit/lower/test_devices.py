"""XLA accepts and executes our collectives on eight CPU devices."""

import itertools

import numpy as np
import pytest

from pcg.layout import Mesh
from support.layoutpairs import layouts, moves, program, sums
from support.lowercheck import lower

pytest.importorskip("jax")

from support import ondevices


@pytest.mark.parametrize("fuse", [True, False])
def test_redistribution_of_whole_values(fuse):
    mesh = Mesh.parse("data=2,model=4")
    pairs = list(itertools.product(layouts(mesh, 2), repeat=2))[::7]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-9, 9, (16, 8)).astype(np.int32) for _ in pairs]
    got = ondevices.run(lower(program(mesh, pairs, "16x8", moves), fuse), inputs)
    for g, want in zip(got, inputs, strict=True):
        np.testing.assert_array_equal(g, want)


def test_redistribution_of_partial_values():
    mesh = Mesh.parse("data=2,model=4")
    sources = [s for s in layouts(mesh, 2, True) if s.partial]
    pairs = list(itertools.product(sources, layouts(mesh, 2)))[::5]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-9, 9, (16, 8, 8)).astype(np.int32) for _ in pairs]
    got = ondevices.run(lower(program(mesh, pairs, "16x8", sums)), inputs)
    for g, want in zip(got, inputs, strict=True):
        np.testing.assert_array_equal(g, want.sum(2, dtype=np.int32))
