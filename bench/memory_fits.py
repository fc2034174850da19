"""Models that do not fit with data parallelism: plans that do, on clusters and, scaled down, as XLA allocates them.

  python -m bench.memory_fits                                     what the cache lacks, then both tables
  python -m bench.memory_fits --part clusters --models dlrm llama3_8b --clusters v100-48
  python -m bench.memory_fits --part devices --models dlrm
  python -m bench.memory_fits --show --markdown                   the tables of what the cache has, in Markdown

`clusters`: a full-size model at the zoo's batch per device on each cluster of `bench.quality`, its arguments donated.
What data parallelism takes is the simulator's peak of its plan; where that is more than a device has, mesh and plan
are searched unless parameters and optimizer state, cut into as many pieces as there are devices, are too large already
(pcg-choose-mesh, pcg-search with the device's memory as limit; `--engine select` is the whole default
pipeline, baselines included), lowered and simulated.  Where nothing fits, the smallest limit that would work is
given.

`devices`: the same models at tiny sizes on eight forced CPU devices.  The limit is a share (`--share`) of what XLA's
`memory_analysis()` says of data parallelism; `pcg.compile(memory_limit=)` has to stay within it by the same analysis,
and three steps to have the losses of one device.  Then 1 KiB is asked for: the error names the smallest limit, which
is asked for next.

A cell runs in a process of its own, which --time-limit ends.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

ROOT = Path(__file__).resolve().parent.parent
#: Models whose state or activations are large for a device of some cluster, the quick ones first.
MODELS = (
    "dlrm", "mlp", "candle_uno", "gpt3_1.3b", "gpt3_13b", "llama3_8b", "llama3_70b", "mixtral_8x7b", "vit_h14",
    "bert_large", "evoformer", "unet",
)  # fmt: skip
CLUSTERS = ("v100-8", "v100-48", "v100-192", "h100-64", "h100-512")
_INSERT = "dist-insert-reshards,pcg-recompute{planned=true},dist-verify"
_ENGINES = {
    "search": "pcg-choose-mesh,dist-refine-mesh{reshapes=true max-axes=2},pcg-search",
    "select": "pcg-choose-mesh,dist-refine-mesh{reshapes=true max-axes=2},pcg-select{generic=false},pcg-search",
}
_GIB = 2**30
#: Steps whose losses are compared with those of one device.
_TRAINED = 3


def on_cluster(model: str, cluster: str, engine: str) -> None:
    """One cell of the first table; lines of JSON on stdout, each with more in it than the one before."""
    import jax

    from bench.quality import CLUSTERS as SIZES
    from bench.quality import cluster_of
    from bench.zoo import ZOO
    from pcg.cost import CostModel
    from pcg.ir import shardings
    from pcg.ir.clone import clone_module
    from pcg.ir.context import make_context
    from pcg.ir.errors import PcgError
    from pcg.ir.parse import load_module
    from pcg.layout import Mesh
    from pcg.machine import Machine, mapping
    from pcg.passes.pcg_baseline import BaselinePass
    from pcg.passes.pcg_recompute import RecomputePass
    from pcg.passes.pcg_search import SearchPass
    from pcg.passes.pipeline import Pipeline
    from pcg.passes.pipelines import Settings
    from pcg.simulate import simulate

    machine = Machine.of(cluster_of(cluster))
    assert machine.cluster is not None
    count = SIZES[cluster][2]
    step, args = ZOO[model].shapes(count)
    text = jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text()
    module = load_module(text, make_context(), model)
    Pipeline("prepare").run(module)

    def run(pipeline: str, what: Any, first: Sequence[Any] = ()) -> Pipeline:
        made = Pipeline([*first, pipeline], Settings(machine))
        made.run(what)
        return made

    def estimated(what: Any, mesh: Mesh) -> tuple[float, float]:
        run("lower", what)
        found = simulate(what, CostModel(machine, mesh))
        return found.seconds, float(found.peak_bytes)

    plain = clone_module(module.operation).operation
    mesh = mapping.device_mappings(machine.cluster, Mesh.of({"data": count}))[0].mesh
    shardings.set_mesh(plain, mesh)
    run(f"dist-propagate{{engine=dataflow}},{_INSERT}", plain, [BaselinePass(plan="data")])
    row: dict[str, Any] = {"limit": machine.device.memory, "engine": engine}
    row["data"] = estimated(plain, mesh)[1]
    print(json.dumps(row), flush=True)
    if row["data"] <= row["limit"]:
        return
    row["least state"] = _state_bytes(module.operation) / count
    if row["least state"] > row["limit"]:
        print(json.dumps(row), flush=True)
        return
    start = time.perf_counter()
    try:
        done = run(_ENGINES[engine], module)
    except PcgError as error:
        needed = getattr(error.__cause__, "needed", None)
        row |= {"error": str(error), "needed": needed, "search": time.perf_counter() - start}
        print(json.dumps(row), flush=True)
        return
    row["search"] = time.perf_counter() - start
    search = next(p for p in done.python_passes if isinstance(p, SearchPass))
    found = shardings.mesh_of(module.operation)
    assert found is not None
    row["mesh"], row["state"] = str(found.origin), _state_split(module.operation, found)
    notes = [text for p in done.python_passes for _, text in getattr(p, "remarks", ())]
    row["plan"] = next((x.partition(" the plan uses ")[2] for x in notes if x.startswith("memory: ")), "sharding")
    row["counted"] = search.outcome.peak_bytes if search.outcome is not None else None
    last = run(_INSERT, module)
    again = next(p for p in last.python_passes if isinstance(p, RecomputePass))
    row["again"] = again.statistics["ops recomputed"]
    row["seconds"], row["peak"] = estimated(module, found)
    print(json.dumps(row), flush=True)


def _state_bytes(module: Any) -> float:
    """Bytes of the donated arguments."""
    from pcg.ir.types import element_bytes
    from pcg.ir.walk import entry
    from pcg.search.roles import donated_of

    func = entry(module)
    assert func is not None
    types = [func.regions[0].blocks[0].arguments[i].type for i in donated_of(func)]
    return float(sum(math.prod(t.shape) * element_bytes(t.element_type) for t in types))


def _state_split(module: Any, mesh: Any) -> float:
    """Bytes of the donated arguments over what a device holds of them."""
    from pcg.ir import shardings
    from pcg.ir.types import element_bytes
    from pcg.ir.walk import entry
    from pcg.search.roles import donated_of

    func = entry(module)
    assert func is not None
    whole = local = 0.0
    for i in donated_of(func):
        a = func.regions[0].blocks[0].arguments[i]
        spec, size = shardings.get(a), element_bytes(a.type.element_type)
        whole += math.prod(a.type.shape) * size
        local += math.prod(a.type.shape if spec is None else spec.local_shape(a.type.shape, mesh)) * size
    return whole / local if local else 1.0


def on_devices(model: str, share: float, axes: str) -> None:
    """One row of the second table; lines of JSON on stdout, each with more in it than the one before."""
    import jax
    from jax.sharding import PartitionSpec

    import pcg
    from bench.zoo import ZOO
    from pcg.ir.errors import PcgError
    from pcg.layout import Mesh

    step, args = ZOO[model].make_tiny()
    options: dict[str, Any] = {"donate_argnums": (0, 1)}
    batch = PartitionSpec(Mesh.parse(axes).names)
    given: dict[str, Any] = {"in_shardings": (PartitionSpec(), PartitionSpec(), batch), "strategy": "dataflow"}
    row: dict[str, Any] = {"data": pcg.compile(step, axes, **given, **options).lower(*args).allocated()}
    limit = row["limit"] = int(share * row["data"])

    def describe(key: str, most: int) -> None:
        start = time.perf_counter()
        compiled = pcg.compile(step, axes, memory_limit=most, **options)
        made = compiled.lower(*args)
        report = made.compilation.report
        notes = [text for _, _, text in made.compilation.remarks if text.startswith("memory: ")]
        plan = notes[-1].partition(" the plan uses ")[2] if notes else "sharding"
        row[key] = {
            "xla": made.allocated(), "predicted": report.peak_bytes, "seconds": report.seconds, "plan": plan,
            "search": time.perf_counter() - start, "limit": most,
        }  # fmt: skip
        row[key]["off"] = max(abs(a / b - 1) for a, b in zip(_losses(compiled, args), losses, strict=True))
        print(json.dumps(row), flush=True)

    quick = jax.jit(step).lower(*args).compile(compiler_options={"xla_backend_optimization_level": 0})
    losses = _losses(quick, args)
    try:
        describe("fits", limit)
    except PcgError as error:
        row["error"] = str(error)
        print(json.dumps(row), flush=True)
    start = time.perf_counter()
    try:
        pcg.compile(step, axes, memory_limit=1024, **options).lower(*args)
    except PcgError as error:
        found = re.search(r"\((\d+) bytes\) as XLA allocates it", str(error))
        row["asked"] = {"text": str(error), "search": time.perf_counter() - start}
        if found is not None:
            describe("least", int(found[1]))


def _losses(step: Any, args: Any) -> list[float]:
    """Of a few steps, on copies of the arguments: they are donated."""
    import jax
    import numpy as np

    params, state, batch = jax.tree.map(lambda x: np.array(x, copy=True), args)
    losses = []
    for _ in range(_TRAINED):
        params, state, loss = step(params, state, batch)
        losses.append(float(loss))
    return losses


# -- the cache and the tables ----------------------------------------------------------------------


def fill(work: Sequence[str], limit: float) -> dict[str, Any]:
    """Run a cell in a process of its own: its last line, and what went wrong."""
    command = [sys.executable, "-m", "bench.memory_fits", "--work", *work]
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    why = ""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False, env={**os.environ, **flags}
        )
        out = done.stdout
        if done.returncode:
            why = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        why = f"not finished in {limit:.0f} s"
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return {**(json.loads(lines[-1]) if lines else {}), **({"stopped": why} if why else {})}


def _gib(size: float | None) -> str:
    return "" if size is None else f"{size / _GIB:.2f}"


def _kib(size: float | None) -> str:
    return "" if size is None else f"{size / 1024:.1f}"


def cluster_rows(cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str]) -> list[list[str]]:
    """The first table: models that do not fit with data parallelism, and those that were not run."""
    heads = ["cluster", "model", "data parallelism, GiB", "limit, GiB", "mesh", "state in", "traded for", "peak, GiB",
             "step, ms", "search, s"]  # fmt: skip
    rows = [heads]
    for cluster in clusters:
        for model in models:
            r = cache.get(f"{model} {cluster}")
            if r is None:
                rows.append([cluster, model, *["not run", *[""] * 7]])
                continue
            if "data" in r and r["data"] <= r["limit"]:
                continue
            head = [cluster, model, _gib(r.get("data")), _gib(r.get("limit"))]
            search = f"{r['search']:.0f}" if "search" in r else ""
            if "peak" in r:
                again = f" ({r['again']} ops again)" if r.get("again") else ""
                fits = "" if r["peak"] <= r["limit"] else " does not fit"
                rows.append([
                    *head, r["mesh"], f"{r['state']:.1f}", r["plan"] + again, _gib(r["peak"]) + fits,
                    f"{1e3 * r['seconds']:.1f}", search,
                ])  # fmt: skip
            else:
                if r.get("least state", 0.0) > r["limit"]:
                    why = f"impossible: parameters and optimizer state alone take {_gib(r['least state'])}"
                    rows.append([*head, "", "", why, "", "", ""])
                    continue
                needed = f"nothing fits, the smallest limit that works: {_gib(r['needed'])}" if r.get("needed") else ""
                rows.append([*head, "", "", needed or r.get("error") or r.get("stopped", ""), "", "", search])
    return rows


def device_rows(cache: Mapping[str, Any], models: Sequence[str]) -> list[list[str]]:
    """The second table."""
    heads = ["model, tiny", "data parallelism, KiB", "limit, KiB", "XLA, KiB", "predicted, KiB", "traded for",
             "loss off by", "s", "smallest limit, KiB", "XLA there, KiB", "loss off by"]  # fmt: skip
    rows = [heads]
    for model in models:
        r = cache.get(f"{model} devices")
        if r is None:
            rows.append([model, "not run", *[""] * 9])
            continue
        row = [model, _kib(r.get("data")), _kib(r.get("limit"))]
        fits, least = r.get("fits"), r.get("least")
        if fits:
            over = "" if fits["xla"] <= r["limit"] else " over"
            row += [_kib(fits["xla"]) + over, _kib(fits["predicted"]), fits["plan"], f"{fits['off']:.0e}"]
            row += [f"{fits['search']:.0f}"]
        else:
            row += ["", "", r.get("error") or r.get("stopped", ""), "", ""]
        if least:
            over = "" if least["xla"] <= least["limit"] else " over"
            row += [_kib(least["limit"]), _kib(least["xla"]) + over, f"{least['off']:.0e}"]
        else:
            row += ["" if fits is None else r.get("stopped", ""), "", ""]
        rows.append(row)
    return rows


def show(rows: list[list[str]], markdown: bool) -> str:
    """A table as text."""
    if markdown:
        lines = ["| " + " | ".join(r) + " |" for r in rows]
        return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows)


def main(argv: list[str] | None = None) -> int:
    """Entry point; 1 if a plan does not keep its limit."""
    from bench.zoo import ZOO

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("clusters", "devices", "both"), default="both")
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=list(MODELS), choices=list(ZOO))
    parser.add_argument("--clusters", nargs="+", default=list(CLUSTERS), choices=list(CLUSTERS))
    parser.add_argument("--engine", choices=list(_ENGINES), default="search")
    parser.add_argument("--share", type=float, default=0.6, help="the limit over what data parallelism takes")
    parser.add_argument("--mesh", default="data=8", help="of the eight devices")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for each cell")
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / "memory_fits.json")
    parser.add_argument("--again", action="store_true", help="run also what the cache has")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work:
        kind, model, *rest = options.work
        if kind == "devices":
            on_devices(model, float(rest[0]), rest[1])
        else:
            on_cluster(model, kind, rest[0])
        return 0

    def load() -> dict[str, Any]:
        return json.loads(options.cache.read_text()) if options.cache.exists() else {}

    cells: list[tuple[str, list[str]]] = []
    if options.part != "devices":
        cells += [(f"{m} {c}", [c, m, options.engine]) for c in options.clusters for m in options.models]
    if options.part != "clusters":
        cells += [(f"{m} devices", ["devices", m, str(options.share), options.mesh]) for m in options.models]
    for key, work in () if options.show else cells:
        if key in load() and not options.again:
            continue
        start = time.perf_counter()
        found = fill(work, options.time_limit)
        options.cache.write_text(json.dumps({**load(), key: found}, indent=0, sort_keys=True))
        print(f"{key}: {time.perf_counter() - start:.0f} s {found.get('stopped', '')}", file=sys.stderr, flush=True)
    cache = load()
    if options.part != "devices":
        print(show(cluster_rows(cache, options.models, options.clusters), options.markdown))
    if options.part != "clusters":
        print(show(device_rows(cache, options.models), options.markdown))
    over = [k for k, r in cache.items() if r.get("peak", 0) > r.get("limit", math.inf)]
    over += [k for k, r in cache.items() for p in ("fits", "least") if p in r and r[p]["xla"] > r[p]["limit"]]
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
