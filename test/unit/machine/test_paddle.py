"""Import of Paddle's cluster JSON."""

from __future__ import annotations

import json

import pytest

from pcg.machine import Cluster, ClusterError, paddle
from pcg.machine.topology import Topology


def machine(name: str, base: int, *, count: int = 8, block: int = 8, model: str = "Tesla V100-SXM2-32GB",
            kind: str = "GPU", nics: int = 1, slow: str = "SYS") -> dict:  # fmt: skip
    """A machine: accelerators joined by NVLink in blocks and over the host between them, a CPU, NICs."""
    devices = [
        {"global_id": base + i, "local_id": i, "type": kind, "model": f" {model}", "memory": "32",
         "sp_gflops": "15700", "dp_gflops": "7800"}
        for i in range(count)
    ]  # fmt: skip
    devices.append({"global_id": base + count, "local_id": 0, "type": "CPU", "model": "Xeon", "memory": "502",
                    "sp_gflops": "150", "dp_gflops": "75"})  # fmt: skip
    devices += [{"global_id": base + count + 1 + n, "local_id": n, "type": "NIC", "width": 12.5} for n in range(nics)]
    links = [
        {"source_global_id": base + i, "target_global_id": base + j,
         **({"type": "NVL", "bandwidth": 235.0} if i // block == j // block else {"type": slow, "bandwidth": 24.0})}
        for i in range(count) for j in range(count) if i != j
    ]  # fmt: skip
    links += [{"source_global_id": base + i, "target_global_id": base + count, "type": "PHB", "bandwidth": 24.0}
              for i in range(count)]  # fmt: skip
    return {"hostname": name, "addr": "10.0.0.1", "port": "60009", "devices": devices, "links": links}


def test_machines_of_eight(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"machines": [machine("a", 0), machine("b", 10)]}))
    c = Cluster.load(path)
    assert c == Cluster.from_paddle(path) == Cluster.parse(str(path))
    assert str(c) == "cluster: machines0: 16 Tesla V100-SXM2-32GB (2 machines of 8 devices)"
    inside, network = c.groups[0].levels
    assert (inside.name, inside.bandwidth, inside.latency) == ("nvl", 235e9, 0.6e-6)
    assert (network.bandwidth, network.ports, network.gateway) == (12.5e9, 1, True)
    kind = c.kinds[0]
    assert (kind.peak("f32"), kind.peak("f64"), kind.memory, kind.memory_bandwidth) == (15.7e12, 7.8e12, 32e9, 900e9)
    assert "not in the file" in kind.source["memory_bandwidth"]
    assert Topology(c).transfers([(0, 8, 1e9)]) == pytest.approx(5e-6 + 1 / 12.5)


def test_blocks_of_faster_links_are_a_level():
    c = paddle.loads(json.dumps({"machines": [machine("a", 0, block=4)]}))
    assert [(x.name, x.size, x.bandwidth) for x in c.groups[0].levels[:2]] == [("nvl", 4, 235e9), ("sys", 2, 24e9)]


def test_unlike_machines_are_groups_on_one_network():
    doc = {
        "machines": [machine("a", 0), machine("b", 10), machine("c", 20, model="Ascend 910", kind="NPU", nics=2)],
        "alpha_latency": {"inter": {"ring": 20.0, "tree": "NET"}, "intra": {"ring": "NVL", "tree": "PHB"},
                          "base": {"ring": 8.4}},
    }  # fmt: skip
    c = paddle.loads(json.dumps(doc))
    assert [(g.kind, g.size) for g in c.groups] == [("Tesla V100-SXM2-32GB", 16), ("Ascend 910", 8)]
    assert c.network is not None and (c.network.bandwidth, c.network.latency) == pytest.approx((25e9, 20e-6))
    assert c.kind("Ascend 910").memory_bandwidth == 1200e9  # that of the preset
    assert c.groups[1].levels[-1].ports == 2


def test_what_detection_writes():
    one = machine("a", 0, count=4)
    doc = {"meshes": [{"id": 0, "name": "GPU-A100", "machines": [one]}, {"id": 1, "name": "DCU", "machines": [one]}],
           "links": []}  # fmt: skip
    c = paddle.loads(json.dumps(doc))
    assert [g.name for g in c.groups] == ["GPU-A100", "DCU"] and c.size == 8


def test_a_machine_without_links_or_nics():
    bare = machine("a", 0, count=4, nics=0) | {"links": []}
    (inside, network) = paddle.loads(json.dumps({"machines": [bare]})).groups[0].levels
    assert inside.bandwidth == network.bandwidth == 24e9  # Paddle's default


@pytest.mark.parametrize(
    "doc, words",
    [
        ([], "not a cluster of Paddle: it has list; allowed: an object with 'machines' or 'meshes'"),
        ({"machines": []}, "there are no machines"),
        ({"machines": 3}, "machines of the file is 3; allowed: a list of objects"),
        ({"machines": [{"devices": []}]}, r"machines\[0\] has no accelerator"),
        ({"machines": [{}]}, r"devices of machines\[0\] is None"),
        ({"machines": [{"devices": [{"type": "GPU", "global_id": 3}]}]}, "device 3: sp_gflops is 0; allowed: a number above"),
        ({"machines": [{"devices": [{"type": "GPU", "sp_gflops": "fast"}]}]}, "sp_gflops is 'fast'; allowed: a number"),
        ({"machines": [machine("a", 0)], "alpha_latency": 3}, "alpha_latency is 3; allowed: an object"),
        ({"machines": [machine("a", 0)], "alpha_latency": {"intra": 3}}, "alpha_latency.intra is 3; allowed: an object"),
        ({"machines": [machine("a", 0)], "alpha_latency": {"intra": {"ring": 10**400}}}, "ring is 1000.*; allowed: a number, 0"),
        ({"machines": [{"devices": [{"type": "GPU", "sp_gflops": 10**400}]}]}, "sp_gflops is 1000.*; allowed: a number, 0"),
        ({"machines": [{"devices": [{"type": "GPU", "sp_gflops": "1e999"}]}]}, "sp_gflops is '1e999'; allowed: a number, 0"),
        ({"machines": [{"devices": [{"type": "GPU", "sp_gflops": float("nan")}]}]}, "sp_gflops is nan; allowed: a number, 0"),
        ({"machines": [{"devices": [{"type": "GPU", "sp_gflops": True}]}]}, "sp_gflops is True; allowed: a number, 0"),
        ({"machines": [machine("a", 0) | {"links": [{"source_global_id": [1]}]}]}, r"source_global_id is \[1\]; allowed"),
        ({"machines": [machine("a", 0, slow="RDMA", block=2)]}, "type is 'RDMA'; allowed: UNKNOWN, LOC, SYS"),
    ],
)
def test_errors(doc, words):
    with pytest.raises(ClusterError, match=f"<text>: .*{words}"):
        paddle.loads(json.dumps(doc))


def test_heterogeneous_devices_in_a_machine():
    mixed = machine("a", 0, count=2)
    mixed["devices"][1]["model"] = "A100"
    with pytest.raises(ClusterError, match="unlike accelerators"):
        paddle.loads(json.dumps({"machines": [mixed]}))
    with pytest.raises(ClusterError, match="not JSON"):
        paddle.loads("[" * 100_000)
    with pytest.raises(ClusterError, match="not JSON"):
        paddle.loads(f'{{"machines": {"9" * 5000}}}')
    with pytest.raises(ClusterError, match="not JSON"):
        paddle.loads("{")
