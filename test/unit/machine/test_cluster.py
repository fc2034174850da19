"""Clusters: numbering, parts, text, presets and their errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pcg
from pcg.layout import Mesh
from pcg.machine import Cluster, ClusterError, DeviceKind, Group, Level, Machine
from pcg.machine.topology import Topology
from pcg.machine.units import UNITS, quantity, shown

KIND = DeviceKind("k", {"f32": 1e12}, 1e11, 1e12, 1e10)


def cluster(*levels: Level, **more) -> Cluster:
    return Cluster("test", (KIND,), (Group("g", "k", levels),), **more)


def switch(size: int, bandwidth: float = 1e9, latency: float = 1e-6, **more) -> Level:
    return Level("level", f"of{size}", (size,), "switch", bandwidth, latency, **more)


@pytest.mark.parametrize("name", Cluster.presets())
def test_every_preset_loads_and_names_the_source_of_every_figure(name):
    found = Cluster.preset(name)
    assert found.devices == tuple(range(found.size))
    for kind in found.kinds:
        for figure in ("flops", "default_flops", "memory", "memory_bandwidth", "kernel_overhead", "collective_overhead"):
            assert kind.source.get(figure) or kind.source.get(""), (kind.name, figure)
    for level in [x for g in found.groups for x in g.levels]:
        for figure in ("size", "topology", "bandwidth", "latency", *(("ports",) if level.ports > 1 else ())):
            assert level.source.get(figure) or level.source.get(""), (level.name, figure)


@pytest.mark.parametrize("name", Cluster.presets())
def test_text_of_a_preset_reads_as_the_same_cluster(name):
    found = dataclasses.replace(Cluster.preset(name), failed=frozenset({1, 3}), spare=frozenset({0}))
    again = Cluster.loads(found.dumps())
    assert again == found and hash(again) == hash(found)
    assert again.dumps() == found.dumps()


def test_summit_is_as_the_published_figures_say():
    summit = pcg.Cluster.preset("summit", nodes=32)
    assert summit.size == 192
    assert summit.coordinates(0) == (0, 0, 0, 0) and summit.coordinates(191) == (0, 31, 1, 2)
    node = summit.groups[0].levels[2]
    assert node.ports * node.bandwidth == 25e9  # dual-rail EDR
    assert Machine.of(summit).device.peak("f16") == 125e12


def test_sizes_of_presets():
    assert Cluster.parse("preset:summit:8") == Cluster.preset("summit", nodes=8)
    assert Cluster.parse("preset:tpu-v4:4x4x4").groups[0].levels[0].shape == (4, 4, 4)
    assert Cluster.parse("preset:dgx-h100:nodes=2,gpus=4").size == 8
    assert Cluster.parse("preset:mixed-v100-ascend910:gpu_nodes=1,npu_nodes=4").size == 8 + 32
    pod, slice_ = (Cluster.preset("tpu-v5e", chips=s).groups[0].levels[0] for s in ((16, 16), (8, 16)))
    assert [pod.wraps(0), slice_.wraps(0), slice_.wraps(1)] == [True, False, True]


@pytest.mark.parametrize(
    "text, words",
    [
        ("preset:nope", "unknown preset 'nope'; there are cpu, "),
        ("preset:summit:x", "cannot read size 'x'"),
        ("preset:summit:racks=3", "no 'racks' to count; it has gpus, nodes, sockets"),
        ("preset:tpu-v4:8", "chips is 8; allowed: 3 positive numbers"),
        ("preset:summit:0", "nodes is 0; allowed: a positive number"),
        ("preset:mixed-v100-ascend910:2", "say which is '2': gpu_nodes=N, npu_nodes=N"),
    ],
)
def test_wrong_presets(text, words):
    with pytest.raises(ClusterError, match=words):
        Cluster.parse(text)


TEXT = """
name = "two"
failed = [1]
spare = ["6-7"]
[kinds.gpu]
flops = {f32 = "10 TFLOP/s"}
default_flops = 5e12
memory = "16 GiB"
memory_bandwidth = "900 GB/s"
[[groups]]
name = "nodes"
kind = "gpu"
[[groups.levels]]
name = "nvlink"
joins = "gpus"
size = 4
topology = "full"
bandwidth = "50 GB/s"
latency = "0.6 us"
[[groups.levels]]
name = "ib"
joins = "nodes"
size = 2
topology = "switch"
bandwidth = "100 Gbit/s"
latency = 3e-6
gateway = true
"""


def test_a_description_is_read():
    c = Cluster.loads(TEXT)
    assert str(c) == "two: nodes: 8 gpu (2 nodes of 4 gpus), 1 failed, 2 spare"
    assert c.devices == (0, 2, 3, 4, 5)
    kind = c.kinds[0]
    assert (kind.memory, kind.memory_bandwidth, kind.flops["f32"]) == (16 * 2**30, 900e9, 10e12)
    assert c.groups[0].levels[1].bandwidth == 12.5e9


@pytest.mark.parametrize(
    "old, new, words",
    [
        ('name = "two"', 'colour = "red"', "unknown key 'colour' in the file; allowed: name, "),
        ('memory = "16 GiB"', 'memory = "16 apples"', "kinds.gpu.memory: '16 apples' is not a quantity in B; allowed: "),
        ('memory = "16 GiB"', 'memory = "16 GB/s"', "not a quantity in B;"),
        ('memory = "16 GiB"', "memory = -1", "memory is -1; allowed: a number above 0"),
        ('memory = "16 GiB"', "", "kinds.gpu has no key 'memory'; needed: "),
        ("f32 =", "float =", "unknown element type 'float'; allowed: f64, f32"),
        ('kind = "gpu"', 'kind = "tpu"', "group 'nodes': unknown kind 'tpu'; there are 'gpu'"),
        ("size = 4", "size = 4.5", r"groups\[0\].levels\[0\].size is 4.5; allowed: a whole number"),
        ("size = 4", "size = 0", r"groups\[0\].levels\[0\]: level 'nvlink': size is \[0\]"),
        ("size = 4", "size = [2, 2]", r"size is \[2, 2\] of a 'full'; allowed: one number"),
        ('"full"', '"star"', "unknown topology 'star'; allowed: switch, bus, full, ring, torus"),
        ('"full"', '"torus"', r"size is \[4\] of a 'torus'; allowed: two or more numbers"),
        ('latency = "0.6 us"', 'latency = "0.6 us"\nwrap = true', "wrap is for topology ring or torus; this is 'full'"),
        ('latency = "0.6 us"', 'latency = "0.6 us"\ngateway = true', "gateway is for topology switch or bus"),
        ('latency = "0.6 us"', 'latency = "0.6 us"\nports = 0', "ports is 0; allowed: 1 or more"),
        ("gateway = true", "gateway = 1", "gateway is 1; allowed: true, false"),
        ("gateway = true", "oversubscription = 0.5", "oversubscription is 0.5"),
        ("failed = [1]", "failed = [8]", "failed device 8 does not exist; devices are 0 to 7"),
        ("failed = [1]", 'failed = "1"', "failed is '1'; allowed: a list of device numbers and ranges"),
        ("failed = [1]", 'failed = ["0-7"]', "no device left: all 8 are failed or spare"),
        ("gateway = true", "gateway = true\nsource = {colour = 'a'}", "source.colour of groups.* is of no figure there"),
        ("failed = [1]", "failed = [1", "not TOML: "),
        ("size = 4", "size = 1000000000000", r"size is \[1000000000000\]; allowed: up to 65536 blocks in all \(line 1"),
        ("size = 4", "size = 40000", "cluster 'two' has 80000 devices .*; allowed: up to 65536"),
        ("size = 4", "size = true", "size is True; allowed: a whole number"),
        ("size = 4", f"size = {'9' * 5000}", "not TOML: "),
        ("failed = [1]", 'failed = ["0-1000000000000"]', "failed names '0-1000000000000'; allowed: devices 0 to 65535"),
        ("failed = [1]", "failed = [1000000000000]", "failed names 1000000000000; allowed: devices 0 to 65535"),
        ("failed = [1]", 'failed = ["\u00b2-\u00b3"]', "allowed: a list of device numbers and ranges"),
        ("failed = [1]", 'failed = ["7-3"]', "failed names '7-3'; allowed: .*ranges rising"),
        ('memory = "16 GiB"', f"memory = 1{'0' * 400}", r"not a quantity in B; allowed: a finite number"),
        ('memory = "16 GiB"', "memory = nan", "nan is not a quantity in B; allowed: a finite number"),
        ('memory = "16 GiB"', "memory = inf", "inf is not a quantity in B"),
        ('memory = "16 GiB"', 'memory = "1e999 GB"', "'1e999 GB' is not a quantity in B"),
        ('memory = "16 GiB"', "memory = true", "True is not a quantity in B"),
        ('memory = "16 GiB"', "memory = 1e-300", "memory is 1e-300; allowed: a number above 0"),
        ('latency = "0.6 us"', 'latency = "0.6 us"\nports = 1000000000000', "ports is 1000000000000; allowed: 1 or more, up"),
        ("gateway = true", "oversubscription = nan", "oversubscription is nan"),
        ("gateway = true", "oversubscription = inf", "oversubscription is inf"),
        ("gateway = true", f"oversubscription = 1{'0' * 400}", "oversubscription is 1000.*; allowed: 1 or more"),
        ("latency = 3e-6", "latency = nan", "latency: nan is not a quantity in s"),
        ("latency = 3e-6", "latency = -3e-6", r"latency is -3e-06 s; allowed: 0 up to 10 s \(line 2"),
    ],
)
def test_errors_name_the_key_the_value_and_what_is_allowed(old, new, words):
    assert old in TEXT
    with pytest.raises(ClusterError, match=words):
        Cluster.loads(TEXT.replace(old, new, 1))


def test_groups_need_a_network_and_names():
    one = Group("a", "k", (switch(2),))
    with pytest.raises(ClusterError, match="2 groups and no network between them"):
        Cluster("c", (KIND,), (one, dataclasses.replace(one, name="b")))
    with pytest.raises(ClusterError, match="two groups named 'a'"):
        Cluster("c", (KIND,), (one, one), switch(2))
    with pytest.raises(ClusterError, match="allowed: a switch of its 2 groups"):
        Cluster("c", (KIND,), (one, dataclasses.replace(one, name="b")), switch(3))


def test_spare_devices_take_over():
    c = cluster(switch(4), spare=frozenset({3}))
    after = c.with_failed([0])
    assert after.devices == (1, 2, 3) and not after.spare and after.failed == {0}
    assert c.with_failed([0, 1]).devices == (2, 3)
    assert c.with_failed([3]).devices == (0, 1, 2)
    mixed = Cluster.preset("mixed-v100-ascend910")
    mixed = dataclasses.replace(mixed, spare=frozenset({31}))
    assert mixed.with_failed([0]).spare == {31}  # an NPU does not stand in for a GPU
    assert mixed.with_failed([16]).devices[-1] == 31


def test_part_of_a_cluster_is_evenly_filled():
    summit = Cluster.preset("summit", nodes=4)
    assert summit.take(8).devices == (0, 1, 3, 4, 6, 7, 9, 10)
    assert summit.take(3).devices == (0, 1, 2)
    assert summit.take(6).devices == (0, 1, 2, 3, 4, 5)
    assert summit.only([0]).take(1).devices == (0,)
    with pytest.raises(ClusterError, match="25 devices of 'summit'; allowed: 1 to 24"):
        summit.take(25)
    with pytest.raises(ClusterError, match="device 5 of 'summit' cannot be used; usable are 0-4, 6-23"):
        summit.with_failed([5]).only([5])


def test_where_a_mesh_lies():
    c = cluster(switch(4), failed=frozenset({1}))
    assert c.device_of(Mesh.parse("x=3")) == (0, 2, 3)
    assert c.device_of(Mesh.of({"x": 2}, [3, 0])) == (3, 0)
    with pytest.raises(ClusterError, match="mesh x=4 has 4 positions; cluster 'test' has 3 usable devices"):
        c.device_of(Mesh.parse("x=4"))
    with pytest.raises(ClusterError, match="names device 1, which is failed of cluster 'test'; usable are 0, 2-3"):
        c.device_of(Mesh.of({"x": 2}, [1, 0]))


def test_heterogeneous_devices_run_at_the_pace_of_the_slowest():
    mixed = Cluster.preset("mixed-v100-ascend910")
    both, gpus = Machine.of(mixed).device, Machine.of(mixed, Mesh.of({"x": 2}, [0, 1])).device
    assert gpus.name == "V100-SXM2-32GB"
    assert both.peak("f16") == 125e12 and both.memory_bandwidth == 900e9
    assert both.peak("i8") == 15.7e12  # on a V100 as fast as its vector units


@given(st.floats(1e-12, 1e18), st.sampled_from(sorted(UNITS)))
def test_a_shown_quantity_reads_as_itself(value, unit):
    assert quantity(shown(value, unit), unit) == pytest.approx(value, rel=1e-3)


names = st.text("abcxyz\"\\ é\n'", min_size=1, max_size=6)
levels = st.builds(
    lambda name, joins, topology, a, b, bandwidth, latency, ports, flags: Level(
        name, joins, (a, b) if topology == "torus" else (a,), topology, bandwidth, latency, ports,
        gateway=flags[0] and topology in ("switch", "bus"),
        oversubscription=1.5 if flags[1] and topology == "switch" else 1.0,
        wrap=() if topology not in ("ring", "torus") else 4 if flags[0] else flags[1:] if topology == "torus" else (),
    ),
    names, names, st.sampled_from(["switch", "bus", "full", "ring", "torus"]), st.integers(1, 4), st.integers(1, 3),
    st.floats(1, 1e15), st.floats(0, 1), st.integers(1, 8), st.tuples(st.booleans(), st.booleans(), st.booleans()),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(levels, min_size=1, max_size=3), names, st.floats(1, 1e18))
def test_text_reads_as_the_same_cluster(these, name, rate):
    kind = DeviceKind(name, {"f32": rate}, rate, rate, rate, 1e-7, 1e-7, {"": "somewhere"})
    c = Cluster(name, (kind,), (Group(name, name, tuple(these)),), description=name)
    assert Cluster.loads(c.dumps()) == c


# -- large ones, and odd files ---------------------------------------------------------------------


def test_errors_name_the_line_of_the_key():
    lines = TEXT.splitlines()
    for key, wrong in (("bandwidth = \"100 Gbit/s\"", "bandwidth = 0"), ("f32 = ", "f32 = 0, f64 = "), ("size = 2", "size = 0")):
        number = next(n for n, x in enumerate(lines, 1) if key in x)
        with pytest.raises(ClusterError, match=rf"\(line {number}\)") as caught:
            Cluster.loads(TEXT.replace(key, wrong, 1), path="c.toml")
        assert str(caught.value).startswith("c.toml: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["preset:summit:10000000000", "preset:" + "x" * 500, f"preset:summit:{'9' * 5000}", "preset:tpu-v4:1000x1000x1000", "preset:cpu:1000000000000"],
)
def test_presets_have_a_largest_size(text):
    with pytest.raises(ClusterError, match="allowed: |there are |write ") as caught:
        Cluster.parse(text)
    assert len(str(caught.value)) < 300


def test_a_cluster_of_many_devices_gives_some_of_them(tmp_path):
    c = Cluster.preset("summit", nodes=10_000)
    assert c.size == 60_000
    # As of a small one: the first sockets, evenly filled.
    assert c.take(8).devices == Cluster.preset("summit", nodes=4).take(8).devices == (0, 1, 3, 4, 6, 7, 9, 10)
    assert Machine.of(c, Mesh.of({"x": 8})).device.name == c.kinds[0].name


def test_taking_devices_is_even_where_some_cannot_be_used():
    c = Cluster.preset("summit", nodes=3).with_failed([1, 8])
    assert c.take(4).devices == (0, 2, 3, 4)
    assert c.take(15).devices == c.devices[:15]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a = " + b"[" * 100_000, b"x = 1\x00"])
def test_files_that_are_no_text(tmp_path, data):
    path = tmp_path / "c.toml"
    path.write_bytes(data)
    with pytest.raises(ClusterError, match="c.toml: not ") as caught:
        Cluster.load(path)
    assert "\n" not in str(caught.value)


def test_links_between_all_of_many_blocks_are_not_listed():
    level = Level("wide", "devices", (60_000,), "full", 1e9, 1e-6)
    c = Cluster("wide", Cluster.preset("cpu").kinds, (Group("g", "cpu", (level,)),))
    assert Topology(c).transfers([(0, 59_999, 1e6), (5, 7, 2e6)]) == pytest.approx(1e-6 + 2e6 / 1e9)


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("shape", [(200,), (150, 3)])
def test_long_rings_carry_what_shorter_steps_add_up_to(monkeypatch, shape, wrap):
    level = Level("r", "devices", shape, "torus" if len(shape) > 1 else "ring", 1e9, 1e-6, wrap=(wrap,) * len(shape))
    c = Cluster("r", Cluster.preset("cpu").kinds, (Group("g", "cpu", (level,)),))
    rng = np.random.default_rng(0)
    ends, amount = rng.integers(0, level.size, (2, 400)).tolist(), (rng.random(400) * 1e6).tolist()
    pairs = list(zip(*ends, amount, strict=True))
    far = Topology(c).transfers(pairs)
    monkeypatch.setattr("pcg.machine.topology._HOPS", 1000)
    assert far == pytest.approx(Topology(c).transfers(pairs), rel=1e-9)
