"""What one thread costs that drives a pipeline, and whether devices wait for it.

    python -m bench.dispatch [--stages 4] [--microbatches 8] [--width 1024] [--rows 256] [--trace step.html]

Two pipelines of dense layers on CPU devices: one of tiny layers, whose runs cost little but their dispatch, and one
whose runs take milliseconds. Of both: the medians of what the thread needs for a run of a fragment and for a transfer,
beside a call of a program compiled by `jax.jit`. Of the second also which runs came into the queue of their device only
after it had done all that was there: those waited for Python. `--trace` draws the step: devices, and the thread that
drives them.

Devices of a CPU share its cores: times of runs say nothing about other machines, those of the thread do.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from bench.pipelined import one_call
from pcg.pipeline.instructions import Run
from pcg.runtime.dispatch import Dispatch, waiting_on_host
from pcg.viz.page.timeline import timeline_page
from pcg.viz.timeline import Event, Timeline


def step(params, x):
    """Gradient descent on dense layers."""

    def loss(params):
        h = x
        for w in params:
            h = jnp.tanh(h @ w)
        return (h * h).mean()

    value, grads = jax.value_and_grad(loss)(params)
    return [w - 0.01 * g for w, g in zip(params, grads, strict=True)], value


def pipeline(stages: int, microbatches: int, width: int, rows: int):
    """(executable, arguments) with two layers a stage, and `rows` examples in a microbatch."""
    rng = np.random.default_rng(0)
    params = [rng.standard_normal((width, width), np.float32) / np.sqrt(width) for _ in range(2 * stages)]
    x = rng.standard_normal((rows * microbatches, width), np.float32)
    options = {"microbatches": microbatches, "schedule": "zb-h1"}
    executable = pcg.compile(step, {"stage": stages}, pipeline=options).lower(params, x)
    params, _ = executable(params, x)
    return executable, (params, x)


def medians(dispatches: Sequence[Dispatch]) -> str:
    """Microseconds of runs and transfers."""
    times: dict[str, list[float]] = {}
    for d in dispatches:
        times.setdefault(type(d.what).__name__, []).append(1e6 * d.seconds)
    return ", ".join(f"{name} {statistics.median(times[name]):.0f}" for name in ("Run", "Send", "Receive", "Free"))


def timeline(executable, dispatches: Sequence[Dispatch]) -> Timeline:
    """Devices and the thread; a device begins a run when it has done the one before, or when the run is there."""
    host, events = len(executable.groups), []
    done: dict[int, float] = {}
    for d in dispatches:
        if not isinstance(d.what, Run):
            continue
        kind = executable.step.fragment[d.what.fragment].kind
        label = "" if d.what.microbatch is None else str(d.what.microbatch)
        events.append(Event(host, label, kind, d.start, d.end, (str(d.what),)))
        if d.done is not None:
            start = min(max(done.get(d.device, 0.0), d.end), d.done)
            events.append(Event(d.device, label, kind, start, d.done, (str(d.what),)))
            done[d.device] = d.done
    names = (*(f"device {g}" for g in range(host)), "thread")
    return Timeline("A step as it was dispatched, and as it ran", names, tuple(events), units=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--stages", type=int, default=4)
    p.add_argument("--microbatches", type=int, default=8)
    p.add_argument("--width", type=int, default=1024)
    p.add_argument("--rows", type=int, default=256)
    p.add_argument("--repeat", type=int, default=9)
    p.add_argument("--trace", metavar="FILE", help="write an HTML page with the last step")
    args = p.parse_args()
    print(f"a call by jax.jit: {1e6 * one_call(1):.0f} us")
    for width, rows in ((16, 4), (args.width, args.rows)):
        executable, data = pipeline(args.stages, args.microbatches, width, rows)
        every: list[Dispatch] = []
        late: list[float] = []
        runs, longest = 0, []
        for _ in range(args.repeat):
            found = executable.dispatched(*data)
            every += found
            late += [seconds for _, seconds in waiting_on_host(found)]
            runs += sum(isinstance(d.what, Run) for d in found)
            longest.append(max(d.done or 0.0 for d in found))
        print(f"width {width}, {rows} rows: us, median: {medians(every)}")
        busy = statistics.median(longest) / (runs / args.repeat / args.stages)
        print(f"  a step of {1e3 * statistics.median(longest):.1f} ms, {1e3 * busy:.2f} ms per run of a device")
        most = f", by {1e6 * max(late):.0f} us at most" if late else ""
        print(f"  {len(late)} of {runs} runs came after their device had done all before them{most}")
    if args.trace:
        with open(args.trace, "w", encoding="utf-8") as out:
            out.write(timeline_page([timeline(executable, found)], "dispatch"))


if __name__ == "__main__":
    main()
