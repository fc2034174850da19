"""Per-call overhead of a compiled trivial function, against `jax.jit` of the same function with the same shardings.

  python bench/bench_overhead.py [--calls 200] [--rounds 30]

The arguments already lie where they should, as in a training loop. A round is `--calls` calls of each, alternating.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import pcg
from bench.timing import seconds_per_call

BOUND = 1.2


def trivial(x: jax.Array) -> jax.Array:
    """One elementwise op on one array."""
    return x + 1.0


def tree(params: dict[str, jax.Array], batch: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """One elementwise op on each of many arrays in a tree, as a training step's signature has."""
    return {name: p + batch["x"][0, 0] for name, p in params.items()}


def measure(function: Any, args: Any, in_shardings: Any, calls: int, rounds: int) -> tuple[float, float]:
    """Median seconds per call of (pcg, jax)."""
    ours = pcg.compile(function, {"data": 2, "model": 4}, in_shardings=in_shardings)
    lowered = ours.lower(*args)
    theirs = jax.jit(function, in_shardings=lowered.input_shardings, out_shardings=lowered.output_shardings)
    placed = jax.device_put(args, lowered.input_shardings)
    for got, want in zip(jax.tree.leaves(ours(*placed)), jax.tree.leaves(theirs(*placed)), strict=True):
        np.testing.assert_array_equal(got, want)

    found = seconds_per_call({"pcg": ours, "jax": theirs}, placed, calls, rounds)
    return found["pcg"], found["jax"]


def main() -> int:
    """Entry point; the exit status says whether every ratio is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    array = jnp.ones((8, 16), jnp.float32)
    params = {f"w{i:03d}": array for i in range(64)}
    cases = {
        "one array": (trivial, (array,), (P("data", "model"),)),
        "tree of 65 arrays": (tree, (params, {"x": array}), ({name: P("data", "model") for name in params}, None)),
    }
    worst = 0.0
    print(f"{'case':<20}{'pcg us':>10}{'jax us':>10}{'ratio':>8}")
    for name, (function, args, shardings) in cases.items():
        ours, theirs = measure(function, args, shardings, options.calls, options.rounds)
        worst = max(worst, ours / theirs)
        print(f"{name:<20}{1e6 * ours:>10.1f}{1e6 * theirs:>10.1f}{ours / theirs:>8.2f}", flush=True)
    print(f"bound {BOUND}: {'held' if worst <= BOUND else 'BROKEN'}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
