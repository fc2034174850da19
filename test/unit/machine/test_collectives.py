"""The time of collectives: closed forms on small networks, algorithms, contention."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.machine import Cluster, DeviceKind, Group, Level
from pcg.machine.collectives import (
    CostLine,
    GroupCollectives,
    cost_lines,
    envelope,
    exchange_line,
    seconds,
    wire_factor,
)
from pcg.machine.topology import Topology

KIND = DeviceKind("k", {"f32": 1e12}, 1e11, 1e12, 1e10)
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute")
MB = 1e6


def net(*levels: Level) -> Cluster:
    return Cluster("test", (KIND,), (Group("g", "k", levels),))


def level(topology: str, *shape: int, bandwidth: float = 1e9, latency: float = 1e-6, **more) -> Level:
    return Level(topology, "blocks", shape, topology, bandwidth, latency, **more)


def best(c: Cluster, groups, kind: str, size: float) -> tuple[str, float]:
    line = min(cost_lines(c, tuple(map(tuple, groups)), kind), key=lambda x: x.seconds(size))
    return line.algorithm, line.seconds(size)


# -- closed forms --------------------------------------------------------------------------------


def test_switch_all_reduce_of_much_sends_twice_all_but_one_share():
    c = net(level("switch", 4))
    _, t = best(c, [range(4)], "all_reduce", 100 * MB)
    assert t == pytest.approx(2 * 3 / 4 * 0.1 + 2 * 2e-6)  # halving: 2 log2(4) latencies


def test_switch_all_reduce_of_little_takes_log_n_latencies():
    assert best(net(level("switch", 8)), [range(8)], "all_reduce", 1) == ("tree", pytest.approx(3e-6 + 3e-9))


def test_a_ring_is_as_fast_as_its_links_either_way_round():
    """Bidirectional ring of 5: 4 steps, each link carries half of a fifth per step, both ways."""
    c = net(level("ring", 5))
    name, t = best(c, [range(5)], "all_gather", 100 * MB)
    assert (name, t) == ("ring", pytest.approx(4 * 1e-6 + 4 / 5 * 0.1 / 2))


def test_full_mesh_uses_every_link_at_once():
    """Direct reduce-scatter of 4: each pair has a link of its own, which carries a quarter."""
    c = net(level("full", 4))
    name, t = best(c, [range(4)], "reduce_scatter", 100 * MB)
    assert t == pytest.approx(3e-6 + 0.1 / 4)
    assert name in ("ring", "direct")


def test_bus_carries_all_that_is_sent():
    c = net(level("bus", 4))
    _, t = best(c, [range(4)], "all_gather", 100 * MB)
    assert t == pytest.approx(4 * 3 / 4 * 0.1, rel=1e-3)


def test_torus_keeps_all_its_links_busy():
    """4x4x4, six links a chip: an all-reduce of B takes 2 * 63/64 * B over six links."""
    c = net(level("torus", 4, 4, 4))
    name, t = best(c, [range(64)], "all_reduce", 1e9)
    assert name == "torus"
    assert t == pytest.approx(2 * 63 / 64 * 1.0 / 6, rel=1e-3)


def test_a_torus_dimension_uses_its_own_links_alone():
    c = net(level("torus", 4, 4))
    rows, columns = [range(4 * i, 4 * i + 4) for i in range(4)], [range(i, 16, 4) for i in range(4)]
    for groups in (rows, columns):
        assert seconds(c, groups, "all_gather", 100 * MB) == pytest.approx(3e-6 + 3 / 4 * 0.1 / 2)


def test_routes_on_a_torus_are_the_shorter_way_round():
    ring, line = net(level("ring", 6)), net(level("ring", 6, wrap=(False,)))
    assert Topology(ring).transfers([(0, 5, MB)]) == pytest.approx(1e-6 + 1e-3)
    assert Topology(line).transfers([(0, 5, MB)]) == pytest.approx(5e-6 + 1e-3)
    # Half way round: either way takes half.
    assert Topology(ring).transfers([(0, 3, MB)]) == pytest.approx(3e-6 + 0.5e-3)


def test_transfers_over_one_link_add_up():
    line = Topology(net(level("ring", 4, wrap=(False,))))
    assert line.transfers([(0, 2, MB), (1, 3, MB)]) == pytest.approx(2e-6 + 2e-3)  # both over 1-2
    assert line.transfers([(0, 1, MB), (1, 2, MB)]) == pytest.approx(1e-6 + 1e-3)
    assert line.transfers([(0, 1, MB), (1, 0, MB)]) == pytest.approx(1e-6 + 1e-3)  # full duplex
    assert line.transfers([]) == line.transfers([(2, 2, MB)]) == 0


# -- hierarchy and contention ------------------------------------------------------------------------

#: Two nodes of four: 10 GB/s inside, one NIC of 1 GB/s each.
NODES = net(level("switch", 4, bandwidth=10e9), level("switch", 2, latency=5e-6))


def test_hierarchical_beats_a_flat_ring_and_is_the_sum_of_its_phases():
    """Reduce-scatter inside (3/4 B at 10 GB/s), all-reduce of the quarters across, all-gather inside."""
    size = 100 * MB
    _, t = best(NODES, [range(8)], "all_reduce", size)
    phases = 2 * 3 / 4 * size / 10e9 + 2 * 1 / 2 * size / 1e9
    assert t <= phases * (1 + 1e-3)
    flat_direct = 2 * 4 * 4 / 8 * size / 1e9  # every device sends half of its shares through the one NIC
    assert t < flat_direct / 1.9


def test_groups_that_cross_at_once_share_the_nic():
    crossing = [(i, i + 4) for i in range(4)]
    alone = seconds(NODES, crossing[:1], "all_gather", 100 * MB)
    together = seconds(NODES, crossing, "all_gather", 100 * MB)
    assert alone == pytest.approx(5e-6 + 0.05)
    assert together == pytest.approx(5e-6 + 4 * 0.05)


def test_each_gpu_with_its_own_nic_does_not_share():
    c = net(level("switch", 4, bandwidth=10e9), level("switch", 2, ports=4, latency=5e-6))
    crossing = [(i, i + 4) for i in range(4)]
    assert seconds(c, crossing, "all_gather", MB) == seconds(c, crossing[:1], "all_gather", MB)


def test_one_device_has_only_its_share_of_the_nics():
    one, four = (net(level("switch", 4, bandwidth=10e9), level("switch", 2, ports=n)) for n in (1, 4))
    assert seconds(four, [(0, 4)], "permute", MB) == seconds(one, [(0, 4)], "permute", MB)


def test_summit_gpus_of_a_node_share_two_rails():
    summit = Cluster.preset("summit", nodes=2)
    crossing = [(i, i + 6) for i in range(6)]
    t = Topology(summit)
    assert t.transfers([(0, 6, 1e9)]) == pytest.approx(2.7e-6 + 1 / 12.5)
    assert t.transfers([(a, b, 1e9) for a, b in crossing]) == pytest.approx(2.7e-6 + 6 / 25)
    # Over the X bus three pairs share 32 GB/s; inside a socket each has 50.
    assert t.transfers([(i, i + 3, 1e9) for i in range(3)]) == pytest.approx(1e-6 + 3 / 32)
    assert t.transfers([(0, 1, 1e9), (1, 2, 1e9)]) == pytest.approx(0.6e-6 + 1 / 50)


def test_a_gateway_is_on_the_way_out():
    """GPUs on a PCIe switch: traffic to the other socket goes over the GPU's own PCIe port as well."""
    def host(gateway: bool) -> Topology:
        return Topology(net(level("switch", 4, gateway=gateway), level("full", 2, bandwidth=100e9)))

    assert host(True).transfers([(0, 4, 1e9)]) == pytest.approx(1e-6 + 1.0)
    assert host(False).transfers([(0, 4, 1e9)]) == pytest.approx(1e-6 + 0.01)


