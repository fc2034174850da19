"""Steps of kinds that the zoo lacks: as on one device, on meshes and on a cluster.

Constants of some are complex numbers, and custom calls of others have attributes of Shardy: the bindings read neither.
"""

from __future__ import annotations

import jax
import pytest

import pcg
from bench.other_programs import PROGRAMS
from pcg.machine import Cluster
from support.training import assert_trees_close

MESHES = {"two axes": {"a": 2, "b": 3}, "three axes": {"a": 2, "b": 2, "c": 2}}


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_on_one_device(name: str, mesh: str) -> None:
    step, args = PROGRAMS[name].make()
    compiled = pcg.compile(step, MESHES[mesh])
    assert_trees_close(compiled(*args), jax.jit(step)(*args), rtol=1e-3)


@pytest.mark.parametrize("limit", [None, "16MiB"])
@pytest.mark.parametrize(("name", "small"), [("fourier", True), ("shampoo", False)])
def test_planned_for_a_cluster(name: str, small: bool, limit: str | None) -> None:
    """One that is rewritten is parsed once more as it was, to be compared: that has what the bindings cannot read."""
    step, args = PROGRAMS[name].make(small)
    compiled = pcg.compile(step, Cluster.preset("dgx-h100", nodes=1), memory_limit=limit)
    assert_trees_close(compiled(*args), jax.jit(step)(*args), rtol=1e-3)
