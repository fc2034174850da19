"""Devices named one by one send at the costs that the axes of a mesh have."""

from __future__ import annotations

import pytest

from pcg.cost import CostModel
from pcg.cost.transfers import collective_seconds, messages_seconds, wire_bytes
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine

KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("machine", [Machine.default(), Machine.of(Cluster.preset("summit", nodes=2, gpus=4))])
def test_a_collective_costs_what_it_does_along_an_axis(machine, kind):
    mesh, held = Mesh.of({"x": 2, "y": 4}), 1e6
    model = CostModel(machine, mesh)
    along = model.link(("y",), wire_bytes(kind, 4, held), kind)
    assert collective_seconds(machine, [[0, 1, 2, 3], [4, 5, 6, 7]], kind, held) == pytest.approx(along, rel=1e-12)


def test_messages_share_the_ports_of_a_device():
    machine = Machine.default()
    link, overhead = machine.link, machine.device.collective_overhead
    start = overhead + link.latency
    assert messages_seconds(machine, []) == 0.0
    assert messages_seconds(machine, [(0, 1, 1e6)]) == pytest.approx(start + 1e6 / link.bandwidth)
    assert messages_seconds(machine, [(0, 1, 1e6), (2, 3, 5e5)]) == messages_seconds(machine, [(0, 1, 1e6)])
    assert messages_seconds(machine, [(0, 1, 1e6), (0, 2, 1e6)]) == pytest.approx(start + 2e6 / link.bandwidth)
    assert messages_seconds(machine, [(0, 2, 1e6), (1, 2, 1e6)]) == pytest.approx(start + 2e6 / link.bandwidth)


def test_the_slowest_device_starts_last():
    mixed = Machine.of(Cluster.preset("mixed-v100-ascend910"))
    cluster = mixed.cluster
    slow = max(cluster.devices, key=lambda d: cluster.kind_of(d).collective_overhead)
    fast = [d for d in cluster.devices if cluster.kind_of(d).collective_overhead < cluster.kind_of(slow).collective_overhead]
    assert messages_seconds(mixed, [(fast[0], slow, 0.0)]) >= cluster.kind_of(slow).collective_overhead
    assert messages_seconds(mixed, [(fast[0], fast[1], 0.0)]) < messages_seconds(mixed, [(fast[0], slow, 0.0)])


def test_who_is_alone_sends_nothing():
    assert wire_bytes("all_reduce", 1, 1e6) == 0.0 and wire_bytes("all_gather", 4, 8.0) == 6.0
