"""What computing and sending cost, with and without a profile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pcg.cost import CostModel
from pcg.layout import Mesh
from pcg.machine import Cluster, Link, Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile, Rates

DOT, ADD = "stablehlo.dot_general", "stablehlo.add"
PROFILE = Profile(
    "cpu", 4, 5e-6, 1e-3, 1e-5,
    {
        ("contraction", "f32"): Rates(((1.0, Curve((1e6, 1e9), (1e-3, 1.0))),)),
        ("elementwise", "f32"): Rates((), Curve((1e3, 1e6), (1e-5, 1e-3))),
    },
    {("all_reduce", n): Curve((1e3, 1e6), (1e-4 * n, 1e-2 * n), True) for n in (2, 4)}, Curve((1e6,), (1e-3,)),
    {n: Curve((1e-3, 1e-2), (1e-5 * n, 1e-4 * n)) for n in (2, 4)},
)  # fmt: skip


def measured(machine: Machine) -> Machine:
    return replace(machine, device=replace(machine.device, profile=PROFILE))


def model(mesh: str = "data=2,model=2") -> CostModel:
    return CostModel(measured(Machine.default()), Mesh.parse(mesh))


def test_without_a_profile_it_is_a_roofline():
    plain = CostModel(Machine.default(), Mesh.parse("x=4"))
    d = plain.machine.device
    flops, touched = np.array([1e9, 1e3]), np.array([1e3, 1e9])
    found = plain.seconds(DOT, "f32", flops, touched)
    assert found == pytest.approx([1e9 / d.peak("f32"), 1e9 / d.memory_bandwidth])
    assert plain.seconds(DOT, "f32", 1e9, 1e3) == pytest.approx(found[0])
    # Overhead is added per kernel that the caller counts.
    assert plain.seconds(DOT, "f32", 1e9, 1e3, kernels=3.0) == pytest.approx(found[0] + 3 * d.kernel_overhead)
    assert plain.kernel(ADD, "f32", {ADD: 4.0}, 1e9) == pytest.approx(1e9 / d.memory_bandwidth + d.kernel_overhead)
    assert plain.dispatch(10, fresh=[1e9]) == 0.0
    assert plain.wait(4, 1.0) == 0.0


def test_a_profile_goes_before_the_rates():
    m = model()
    assert m.seconds(DOT, "f32", 1e6, 1e6) == pytest.approx(1e-3)
    assert m.seconds(DOT, "f32", np.array([1e6, 1e9]), np.array([1e6, 1e9])) == pytest.approx([1e-3, 1.0])
    assert m.seconds(ADD, "f32", 1.0, 1e6, kernels=2.0) == pytest.approx(1e-3 + 1e-5)
    assert m.kernel(ADD, "f32", {ADD: 1.0}, 1e6) == pytest.approx(1e-3 + 5e-6)
    assert m.dispatch(10) == pytest.approx(1e-3 + 5e-5)
    assert m.dispatch(10, fresh=[2e6, 4e6]) == pytest.approx(1e-3 + 5e-5 + 2e-3 + 4e-3)
    # A small copy takes longer per byte.
    assert (m.copy(500.0), m.copy(5e5)) == (pytest.approx(1e-5), pytest.approx(1e-3))
    # What it does not have is as without it.
    plain = CostModel(Machine.default(), m.mesh)
    assert m.seconds(DOT, "bf16", 1e9, 1.0) == plain.seconds(DOT, "bf16", 1e9, 1.0)
    assert m.seconds("stablehlo.sort", "f32", 1e9, 1.0) == plain.seconds("stablehlo.sort", "f32", 1e9, 1.0)


def test_collectives_are_measured_where_the_mesh_lies_among_the_devices_of_the_profile():
    m = model()
    assert m.link(("data",), 1e6, "all_reduce") == pytest.approx(2e-2)
    assert m.link(("data", "model"), 1e6, "all_reduce") == pytest.approx(4e-2)
    assert m.link((), 1e6, "all_reduce") == m.link(("data",), 1e6, "slice") == 0.0
    wider = model("data=2,model=4")
    assert wider.link(("data",), 1e6, "all_reduce") == CostModel(Machine.default(), wider.mesh).link(("data",), 1e6, "all_reduce")
    # Kinds and group sizes that were not measured: the links.
    links = CostModel(replace(Machine.default(), link=Link(1e9, 1e-6)), m.mesh)
    estimated = CostModel(replace(m.machine, link=Link(1e9, 1e-6)), m.mesh)
    assert estimated.link(("data",), 1e6, "permute") == links.link(("data",), 1e6, "permute")


def test_a_profile_of_a_node_says_nothing_of_the_network():
    cluster = Cluster.preset("dgx-a100", nodes=2, gpus=4)
    cluster = replace(cluster, kinds=tuple(replace(k, profile=PROFILE) for k in cluster.kinds))
    plain = replace(cluster, kinds=tuple(replace(k, profile=None) for k in cluster.kinds))

    def estimated(c: Cluster, *ids: int) -> float:
        mesh = Mesh.of({"x": len(ids)}, ids)
        return CostModel(Machine.of(c, mesh), mesh).link(("x",), 1e6, "all_reduce")

    assert estimated(cluster, 0, 1) == pytest.approx(2e-2)
    assert estimated(cluster, 0, 4) == estimated(plain, 0, 4)
    assert estimated(cluster, 0, 1, 4, 5) == estimated(plain, 0, 1, 4, 5)


def test_a_machine_of_unlike_kinds_has_no_profile():
    both = Cluster.preset("mixed-v100-ascend910", gpu_nodes=1, gpus=2, npu_nodes=1, boards=1, npus=2)
    both = replace(both, kinds=tuple(replace(k, profile=PROFILE) for k in both.kinds))
    assert Machine.of(both).device.profile is None


def test_devices_wait_the_longer_the_more_there_was_to_do_up_to_the_longest_measured():
    m = model()
    assert m.wait(4, 0.0) == 0.0
    assert m.wait(4, 1e-3) == pytest.approx(4e-5)
    assert m.wait(4, 1e-2) == m.wait(4, 10.0) == pytest.approx(4e-4)
    assert m.wait(2, 1e-3) < m.wait(3, 1e-3) < m.wait(4, 1e-3)
    assert m.wait(8, 1e-3) == 0.0  # not measured