def test_oversubscription_slows_all_at_once_only():
    c = net(level("switch", 8, oversubscription=4.0))
    shift = [(i, (i + 1) % 8) for i in range(8)]
    assert exchange_line(c, shift).per_byte == pytest.approx(4e-9)
    assert exchange_line(c, shift[:2]).per_byte == pytest.approx(1e-9)


def test_heterogeneous_groups_meet_over_the_network():
    mixed = Cluster.preset("mixed-v100-ascend910")
    t = Topology(mixed)
    assert t.transfers([(0, 16, 1e9)]) == pytest.approx(10e-6 + 1 / 12.5)
    # Two from one node: they share its NIC; from two nodes: the two uplinks.
    assert t.transfers([(0, 16, 1e9), (1, 17, 1e9)]) == pytest.approx(10e-6 + 2 / 12.5)
    assert t.transfers([(0, 16, 1e9), (8, 17, 1e9)]) == pytest.approx(10e-6 + 2 / 25)
    for kind in KINDS:
        assert seconds(mixed, [range(32)], kind, MB) > 0


def test_a_permute_is_estimated_by_its_pairs():
    inside, across = [(0, 1), (1, 0)], [(0, 4), (4, 0)]
    assert exchange_line(NODES, inside).per_byte == pytest.approx(1e-10)
    assert exchange_line(NODES, across).per_byte == pytest.approx(1e-9)
    assert exchange_line(NODES, [(3, 3)]) == CostLine(0.0, 0.0, "direct")


def test_uneven_groups_still_have_a_cost():
    """A failed device: groups of 5 over two nodes, 3 and 2."""
    for kind in KINDS:
        assert 0 < seconds(NODES, [(0, 1, 2, 4, 5)], kind, MB) < 1


def test_one_device_alone_talks_to_nobody():
    assert all(seconds(NODES, [(0,), (1,)], kind, MB) == 0 for kind in KINDS)
    with pytest.raises(ValueError, match="unknown collective 'scatter'; allowed: all_reduce, "):
        seconds(NODES, [(0, 1)], "scatter", MB)


