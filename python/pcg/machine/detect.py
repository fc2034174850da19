"""The machine at hand as a cluster, from what the operating system and `nvidia-smi` say.  Needs no jax."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from pcg.machine import presets, profile_text
from pcg.machine.description import Description, Group
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind, generic
from pcg.machine.level import Level

#: NVLinks of a GPU, and bytes/s of one in a direction, by generation (NVIDIA's datasheets).
_NVLINK = {
    "V100": (6, 25e9), "A100": (12, 25e9), "A800": (8, 25e9), "H100": (18, 25e9), "H200": (18, 25e9),
    "H800": (8, 25e9), "B200": (18, 50e9),
}  # fmt: skip
#: What a GPU reaches over PCIe 4.0 x16, bytes/s.
_PCIE = 25e9


def detect(devices: int | None = None) -> Description:
    """See `Cluster.detect`."""
    if devices is None and (gpus := nvidia_gpus(_run("nvidia-smi", "--query-gpu=name,memory.total",
                                                     "--format=csv,noheader,nounits"))):  # fmt: skip
        return with_profile(gpu_cluster(gpus, nvlinks(_run("nvidia-smi", "topo", "-m"))), gpus[0][0])
    found = cpu_cluster(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=memory_bytes(),
        cpuinfo=_read("/proc/cpuinfo"),
        devices=devices or forced_devices(os.environ.get("XLA_FLAGS", "")),
    )
    return with_profile(found, processor(), "cpu")


def with_profile(cluster: Description, device: str, name: str = "") -> Description:
    """`cluster` with the profile that `pcg-calibrate` left of as many such devices, if it did on this machine.

    `device` is the model: a profile of another one, in a folder that several machines share, is left alone.

    Raises:
      ClusterError: what is there is no profile.
    """
    path = profile_text.default_path(name or device.replace(" ", "-"), cluster.size)
    if not path.is_file():
        return cluster
    profile = profile_text.load(path)
    if profile.provenance.get("device") != device or profile.devices != cluster.size:
        return cluster
    return replace(cluster, kinds=tuple(replace(k, profile=profile) for k in cluster.kinds))


def processor(cpuinfo: str | None = None) -> str:
    """The model of the host's processor (by `/proc/cpuinfo`); its architecture where the system does not say."""
    found = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo") if cpuinfo is None else cpuinfo)
    return found[1].strip() if found else platform.machine()


# -- processors --------------------------------------------------------------------------------------


def cpu_cluster(cores: int, memory: float, cpuinfo: str, devices: int) -> Description:
    """A host whose `cores` and `memory` XLA cuts into `devices`.

    The arithmetic rate is that of the vector units at the clock that the system names, at half of their peak; the
    memory bandwidth is a guess of 10 GB/s per core, up to 200.  `pcg-calibrate` measures instead.
    """
    if devices < 1:
        raise ClusterError(f"{devices} devices; allowed: 1 or more")
    per_cycle = flops_per_cycle(cpuinfo)
    total = 0.5 * cores * clock(cpuinfo) * per_cycle
    bandwidth = min(10e9 * cores, 200e9)
    share = total / devices
    source = {
        "flops": f"{cores} cores at {clock(cpuinfo) / 1e9:.2f} GHz, {per_cycle} FLOP per cycle, half of it, shared",
        "default_flops": "a quarter of that", "memory": "the operating system, shared",
        "memory_bandwidth": "guess: 10 GB/s per core up to 200, shared", "kernel_overhead": "guess",
        "collective_overhead": "guess",
    }  # fmt: skip
    kind = DeviceKind(
        "cpu", {"f64": share / 2, "f32": share}, share / 4, bandwidth / devices, memory / devices, 5e-6, 5e-6, source
    )
    level = Level(
        "memory", "devices", (devices,), "bus", bandwidth, 5e-6,
        source={"bandwidth": "guess: a copy at the memory's bandwidth", "latency": "guess"},
    )  # fmt: skip
    about = f"{cores} cores of {processor(cpuinfo)}, detected."
    return Description("detected", (kind,), (Group("host", "cpu", (level,)),), description=about)


