"""Time to the first step of a training loop, and what a second program costs, beside `jax.jit` of the same step.

  python bench/first_step.py [MODEL ...] [--mesh data=2,model=4] [--rounds 3]

Every cell is a process of its own, one after the other, pcg and jax alternating; medians over the rounds.  Both sides
get the same numpy arrays.  `jax` is `jax.jit` with the batch split over all devices and the rest replicated; `pcg` is
`pcg.compile(step, mesh)` with nothing annotated.  `first` is the first call, from making the function to its results:
tracing, planning, lowering, XLA, moving the arguments, one step.  `second` is the same of the step for half the batch,
in the same process.  `again` is one more call of each.  `import` is that of the packages, before, with all that
`pcg.compile` takes, which is imported when it is first looked up.  The parts of pcg's first call (load to lower) are
its own: parsing, passes, XLA with the run.  Bytecode of pcg is made before, as it is where it is installed.
"""

from __future__ import annotations

import argparse
import compileall
import dataclasses
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Case:
    """A model of `examples` (or `keras:NAME`) at a size that runs on one machine; `sizes` override its own."""

    module: str
    batch: int
    size: str = "medium"
    sizes: dict[str, Any] = dataclasses.field(default_factory=dict)


CASES = {
    "gpt_12": Case("gpt", 16, sizes={"layers": 12}),
    "bert_12": Case("bert", 16, sizes={"layers": 12, "hidden": 256, "ffn": 1024, "heads": 8, "seq": 64, "masked": 8}),
    "resnet50": Case("keras:ResNet50", 16),
    "lstm": Case("rnn", 64, sizes={"seq": 32}),
}


def arguments(case: Case, batch: int) -> tuple[Callable[..., Any], Any]:
    """The step and its arguments on the host."""
    import numpy as np

    if case.module.startswith("keras:"):
        import jax

        from bench import keras_applications

        step, shapes = keras_applications.shapes(case.module.removeprefix("keras:"), batch, edge=64)
        rng = np.random.default_rng(0)

        def fill(x: Any) -> Any:
            if np.issubdtype(x.dtype, np.floating):
                return (0.05 * rng.standard_normal(x.shape)).astype(x.dtype)
            return np.zeros(x.shape, x.dtype)

        return step, jax.tree.map(fill, shapes)
    example = importlib.import_module(f"examples.{case.module}")
    step, args = example.make(case.size, batch=batch, **case.sizes)
    return step, args


def work(name: str, side: str, mesh: str) -> dict[str, float]:
    """One side in this process."""
    from pcg.layout import Mesh

    devices = Mesh.parse(mesh).size
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    start = time.perf_counter()
    import jax
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    if side == "pcg":
        import pcg

        _ = pcg.compile  # which is when the package imports what it takes
    jax.devices()
    found = {"import": time.perf_counter() - start}
    case = CASES[name]
    for label, batch in (("first", case.batch), ("second", case.batch // 2)):
        step, args = arguments(case, batch)
        start = time.perf_counter()
        if side == "pcg":
            function: Any = pcg.compile(step, mesh)
        else:
            on = jax.make_mesh((devices,), ("batch",), axis_types=(AxisType.Auto,))
            split = [NamedSharding(on, P("batch") if x.shape and x.shape[0] % devices == 0 else P())
                     for x in jax.tree.leaves(args[-1])]  # fmt: skip
            whole = NamedSharding(on, P())
            data = jax.tree.unflatten(jax.tree.structure(args[-1]), split)
            function = jax.jit(step, in_shardings=(*(jax.tree.map(lambda _, w=whole: w, a) for a in args[:-1]), data))
        jax.block_until_ready(function(*args))
        found[label] = time.perf_counter() - start
        start = time.perf_counter()
        jax.block_until_ready(function(*args))
        found[f"{label} again"] = time.perf_counter() - start
        if side == "pcg" and label == "first":
            found |= {k: v for k, v in function.executable.compilation.seconds.items() if v >= 0.05}
    return found


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--mesh", default="data=2,model=4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", nargs=2, metavar=("MODEL", "SIDE"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work:
        name, side = options.work
        print(json.dumps(work(name, side, options.mesh)))
        return 0
    if unknown := [m for m in options.models if m not in CASES]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(CASES)}")
    for room in ("python", "passes", "dialects", "tools", "examples", "bench"):
        compileall.compile_dir(ROOT / room, quiet=1)
    print(f"{'model':<12}" + "".join(f"{h:>14}" for h in ("jax first s", "pcg first s", "ratio", "jax second s",
          "pcg second s", "ratio", "jax import", "pcg import")))  # fmt: skip
    for name in options.models or CASES:
        sides: dict[str, list[dict[str, float]]] = {"jax": [], "pcg": []}
        for turn in range(options.rounds):
            for side in sorted(sides, reverse=turn % 2 == 1):
                command = [sys.executable, __file__, "--work", name, side, "--mesh", options.mesh]
                done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
                if done.returncode:
                    raise SystemExit(f"{name}: {side}: {done.stderr.strip().splitlines()[-1]}")
                sides[side].append(json.loads(done.stdout.splitlines()[-1]))
        (jax, ours) = ({k: statistics.median(f.get(k, 0.0) for f in found) for k in found[0]}
                       for found in (sides["jax"], sides["pcg"]))  # fmt: skip
        cells = [jax["first"], ours["first"], ours["first"] / jax["first"], jax["second"], ours["second"],
                 ours["second"] / jax["second"], jax["import"], ours["import"]]  # fmt: skip
        print(f"{name:<12}" + "".join(f"{c:>14.2f}" for c in cells), flush=True)
        shown = [f"{label} {jax[label]:.2f} and {ours[label]:.2f} s" for label in ("first again", "second again")]
        print("    " + ", ".join(shown), flush=True)
        parts = {k: v for k, v in ours.items() if k.removesuffix(" again") not in ("first", "second", "import")}
        rest = ours["first"] - sum(parts.values())
        print("    " + ", ".join(f"{k} {v:.2f}" for k, v in [*parts.items(), ("tracing, XLA, run", rest)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
