"""Machine mapping: which axis lies on which level."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh
from pcg.machine import Cluster, ClusterError
from pcg.machine.mapping import candidate_mappings, device_mappings, divisors, filled_levels, meshes_of_size


def test_meshes_of_a_number_of_devices():
    assert [m.sizes for m in meshes_of_size(48)] == [(48,), (8, 6), (12, 4), (16, 3), (24, 2)]
    assert [m.sizes for m in meshes_of_size(8, max_axes=3)] == [(8,), (4, 2), (2, 2, 2)]
    assert [m.sizes for m in meshes_of_size(7)] == [(7,)] and [m.sizes for m in meshes_of_size(1)] == [(1,)]
    assert [str(m) for m in meshes_of_size(4)] == ["d0=4", "d0=2,d1=2"]
    with pytest.raises(ClusterError, match="0 devices; allowed: 1 or more"):
        meshes_of_size(0)


def test_axes_along_whole_levels_come_first():
    summit = Cluster.preset("summit", nodes=8)
    first, second = device_mappings(summit, Mesh.parse("data=8,model=6"))
    assert first.where == "data: nodes; model: sockets x gpus"
    assert first.mesh.device_ids is None or first.mesh.device_ids == tuple(range(48))
    assert second.where == "data: 4 of 8 nodes x sockets; model: 2 of 8 nodes x gpus"
    # The groups of `model` are then the GPUs of a socket in either of two nodes.
    assert [second.mesh.device_ids[p] for p in second.mesh.groups(["model"])[0]] == [0, 1, 2, 6, 7, 8]


def test_the_other_way_round():
    dgx = Cluster.preset("dgx-h100", nodes=2)
    found = {p.where: p.mesh for p in device_mappings(dgx, Mesh.parse("a=2,b=8"))}
    assert set(found) == {"a: nodes; b: gpus", "a: 2 of 8 gpus; b: nodes x 4 of 8 gpus"}
    other = found["a: 2 of 8 gpus; b: nodes x 4 of 8 gpus"]
    assert [[other.device_ids[p] for p in g] for g in other.groups(["a"])][0] == [0, 4]


def test_axes_of_one_size_can_change_places_if_their_names_do_not_matter():
    summit = Cluster.preset("summit", nodes=6)
    named = device_mappings(summit, Mesh.parse("a=6,b=6"))
    free = device_mappings(summit, Mesh.parse("a=6,b=6"), interchangeable=True)
    assert len(named) > len(free) >= 2


def test_on_a_torus_the_order_inside_a_dimension_matters():
    pod = Cluster.preset("tpu-v5e", chips=(4, 4))
    found = [p.where for p in device_mappings(pod, Mesh.parse("a=2,b=8"))]
    assert "a: 2 of 4 chips along x; b: 2 of 4 chips along x apart x chips along y" in found
    assert len(found) == len(set(found)) == 4  # a in either dimension, inside or outside of b


def test_fewer_devices_than_there_are():
    summit = Cluster.preset("summit", nodes=4)
    (one,) = device_mappings(summit, Mesh.parse("x=8"))
    assert sorted(one.mesh.device_ids) == [0, 1, 3, 4, 6, 7, 9, 10]
    with pytest.raises(ClusterError, match="mesh x=25 has 25 positions; cluster 'summit' has 24 usable devices"):
        device_mappings(summit, Mesh.parse("x=25"))


def test_devices_that_do_not_fill_the_levels_evenly_are_one_row():
    broken = Cluster.preset("summit", nodes=2).with_failed([0])
    assert [(r.name, r.size) for r in filled_levels(broken, broken.devices)] == [("devices", 11)]
    assert [p.where for p in device_mappings(broken, Mesh.parse("x=11"))] == ["x: devices"]
    assert [r.name for r in filled_levels(broken, (6, 9))] == ["sockets"]


def test_candidates_are_in_a_fixed_order():
    summit = Cluster.preset("summit", nodes=8)
    found = list(candidate_mappings(summit, 48))
    assert found == list(candidate_mappings(summit, 48))
    assert [p.mesh.sizes for p in found][:3] == [(48,), (8, 6), (8, 6)]
    assert [p.where for p in candidate_mappings(None, 4)] == ["any", "any"]


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_every_placement_is_a_permutation_of_the_devices_taken(data):
    name = data.draw(st.sampled_from(["summit", "dgx-a100", "tpu-v5e", "mixed-v100-ascend910", "cpu"]))
    sizes = {"summit": {"nodes": 4}, "dgx-a100": {"nodes": 2}, "tpu-v5e": {"chips": (4, 4)}}.get(name, {})
    cluster = Cluster.preset(name, **sizes)
    count = data.draw(st.integers(1, cluster.size))
    a = data.draw(st.sampled_from(divisors(count)))
    mesh = Mesh.of({"a": a, "b": count // a})
    found = device_mappings(cluster, mesh)
    assert found
    taken = sorted(cluster.take(count).devices)
    seen = set()
    for p in found:
        ids = p.mesh.device_ids or tuple(range(count))
        assert sorted(ids) == taken and p.mesh.axes == mesh.axes
        seen.add(ids)
    assert len(seen) == len(found)
    assert math.prod(r.size for r in filled_levels(cluster, taken)) == count
