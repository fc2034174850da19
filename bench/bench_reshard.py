"""Our redistributions against what XLA does for the same pair of shardings, on eight CPU devices.

  python bench/bench_reshard.py [--ranks 1,2,3] [--pairs 60 | --all] [--mesh a=2,b=2,c=2] [--no-run] [--list 20]

For a pair of layouts, three programs move a 4 MiB float32 tensor from the one to the other:
  xla     `jax.jit` of the identity with these input and output shardings;
  pcg     our plan under the default machine, lowered: least time, so latency may be paid for with bytes;
  bytes   our plan where only bytes count.
Bytes are those one device sends, counted in the compiled HLO of all three by the same counter; a permute counts as a
whole shard. Times are medians of interleaved calls: they compare dispatch and copying in one memory, not networks.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from torch_mlir import ir

from bench.collectives import Traffic
from bench.hlo import of_hlo
from bench.timing import interleaved
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Link, Machine
from pcg.passes.dist_fuse_collectives import FuseCollectivesPass
from pcg.passes.dist_insert_reshards import InsertReshardsPass
from pcg.passes.pcg_lower_spmd import LowerSpmdPass
from pcg.runtime import jax_compat, placement

SHAPES = {1: (1 << 20,), 2: (1024, 1024), 3: (128, 128, 64)}
MACHINES = {
    "pcg": Machine.default(),
    "bytes": Machine(Machine.default().device, Link(bandwidth=1e4, latency=0.0)),
}


@dataclass(frozen=True)
class Row:
    """One pair: traffic and median seconds by program."""

    src: ShardSpec
    dst: ShardSpec
    traffic: dict[str, Traffic]
    seconds: dict[str, float]

    def __str__(self) -> str:
        parts = [f"{name}: {t.wire_bytes / 2**20:.4f} MiB, {counts(t)}" for name, t in self.traffic.items()]
        return f"{self.src} -> {self.dst}\n    " + "\n    ".join(parts)


def counts(traffic: Traffic) -> str:
    """Collectives by kind, those that move nothing left out."""
    return ", ".join(f"{n} {k}" for k, n in sorted(traffic.counts().items())) or "none"


def number(traffic: Traffic) -> int:
    """How many collectives run."""
    return sum(traffic.counts().values())


def layouts(mesh: Mesh, rank: int) -> list[ShardSpec]:
    """Every layout without partial axes."""
    found = set()
    for order in itertools.permutations(mesh.names):
        for at in itertools.product(range(-1, rank), repeat=len(order)):
            found.add(ShardSpec.of([[a for a, d in zip(order, at, strict=True) if d == i] for i in range(rank)]))
    return sorted(found, key=str)


def local_program(src: ShardSpec, dst: ShardSpec, shape: Sequence[int], mesh: Mesh, machine: Machine) -> str:
    """The lowered identity from `src` to `dst`."""
    with make_context():
        type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
        have, want = (shardings.to_attr(s) for s in (src, dst))
        module = ir.Module.parse(
            f'"dist.mesh"() {{sym_name = "mesh", value = {shardings.mesh_to_attr(mesh)}}} : () -> ()\n'
            f"func.func @main(%x: {type_} {{dist.spec = {have}}}) -> ({type_} {{dist.spec = {want}}})"
            f" {{ func.return %x : {type_} }}"
        )
        for p in (InsertReshardsPass(machine=machine), FuseCollectivesPass(machine=machine), LowerSpmdPass()):
            p.run(module.operation)
        return str(module)


def compiled(src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], mesh: Mesh, jax_mesh: Any) -> dict[str, Any]:
    """The three programs, compiled; equal plans share one."""
    have, want = (NamedSharding(jax_mesh, placement.partition_spec(s)) for s in (src, dst))
    x = jax.ShapeDtypeStruct(shape, jnp.float32)
    out = {"xla": jax.jit(lambda x: x, in_shardings=have, out_shardings=want).lower(x).compile()}
    texts: dict[str, Any] = {}
    for name, machine in MACHINES.items():
        text = local_program(src, dst, shape, mesh, machine)
        if text not in texts:
            local = jax_compat.LocalProgram(text, (jax.ShapeDtypeStruct(dst.local_shape(shape, mesh), jnp.float32),))
            body = jax_compat.shard_map(
                lambda x, local=local: jax_compat.inline_call(local, x)[0], jax_mesh, (have.spec,), want.spec
            )
            texts[text] = jax.jit(body, in_shardings=have, out_shardings=want).lower(x).compile()
        out[name] = texts[text]
    return out


def measure(src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], mesh: Mesh, jax_mesh: Any, rounds: int) -> Row:
    """Count, check and (with `rounds`) time one pair."""
    programs = compiled(src, dst, shape, mesh, jax_mesh)
    traffic = {name: of_hlo(p.as_text(), mesh.size) for name, p in programs.items()}
    seconds: dict[str, float] = {}
    if rounds:
        whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        x = jax.device_put(whole, NamedSharding(jax_mesh, placement.partition_spec(src)))
        for name, p in programs.items():
            np.testing.assert_array_equal(p(x), whole, err_msg=f"{name}: {src} -> {dst}")
        runs = {name: lambda p=p: jax.block_until_ready(p(x)) for name, p in programs.items() if name != "bytes"}
        seconds = interleaved(runs, rounds)
    return Row(src, dst, traffic, seconds)


def distribution(ratios: Sequence[float]) -> str:
    """Deciles that matter, and the geometric mean."""
    if not ratios:
        return "none"
    at = sorted(ratios)
    marks = [("min", 0.0), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("max", 1.0)]
    texts = [f"{name} {at[round(q * (len(at) - 1))]:.2f}" for name, q in marks]
    positive = [r for r in at if r > 0]
    return "  ".join(texts) + (f"  geomean {statistics.geometric_mean(positive):.2f}" if positive else "")


def report(rank: int, rows: Sequence[Row], listed: int) -> list[Row]:
    """Print one rank's table; the pairs where XLA moves fewer bytes than the plan for bytes."""
    xla = [r.traffic["xla"] for r in rows]
    print(f"\nrank {rank}: {len(rows)} pairs, {SHAPES[rank]} float32")
    lost: list[Row] = []
    for name in MACHINES:
        mine = [r.traffic[name] for r in rows]
        more = [r for r in rows if r.traffic[name].wire_bytes > r.traffic["xla"].wire_bytes + 0.5]
        fewer = sum(m.wire_bytes < t.wire_bytes - 0.5 for m, t in zip(mine, xla, strict=True))
        ratios = [m.wire_bytes / t.wire_bytes for m, t in zip(mine, xla, strict=True) if t.wire_bytes]
        total = sum(m.wire_bytes for m in mine), sum(t.wire_bytes for t in xla)
        print(
            f"  {name:<6} bytes: fewer {fewer}, equal {len(rows) - fewer - len(more)}, more {len(more)};"
            f" in all {total[0] / 2**20:.1f} against {total[1] / 2**20:.1f} MiB;"
            f" collectives {sum(map(number, mine))} against {sum(map(number, xla))}"
        )
        print(f"         bytes ratio to xla: {distribution(ratios)}")
        if name == "bytes":
            lost = more
    if rows[0].seconds:
        print(f"  pcg    time ratio to xla:  {distribution([r.seconds['pcg'] / r.seconds['xla'] for r in rows])}")
        slow = sorted(rows, key=lambda r: r.seconds["xla"] / r.seconds["pcg"])[: min(3, listed)]
        for r in slow:
            print(f"         slowest: {1e3 * r.seconds['pcg']:.2f} against {1e3 * r.seconds['xla']:.2f} ms, {r}")
    if lost:
        print(f"  XLA moves fewer bytes than our plan for bytes in {len(lost)} pairs:")
        for r in lost if listed < 0 else lost[:listed]:
            print(f"    {r}")
    return lost