def flops_per_cycle(cpuinfo: str) -> int:
    """f32 FLOP per core and cycle that the vector units do, by the flags of the processor."""
    flags = set(re.findall(r"\w+", cpuinfo))
    if "avx512f" in flags:
        return 64
    if "avx2" in flags and "fma" in flags:
        return 32
    if flags & {"asimd", "neon"}:
        return 16
    return 8


def clock(cpuinfo: str) -> float:
    """Hz, the nominal one in the processor's name if it is there; 2.5 GHz where the system does not say."""
    if named := re.search(r"@ ([\d.]+)\s*GHz", cpuinfo):
        return float(named[1]) * 1e9
    found = [float(x) for x in re.findall(r"cpu MHz\s*:\s*([\d.]+)", cpuinfo)]
    # It moves with the load: in steps of half a GHz it is the same from run to run.
    return max(1, round(max(found) / 500)) * 0.5e9 if found else 2.5e9


def memory_bytes() -> float:
    """Memory of the host; 8 GiB where the system does not say."""
    found = re.search(r"MemTotal:\s*(\d+) kB", _read("/proc/meminfo"))
    if found:
        return float(found[1]) * 1024
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return 8 * 2.0**30


def forced_devices(flags: str) -> int:
    """As how many devices XLA is told to take the host."""
    found = re.search(r"xla_force_host_platform_device_count=(\d+)", flags)
    return max(1, int(found[1])) if found else 1


# -- GPUs ----------------------------------------------------------------------------------------------


def nvidia_gpus(listing: str) -> list[tuple[str, float]]:
    """(name, bytes) of each GPU in the output of `nvidia-smi --query-gpu=name,memory.total`."""
    found = re.findall(r"^\s*(.+?)\s*,\s*(\d+)\s*$", listing, re.M)
    return [(name, float(mib) * 2**20) for name, mib in found]


def nvlinks(matrix: str) -> int:
    """NVLink lanes between any two GPUs, the fewest, in the output of `nvidia-smi topo -m`; 0 if some pair has none."""
    rows = re.findall(r"^GPU\d+\s+(.+)$", matrix, re.M)
    cells = [c for i, row in enumerate(rows) for j, c in enumerate(row.split()[: len(rows)]) if i != j]
    lanes = [int(c[2:]) if re.fullmatch(r"NV\d+", c) else 0 for c in cells]
    return min(lanes, default=0)


def gpu_cluster(gpus: list[tuple[str, float]], lanes: int) -> Description:
    """The GPUs of this host, which must be alike: on NVLink if there are `lanes` between any two, else on PCIe."""
    if len(set(gpus)) > 1:
        names = ", ".join(sorted({n for n, _ in gpus}))
        raise ClusterError(f"the GPUs of this machine are unlike ({names}); describe them in a file, a group per kind")
    name, memory = gpus[0]
    kind = _gpu_kind(name, memory)
    every, lane = next((x for f, x in _NVLINK.items() if f in name), (lanes, 25e9))
    topology, link, bandwidth, latency, reason = "switch", "pcie", _PCIE, 1e-6, "PCIe 4.0 x16, what is reached"
    if lanes:
        # With all of a GPU's links to each other GPU there is a switch between; else each pair has links of its own.
        topology = "switch" if lanes >= every or len(gpus) == 2 else "full"
        link, bandwidth, latency, reason = "nvlink", lanes * lane, 0.6e-6, f"nvidia-smi topo -m: NV{lanes}"
    source = {"bandwidth": reason, "latency": "NVIDIA/nccl src/graph/tuning.cc"}
    level = Level(link, "gpus", (len(gpus),), topology, bandwidth, latency, source=source)
    return Description(
        "detected", (kind,), (Group("host", kind.name, (level,)),), description=f"{len(gpus)} {name}, detected."
    )


def _gpu_kind(name: str, memory: float) -> DeviceKind:
    """The kind of a preset that `name` speaks of, with the memory that there is; else a generic one."""
    if known := presets.kind_in(name):
        return replace(known, memory=memory, source={**known.source, "memory": "nvidia-smi"})
    return replace(
        generic(), name=name.replace(" ", "-"), memory=memory,
        source={"": "no preset has this GPU: an A100's rates", "memory": "nvidia-smi"},
    )  # fmt: skip


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
