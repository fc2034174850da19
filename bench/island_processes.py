"""Islands in this process, in processes of their own and in actors of Ray, side by side: start, dispatch, bytes.

    python -m bench.island_processes [--backend embedded,processes,ray] [--seconds 2] [--megabytes 1,8] [--stages 2,4]

Of each backend: seconds from `pcg.Controller` until both islands have run a program; microseconds of a run of a program
of one small addition, waited for each time (round trip), and programs/s with 32 under way; bytes/s of a
value that one island sends and the other adds up, less the same sum of a value that is there.  Of other processes also
programs/s of a chain of stages, one on each island, dispatched in parallel and one island after another; of Ray also
microseconds of a call of an actor that does nothing, and calls/s with as many under way.  Ray itself is started before.
Medians of repetitions in one process, backends in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import pcg
from pcg.api.controller import BACKENDS
from pcg.runtime.islands.process_backend import ProcessBackend
from pcg.runtime.islands.ray_backend import RayBackend

#: Backends of islands in other processes.
ELSEWHERE: dict[str, Any] = {"processes": ProcessBackend, "ray": RayBackend}
#: Runs that are not timed.
WARM = 20
#: Runs that a client is ahead of those that are done, where throughput is measured.
AHEAD = 32


def two(backend: Any) -> tuple[pcg.Controller, pcg.Client, float]:
    """Two islands of two devices, and seconds until both have run a program."""
    start = time.perf_counter()
    controller = pcg.Controller(2, devices=jax.devices()[:4], backend=backend)
    client = controller.client()
    for island in ("island0", "island1"):
        slice = client.request(1, island=island)
        slice.function(lambda x: x + 1)(np.zeros(2, np.float32)).result()
        slice.release()
    return controller, client, time.perf_counter() - start


def per_second(run: Callable[[], Any], seconds: float) -> float:
    """Runs per second, of which so many are under way; else they would be put in line faster than they run."""
    ahead = deque(run() for _ in range(AHEAD))
    ahead[-1].block_until_ready()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        ahead.append(run())
        ahead.popleft().block_until_ready()
        count += 1
    ahead[-1].block_until_ready()
    return count / (time.perf_counter() - start)


def round_trip(run: Callable[[], Any], seconds: float) -> float:
    """Microseconds of a run that is waited for, median."""
    found = []
    for _ in range(WARM):
        run().block_until_ready()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run().block_until_ready()
        found.append(time.perf_counter() - start)
    return 1e6 * statistics.median(found)


def dispatch(client: pcg.Client, seconds: float) -> tuple[float, float]:
    """Round trip in microseconds, and programs/s, of one small addition on two devices."""
    slice = client.request(2, island="island0")
    add = slice.function(lambda x: x + 1)
    x = add(np.zeros(2, np.float32))
    found = round_trip(lambda: add(x), seconds), per_second(lambda: add(x), seconds)
    slice.release()
    return found


def bytes_per_second(client: pcg.Client, megabytes: int) -> float:
    """Of a value that is split over two devices of one island, and then over two of the other."""
    one, other = client.request({"x": 2}, island="island0"), client.request({"y": 2}, island="island1")
    rows = megabytes << 8
    make = one.function(lambda s: jnp.full((rows, 1024), s), in_shardings=(P(),))
    keep = one.function(lambda x: x * 1, in_shardings=(P("x"),))
    total = other.function(lambda x: x.sum(), in_shardings=(P("y"),))
    stay = one.function(lambda x: x.sum(), in_shardings=(P("x"),))
    x = keep(make(np.float32(1)))
    across, here = (client.program(lambda x, f=f: f(x)) for f in (lambda x: total(keep(x)), lambda x: stay(keep(x))))
    times: dict[Any, list[float]] = {across: [], here: []}
    for i in range(12):
        for program, found in times.items():
            start = time.perf_counter()
            program(x).block_until_ready()
            if i > 1:
                found.append(time.perf_counter() - start)
    one.release(), other.release()
    more = statistics.median(times[across]) - statistics.median(times[here])
    return (megabytes << 20) / more if more > 0 else float("nan")


def chain(backend: str, stages: int, mode: str, seconds: float) -> float:
    """Programs/s of a chain of small stages, each on an island of one device."""
    own = ELSEWHERE[backend](dispatch=mode)
    with pcg.Controller(stages, devices=jax.devices()[:stages], backend=own) as controller:
        client = controller.client()
        functions = [client.request(1, island=f"island{i}").function(lambda x: x + 1) for i in range(stages)]

        def through(x: Any) -> Any:
            for f in functions:
                x = f(x)
            return x

        program = client.program(through)
        x = functions[0](np.zeros(2, np.float32))
        return per_second(lambda: program(x), seconds)


def start_ray() -> None:
    """A Ray of this machine for all that follows, whatever it has."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    start = time.perf_counter()
    ray.init("local", num_cpus=64, include_dashboard=False, logging_level="ERROR", object_store_memory=100 << 20)
    print(f"Ray started in {time.perf_counter() - start:.1f} s")


def plain_calls(seconds: float) -> None:
    """Calls of an actor of Ray that does nothing."""
    import ray

    class Idle:
        def nothing(self) -> None:
            pass

    actor: Any = ray.remote(Idle).remote()
    ray.get(actor.nothing.remote())
    found = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        ray.get(actor.nothing.remote())
        found.append(time.perf_counter() - start)
    ahead = deque(actor.nothing.remote() for _ in range(AHEAD))
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        ahead.append(actor.nothing.remote())
        ray.get(ahead.popleft())
        count += 1
    rate = count / (time.perf_counter() - start)
    print(f"plain actor: call {1e6 * statistics.median(found):.0f} us, {rate:.0f} calls/s", flush=True)
    ray.kill(actor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="embedded,processes", help="of embedded, processes and ray, some")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--megabytes", default="1,8,64")
    parser.add_argument("--stages", default="2,4")
    own = parser.parse_args()
    sizes = [int(m) for m in own.megabytes.split(",")]
    backends = own.backend.split(",")
    if unknown := [b for b in backends if b not in BACKENDS]:
        parser.error(f"--backend {', '.join(unknown)}; allowed: {', '.join(BACKENDS)}")
    if "ray" in backends:
        start_ray()
        plain_calls(own.seconds)
    print("| backend | start, s | round trip, us | programs/s |" + "".join(f" {m} MB, MB/s |" for m in sizes))
    print("|---" * (4 + len(sizes)) + "|")
    jnp.zeros(2).block_until_ready()
    for backend in backends * 2:
        controller, client, started = two(backend)
        with controller:
            trip, rate = dispatch(client, own.seconds)
            speeds = [bytes_per_second(client, m) / 1e6 for m in sizes]
        row = f"| {backend} | {started:.2f} | {trip:.0f} | {rate:.0f} |"
        print(row + "".join(f" {s:.0f} |" for s in speeds), flush=True)
    for stages in map(int, own.stages.split(",")):
        for backend in (b for b in backends if b in ELSEWHERE):
            rates = {mode: chain(backend, stages, mode, own.seconds) for mode in ("parallel", "sequential")}
            text = ", ".join(f"{mode} {rate:.0f}" for mode, rate in rates.items())
            print(f"chain of {stages} islands, {backend}, programs/s: {text}", flush=True)


if __name__ == "__main__":
    main()
