"""Machines that are assumed where no cluster is given."""

from __future__ import annotations

import pytest

from pcg.cost.model import CostModel
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine


@pytest.mark.parametrize("devices", [2, 8])
def test_cpu_devices_share_their_host(devices):
    """What all devices send at once takes as long as on the preset's host of as many devices, but for latency."""
    mesh = Mesh.of({"x": devices})
    host = Cluster.preset("cpu", devices=devices)
    assumed, whole = (CostModel(m, mesh) for m in (Machine.of_platform("cpu", devices), Machine.of(host)))
    assert assumed.machine.device == whole.machine.device and assumed.machine.cluster is None
    sent = 1e9
    times = [model.link(("x",), sent, "all_gather") for model in (assumed, whole)]
    assert times[0] == pytest.approx(times[1], rel=0.01)


@pytest.mark.parametrize("platform", ["gpu", "tpu", "cuda", ""])
def test_other_platforms_are_the_default(platform):
    assert Machine.of_platform(platform, 8) == Machine.default()
