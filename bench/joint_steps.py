"""Wall time of a training step on 8 forced CPU devices, with substitutions and without, and as jax alone runs it.

  python bench/joint_steps.py [MODEL ...] [--rounds 7]

Models are click models at a size that two cores run: `xdl` and `dlrm` of `examples/unity_dlrm.py` with tables of
`--rows` rows.  All sides run the same step on the same arguments: `pcg.compile` on mesh a=2,b=4 as it is and with
`substitutions=False`, both with donated state, and `jax.jit` on one device.  Results are compared first.  Medians in
milliseconds, sides in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import numpy as np

import pcg
from bench import timing
from examples import unity_dlrm

_MODELS = {
    "xdl": {"tables": 4, "width": 64, "dense": 0, "bottom": (), "top": (256, 256, 2)},
    "dlrm": {"tables": 8, "width": 64, "dense": 256, "bottom": (256, 256), "top": (256, 256)},
}
#: Relative difference that rounding may make after one step.
_TOLERANCE = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(_MODELS), metavar="MODEL")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    print("| model | joint ms | parallel ms | jax, one device, ms | parallel/joint | jax/joint | substitutions |")
    print("|---|---|---|---|---|---|---|")
    for model in args.models:
        sizes = dict(_MODELS[model])
        tables = (args.rows,) * int(sizes.pop("tables"))  # type: ignore[call-overload]
        step, values = unity_dlrm.make("small", 0, tables=tables, batch=args.batch, **sizes)
        sides: dict[str, Callable[..., Any]] = {
            "joint": pcg.compile(step, {"a": 2, "b": 4}, donate_argnums=(0, 1)),
            "parallel": pcg.compile(step, {"a": 2, "b": 4}, donate_argnums=(0, 1), substitutions=False),
            "jax": jax.jit(step, donate_argnums=(0, 1)),
        }
        outcomes = [jax.tree.map(np.asarray, f(*_fresh(values))) for f in sides.values()]
        for other in outcomes[:-1]:
            for a, b in zip(jax.tree.leaves(other), jax.tree.leaves(outcomes[-1]), strict=True):
                np.testing.assert_allclose(a, b, rtol=_TOLERANCE, atol=_TOLERANCE)
        plan = sides["joint"].plan  # type: ignore[attr-defined]
        medians = timing.interleaved_steps({n: _loop(f, values) for n, f in sides.items()}, args.rounds)
        joint, parallel, alone = (1e3 * medians[n] for n in ("joint", "parallel", "jax"))
        print(
            f"| {model} | {joint:.2f} | {parallel:.2f} | {alone:.2f} | {parallel / joint:.2f} | {alone / joint:.2f} | "
            f"{plan.substitutions.partition('taken=')[2] or 'none'} |",
            flush=True,
        )


def _fresh(values: Any) -> Any:
    return jax.tree.map(np.array, values)


def _loop(function: Callable[..., Any], values: Any) -> Callable[[], Any]:
    """Steps that follow each other: the state of one is that of the next."""
    params, state, batch = _fresh(values)
    kept = [params, state]

    def run() -> None:
        kept[0], kept[1], loss = function(kept[0], kept[1], batch)
        jax.block_until_ready((kept, loss))

    return run


if __name__ == "__main__":
    main()
