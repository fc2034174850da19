"""Our plans against those of experts, on clusters that need not be there: step time by the simulator.

  python -m bench.quality                                      all models on all clusters, what the cache lacks
  python -m bench.quality --models dlrm mlp --clusters v100-8 v100-48
  python -m bench.quality --show --markdown docs/quality.md    print what the cache has, and write the page

For a model and a cluster, every plan is lowered to the program of one device and priced by `pcg.simulate` on the
cluster. `ours` is the default pipeline: mesh, place and layouts are searched, and `pcg-select` takes the fastest of
several plans, searched ones and those of experts. `unity` is Unity's algorithm on one axis and on nodes x devices of a
node, of which the best counts. The experts' plans are those of `pcg-baseline`, each on every factorisation of the
number of devices into its axes and in every distinct place on the cluster, of which the best counts:

  data       the batch split, the rest replicated           zero      zero1 and zero3, over all devices or an inner axis
  megatron   tensor parallelism over all devices            hybrid    data x tensor x ZeRO, all factorisations
  tables     embedding tables split, MLPs data parallel     experts   stacked experts split x tensor x ZeRO

The batch is the zoo's per device (weak scaling). A plan must fit the memory of a device by the same simulation.
Results are kept in a JSON file, one entry per plan, so that the table can be made in pieces; an entry is priced again
with --again. Each side of a cell runs in a process of its own, which --time-limit ends.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from bench import quality_table
from bench.zoo import ZOO
from pcg.baselines import plans
from pcg.baselines.layouts import read
from pcg.baselines.tensor import experts, tables
from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Cluster, mapping
from pcg.passes import PIPELINES
from pcg.passes.base import PassError
from pcg.passes.pcg_baseline import BaselinePass
from pcg.passes.pcg_select import MANY_TABLES, SelectPass
from pcg.passes.pipeline import Pipeline, split
from pcg.search.roles import state_of
from pcg.simulate import simulate

ROOT = Path(__file__).resolve().parent.parent
#: Cluster -> (preset, devices of a node, devices).
CLUSTERS = {
    "v100-8": ("summit", 6, 8), "v100-48": ("summit", 6, 48), "v100-192": ("summit", 6, 192),
    "h100-64": ("dgx-h100", 8, 64), "h100-512": ("dgx-h100", 8, 512),
}  # fmt: skip
SIDES = ("experts", "ours", "unity")
_PREPARE = "sdy-import,pcg-normalize,pcg-reassociate"
_INSERT = "dist-insert-reshards,dist-verify"
#: Places of one mesh that are priced.
_PLACES = 8


def cluster_of(name: str) -> Cluster:
    """The cluster of `CLUSTERS`, with as many devices as its name says."""
    preset, node, devices = CLUSTERS[name]
    return Cluster.preset(preset, nodes=-(-devices // node)).take(devices)


class Cell:
    """A model on a cluster: its program, prepared once."""

    def __init__(self, model: str, cluster: str) -> None:
        self.cluster = cluster_of(cluster)
        self.machine = self.cluster.machine()
        step, args = ZOO[model].shapes(CLUSTERS[cluster][2])
        text = jax.jit(step).lower(*args).as_text()
        self.module = load_module(text, make_context(), model)
        Pipeline(_PREPARE).run(self.module)
        func = entry(self.module)
        assert func is not None
        self.state = state_of(func)

    def run(self, pipeline: str, module: ir.Module, passes: Iterable[Any] = ()) -> None:
        """Run passes on `module` with this cluster's costs."""
        p = Pipeline([*passes, *split(pipeline)])
        self._on_cluster(p)
        p.run(module)

    def _on_cluster(self, pipeline: Pipeline) -> None:
        for each in pipeline.python_passes:
            if hasattr(each, "machine"):
                each.machine = self.machine
            if isinstance(each, SelectPass):
                each.donated = tuple(self.state.values())

    def copy(self) -> ir.Module:
        """The prepared program."""
        with self.module.context:
            return ir.Module.parse(self.module.operation.get_asm(print_generic_op_form=True, assume_verified=True))

    def price(self, module: ir.Module, places: Iterable[mapping.Placement]) -> dict[str, Any]:
        """The best place of a parallel computation graph, by the simulator."""
        self.run(PIPELINES["lower"].elements, module)
        best: dict[str, Any] = {}
        for place in places:
            found = simulate(module, CostModel(self.machine, place.mesh), donated=list(self.state.values()))
            if not best or found.seconds < best["seconds"]:
                best = {**found.to_dict(), "mesh": str(place.mesh.origin), "where": place.where}
        best["fits"] = best["peak_bytes"] <= self.machine.device.memory
        return best

    def experts(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """(group, label, result) of every plan of experts."""
        func = entry(self.module)
        assert func is not None
        program = read(func, self.state)
        stacked = {program.shapes[a][d] for a, d in experts(program.sites).items()}
        held = {i: math.prod(shape) for i, shape in enumerate(program.shapes) if i not in program.data}
        split_tables = sum(held[a] for a in tables(program.sites)) > MANY_TABLES * sum(held.values())
        for plan in plans.on_devices(len(self.cluster.devices), split_tables, stacked):
            module = self.copy()
            places = mapping.placements(self.cluster, plan.mesh)
            shardings.set_mesh(module, places[0].mesh)
            self.run("dist-propagate{engine=dataflow}", module, [BaselinePass(plan=plan.plan, zero=plan.zero)])
            self.run(_INSERT, module)
            yield plan.group, plan.label, self.price(module, places[:_PLACES])

    def ours(self) -> dict[str, Any]:
        """The plan of the default pipeline: mesh, place and layouts are searched."""
        module = self.copy()
        start = time.perf_counter()
        elements = list(split(PIPELINES["auto-parallel"].elements))
        pipeline = Pipeline(elements[elements.index("pcg-reassociate") + 1 :])
        self._on_cluster(pipeline)
        pipeline.run(module)
        seconds = time.perf_counter() - start
        mesh = shardings.mesh_of(module)
        assert mesh is not None
        where = next((p.where for p in mapping.placements(self.cluster, mesh.origin) if p.mesh == mesh.origin), "")
        found = self.price(module, [mapping.Placement(mesh, where)])
        select = next(p for p in pipeline.python_passes if isinstance(p, SelectPass))
        if select.chosen is not None:
            found["chosen"] = select.chosen.name
            ours = [c.seconds for c in select.tried if c.search is not None and c.fits]
            found["searched"] = min(ours, default=None)
        return {**found, "search_seconds": seconds}

    def unity(self) -> dict[str, Any]:
        """The best plan of Unity's algorithm: on one axis, and on nodes x devices of a node, in their best place."""
        count = len(self.cluster.devices)
        blocks = itertools.groupby(self.cluster.devices, lambda d: self.cluster.coordinates(d)[:2])
        node = max(len(list(inside)) for _, inside in blocks)
        meshes = [Mesh.of({"d0": count})]
        if 1 < node < count and count % node == 0:
            meshes.append(Mesh.of({"d0": count // node, "d1": node}))
        best: dict[str, Any] = {}
        start = time.perf_counter()
        for mesh in meshes:
            module = self.copy()
            places = mapping.placements(self.cluster, mesh)
            shardings.set_mesh(module, places[0].mesh)
            try:
                self.run(f"pcg-search{{algorithm=unity}},{_INSERT}", module)
            except PassError as error:
                best = best or {"error": str(error)}
                continue
            found = self.price(module, places[:_PLACES])
            if "seconds" not in best or found["seconds"] < best["seconds"]:
                best = found
        return {**best, "search_seconds": time.perf_counter() - start}


def work(model: str, cluster: str, side: str) -> None:
    """Price one side of a cell; a line of JSON per plan on stdout."""
    cell = Cell(model, cluster)
    if side == "experts":
        for group, label, result in cell.experts():
            print(json.dumps({"label": label, "group": group, **result}), flush=True)
        return
    try:
        result = cell.unity() if side == "unity" else cell.ours()
    except PassError as error:
        result = {"error": str(error)}
    print(json.dumps({"label": side, "group": side, **result}), flush=True)


def fill(model: str, cluster: str, side: str, limit: float) -> tuple[dict[str, Any], str]:
    """Run one side of a cell in a process of its own: its results by label, and what went wrong."""
    command = [sys.executable, "-m", "bench.quality", "--work", model, cluster, side]
    why = ""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
        out, code = done.stdout, done.returncode
        if code:
            why = (done.stderr.strip().splitlines() or [f"status {code}"])[-1]
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        why = f"not finished in {limit:.0f} s"
    found = {r["label"]: r for r in map(json.loads, out.splitlines())}
    return {**found, f"done {side}": {"error": why} if why else {}}, why


def load(path: Path) -> dict[str, Any]:
    """What is known; nothing if there is no such file."""
    return json.loads(path.read_text()) if path.exists() else {}


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=list(ZOO), choices=list(ZOO))
    parser.add_argument("--clusters", nargs="+", default=list(CLUSTERS), choices=list(CLUSTERS))
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for each side of a cell")
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / "quality.json")
    parser.add_argument("--again", action="store_true", help="price also what the cache has")
    parser.add_argument("--show", action="store_true", help="price nothing, print what the cache has")
    parser.add_argument("--plans", action="store_true", help="print every plan, not only the best of each kind")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    parser.add_argument("--work", nargs=3, metavar=("MODEL", "CLUSTER", "SIDE"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work:
        work(*options.work)
        return 0
    cache = load(options.cache)
    for cluster in () if options.show else options.clusters:
        for model in options.models:
            for side in options.sides:
                known = cache.get(f"{model} {cluster}", {}).get(f"done {side}")
                if known is not None and not known.get("error") and not options.again:
                    continue
                start = time.perf_counter()
                found, why = fill(model, cluster, side, options.time_limit)
                cache = load(options.cache)  # another run may have added to it
                cache.setdefault(f"{model} {cluster}", {}).update(found)
                options.cache.write_text(json.dumps(cache, indent=0, sort_keys=True))
                seconds = time.perf_counter() - start
                print(f"{model} {cluster} {side}: {seconds:.0f} s {why}", file=sys.stderr, flush=True)
    print(quality_table.text(cache, options.models, options.clusters, options.plans))
    if options.markdown:
        memory = {c: cluster_of(c).machine().device.memory for c in options.clusters}
        options.markdown.write_text(quality_table.page(cache, options.models, options.clusters, memory))
    worst = max((r.ratio for r in quality_table.rows(cache, options.models, options.clusters)), default=0.0)
    return 1 if math.isfinite(worst) and worst > 1 + 1e-9 else 0


if __name__ == "__main__":
    sys.exit(main())
