"""A training step on one device: `pcg.compile` on a mesh of one device, `jax.jit`, and what the simulator predicts.

  pcg-calibrate --devices 1 -o device.toml
  python bench/one_device.py [MODEL ...] [--profile device.toml] [--rounds 7] [--json FILE]

Both sides get the same arrays, on the device; they run interleaved, one step untimed and two timed; medians.  `ratio`
is our time over jax's.  `first` is the first call of each: tracing, planning, lowering, XLA, and a step.  On GPUs the
side that comes first (ours, but for `--jax-first`) has XLA tune its kernels, which the other then finds.  `differ` is
the norm of what our results differ by over that of jax's results.  `detected` is the predicted step by the rates of
`Cluster.detect()`, `profile` by what was measured of single ops; both simulate what was lowered.  `MiB` is the peak of
memory by the simulator, `XLA MiB` what XLA allocates.
`call` is a function of next to no work, 100 calls in a row: the time of a call, and of one with 65 arrays.

Runs on whatever jax's first device is; models are larger on accelerators.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from bench.ranking import kendall
from bench.timing import interleaved_steps, seconds_per_call
from pcg.cost import CostModel
from pcg.machine import Cluster, Machine
from pcg.machine.profile_text import load
from pcg.simulate import simulate

#: name -> (module, size, sizes on an accelerator, sizes on processors).
MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "mlp": ("unity_mlp", "wide", {}, {"batch": 256, "hidden": 2048}),
    "gpt": ("gpt", "gpt2", {"layers": 4, "batch": 8},
            {"layers": 2, "hidden": 256, "heads": 8, "vocab": 1024, "seq": 64}),
    "bert": ("bert", "large", {"layers": 4, "batch": 16},
             {"layers": 2, "hidden": 256, "ffn": 1024, "vocab": 2048, "seq": 64, "batch": 16, "masked": 16}),
    "resnet": ("resnet", "resnet18", {}, {"image": 32, "stem": 32, "widths": (32, 64), "blocks": (2, 2), "batch": 32}),
    "lstm": ("rnn", "medium", {}, {"seq": 16, "width": 128, "hidden": 256, "vocab": 512}),
    "dlrm": ("dlrm", "medium", {}, {"tables": (20_000,) * 8, "width": 32, "batch": 512, "bottom": (512, 256, 32)}),
    "llama": ("llama", "small", {"layers": 4, "hidden": 2048, "heads": 16, "groups": 4, "ffn": 5632, "vocab": 32_000,
                                 "seq": 1024, "batch": 4, "scan": True, "remat": True, "dtype": "bfloat16"},
              {"layers": 1, "hidden": 256, "ffn": 512, "vocab": 1024, "seq": 64, "batch": 16}),
    "mixtral": ("mixtral", "small", {"layers": 2, "hidden": 1024, "heads": 16, "groups": 4, "ffn": 2816,
                                     "vocab": 16_000, "seq": 512, "batch": 8, "dtype": "bfloat16"},
                {"layers": 1, "hidden": 128, "ffn": 256, "vocab": 512, "seq": 64, "batch": 16}),
    "vit": ("vit", "small", {"image": 224, "patch": 16, "layers": 4, "hidden": 768, "ffn": 3072, "heads": 12,
                             "classes": 1000, "batch": 64},
            {"image": 32, "hidden": 256, "ffn": 1024, "classes": 64}),
    "unet": ("unet", "small", {"image": 32, "width": 128, "factors": (1, 2, 2), "attend": (True, True, False),
                               "heads": 8, "context": 77, "context_width": 256, "batch": 16}, {"width": 32}),
}  # fmt: skip


@dataclass
class Row:
    """One model: seconds, a relative difference, and bytes."""

    model: str
    ours: float
    jax: float
    ours_first: float
    jax_first: float
    differ: float
    detected: float
    profile: float | None
    memory: float
    memory_xla: float


def sizes(name: str) -> tuple[str, str, dict[str, Any]]:
    """Module, size and its overrides on the devices at hand."""
    module, size, accelerator, processors = MODELS[name]
    return module, size, processors if jax.default_backend() == "cpu" else accelerator


def machines(profile: Path | None, devices: int = 1) -> tuple[Cluster, Cluster | None]:
    """Devices as they are detected, and with a profile; GPUs are all that there are."""
    cpu = jax.default_backend() == "cpu"
    found = Cluster.detect(devices) if cpu else Cluster.detect()
    found = replace(found, kinds=tuple(replace(k, profile=None) for k in found.kinds))
    if profile is None:
        return found, None
    return found, replace(found, kinds=tuple(replace(k, profile=load(profile)) for k in found.kinds))


def predicted(executable: Any, cluster: Cluster) -> tuple[float, float]:
    """Seconds of a step and bytes at its peak, by the simulator."""
    model = CostModel(Machine.of(cluster), executable.mesh)
    backend = "cpu" if jax.default_backend() == "cpu" else "accelerator"
    step = simulate(executable.compilation.modules["local"], model, backend=backend)
    arrays = len(executable.program.arguments) + len(executable.program.results)
    return step.seconds + model.dispatch(arrays, step.allocations), step.peak_bytes


def difference(ours: Any, theirs: Any) -> float:
    """The relative difference of all results together.

    An array by itself says little: Adam divides gradients that are 0 but for rounding by their own size.
    """
    apart = norm = 0.0
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        x, y = (np.asarray(v.astype(jnp.float32) if v.dtype == jnp.bfloat16 else v, np.float64) for v in (a, b))
        apart, norm = apart + float(np.sum((x - y) ** 2)), norm + float(np.sum(y**2))
    return (apart / max(norm, 1e-30)) ** 0.5


def measure(name: str, rounds: int, detected: Cluster, profiled: Cluster | None, jax_first: bool) -> Row:
    """Both sides of a model."""
    module, size, overrides = sizes(name)
    step, args = importlib.import_module(f"examples.{module}").make(size, **overrides)
    args = jax.device_put(args, jax.devices()[0])
    sides = {"ours": pcg.compile(step, {"x": 1}), "jax": jax.jit(step)}
    if jax_first:
        sides = dict(reversed(sides.items()))
    first, results = {}, {}
    for side, call in sides.items():
        start = time.perf_counter()
        results[side] = jax.block_until_ready(call(*args))
        first[side] = time.perf_counter() - start
    differ = difference(results["ours"], results["jax"])
    del results
    steps = {side: lambda call=call: jax.block_until_ready(call(*args)) for side, call in sides.items()}
    medians = interleaved_steps(steps, rounds)
    executable = sides["ours"].executable
    by_rates, memory = predicted(executable, detected)
    by_profile = None if profiled is None else predicted(executable, profiled)[0]
    return Row(
        name, medians["ours"], medians["jax"], first["ours"], first["jax"], differ, by_rates, by_profile, memory,
        float(executable.allocated() or 0),
    )  # fmt: skip


def calls(rounds: int, count: int = 100) -> dict[str, tuple[float, float]]:
    """Seconds of a call of a function of next to no work, (ours, jax's), with one array and with 65."""
    array = jnp.ones((8, 16), jnp.float32)
    cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "one array": (lambda x: x + 1.0, (array,)),
        "65 arrays": (lambda xs, y: [x + y[0, 0] for x in xs], ([array] * 64, array)),
    }
    found = {}
    for name, (function, args) in cases.items():
        sides = {"ours": pcg.compile(function, {"x": 1}), "jax": jax.jit(function)}
        seconds = seconds_per_call(sides, args, count, rounds)
        found[name] = seconds["ours"], seconds["jax"]
    return found


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--profile", type=Path, help="what pcg-calibrate wrote for one such device")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--jax-first", action="store_true", help="jax.jit runs first")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model later than this")
    options = parser.parse_args(argv)
    if unknown := [m for m in options.models if m not in MODELS]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(MODELS)}")
    start = time.perf_counter()
    detected, profiled = machines(options.profile)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}; detected: {detected.kinds[0].name}")
    for name, (ours, theirs) in calls(options.rounds).items():
        print(f"call, {name}: {1e6 * ours:.1f} us, jax {1e6 * theirs:.1f}, ratio {ours / theirs:.2f}", flush=True)
    heads = ("pcg ms", "jax ms", "ratio", "first s", "jax s", "differ", "detected", "profile", "MiB", "XLA MiB")
    print(f"{'model':<10}" + "".join(f"{h:>10}" for h in heads), flush=True)
    rows = []
    for name in options.models or MODELS:
        if time.perf_counter() - start > options.seconds:
            break
        row = measure(name, options.rounds, detected, profiled, options.jax_first)
        rows.append(row)
        cells = [f"{1e3 * row.ours:.2f}", f"{1e3 * row.jax:.2f}", f"{row.ours / row.jax:.2f}", f"{row.ours_first:.1f}",
                 f"{row.jax_first:.1f}", f"{row.differ:.0e}", f"{1e3 * row.detected:.2f}",
                 "" if row.profile is None else f"{1e3 * row.profile:.2f}", f"{row.memory / 2**20:.0f}",
                 f"{row.memory_xla / 2**20:.0f}"]  # fmt: skip
        print(f"{name:<10}" + "".join(f"{c:>10}" for c in cells), flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1), encoding="utf-8")
        gc.collect()
    if len(rows) > 1:
        measured = [r.ours for r in rows]
        line = f"Kendall's tau with the measured steps: detected {kendall([r.detected for r in rows], measured):.2f}"
        if profiled is not None:
            line += f", profile {kendall([r.profile or 0.0 for r in rows], measured):.2f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
