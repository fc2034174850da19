"""Meshes and shardings between us and jax."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from pcg.frontend import Leaf
from pcg.layout import Mesh, MeshError, ShardSpec
from pcg.runtime import placement

MESH = Mesh.parse("data=2,model=4")


def jax_mesh(**axes: int) -> jax.sharding.Mesh:
    return jax.sharding.Mesh(np.array(jax.devices()[: np.prod([*axes.values()])]).reshape(*axes.values()), tuple(axes))


@pytest.mark.parametrize("given", [{"data": 2, "model": 4}, "data=2,model=4", MESH, jax_mesh(data=2, model=4)], ids=str)
def test_meshes_in_every_form(given):
    mesh, devices = placement.resolve_mesh(given)
    assert mesh == MESH and devices == jax.devices()[:8]


def test_a_number_of_devices_and_a_device_order():
    assert placement.resolve_mesh(4)[0].sizes == (4,)
    mesh, devices = placement.resolve_mesh(Mesh.of({"x": 2}, [5, 3]))
    assert [d.id for d in devices] == [5, 3]


def test_mesh_errors():
    with pytest.raises(MeshError, match="mesh data=64 needs 64 devices, but there are 8"):
        placement.resolve_mesh({"data": 64})
    with pytest.raises(MeshError, match="of type float; expected a dict"):
        placement.resolve_mesh(2.5)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("[data, -]", P("data")), ("[-, data+model]", P(None, ("data", "model"))), ("[]", P()), ("[-, -]", P())],
)
def test_partition_specs(spec, expected):
    assert placement.partition_spec(ShardSpec.parse(spec)) == expected


def test_user_shardings_as_specs():
    named = NamedSharding(jax_mesh(data=2, model=4), P(None, ("data", "model")))
    assert placement.shard_spec(named, 3, MESH) == ShardSpec.parse("[-, data+model, -]")
    assert placement.shard_spec("[data]", 1, MESH) == ShardSpec.parse("[data]")
    assert placement.shard_spec(None, 1, MESH) is None
    with pytest.raises(MeshError, match="axis 'data' has size 8"):
        placement.shard_spec(NamedSharding(jax_mesh(data=8), P("data")), 1, MESH)
    with pytest.raises(MeshError, match="names 2 dimensions; the tensor has 1"):
        placement.shard_spec(P("data", "model"), 1, MESH)


LEAVES = [Leaf("a['x']", (8, 4), "f32"), Leaf("a['y']", (8,), "f32"), Leaf("b", (8, 2), "ui32", "threefry2x32", 1)]
TREE = jax.tree.structure(({"x": 0, "y": 0}, 0))


def test_a_prefix_of_the_tree():
    found = placement.flat_shardings((P("data"), None), TREE, LEAVES, MESH, "shardings")
    assert {i: str(s) for i, s in found.items()} == {0: "[data, -]", 1: "[data]"}
    found = placement.flat_shardings(({"y": P("model")}, P("data")), TREE, LEAVES, MESH, "shardings")
    assert {i: str(s) for i, s in found.items()} == {1: "[model]", 2: "[data, -]"}


def test_a_structure_that_does_not_fit():
    with pytest.raises(MeshError, match=r"shardings\[0\]: unknown key 'z'; there are \['x', 'y'\]"):
        placement.flat_shardings(({"z": P()}, None), TREE, LEAVES, MESH, "shardings")
    with pytest.raises(MeshError, match="shardings has 1 entries; expected 2"):
        placement.flat_shardings((P(),), TREE, LEAVES, MESH, "shardings")
