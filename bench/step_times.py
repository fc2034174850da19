"""Wall time of a training step on forced CPU devices: our plan for the machine at hand, and `jax.jit` with shardings.

  pcg-calibrate --devices 8 --keep-memory -o cpu.toml
  python bench/step_times.py [MODEL ...] --profile cpu.toml [--rounds 7]

`pcg` is `pcg.compile(step, cluster)`: mesh, plan and lowering are ours.  The others are `jax.jit` of the same step with
shardings on the arguments, the state coming back as it went in, all else left to XLA's partitioner:

  data      the batch split over all devices, the rest whole
  tensor    weights split by their last dimension over all devices
  hybrid    the batch over 2, weights over 4 (and 4 x 2, whichever is faster)
  zero      the batch over all devices, and weights and optimizer state by their largest dimension
  plan      the input and output shardings of our plan

Every side has its arguments where it wants them and runs one step untimed and two timed, in turn with the others;
medians over the rounds, in milliseconds.  `ratio` is our time over the best of theirs.  Models are those of
`bench/bench_vs_shardy.py` that two cores run, and five of `bench/prediction_plans.py`.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from bench import bench_vs_shardy, prediction, prediction_plans
from bench.prediction_plans import FLAT, FOUR, TWO, sharded_state, split_batch, tensor
from bench.timing import interleaved_steps
from pcg.machine.profile_text import load
from pcg.runtime.allocator import keep_memory

CASES = {
    **{n: (module, size, sizes) for n, (module, size, sizes, runs) in bench_vs_shardy.CASES.items() if runs},
    **{f"{n}_reduced": prediction_plans.MODELS[n] for n in ("vit", "unity_dlrm", "candle_uno", "llama", "mixtral")},
}
SIDES: dict[str, list[tuple[dict[str, int], Any]]] = {
    "data": [(FLAT, split_batch("x"))],
    "tensor": [(FLAT, tensor((), ("x",)))],
    "hybrid": [(TWO, tensor(("data",), ("model",))), (FOUR, tensor(("data",), ("model",)))],
    "zero": [(FLAT, sharded_state("x"))],
}


def theirs(step: Any, args: Any, mesh: dict[str, int], layout: Any) -> tuple[Any, Any]:
    """`jax.jit` with a layout, and its arguments placed."""
    devices = jax.make_mesh(tuple(mesh.values()), tuple(mesh), axis_types=(AxisType.Auto,) * len(mesh))
    roles = [*["state"] * (len(args) - 1), "batch"]

    def sharding(role: str, leaf: Any) -> NamedSharding:
        return NamedSharding(devices, P(*(axes or None for axes in layout(role, leaf.shape, mesh))))

    ins = tuple(jax.tree.map(lambda x, r=role: sharding(r, x), tree) for role, tree in zip(roles, args, strict=True))
    outs = jax.eval_shape(step, *args)
    kept = jax.tree.structure(outs[: len(args) - 1]) == jax.tree.structure(tuple(args[:-1]))
    back = (*ins[:-1], *[NamedSharding(devices, P())] * (len(outs) - len(ins) + 1)) if kept else None
    return jax.jit(step, in_shardings=ins, out_shardings=back), jax.device_put(args, ins)


def run(name: str, cluster: Any, rounds: int) -> dict[str, float]:
    """Milliseconds of each side; NaN where XLA refuses it."""
    module, size, sizes = CASES[name]
    step, args = importlib.import_module(f"examples.{module}").make(size, **sizes)
    lowered = pcg.compile(step, cluster).lower(*args)
    placed = jax.device_put(args, lowered.input_shardings)
    calls = {"pcg": (lowered, placed)}
    shardings = lowered.input_shardings, lowered.output_shardings
    calls["plan"] = jax.jit(step, in_shardings=shardings[0], out_shardings=shardings[1]), placed
    for label, layouts in SIDES.items():
        for i, (mesh, layout) in enumerate(layouts):
            calls[f"{label} {i}"] = theirs(step, args, mesh, layout)
    steps = {label: lambda f=f, args=args: jax.block_until_ready(f(*args)) for label, (f, args) in calls.items()}
    found = {label: 1e3 * seconds for label, seconds in interleaved_steps(steps, rounds).items()}
    best = {label: min(found[f"{label} {i}"] for i in range(len(layouts))) for label, layouts in SIDES.items()}
    return {"pcg": found["pcg"], **best, "plan": found["plan"]}


def main(argv: list[str] | None = None) -> int:
    """Entry point; the exit status is the number of models of which our step is slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--profile", type=Path, required=True, help="what pcg-calibrate wrote for this machine")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(argv)
    if unknown := [m for m in options.models if m not in CASES]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(CASES)}")
    keep_memory()
    cluster = prediction.machine(load(options.profile))
    heads = ("pcg", *SIDES, "plan")
    print(f"{'model':<20}" + "".join(f"{h:>10}" for h in (*heads, "ratio")))
    slower = 0
    for name in options.models or CASES:
        found = run(name, cluster, options.rounds)
        ratio = found["pcg"] / min(v for k, v in found.items() if k != "pcg" and not math.isnan(v))
        slower += ratio > 1
        print(f"{name:<20}" + "".join(f"{found[h]:>10.1f}" for h in heads) + f"{ratio:>10.2f}", flush=True)
    return slower


if __name__ == "__main__":
    sys.exit(main())
