"""Heterogeneous groups of devices, and processes on a two-level network: what pcg makes of them, by the simulator.

  python bench/heterogeneous.py                     both tables
  python bench/heterogeneous.py groups --tokens 4194304
  python bench/heterogeneous.py ranks --seed 3

groups: a training step on the V100 and Ascend 910 nodes of `preset:mixed-v100-ascend910`.  One row per way to use them:
either group alone, all as the slowest, shares of the batch, stages.  Each is searched, lowered and simulated.
ranks: programs on several meshes whose processes are numbered mesh by mesh, on nodes of eight GPUs; seconds of a step
with the processes on the devices in that order, and as pcg-map-ranks places them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
import numpy as np
from torch_mlir import ir

from pcg.frontend import jax_program
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.machine import Cluster, Machine
from pcg.machine.ranks import map_ranks
from pcg.machine.traffic import GroupExchange, Messages, Traffic
from pcg.passes.pcg_choose_groups import ChooseGroupsPass
from pcg.passes.pcg_lower_processes import LowerProcessesPass
from pcg.passes.pcg_map_ranks import MapRanksPass
from pcg.passes.pipeline import Pipeline
from pcg.simulate import simulate_processes


def mlp_step(weights: Any, x: Any, y: Any) -> Any:
    """A step of plain gradient descent of residual feed-forward layers in half precision."""

    def loss(ws: Any) -> Any:
        h = x
        for up, down in ws:
            h = h + jax.nn.relu(h @ up) @ down
        return jnp.mean((h - y).astype(jnp.float32) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - (1e-3 * g).astype(w.dtype), weights, gradient), value


def traced(step: Callable[..., Any], *shapes: Any) -> ir.Module:
    """The step as a module, ready for the choice."""
    module = load_module(jax_program.trace(step, shapes, {}).source, make_context(), "<bench>")
    Pipeline("prepare").run(module)
    return module


def groups(tokens: int, width: int, layers: int, cluster: Cluster) -> None:
    """The table of strategies for heterogeneous groups."""
    half = jnp.float16
    layer = (jax.ShapeDtypeStruct((width, 4 * width), half), jax.ShapeDtypeStruct((4 * width, width), half))
    batch = jax.ShapeDtypeStruct((tokens, width), half)
    module = traced(mlp_step, [layer] * layers, batch, batch)
    print(cluster)
    print(f"{layers} feed-forward layers of width {width}, {tokens} tokens a step, half precision\n")
    start = time.perf_counter()
    choose = ChooseGroupsPass(machine=Machine.of(cluster))
    choose.run(module.operation)
    spent = time.perf_counter() - start
    best = choose.chosen
    assert best is not None
    print(f"| {'strategy':62s} | ms per step | of the best | GiB per device |\n|{'-' * 64}|---|---|---|")
    for plan in choose.tried:
        mark = "**" if plan is best else ""
        if plan.failure:
            print(f"| {plan.name:62s} | no plan: {plan.failure[:60]} | | |")
        else:
            ms = f"{mark}{1e3 * plan.seconds:.2f}{mark}"
            print(f"| {plan.name:62s} | {ms:>11s} | {plan.seconds / best.seconds:11.2f} | {plan.peak / 2**30:14.2f} |")
    print(f"\nchosen in {spent:.1f} s")
    if best.strategy in ("shared", "staged"):
        LowerProcessesPass(machine=Machine.of(cluster)).run(module.operation)
        every = {d: d for d in cluster.devices}
        by_process = simulate_processes(module.operation, Machine.of(cluster), devices=every)
        print(f"its processes, simulated one by one with their messages: {1e3 * by_process.seconds:.2f} ms per step")


def towers(x: Any, weights: Any) -> Any:
    """As many towers as there are meshes, on the same data; each passes what it has on to the next but one."""
    import pcg

    names = [f"m{i}" for i in range(len(weights))]
    pairs = list(zip(names, weights, strict=True))
    hidden = [pcg.shard(x, ("x", None), mesh=n) @ pcg.shard(w, (None, None), mesh=n) for n, w in pairs]
    half = len(names) // 2
    return [
        jnp.tanh(pcg.shard(hidden[(i + half) % len(names)], ("x", None), mesh=n) @ pcg.shard(w, (None, None), mesh=n))
        for i, (n, w) in enumerate(pairs)
    ]


def ranks(seed: int, cluster: Cluster) -> None:
    """The table of placements of processes."""
    import pcg

    print(cluster)
    print(f"\n| {'exchanges':58s} | in order, us | greedy | placed | gain |\n|{'-' * 60}|---|---|---|---|")
    n = len(cluster.devices)
    for name, traffic in exchanges(seed, n):
        greedy, placed = (map_ranks(cluster, traffic, m) for m in ("greedy", "auto"))
        gain = placed.naive / placed.seconds
        times = (f"{1e6 * t:.1f}" for t in (placed.naive, greedy.seconds, placed.seconds))
        print(f"| {name:58s} | {' | '.join(times)} | {gain:.2f} |")
    count, size = 4, n // 4
    meshes = {f"m{i}": pcg.Mesh.of({"x": size}, [i * size + k for k in range(size)]) for i in range(count)}
    shapes = jax.ShapeDtypeStruct((8192, 1024), jnp.float32), [jax.ShapeDtypeStruct((1024, 1024), jnp.float32)] * count
    program = pcg.processes.lower(towers, meshes, *shapes)
    module = load_module(program.as_text("stages"), make_context(), "<bench>")
    rank = MapRanksPass(machine=Machine.of(cluster))
    simulated = []
    for mapped in (False, True):
        copy = load_module(str(module), make_context(), "<bench>")
        if mapped:
            rank.run(copy.operation)
        LowerProcessesPass(machine=Machine.of(cluster)).run(copy.operation)
        every = {d: d for d in range(n)}
        simulated.append(simulate_processes(copy.operation, Machine.of(cluster), devices=every).seconds)
    found = rank.ranking
    assert found is not None
    print(f"\nfour towers on meshes of {size}, each sends to the one after next: a simulated step takes"
          f" {1e6 * simulated[0]:.1f} us in order, {1e6 * simulated[1]:.1f} us placed"
          f" (exchanges alone {1e6 * found.naive:.1f} and {1e6 * found.seconds:.1f} us)")  # fmt: skip


def exchanges(seed: int, n: int) -> list[tuple[str, Traffic]]:
    """Traffic patterns of n processes by name."""
    rng = np.random.default_rng(seed)
    half = n // 2
    pairs = Messages(tuple((i, i + half, 64e6) for i in range(half)) + tuple((i + half, i, 64e6) for i in range(half)))
    strided = GroupExchange("all_reduce", tuple(tuple(range(i, n, half)) for i in range(half)), 64e6)
    inner = GroupExchange("all_reduce", tuple(tuple(range(i, n, n // 4)) for i in range(n // 4)), 128e6)
    outer = GroupExchange("all_reduce", tuple(tuple(range(i * (n // 4), (i + 1) * (n // 4))) for i in range(4)), 2e6)
    shuffled = rng.permutation(n)
    stencil = np.zeros((n, n))
    for a in range(n):
        for b in (a - 1, a + 1):
            if 0 <= b < n:
                stencil[shuffled[a], shuffled[b]] = 32e6
    sparse = np.where(rng.random((n, n)) < 3 / n, rng.integers(1, 64, (n, n)) * 1e6, 0)
    return [
        ("two meshes, each process to the one at its place", Traffic(n, (pairs,))),
        ("gradients between two meshes (all-reduce of pairs)", Traffic(n, (strided,))),
        ("a talkative axis that is numbered outermost", Traffic(n, (inner, outer))),
        ("a chain of stages in shuffled order", Traffic.of_matrix(stencil)),
        ("random messages, three a process", Traffic.of_matrix(sparse)),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    p.add_argument("what", nargs="*", choices=("groups", "ranks", []), help="which tables (default: both)")
    p.add_argument("--tokens", type=int, default=1 << 20)
    p.add_argument("--width", type=int, default=2048)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--cluster", default="preset:mixed-v100-ascend910", help="of heterogeneous groups")
    p.add_argument("--network", default="preset:dgx-h100:nodes=2", help="for ranks: two levels")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(argv)
    what = args.what or ["groups", "ranks"]
    if "groups" in what:
        groups(args.tokens, args.width, args.layers, Cluster.parse(args.cluster))
    if "ranks" in what:
        print()
        ranks(args.seed, Cluster.parse(args.network))


if __name__ == "__main__":
    main()
