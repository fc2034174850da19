"""Steps without a barrier beside synchronous ones: planned time of a step, and wall time on CPU devices.

    python -m bench.post_validation [--meshes 4x1,2x2] [--schedules 1f1b,zb-h1,zb-h2] [--steps 12] [--rounds 5]

The model is a chain of dense layers with AdamW, a scale of the loss, a clip by the global norm and a check that all
gradients are finite. Per mesh (stages x devices per stage) and schedule: makespan and span of the schedule; then for
each form of updates the planned time of a step between others (instructions of several steps, one after another on each
group, with the estimated times of fragments; transfers take none), the planned peak of memory, the time of a step,
medians of rounds in which the three are measured in turn, and how many predictions were wrong when one step is clipped.
CPU devices share the cores of the machine, so that an idle device costs nothing: wall times show what driving the steps
costs, not bubbles.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import statistics
import time
from collections import deque

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from pcg.machine import DeviceKind, Link, Machine
from pcg.pipeline.instructions import Receive, Run, Send
from pcg.pipeline.overlap import UPDATES
from pcg.pipeline.progress import peaks

LIMIT = 0.5
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e8, 1e12), Link(bandwidth=1e9, latency=1e-9))


def train(stages: int, params, state, batch):
    """(parameters, state, loss) of a step."""

    def loss(p):
        each = len(p) // stages
        h, y = batch
        for i, (w, b) in enumerate(p):
            h = h + jnp.tanh(h @ w + b)
            h = pcg.stage_boundary(h) if (i + 1) % each == 0 and i < len(p) - 1 else h
        return jnp.mean((h - y) ** 2) * state["scale"]

    value, g = jax.value_and_grad(loss)(params)
    g = jax.tree.map(lambda a: a / state["scale"], g)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(g)]))
    norm = jnp.sqrt(sum(jnp.sum(a * a) for a in jax.tree.leaves(g)))
    factor = jnp.minimum(1.0, LIMIT / (norm + 1e-12))
    g = jax.tree.map(lambda a: a * factor, g)
    mean = jax.tree.map(lambda m, a: 0.9 * m + 0.1 * a, state["mean"], g)
    square = jax.tree.map(lambda s, a: 0.95 * s + 0.05 * a * a, state["square"], g)
    new = jax.tree.map(lambda p, m, s: p - 1e-3 * (m / (jnp.sqrt(s) + 1e-6) + 0.1 * p), params, mean, square)
    mean, square, new = (
        jax.tree.map(lambda a, b: jnp.where(finite, a, b), *pair)
        for pair in ((mean, state["mean"]), (square, state["square"]), (new, params))
    )
    scale = jnp.where(finite, state["scale"], state["scale"] / 2)
    return new, {"mean": mean, "square": square, "scale": scale}, value / state["scale"]


def arguments(layers: int, width: int):
    rng = np.random.default_rng(0)
    params = [
        ((0.02 * rng.standard_normal((width, width))).astype(np.float32), np.zeros(width, np.float32))
        for _ in range(layers)
    ]
    zeros = jax.tree.map(np.zeros_like, params)
    return params, {"mean": zeros, "square": zeros, "scale": np.float32(1024)}


def batches(count: int, batch: int, width: int, clipped: int = -1):
    """Batches; the gradients of one of them are too large."""
    rng = np.random.default_rng(1)
    for i in range(count):
        x = rng.standard_normal((batch, width)).astype(np.float32)
        yield x, (x + (100 if i == clipped else 0)).astype(np.float32)


def seconds(program, args, values, warm: int = 4) -> float:
    """Of a step in a run, after some steps."""
    run = program.steps(*jax.tree.map(jnp.asarray, args), batches=iter(values))
    jax.block_until_ready([*itertools.islice(run, warm)])
    start = time.perf_counter()
    jax.block_until_ready(([*run], run.state))
    return (time.perf_counter() - start) / (len(values) - warm)


def planned(executable, steps: int = 12) -> float:
    """Seconds of a step between others, where each device does its instructions one after another."""
    found = executable.steady
    times = {f.name: f.seconds for f in executable.program.fragments}
    left = [deque((n, what) for n in range(steps) for what in own) for own in found.lists]
    now = [0.0] * len(left)
    there: dict[tuple[int, int], float] = {}
    ends = [0.0] * steps
    while any(left):
        for d, own in enumerate(left):
            while own:
                n, what = own[0]
                if isinstance(what, Receive):
                    if (n, what.tag) not in there:
                        break
                    now[d] = max(now[d], there[n, what.tag])
                elif isinstance(what, Send):
                    there[n, what.tag] = now[d]
                elif isinstance(what, Run):
                    now[d] += times[what.fragment]
                ends[n] = max(ends[n], now[d])
                own.popleft()
    return (ends[-1] - ends[2]) / (steps - 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshes", default="4x1,2x2")
    parser.add_argument("--schedules", default="1f1b,zb-h1,zb-h2")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    o = parser.parse_args()
    args = arguments(o.layers, o.width)
    values = [*batches(o.steps, o.batch, o.width)]
    for mesh, schedule in itertools.product(o.meshes.split(","), o.schedules.split(",")):
        stages, devices = map(int, mesh.split("x"))
        axes = {"stage": stages, "data": devices} if devices > 1 else {"stage": stages}
        programs = {}
        for updates in UPDATES:
            options = {"microbatches": o.microbatches, "schedule": schedule, "updates": updates}
            programs[updates] = pcg.compile(
                functools.partial(train, stages), axes, pipeline=options,
                strategy="dataflow", donate_argnums=(0, 1), machine=SLOW
            )  # fmt: skip
            programs[updates].lower(*args, values[0])
        times: dict[str, list[float]] = {updates: [] for updates in UPDATES}
        for _ in range(o.rounds):
            for updates, program in programs.items():
                times[updates].append(seconds(program, args, values))
        plan = programs[UPDATES[0]].executable.schedule
        print(f"{mesh} {schedule}: makespan {1e6 * plan.makespan:.0f} us, span {1e6 * plan.span:.0f} us", flush=True)
        for updates, program in programs.items():
            rare = batches(o.steps, o.batch, o.width, o.steps // 2)
            run = program.steps(*jax.tree.map(jnp.asarray, args), batches=rare)
            jax.block_until_ready([*run])
            found, most = run.statistics, max(peaks(program.executable.steady))
            print(
                f"  {updates:14} planned {1e6 * planned(program.executable):.0f} us,"
                f" {1e3 * statistics.median(times[updates]):7.2f} ms per step, {most / 2**20:.2f} MiB;"
                f" with a clip {found.predicted} of {found.steps} predicted, {found.rolled_back} rolled back",
                flush=True,
            )


if __name__ == "__main__":
    main()
