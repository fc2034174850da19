"""Partitioning gaps that users of JAX have reported, each with a bound worked out by hand: ours, XLA's, the bound.

  python bench/known_gaps.py

Input and output shardings are fixed in every case, so both sides solve the same problem.  MiB are what one device
sends in ring algorithms; ours are counted in the lowered StableHLO, XLA's in compiled HLO (CPU).  The cases come from
public issues of JAX and XLA; each names its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from bench.collectives import of_stablehlo_text
from bench.hlo import of_hlo

MIB = 2**20
ONE, TWO, DPTP = (("d",), (8,)), (("x", "y"), (4, 2)), (("dp", "tp"), (2, 4))


@dataclass(frozen=True)
class Case:
    """A program with fixed shardings, and the fewest bytes a device has to send (worked out by hand)."""

    name: str
    function: Callable[..., Any]
    mesh: tuple[tuple[str, ...], tuple[int, ...]]
    inputs: tuple[P, ...]
    shapes: tuple[tuple[int, ...], ...]
    output: P | None
    bound: float
    why: str


def conv(groups: int) -> Callable[[Any, Any], Any]:
    """A 3x3 convolution, NHWC, padded to the same size."""
    return lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
    )


S = P("d")
LAST = P(None, "d")
IMAGE, KERNEL = (64, 32, 32, 32), (3, 3, 32, 64)
CASES = [
    Case("grouped conv, batch split (control, g=1)", conv(1), ONE, (S, P()), (IMAGE, KERNEL), S, 0, "nothing moves"),
    Case("grouped conv, batch split (xla#47945)", conv(4), ONE, (S, P()), (IMAGE, (3, 3, 8, 64)), S, 0,
         "nothing moves"),
    Case("reshard (y,-,x) to (-,xy,-) (jax#21562)", lambda a: a * 1.0, TWO, (P("y", None, "x"),), ((64, 64, 64),),
         P(None, ("x", "y"), None), 0.109375, "seven eighths of a shard of 0.125 MiB"),
    Case("matmul A[x,:] B[:,x] (xla#4062)", lambda a, b: a @ b, TWO, (P("x"), P(None, "x")),
         ((2048, 512), (512, 2048)), P("x"), 3.0, "gather B only"),
    Case("sequence-split x @ column-split w, out free", lambda x, w: x @ w, DPTP, (P("dp", "tp"), P(None, "tp")),
         ((8, 1024, 256), (256, 4096)), None, 3.0, "gather x, or w"),
    Case("lookup in a vocabulary-split table", lambda t, i: jnp.take(t, i.astype(jnp.int32), axis=0), DPTP,
         (P("tp"), P("dp")), ((32000, 256), (16, 128)), P("dp"), 1.5, "masked lookup, one all-reduce of 1 MiB"),
    Case("conv 3x3, rows split", conv(1), ONE, (P(None, "d"), P()), ((4, 256, 64, 16), (3, 3, 16, 16)),
         P(None, "d"), 0.03125, "one row from either side"),
    Case("cumsum along a split axis", lambda x: jnp.cumsum(x, 0), ONE, (S,), ((4096, 64),), S, 1792 / MIB,
         "a row of 64 sums to seven devices"),
    Case("top-8 along a split axis", lambda x: lax.top_k(x, 8)[0], ONE, (LAST,), ((64, 8192),), P(), 28672 / MIB,
         "eight candidates of every shard, values and places"),
    Case("roll by 1 along a split axis", lambda x: jnp.roll(x, 1, 0), ONE, (S,), ((4096, 64),), S, 256 / MIB,
         "one row"),
    Case("softmax along a split axis", lambda x: jax.nn.softmax(x, -1), ONE, (LAST,), ((256, 8192),), LAST,
         2 * 1792 / MIB, "two all-reduces of 256 numbers"),
    Case("first third of a split axis", lambda x: jnp.split(x, 3, -1)[0], ONE, (LAST,), ((512, 3072),), LAST, 0.75,
         "three blocks from the device that holds them"),
    Case("17 rows over 8 devices (jax#26946)", lambda x: jnp.tanh(x).reshape(17, 64) * 2, ONE, (P(),),
         ((17 * 64,),), None, 0, "nothing: the input is everywhere"),
]  # fmt: skip


def ours(case: Case) -> float:
    """MiB that one device sends under our plan."""
    axes = dict(zip(*case.mesh, strict=True))
    arguments = [jax.ShapeDtypeStruct(s, jnp.float32) for s in case.shapes]
    compiled = pcg.compile(case.function, axes, in_shardings=case.inputs, out_shardings=case.output)
    return of_stablehlo_text(compiled.lower(*arguments).as_text("local")).wire_bytes / MIB


def xla(case: Case) -> float:
    """MiB that one device sends when JAX and XLA partition the program."""
    names, sizes = case.mesh
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(sizes), names)
    arguments = [jax.ShapeDtypeStruct(s, jnp.float32) for s in case.shapes]
    shardings = tuple(NamedSharding(mesh, p) for p in case.inputs)
    out = None if case.output is None else NamedSharding(mesh, case.output)
    compiled = jax.jit(case.function, in_shardings=shardings, out_shardings=out).lower(*arguments).compile()
    return of_hlo(compiled.as_text(), 8).wire_bytes / MIB


def main() -> None:
    print(f"jax {jax.__version__}, 8 CPU devices; MiB sent per device")
    print(f"{'case':<46}{'pcg':>10}{'xla':>10}{'bound':>10}  verdict")
    for case in CASES:
        a, b = ours(case), xla(case)
        verdict = "at the bound" if a <= case.bound * 1.001 + 1e-9 else "above the bound"
        verdict += ", below xla" if a < b * 0.999 else "" if a <= b * 1.001 else ", ABOVE XLA"
        print(f"{case.name:<46}{a:>10.4f}{b:>10.4f}{case.bound:>10.4f}  {verdict} ({case.why})", flush=True)


if __name__ == "__main__":
    main()
