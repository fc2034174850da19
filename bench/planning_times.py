"""How long planning takes on a given mesh, beside the time that `jax.jit` takes to lower and compile the same step.

  python bench/planning_times.py [MODEL ...] [--mesh a=2,b=4 ...] [--markdown]

MODEL: of the zoo, keras:ResNet50, example:bert:large, a size of one of `examples/`, or other:contrastive, of
`bench/other_programs.py`.

Every cell is three processes of their own, one after the other: `jax` lowers and compiles the step for as many CPU
devices as the mesh has, the batch split over all of them, and writes its StableHLO; `pcg` is the command
`pcg-opt --auto-parallel --mesh=MESH` on that text, from its start to its end, so reading, writing and the start of
Python are counted; of `jax` they are not.  `inside` is the same work in a Python that has imported what the command
does: it has planned another program on another mesh before, as `jax` has lowered the step before.  `GiB` is the most
memory that the command held, without what a copy of it changed.  `gap` is what the plan may cost more than the best
one, by the search's own bound.  A model of the zoo has the batch of the devices of the mesh, one of Keras 8 images per
device, an example its own.
Full-size programs are compiled, not run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pcg.layout import Mesh

ROOT = Path(__file__).resolve().parent.parent
MESHES = ("a=2,b=4", "a=8", "a=2,b=2,c=2")
#: Batch of a Keras model per device.
_BATCH = 8


def names() -> list[str]:
    """All models."""
    import examples
    from bench.keras_applications import MODELS
    from bench.other_programs import PROGRAMS
    from bench.zoo import ZOO

    modules = [(name, importlib.import_module(f"examples.{name}")) for name in examples.MODELS]
    in_zoo = {(entry.module, entry.size) for entry in ZOO.values()}
    sizes = [(name, size) for name, module in modules for size in module.SIZES]
    more = [f"example:{name}:{size}" for name, size in sizes if size != "small" and (name, size) not in in_zoo]
    return [*ZOO, *(f"keras:{name}" for name in MODELS), *more, *(f"other:{name}" for name in PROGRAMS)]


def compiled(name: str, mesh: str, out: Path) -> dict[str, float]:
    """Lower and compile the step with jax in this process; write its StableHLO."""
    devices = Mesh.parse(mesh).size
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    step: Any
    args: Any
    if name.startswith("keras:"):
        from bench import keras_applications

        step, args = keras_applications.shapes(name.removeprefix("keras:"), _BATCH * devices)
    elif name.startswith("example:"):
        _, module, size = name.split(":")
        step, args = importlib.import_module(f"examples.{module}").shapes(size)
    elif name.startswith("other:"):
        from bench.other_programs import PROGRAMS

        step, args = PROGRAMS[name.removeprefix("other:")].shapes()
    else:
        from bench.zoo import ZOO

        step, args = ZOO[name].shapes(devices)
    out.write_text(jax.jit(step).lower(*args).as_text())
    jax.clear_caches()
    on = jax.make_mesh((devices,), ("batch",), axis_types=(AxisType.Auto,))

    def layout(leaf: Any) -> NamedSharding:
        return NamedSharding(on, P("batch") if leaf.shape and leaf.shape[0] % devices == 0 else P())

    whole = NamedSharding(on, P())
    shardings = (*(jax.tree.map(lambda _: whole, a) for a in args[:-1]), jax.tree.map(layout, args[-1]))
    start = time.perf_counter()
    jax.jit(step, in_shardings=shardings).lower(*args).compile()
    return {"seconds": time.perf_counter() - start}


def planned(mesh: str, program: Path, limit: float) -> dict[str, float]:
    """Plan it by the command; NaN where that takes more than `limit` seconds."""
    command = [sys.executable, "-m", "pcg.tools.pcg_opt", "--auto-parallel", "--mesh", mesh, "--remarks",
               str(program), "-o", os.devnull]  # fmt: skip
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stderr=errors, cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        timer = threading.Timer(limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        seconds = time.perf_counter() - start
        errors.seek(0)
        text = errors.read()
    if status and seconds >= limit:
        return {"seconds": math.nan, "gap": math.nan, "gib": usage.ru_maxrss / 2**20}
    found = re.findall(r"plan: ([\d.]+) us per step by estimate \(bound ([\d.]+) us\)", text)
    if not found:
        raise RuntimeError(f"{program}: no plan: {text[-2000:]}")
    cost, bound = map(float, found[-1])
    gap = max(0.0, cost / bound - 1) if bound else math.inf
    return {"seconds": seconds, "gap": gap, "gib": usage.ru_maxrss / 2**20}


def inside(mesh: str, program: Path) -> float:
    """Seconds of the command's work in this process, after that for another program on a mesh with another axis."""
    from pcg.tools.pcg_opt import main as pcg_opt

    seconds = 0.0
    for where, what in (("other=3", ROOT / "examples" / "mlp.mlir"), (mesh, program)):
        start = time.perf_counter()
        if pcg_opt(["--auto-parallel", "--mesh", where, str(what), "-o", os.devnull]):
            raise RuntimeError(f"{what}: no plan")
        seconds = time.perf_counter() - start
    return seconds


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--mesh", nargs="+", default=list(MESHES))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which planning is stopped")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    parser.add_argument("--compile", nargs=3, metavar=("MODEL", "MESH", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--inside", nargs=2, metavar=("MESH", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.inside:
        print(inside(options.inside[0], Path(options.inside[1])))
        return 0
    if options.compile:
        model, mesh, out = options.compile
        print(json.dumps(compiled(model, mesh, Path(out))))
        return 0
    if unknown := [m for m in options.models if m not in names()]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(names())}")
    models = options.models or names()
    heads = ("model", "mesh", "lines", "jax s", "pcg s", "pcg/jax", "inside s", "/jax", "gap %", "GiB")
    bar = " | " if options.markdown else "  "
    widths = [max(map(len, models)), max(map(len, options.mesh)), 7, 7, 7, 7, 8, 7, 7, 5]

    def show(cells: Sequence[str]) -> None:
        pairs = enumerate(zip(cells, widths, strict=True))
        print(bar.join(c.rjust(w) if i > 1 else c.ljust(w) for i, (c, w) in pairs), flush=True)

    show(heads)
    if options.markdown:
        print("|".join("---" for _ in heads))
    for model in models:
        for mesh in options.mesh:
            with tempfile.TemporaryDirectory() as folder:
                program = Path(folder) / "step.mlir"
                command = [sys.executable, __file__, "--compile", model, mesh, str(program)]
                done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
                if done.returncode:
                    print(f"{model}: jax: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    continue
                theirs = json.loads(done.stdout.splitlines()[-1])["seconds"]
                ours = planned(mesh, program, options.limit)
                within = math.nan
                if math.isfinite(ours["seconds"]):
                    command = [sys.executable, __file__, "--inside", mesh, str(program)]
                    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
                    within = float(done.stdout.splitlines()[-1])
                lines = program.read_text().count("\n")
            show((
                model, mesh, str(lines), f"{theirs:.1f}", f"{ours['seconds']:.1f}", f"{ours['seconds'] / theirs:.2f}",
                f"{within:.1f}", f"{within / theirs:.2f}", f"{100 * ours['gap']:.2f}", f"{ours['gib']:.1f}",
            ))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
