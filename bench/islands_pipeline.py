"""A model in stages on islands against the same model on all devices as one (table 2 of Pathways).

    python -m bench.islands_pipeline [--stages 4] [--microbatches 8] [--width 256] [--rows 256] [--backend embedded]
        [--seconds 2] [--out DIR]

A multilayer perceptron of two layers a stage, trained by gradient descent.  Pipelined: each stage on an island of two
devices, microbatches one after another through a `client.program`, gradients added up.  SPMD: one function over all
devices of one island, that pcg plans.  Both take the same batches from the same parameters; their losses are compared.
Printed: steps a second, medians of rounds in turn, and the largest relative difference of losses.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from bench import islands

RATE = 0.05


def stage(params: Any, x: Any) -> Any:
    for w in params:
        x = x + jnp.tanh(x @ w)
    return x


def mean_square(h: Any, y: Any) -> Any:
    return jnp.mean((h - y) ** 2)


def model(stages: int, width: int, rows: int) -> tuple[Any, Any, Any]:
    """Parameters by stage, inputs and targets."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / width**0.5).astype(np.float32)  # noqa: E731
    return [[draw(width, width) for _ in range(2)] for _ in range(stages)], draw(rows, width), draw(rows, width)


def pipelined(client: pcg.Client, stages: int, microbatches: int) -> Any:
    """A training step as a program over islands."""
    slices = [client.request({"data": 2}, island=f"stage{i}") for i in range(stages)]
    own = [s.function(stage, strategy="data") for s in slices]
    head = slices[-1].function(mean_square, strategy="data")

    def step(params: Any, x: Any, y: Any) -> Any:
        def loss(params: Any, x: Any, y: Any) -> Any:
            for run, p in zip(own, params, strict=True):
                x = run(p, x)
            return head(x, y)

        total, sums = 0.0, None
        for one, two in zip(jnp.split(x, microbatches), jnp.split(y, microbatches), strict=True):
            value, grads = jax.value_and_grad(loss)(params, one, two)
            total += value / microbatches
            sums = grads if sums is None else jax.tree.map(jnp.add, sums, grads)
        return total, jax.tree.map(lambda p, g: p - RATE / microbatches * g, params, sums)

    return client.program(step, donate_argnums=0)


def spmd(client: pcg.Client, devices: int) -> Any:
    """The same step as one function."""

    def step(params: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for p in params:
                h = stage(p, h)
            return mean_square(h, y)

        value, grads = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    run = client.request({"data": devices}).function(step, strategy="data")
    return client.program(run, donate_argnums=0)


def pipeline_rows(args: argparse.Namespace) -> islands.Result:
    devices = jax.devices()[: 2 * args.stages]
    parts = {f"stage{i}": devices[2 * i : 2 * i + 2] for i in range(args.stages)}
    params, x, y = model(args.stages, args.width, args.rows)
    with (
        pcg.Controller(parts, backend=args.backend) as many,
        pcg.Controller({"all": devices}, backend=args.backend) as one,
    ):
        arms = {"pipelined": pipelined(many.client(), args.stages, args.microbatches)}
        arms["SPMD"] = spmd(one.client(), len(devices))
        states = dict.fromkeys(arms, params)
        losses: dict[str, list[float]] = {name: [] for name in arms}
        times: dict[str, list[float]] = {name: [] for name in arms}
        for name, step in arms.items():
            for _ in range(3):
                value, states[name] = step(states[name], x, y)
                losses[name].append(float(value))
        for _ in range(args.rounds):
            for name, step in arms.items():
                start, count, values = time.perf_counter(), 0, []
                while time.perf_counter() - start < args.seconds / args.rounds:
                    value, states[name] = step(states[name], x, y)
                    values.append(value)
                    count += 1
                values[-1].block_until_ready()
                times[name].append(count / (time.perf_counter() - start))
                losses[name] += [float(v) for v in values]
    both = list(zip(*losses.values(), strict=False))
    difference = max(abs(a - b) / abs(b) for a, b in both)
    return [
        {"arm": name, "backend": args.backend, "stages": str(args.stages), "microbatches": str(args.microbatches),
         "steps_compared": str(len(both)), "loss_difference": f"{difference:.1e}",
         "steps_per_second": statistics.median(own)}
        for name, own in times.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, default=4, help="of two devices each (default 4)")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--backend", default="embedded", choices=["embedded", "processes"])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each arm (default 2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    args = parser.parse_args()
    if 2 * args.stages > len(jax.devices()):
        parser.error(f"--stages {args.stages} need {2 * args.stages} devices; there are {len(jax.devices())}")
    if args.rows % (2 * args.microbatches):
        parser.error(f"--rows {args.rows} in {args.microbatches} microbatches on two devices; allowed: a multiple")
    islands.save("pipeline", pipeline_rows(args), args.out, "steps_per_second")


if __name__ == "__main__":
    main()
