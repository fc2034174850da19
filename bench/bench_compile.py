"""Compile time against the number of layers: our passes, and JAX's own lower + compile of the same step.

  python bench/bench_compile.py [--layers 6 12 24 48] [--mesh data=2,model=4] [--engine global] [--no-jax]

The program is the BERT-Large training step, unrolled. It is annotated at its inputs as Megatron does (weights of
attention and the feed-forward network split over `model`, the batch over `data`); both sides get the same annotations
and find the rest. `pcg` is pcg-normalize, dist-propagate, dist-insert-reshards, dist-verify, dist-fuse-collectives and
pcg-lower-spmd on the parsed module, in this process; parsing and tracing are on neither side. `jax` is Shardy's
propagation, the SPMD partitioner and code generation for the CPU, so the fair reading is not who is faster but how
each grows. Lines are of StableHLO.
"""

from __future__ import annotations

import argparse
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
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from examples import bert
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.passes.pipeline import Pipeline

#: How Megatron splits the weights of a layer, by their names in the example.
_COLUMNS, _ROWS = ("query", "key", "value", "up"), ("out", "down", "table_word")


def spec(path: tuple[Any, ...], leaf: Any) -> P:
    """Layout of a weight or of its optimizer state."""
    name = next((p.key for p in reversed(path) if hasattr(p, "key") and isinstance(p.key, str)), "")
    if len(leaf.shape) < 2:
        return P()
    return P(None, "model") if name in _COLUMNS else P("model") if name in _ROWS else P()


def annotated(step: Any, shapes: tuple[Any, ...], mesh: Mesh) -> Any:
    """The step as a jax function with these shardings."""
    devices = jax.make_mesh(mesh.sizes, mesh.names)
    weights = [jax.tree_util.tree_map_with_path(spec, t) for t in shapes[:2]]
    batch = jax.tree.map(lambda _: P("data"), shapes[2])
    ins = jax.tree.map(lambda p: NamedSharding(devices, p), (*weights, batch), is_leaf=lambda x: isinstance(x, P))
    return jax.jit(step, in_shardings=ins, out_shardings=(*ins[:2], NamedSharding(devices, P())))


def ours(text: str, engine: str) -> dict[str, float]:
    """Seconds of propagation, of inserting redistributions (with verification), and of lowering."""
    groups = {
        "propagate": f"sdy-import,pcg-normalize,dist-propagate{{engine={engine}}}",
        "reshard": "dist-insert-reshards,dist-verify",
        "lower": "dist-fuse-collectives,pcg-lower-spmd",
    }
    module = load_module(text, make_context(), "bert")
    seconds = {}
    for name, pipeline in groups.items():
        start = time.perf_counter()
        Pipeline(pipeline).run(module)
        seconds[name] = time.perf_counter() - start
    return seconds


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="+", default=[6, 12, 24, 48])
    parser.add_argument("--mesh", default="data=2,model=4")
    parser.add_argument("--engine", default="global")
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    mesh = Mesh.parse(options.mesh)
    print(f"BERT-Large step, mesh {options.mesh}, engine {options.engine}, jax {jax.__version__}; seconds")
    head = f"{'layers':>6}{'lines':>8}{'propagate':>11}{'reshard':>9}{'lower':>7}{'pcg':>8}{'per layer':>11}"
    print(head + f"{'jax lower':>11}{'compile':>9}{'per layer':>11}")
    for layers in options.layers:
        step, shapes = bert.shapes("large", layers=layers)
        jitted = annotated(step, shapes, mesh)
        start = time.perf_counter()
        lowered = jitted.lower(*shapes)
        tracing = time.perf_counter() - start
        text = lowered.as_text()
        seconds = ours(text, options.engine)
        total = sum(seconds.values())
        row = f"{layers:>6}{text.count(chr(10)):>8}{seconds['propagate']:>11.2f}{seconds['reshard']:>9.2f}"
        row += f"{seconds['lower']:>7.2f}{total:>8.2f}{total / layers:>11.3f}{tracing:>11.2f}"
        print(row, end="", flush=True)
        if options.no_jax:
            print()
            continue
        start = time.perf_counter()
        lowered.compile()
        compiling = time.perf_counter() - start
        print(f"{compiling:>9.2f}{(tracing + compiling) / layers:>11.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