def test_large_all_to_all_is_estimated_by_levels():
    big = Cluster.preset("dgx-h100", nodes=256)
    found = cost_lines(big, (tuple(range(2048)),), "all_to_all")
    assert "direct" not in {x.algorithm for x in found}
    # Seven of eight to other nodes through one NIC: no faster than that.
    assert min(x.per_byte for x in found) >= 255 / 256 / 50e9 * 0.999


def test_envelope_keeps_what_is_lowest_somewhere():
    a, b, c, d = CostLine(0, 4, "a"), CostLine(1, 3, "b"), CostLine(2, 1, "c"), CostLine(3, 2, "d")
    assert envelope([d, c, b, a]) == (a, c)
    for x in (0.0, 0.3, 0.5, 1.0, 2.0, 9.0):
        assert min(y.seconds(x) for y in (a, c)) == min(y.seconds(x) for y in (a, b, c, d))


# -- what must always hold ---------------------------------------------------------------------------

shapes = st.one_of(
    st.tuples(st.sampled_from(["switch", "bus", "full", "ring"]), st.tuples(st.integers(1, 4))),
    st.tuples(st.just("torus"), st.tuples(st.integers(1, 3), st.integers(1, 4))),
)
networks = st.lists(
    st.builds(
        lambda s, bandwidth, latency, ports: level(s[0], *s[1], bandwidth=bandwidth, latency=latency, ports=ports),
        shapes, st.floats(1e8, 1e12), st.floats(0, 1e-4), st.integers(1, 4),
    ),
    min_size=1, max_size=3,
).map(lambda levels: net(*levels))  # fmt: skip


def drawn_groups(c: Cluster, data) -> list[list[int]]:
    n = data.draw(st.sampled_from([d for d in range(1, c.size + 1) if c.size % d == 0]))
    order = data.draw(st.permutations(range(c.size))) if data.draw(st.booleans()) else list(range(c.size))
    return [list(order[i : i + n]) for i in range(0, c.size, n)]


@settings(deadline=None, max_examples=60)
@given(networks, st.data(), st.floats(1, 1e9), st.floats(1, 10), st.sampled_from(KINDS))
def test_more_bandwidth_or_less_latency_never_takes_longer(c, data, size, factor, kind):
    groups = drawn_groups(c, data)
    which = data.draw(st.integers(0, len(c.groups[0].levels) - 1))
    for change in ("bandwidth", "latency"):
        x = c.groups[0].levels[which]
        scale = factor if change == "bandwidth" else 1 / factor
        better = dataclasses.replace(x, **{change: getattr(x, change) * scale})
        changed = tuple(better if i == which else y for i, y in enumerate(c.groups[0].levels))
        after = net(*changed)
        assert seconds(after, groups, kind, size) <= seconds(c, groups, kind, size) * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(networks, st.data(), st.floats(1, 1e9), st.sampled_from(KINDS))
def test_fewer_groups_and_fewer_bytes_never_take_longer(c, data, size, kind):
    groups = drawn_groups(c, data)
    whole = seconds(c, groups, kind, size)
    assert seconds(c, groups, kind, size / 2) <= whole
    assert seconds(c, groups, kind, size * 2) >= whole
    if kind == "permute":  # to the next alone: nothing else there is only less
        assert seconds(c, groups[:1], kind, size) <= whole * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(networks, st.data(), st.floats(1e3, 1e9))
def test_an_all_reduce_costs_no_more_than_its_halves_and_not_cheaper_than_one(c, data, size):
    groups = drawn_groups(c, data)
    scatter, gather = (seconds(c, groups, k, size) for k in ("reduce_scatter", "all_gather"))
    whole = seconds(c, groups, "all_reduce", size)
    assert whole <= (scatter + gather) * (1 + 1e-9)
    # Nobody sends less than all but its share through the fastest link that a device can have.
    if len(groups[0]) > 1:
        fastest = max(x.bandwidth * x.ports * max(x.size, 2) for x in c.groups[0].levels) * 8
        assert whole >= wire_factor("all_gather", len(groups[0])) * size / fastest


@given(st.randoms(), st.sampled_from(KINDS), st.sampled_from([(2, 8), (4, 4), (16, 1), (2, 4)]))
@settings(max_examples=60, deadline=None)
def test_only_a_permute_depends_on_the_order_of_devices(random, kind: str, shape: tuple[int, int]) -> None:
    cluster = net(level("switch", 4, bandwidth=5e9), level("switch", 4, ports=2, gateway=True))
    devices = list(range(16))
    random.shuffle(devices)
    count, size = shape
    groups = tuple(tuple(devices[i * size : (i + 1) * size]) for i in range(count))
    by_itself = GroupCollectives(Topology(cluster), groups).cost_lines(kind)
    known = cost_lines(cluster, groups, kind)
    assert [x.algorithm for x in known] == [x.algorithm for x in by_itself]
    for a, b in zip(known, by_itself, strict=True):
        assert (a.start, a.per_byte) == pytest.approx((b.start, b.per_byte), rel=1e-12)
