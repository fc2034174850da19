"""The cost model on a cluster."""

from __future__ import annotations

import pytest

from pcg.cost import CostModel, Overlap, Timing
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Cluster, ClusterError, Machine, collectives, mapping
from pcg.reshard.planner import cost, plan

SUMMIT = Cluster.preset("summit", nodes=4)
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute")


def model(cluster: Cluster, mesh: Mesh) -> CostModel:
    return CostModel(Machine.of(cluster), mesh)


def test_a_collective_costs_what_the_network_says():
    mesh = Mesh.parse("data=4,model=6")
    m = model(SUMMIT, mesh)
    for axes in (("data",), ("model",), ("data", "model")):
        n = mesh.axes_size(axes)
        for kind in KINDS[:4]:
            size = 3e6
            want = collectives.seconds(SUMMIT, mesh.groups(axes), kind, size)
            got = m.link(axes, collectives.wire_factor(kind, n) * size, kind)
            assert got == pytest.approx(want + SUMMIT.kinds[0].collective_overhead)
    assert m.link((), 1e6, "all_reduce") == m.link(("data",), 1e6, "slice") == 0.0


def test_where_an_axis_lies_is_what_it_costs():
    mesh = Mesh.parse("data=4,model=6")
    near, far = (model(SUMMIT, p.mesh) for p in mapping.device_mappings(SUMMIT, mesh)[:2])
    assert near.link(("model",), 1e7, "all_reduce") < 0.5 * far.link(("model",), 1e7, "all_reduce")


def test_a_permute_over_two_axes_is_as_slow_as_the_worse_way():
    mesh = Mesh.parse("data=4,model=6")
    m = model(SUMMIT, mesh)
    swapped = [(a, b) for a, b in zip(mesh.groups(("data", "model"))[0], mesh.groups(("model", "data"))[0], strict=True)]
    slow = collectives.exchange_line(SUMMIT, swapped).per_byte
    assert m.link(("data", "model"), 1e9, "permute") >= slow * 1e9


def test_redistribution_is_estimated_by_the_levels_that_its_steps_cross():
    """Partial over both axes, wanted split over `a`: one reduce-scatter over all, then an all-gather over `b`."""
    mesh = Mesh.parse("a=4,b=4")
    cluster = Cluster.preset("dgx-h100", nodes=4, gpus=4)
    gpus_last = model(cluster, mesh)
    gpus_first = model(cluster, Mesh.of(dict(mesh.axes), [4 * n + g for g in range(4) for n in range(4)]))
    src, dst = ShardSpec.of([(), ()], (("a", "sum"), ("b", "sum"))), ShardSpec.of([("a",), ()])
    shape = (4096, 4096)
    for m in (gpus_first, gpus_last):
        steps = plan(src, dst, shape, 4, mesh, m.link)
        assert [x.name for x in steps] == ["reduce_scatter", "all_gather"]
        whole = 2**26
        want = m.link(("a", "b"), 15 / 16 * whole, "reduce_scatter") + m.link(("b",), 3 / 4 * whole / 4, "all_gather")
        assert cost(src, dst, shape, 4, mesh, m.link)[0] == pytest.approx(want)
    assert gpus_last.link(("b",), 1e7, "all_gather") < gpus_first.link(("b",), 1e7, "all_gather")


def test_the_slowest_device_counts():
    mixed = Cluster.preset("mixed-v100-ascend910")
    both, npus = model(mixed, Mesh.parse("x=32")), model(mixed, Mesh.of({"x": 2}, [16, 17]))
    dot = "stablehlo.dot_general"
    assert npus.peak(dot, "f16") == 256e12 and both.peak(dot, "f16") == 125e12
    assert npus.seconds(dot, "f16", 256e12, 0.0) == 1.0


def test_the_mesh_must_fit():
    with pytest.raises(ClusterError, match="mesh x=25 has 25 positions; cluster 'summit' has 24 usable devices"):
        model(SUMMIT, Mesh.parse("x=25"))


def test_models_compare_by_what_they_estimate():
    mesh = Mesh.parse("x=24")
    a, b = model(SUMMIT, mesh), model(Cluster.preset("summit", nodes=4), mesh)
    a.link(("x",), 1.0, "all_reduce")
    assert a == b and hash(a) == hash(b)
    assert a != model(Cluster.preset("summit", nodes=5), mesh) and a != CostModel(Machine.default(), mesh)


def test_shares_of_late_and_of_other_collectives_are_hidden_apart():
    mesh = Mesh.parse("data=4,model=6")
    whole = CostModel(Machine.of(SUMMIT), mesh)
    for hidden, overlapped in ((0.5, 0.0), (0.0, 0.5), (0.25, 0.75)):
        m = CostModel(Machine.of(SUMMIT), mesh, Overlap(gradient=hidden, other=overlapped))
        for kind in KINDS:
            seconds = whole.link(("data",), 1e7, kind)
            assert m.link(("data",), 1e7, kind) == pytest.approx((1 - overlapped) * seconds)
        assert m.exposed(Timing.DEFERRED) == 1 - hidden and m.exposed(Timing.CRITICAL) == 1 - overlapped
