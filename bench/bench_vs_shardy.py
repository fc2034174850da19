"""Our lowered programs against JAX's own partitioner (Shardy), from the same shardings: bytes moved, and wall time.

  python bench/bench_vs_shardy.py [MODEL ...] [--mesh data=2,model=4] [--rounds 10] [--no-run]

For each model, pcg chooses a plan with nothing annotated. Three programs follow from it:
  pcg           our lowering, counted in its StableHLO;
  jax           `jax.jit` with the plan's input and output shardings, counted in compiled HLO;
  jax + plan    the plan exported with a Shardy sharding on every op, compiled by XLA, counted in compiled HLO.
Bytes are what one device sends in ring algorithms, loops multiplied by their trip counts. On both sides an all-reduce
whose result is only sliced counts as a reduce-scatter: XLA:CPU does not form one, XLA:GPU and XLA:TPU do.
Times are medians of interleaved calls on forced CPU devices: they compare dispatch and local work, not networks.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax

import pcg
from bench import shardy
from bench.collectives import Traffic, of_stablehlo_text
from bench.timing import interleaved
from pcg.machine import Machine

#: name -> (module, size, overrides, can be run on this machine)
CASES: dict[str, tuple[str, str, dict[str, Any], bool]] = {
    "bert": ("bert", "medium", {}, True),
    "bert_scan": ("bert", "medium", {"scan": True}, True),
    "resnet": ("resnet", "small", {"batch": 32, "image": 32}, True),
    "dlrm": ("dlrm", "medium", {"tables": (20_000,) * 8}, True),
    "moe": ("moe", "medium", {}, True),
    "gpt": ("gpt", "medium", {}, True),
    "rnn": ("rnn", "medium", {"seq": 16}, True),
    "flax_model": ("flax_model", "medium", {}, True),
    "unity_mlp": ("unity_mlp", "small", {}, True),
    "bert_large_4": ("bert", "large", {"layers": 4}, False),
    "bert_large_scan": ("bert", "large", {"scan": True}, False),
    "gpt2_4": ("gpt", "gpt2", {"layers": 4}, False),
    "resnet_large": ("resnet", "resnet18", {"batch": 256}, False),
    "megatron_block": ("megatron4", "large", {"layers": 1}, False),
    "megatron4": ("megatron4", "large", {}, False),
    "megatron4_scan": ("megatron4", "large", {"scan": True}, False),
}
HEAD = (
    f"{'model':<16}{'pcg MiB':>10}{'jax MiB':>10}{'jax+plan':>10}  {'pcg ms':>9}{'jax ms':>9}  {'search s':>8}"
    "  verdict"
)


def mib(traffic: Traffic | None) -> str:
    """Wire MiB per device, or a dash."""
    return "-" if traffic is None else f"{traffic.wire_bytes / 2**20:.3f}"


def run_case(name: str, mesh: str, rounds: int, run: bool) -> tuple[str, bool]:
    """One row of the table, and whether we lose."""
    module, size, overrides, small = CASES[name]
    example = importlib.import_module(f"examples.{module}")
    step, shapes = example.shapes(size, **overrides)
    start = time.perf_counter()
    program = pcg.compile(step, mesh, machine=Machine.default())
    lowered = program.lower(*shapes)
    seconds = time.perf_counter() - start
    ours = of_stablehlo_text(lowered.as_text("local"))
    plain = shardy.jitted(step, lowered.input_shardings, lowered.output_shardings)
    devices = lowered.mesh.size
    theirs = shardy.compiled_traffic(plain, shapes, devices)
    annotated: Traffic | None
    try:
        annotated = shardy.annotated_traffic(lowered.as_text("sdy"), devices)
    except Exception as error:  # XLA may refuse an export: a finding, not the end of the table.
        print(f"  {name}: jax + plan: {str(error).splitlines()[0]:.150}", file=sys.stderr)
        annotated = None
    times = ("-", "-")
    if run and small:
        _, args = example.make(size, **overrides)
        placed = jax.device_put(args, lowered.input_shardings)
        calls = {"pcg": lowered, "jax": plain}
        steps = {k: lambda f=f: jax.block_until_ready(f(*placed)) for k, f in calls.items()}
        medians = interleaved(steps, rounds)
        times = (f"{1e3 * medians['pcg']:.1f}", f"{1e3 * medians['jax']:.1f}")
    best = min(t.wire_bytes for t in (theirs, annotated) if t is not None)
    lost = ours.wire_bytes > best * (1 + 1e-9) + 64
    row = (
        f"{name:<16}{mib(ours):>10}{mib(theirs):>10}{mib(annotated):>10}  {times[0]:>9}{times[1]:>9}  {seconds:>8.1f}  "
        + ("LOSES" if lost else "wins" if ours.wire_bytes < best else "equal")
    )
    details = [f"    pcg  {ours}", f"    jax  {theirs}"]
    if annotated is not None:
        details.append(f"    plan {annotated}")
    return "\n".join([row, *details]), lost


def main() -> int:
    """Entry point; the exit status is the number of models where we move more bytes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--mesh", default="data=2,model=4")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--no-run", action="store_true", help="count bytes only")
    options = parser.parse_args()
    if unknown := [m for m in options.models if m not in CASES]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(CASES)}")
    print(f"mesh {options.mesh}, XLA:CPU, jax {jax.__version__}\n{HEAD}")
    lost = []
    for name in options.models or CASES:
        try:
            text, loses = run_case(name, options.mesh, options.rounds, not options.no_run)
        except Exception as error:
            text, loses = f"{name:<16}failed: {type(error).__name__}: {str(error).splitlines()[0]:.200}", True
        print(text, flush=True)
        if loses:
            lost.append(name)
    print(f"\nloses: {', '.join(lost) or 'none'}")
    return len(lost)


if __name__ == "__main__":
    sys.exit(main())
