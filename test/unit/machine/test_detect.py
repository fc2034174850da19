"""The machine at hand."""

from __future__ import annotations

import pytest

from pcg.machine import Cluster, ClusterError
from pcg.machine.detect import clock, cpu_cluster, flops_per_cycle, forced_devices, gpu_cluster, nvidia_gpus, nvlinks

XEON = "model name : Intel(R) Xeon(R) CPU @ 2.00GHz\ncpu MHz : 2600.1\nflags : fpu avx avx2 fma avx512f\n"


def test_this_machine():
    c = Cluster.detect(8)
    assert c.size == 8 and Cluster.loads(c.dumps()) == c == Cluster.detect(8)


def test_a_processor_is_shared_by_its_devices():
    one, four = (cpu_cluster(16, 64e9, XEON, n) for n in (1, 4))
    assert one.kinds[0].peak("f32") == 0.5 * 16 * 2e9 * 64 == 4 * four.kinds[0].peak("f32")
    assert (four.kinds[0].memory, four.groups[0].levels[0].topology) == (16e9, "bus")
    with pytest.raises(ClusterError, match="0 devices; allowed: 1 or more"):
        cpu_cluster(1, 1e9, "", 0)


def test_what_the_system_says():
    assert [flops_per_cycle(f"flags : {x}") for x in ("avx512f fma avx2", "fma avx2", "asimd", "")] == [64, 32, 16, 8]
    assert (clock(XEON), clock("cpu MHz : 2630.4\ncpu MHz : 1800.0"), clock("")) == (2e9, 2.5e9, 2.5e9)
    assert (forced_devices("--xla_force_host_platform_device_count=8 --a"), forced_devices("")) == (8, 1)


LIST = "NVIDIA H100 80GB HBM3, 81559\n" * 2
TOPO = """\tGPU0\tGPU1\tNIC0\tCPU Affinity
GPU0\t X \tNV18\tPIX\t0-47
GPU1\tNV18\t X \tSYS\t48-95
NIC0\tPIX\tSYS\t X
"""


def test_gpus_on_nvlink():
    c = gpu_cluster(nvidia_gpus(LIST), nvlinks(TOPO))
    level = c.groups[0].levels[0]
    assert (c.size, c.kinds[0].name, level.bandwidth) == (2, "H100-SXM5-80GB", 450e9)
    assert c.kinds[0].memory == 81559 * 2**20


def test_a_gpu_by_itself():
    c = gpu_cluster(nvidia_gpus("NVIDIA H200, 143771\n"), 0)
    assert (c.size, c.kinds[0].name, c.kinds[0].memory_bandwidth) == (1, "H200-SXM-141GB", 4.8e12)


def test_gpus_joined_in_pairs_and_without_nvlink():
    v100 = [("Tesla V100-SXM2-16GB", 16e9)] * 3
    assert gpu_cluster(v100, 2).groups[0].levels[0].topology == "full"
    level = gpu_cluster([("NVIDIA RTX 4090", 24e9)] * 2, nvlinks(TOPO.replace("NV18", "PHB"))).groups[0].levels[0]
    assert (level.name, level.bandwidth) == ("pcie", 25e9)


def test_unlike_gpus_are_refused():
    with pytest.raises(ClusterError, match="unlike .A, B."):
        gpu_cluster([("A", 1e9), ("B", 1e9)], 0)
