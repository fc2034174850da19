"""A controller in this process, and in a cluster's: what runs, reads and arrays of the host cost more.

    python -m bench.shared_cluster [--seconds 2] [--megabytes 1,8,64]

Of each: microseconds of a run of a program of one small addition on two devices, waited for each time (round trip);
programs/s with 32 under way; seconds to lower a program; GB/s of an array that goes from this process to the devices
with a run that adds it up, and of one that is read.  Of the cluster also seconds from `pcg-cluster start` until it is
ready.  Medians of repetitions, controllers in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

import pcg
from bench.island_processes import WARM, per_second


def timed(run: Callable[[], Any]) -> float:
    """Seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(client: Any, seconds: float, sizes: list[int], into: dict[str, list[float]]) -> None:
    """All figures of one controller, once."""
    with client:
        slice = client.request(2, island="island0")
        add = slice.function(lambda x: x + 1)
        small = np.zeros(2, np.float32)
        into.setdefault("lower s", []).append(timed(lambda: add.lower(small)))
        x = add(small)
        for _ in range(WARM):
            x = add(x).block_until_ready()
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            times.append(timed(lambda: add(x).block_until_ready()))
        into.setdefault("round trip us", []).append(1e6 * statistics.median(times))
        into.setdefault("programs/s", []).append(per_second(lambda: add(x), seconds))
        total, twice = slice.function(lambda x: x.sum()), slice.function(lambda x: 2 * x)
        for size in sizes:
            big = np.ones(size << 18, np.float32)
            total(big).block_until_ready()
            sent = statistics.median(timed(lambda b=big: total(b).block_until_ready()) for _ in range(5))  # type: ignore[misc]
            read = []
            for _ in range(5):
                y = twice(big).block_until_ready()
                read.append(timed(y.result))
            into.setdefault(f"to devices GB/s, {size} MB", []).append(big.nbytes / sent / 1e9)
            into.setdefault(f"read GB/s, {size} MB", []).append(big.nbytes / statistics.median(read) / 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--megabytes", default="1,8,64")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    sizes = [int(s) for s in args.megabytes.split(",")]
    with tempfile.TemporaryDirectory() as where:
        os.environ["XDG_RUNTIME_DIR"] = where
        tool = [sys.executable, "-m", "pcg.tools.pcg_cluster"]
        begin = timed(lambda: subprocess.run([*tool, "start", "--islands", "2", "--devices", "4"], check=True))
        print(f"start: {begin:.1f} s")
        found: dict[str, dict[str, list[float]]] = {"own": {}, "cluster": {}}
        try:
            with pcg.connect() as cluster, pcg.Controller(2, devices=jax.devices()[:4]) as own:
                for _ in range(args.rounds):
                    measure(own.client(), args.seconds, sizes, found["own"])
                    measure(cluster.client(), args.seconds, sizes, found["cluster"])
        finally:
            subprocess.run([*tool, "stop", "--now"], check=True)
    for name in found["own"]:
        print(f"{name}: own {statistics.median(found['own'][name]):.3g},"
              f" cluster {statistics.median(found['cluster'][name]):.3g}")  # fmt: skip


if __name__ == "__main__":
    main()
