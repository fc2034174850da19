"""A pipelined program on clusters that are not there: how lowering, messages and memory grow with hosts and shards.

    python -m bench.islands_scale [--stages 16] [--microbatches 16] [--hosts 16 128 1024 2048] [--out FILE]

Forward and backward pass of `--stages` layers, each on a slice that is an island, for all microbatches, and an update:
one traced program. The islands have 8 devices per host. Tracer, passes, scheduler and store are those of every program;
only the devices are replaced by a clock. Printed for each number of hosts: seconds to trace and compile the program,
and to trace and lower it again when its nodes are compiled, milliseconds to launch a run; instructions, messages of a
run; what the program keeps in the controller's memory; simulated time of a step, dispatched to all islands at once and
to one after another.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

import pcg
from pcg.runtime.islands.simulated import SimulatedBackend, devices


def layer(w: Any, x: Any) -> Any:
    return jax.nn.gelu(x @ w)


def measured(hosts: int, stages: int, microbatches: int, dispatch: str) -> dict[str, Any]:
    """One program on so many hosts."""
    count = hosts * 8 // stages
    backend = SimulatedBackend(dispatch=dispatch)
    islands = {f"island{i}": devices(count) for i in range(stages)}
    rows, width = 8 * count, 1024
    with pcg.Controller(islands, backend=backend) as controller:
        client = controller.client()
        slices = [client.request({"data": count}, island=name) for name in islands]
        own = [s.function(layer, strategy="data") for s in slices]
        head = slices[-1].function(lambda h: jnp.mean(h * h), strategy="data")

        def step(ws: list[Any], xs: list[Any]) -> Any:
            def loss(ws: list[Any], x: Any) -> Any:
                for run, w in zip(own, ws, strict=True):
                    x = run(w, x)
                return head(x)

            total, sums = 0.0, None
            for x in xs:
                value, grads = jax.value_and_grad(loss)(ws, x)
                total += value
                sums = grads if sums is None else jax.tree.map(jnp.add, sums, grads)
            return total, jax.tree.map(lambda w, g: w - 0.01 * g, ws, sums)

        program = client.program(step)
        ws = [jax.ShapeDtypeStruct((width, width), jnp.float32)] * stages
        xs = [jax.ShapeDtypeStruct((rows, width), jnp.float32)] * microbatches
        gc.collect()
        start = time.perf_counter()
        lowered = program.lower(ws, xs)
        lowering = time.perf_counter() - start
        # The second time nodes are compiled already; what is left is the program's own.
        start = time.perf_counter()
        client.program(step).lower(ws, xs)
        own_lowering = time.perf_counter() - start
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        again = client.program(step).lower(ws, xs)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        values = [*ws, *xs]
        launch, at = [], backend.now
        for _ in range(3):
            start = time.perf_counter()
            futures = controller.dispatcher.submit(client.name, again.loaded, list(values))
            launch.append(time.perf_counter() - start)
            for f in futures:
                f.block_until_ready()
        step_seconds = (backend.now - at) / 3
        program_size = sum(len(s.instructions) for s in lowered.program.streams.values())
        return {
            "dispatch": dispatch, "hosts": hosts, "devices": hosts * 8, "compile_s": lowering, "lower_s": own_lowering,
            "launch_ms": min(launch) * 1e3, "instructions": program_size,
            "messages": sum(backend.messages.values()) / 3, "transfers": backend.transfers / 3,
            "kept_mib": kept / 2**20, "step_ms": step_seconds * 1e3,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, default=16)
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--hosts", type=int, nargs="+", default=[16, 128, 1024, 2048])
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    rows = []
    for hosts in args.hosts:
        for dispatch in ("parallel", "sequential"):
            rows.append(measured(hosts, args.stages, args.microbatches, dispatch))
    table = Table(title=f"{args.stages} stages, {args.microbatches} microbatches", title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:,.2f}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=140).print(table)
    if args.out is not None:
        args.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