def main() -> int:
    """Entry point; the exit status says whether XLA moves fewer bytes somewhere."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,3")
    parser.add_argument("--pairs", type=int, default=60, help="sampled pairs per rank")
    parser.add_argument("--all", action="store_true", help="every pair instead of a sample (an hour for rank 3)")
    parser.add_argument("--mesh", default="a=2,b=2,c=2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-run", action="store_true", help="count bytes only")
    parser.add_argument("--list", type=int, default=-1, help="how many pairs to list where XLA moves less (-1: all)")
    options = parser.parse_args()
    mesh = Mesh.parse(options.mesh)
    jax_mesh = jax_compat.jax_mesh(mesh, jax.devices()[: mesh.size])
    print(f"mesh {mesh}, XLA:CPU, jax {jax.__version__}")
    lost = 0
    for rank in map(int, options.ranks.split(",")):
        pairs = [p for p in itertools.product(layouts(mesh, rank), repeat=2) if p[0] != p[1]]
        if not options.all:
            pairs = random.Random(options.seed).sample(pairs, min(options.pairs, len(pairs)))
        rounds = 0 if options.no_run else options.rounds
        rows = [measure(a, b, SHAPES[rank], mesh, jax_mesh, rounds) for a, b in pairs]
        lost += len(report(rank, rows, options.list))
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
