"""Pipelines run on CPU devices against the same steps on one: numbers, memory, and what driving them costs.

    python -m bench.pipelined [--models gpt,bert] [--meshes 2x4,4x2,8x1] [--schedules 1f1b,zb-h1] [--microbatches 8]

Per model, mesh (stages x devices per stage) and schedule: the largest error of losses, relative to the loss, and of
parameters after five steps, relative to the largest change of any (a bias whose gradient is zero but for rounding has
nothing to be relative to); whether schedules of one placement agree to the bit; the planned peak of memory over what
arrays take in a run, and the peak at any speed over it, by group, the extremes; microseconds, median, that one thread
takes to put the run of a fragment, and a transfer, into the queues, beside those of one call of a compiled program of
one op on as many devices.
The machine is made slow, so that layouts inside of stages are really split.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import tempfile
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

import pcg
from bench.pipelined_models import MODELS, bits_equal, difference, trained
from pcg.machine import DeviceKind, Link, Machine
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.progress import peaks, planned_peaks

SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e8, 1e12), Link(bandwidth=1e9, latency=1e-9))
SCHEDULES = ("1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "auto")
STEPS = 5


def compiled(step, mesh: str, schedule: str, microbatches: int, batch: int):
    stages, devices = map(int, mesh.split("x"))
    axes = {"stage": stages, "data": devices} if devices > 1 else {"stage": stages}
    options = {"microbatches": microbatches, "schedule": schedule}
    return pcg.compile(step, axes, pipeline=options, machine=SLOW)


@functools.cache
def on_one_device(name: str):
    """A step, its arguments, and results of five steps of it."""
    step, args = MODELS[name]()
    return step, args, trained(jax.jit(step), args, STEPS)


def measure(name: str, mesh: str, schedule: str, microbatches: int):
    """(results of five steps, row of the table)."""
    step, args, want = on_one_device(name)
    program = compiled(step, mesh, schedule, microbatches, 16)
    start = time.perf_counter()
    executable = program.lower(*args)
    seconds = time.perf_counter() - start
    got = trained(program, args, STEPS)
    there = executable.counted(*args)
    planned, bound = (ratios(of(executable.instructions), there) for of in (planned_peaks, peaks))
    params, opt_state, _ = got
    times: dict[str, list[float]] = {}
    for _ in range(5):
        for d in executable.dispatched(params, opt_state, args[2]):
            times.setdefault(type(d.what).__name__, []).append(d.seconds)
        jax.block_until_ready(executable(params, opt_state, args[2]))
    typical = {kind: 1e6 * statistics.median(found) for kind, found in times.items()}
    call = 1e6 * one_call(int(mesh.split("x")[1]))
    row = (
        f"{name:8} {mesh:4} {schedule:12} loss {difference(got[2], want[2]):.1e}"
        f" params {error(got[0], want[0], args[0]):.1e}"
        f" planned/there {planned}, any speed {bound}, us per run {typical['Run']:.0f},"
        f" transfer {typical['Send']:.0f}, jax.jit call {call:.0f}; compiled in {seconds:.0f} s"
    )
    return got, row


def ratios(planned, there) -> str:
    """The least and the largest of planned bytes over those that are there, by group."""
    found = [a / b for a, b in zip(planned, there, strict=True)]
    return f"{min(found):.3f}-{max(found):.3f}"


def error(got, want, start) -> float:
    """The largest error of an element, relative to the largest change of one between `start` and `want`."""
    rows = [[np.asarray(x, np.float64) for x in jax.tree.leaves(tree)] for tree in (got, want, start)]
    change = max(float(np.abs(b - c).max()) for _, b, c in zip(*rows, strict=True) if b.size)
    return max(float(np.abs(a - b).max()) for a, b, _ in zip(*rows, strict=True) if b.size) / change


def one_call(devices: int) -> float:
    """Seconds, median, of a call of a compiled program of one op on so many devices."""
    mesh = jax.sharding.Mesh(jax.devices()[:devices], ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    x = jax.device_put(jax.numpy.zeros((64, 64)), sharding)
    call = jax.jit(lambda a: a + 1).lower(x).compile()
    times = []
    for _ in range(200):
        start = time.perf_counter()
        y = call(x)
        times.append(time.perf_counter() - start)
    jax.block_until_ready(y)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--meshes", default="2x4,4x2,8x1")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--microbatches", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Schedules of one placement have the same fragments, which XLA compiles once.
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        run(args)


def run(args: argparse.Namespace) -> None:
    for name in args.models.split(","):
        for mesh in args.meshes.split(","):
            results = {}
            for schedule in args.schedules.split(","):
                try:
                    results[schedule], row = measure(name, mesh, schedule, args.microbatches)
                except PipelineError as reason:
                    row = f"{name:8} {mesh:4} {schedule:12} none: {reason}"
                print(row, flush=True)
            linear = [r for s, r in results.items() if s in ("1f1b", "zb-h1", "zb-h2")]
            if len(linear) > 1:
                same = all(bits_equal(linear[0], r) for r in linear[1:])
                print(f"{name:8} {mesh:4} schedules agree to the bit: {'yes' if same else 'no'}", flush=True)


if __name__ == "__main__":
    main()
