"""Our plans against those of experts and of Unity, on clusters that need not be there: step time by the simulator.

  python -m bench.quality                                      all models on all clusters, what the cache lacks
  python -m bench.quality --models dlrm mlp --clusters v100-8 v100-48
  python -m bench.quality --show --markdown docs/quality.md    print what the cache has, and write the page

For a model and a cluster, every plan is lowered to the program of one device and estimated by `pcg.simulate` on the
cluster. `ours` is `pcg-select{meshes=any}` after `pcg-choose-mesh` and `pcg-substitute`: it makes several plans, those
of the search and baselines, and takes the one whose step is shortest. What it estimates on the way is the table:

  data       the batch split, the rest replicated           zero      zero1 and zero3, over all devices or an inner axis
  megatron   tensor parallelism over all devices            hybrid    data x tensor x ZeRO, all factorisations
  tables     embedding tables split, MLPs data parallel     experts   stacked experts split x tensor x ZeRO
  whole      each table on one device, MLPs data parallel   search    the searches, warm starts among them
  unity      Unity's algorithm
  rewritten  the best plan of what `pcg-substitute` makes of the program, where it makes anything; all others are plans
             of the program as it is written

Baselines are on every factorisation of the number of devices into their axes, each in the fastest of the distinct
places on the cluster (eight at most). All plans are timed before they are lowered, and of a program of more than 1,500
ops or so only those are lowered that may be the fastest, and the fastest of each kind. ZeRO variants are left out that
cannot be the fastest of their kind; of a large program (8,000 ops) also all behind the first that fits. Unity's
algorithm runs on one axis, and on nodes x devices of a node, of which the best counts; where `pcg-select` has no plan
of Unity's because none fits, or the program is large, it is run apart (side `unity`).

Two more are apart. `whole` (of models in `STACKED`) is the plan that the Unity paper calls an expert's: table i
on device i, as DLRM's authors place them. A layout can say that of tables that are one array, so the same model is
written with them stacked. `least` is no plan but a bound: the contractions of the step, shared by all devices evenly at
the peak of each, with nothing else to do and nothing to wait for. No plan of the same program takes less. It is there
for the models of the paper.

The batch is the zoo's per device (weak scaling). A plan must fit the memory of a device by the same simulation.
Results are kept in a JSON file at once, so that the table can be made in pieces; --again estimates what is known again.
Cells are made side by side, one for each core. Each side of one runs in a process of its own, which a limit of
processor time ends: what it estimated by then is kept, and the best of that is given as `at most`. Models come in the
order of `TIERS`, the cheap ones first on all clusters.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from loky import cpu_count
from torch_mlir import ir

from bench import quality_table
from bench.zoo import ZOO
from pcg.cost import CostModel
from pcg.explain.causes import runs_per_step
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.passes import pipelines
from pcg.passes.base import Pass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings
from pcg.planning.attempt import Candidate
from pcg.planning.choose_mesh import unity_meshes
from pcg.planning.rewritten import SUBSTITUTIONS, applied_rules
from pcg.rules import rule_for, traits
from pcg.rules.traits import Trait
from pcg.simulate import simulate
from pcg.substitute.applied import THEN

ROOT = Path(__file__).resolve().parent.parent
#: Cluster -> (preset, devices of a node, devices).
CLUSTERS = {
    "v100-8": ("summit", 6, 8), "v100-48": ("summit", 6, 48), "v100-192": ("summit", 6, 192),
    "h100-64": ("dgx-h100", 8, 64), "h100-512": ("dgx-h100", 8, 512),
}  # fmt: skip
#: Models that cost about the same, with the processor seconds that a side of a cell may take; others come last.
TIERS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("xdl", "mlp", "dlrm", "candle_uno", "transformer_unity"), 150),
    (("bert_large", "gpt3_1.3b", "llama3_8b", "resnext50"), 240),
    (("mixtral_8x7b", "gpt3_13b", "llama3_70b", "vit_h14", "inception_v3_unity"), 300),
    (("inception_v3", "evoformer", "unet"), 600),
)
_LAST = 300
#: A process that waits more than it works is ended after so many times its limit.
_PATIENCE = 12
SIDES = ("plans", "unity", "whole", "least")
#: Models of which all tables are of one length, so that they can be stacked.
STACKED = ("dlrm", "dlrm_default", "xdl")
_INSERT = "dist-insert-reshards,dist-verify"
#: Places of one mesh that are estimated.
_PLACES = 8
#: Held by who reads or writes the file of results.
_CACHE = threading.Lock()


def cluster_of(name: str) -> Cluster:
    """The cluster of `CLUSTERS`, with as many devices as its name says."""
    preset, node, devices = CLUSTERS[name]
    return Cluster.preset(preset, nodes=-(-devices // node)).take(devices)


def ordered(models: Iterable[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """`models` by tiers, with the time limit of each."""
    left = list(models)
    for names, limit in TIERS:
        yield tuple(n for n in names if n in left), limit
        left = [n for n in left if n not in names]
    yield tuple(left), _LAST


class Cell:
    """A model on a cluster: its program, prepared once.  `overrides` change the sizes of the model."""

    def __init__(self, model: str, cluster: str, **overrides: Any) -> None:
        self.cluster = cluster_of(cluster)
        self.machine = Machine.of(self.cluster)
        # Cells are made side by side, and each is limited in processor time.
        self.settings = Settings(self.machine, jobs=1)
        step, args = ZOO[model].shapes(CLUSTERS[cluster][2], **overrides)
        # Weights and optimizer state make room for what follows them, as in any training loop.
        text = jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text()
        self.module = load_module(text, make_context(), model)
        Pipeline("prepare").run(self.module)

    def run(self, passes: str | list[Pass], module: ir.Module) -> None:
        """Run passes on `module`; those that are given as text with this cluster's costs."""
        Pipeline(passes, self.settings).run(module)

    def copy(self) -> ir.Module:
        """The prepared program."""
        with self.module.context:
            return ir.Module.parse(self.module.operation.get_asm(print_generic_op_form=True, assume_verified=True))

    def estimate(self, module: ir.Module, places: Iterable[mapping.DeviceMapping]) -> dict[str, Any]:
        """The best place of a parallel computation graph, by the simulator."""
        self.run(pipelines.lower(self.settings), module)
        best: dict[str, Any] = {}
        for place in places:
            found = simulate(module, CostModel(self.machine, place.mesh))
            if not best or found.seconds < best["seconds"]:
                best = {**found.to_dict(), "mesh": str(place.mesh.origin), "where": place.where}
        best["fits"] = best["peak_bytes"] <= self.machine.device.memory
        return best

    def plans(self) -> dict[str, Any]:
        """Our plan; every plan that was estimated on the way is printed when it is known."""
        start, cpu = time.perf_counter(), time.process_time()
        select = SelectPass(meshes="any", by_kind=True, report=report, machine=self.machine, jobs=1)
        module, settings = self.copy(), self.settings
        search = SearchPass(machine=self.machine)
        self.run(
            [
                *pipelines.choose(settings), *pipelines.refine(), *pipelines.substitute(settings), select, search,
                *pipelines.place(settings),
            ],
            module,
        )  # fmt: skip
        taken = {"search_seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
        mesh = shardings.mesh_of(module)
        assert mesh is not None and select.chosen is not None
        where = next((p.where for p in mapping.device_mappings(self.cluster, mesh.origin) if p.mesh == mesh.origin), "")
        # By the pipelines, not as pcg-select says.
        found = self.estimate(module, [mapping.DeviceMapping(mesh, where)])
        chosen = select.chosen.name
        if SUBSTITUTIONS in module.operation.attributes:
            chosen = f"{chosen}, of {' and '.join(dict.fromkeys(_rules(module)))}"
        return {**found, **taken, "chosen": chosen, "promised": select.chosen.seconds}

    def unity(self) -> dict[str, Any]:
        """The best plan of Unity's algorithm: on one axis, and on nodes x devices of a node, in their best place."""
        best: dict[str, Any] = {}
        start = time.perf_counter()
        for mesh in unity_meshes(self.cluster):
            module = self.copy()
            places = mapping.device_mappings(self.cluster, mesh)
            shardings.set_mesh(module, places[0].mesh)
            try:
                self.run(f"pcg-search{{algorithm=unity}},{_INSERT}", module)
            except PcgError as error:
                best = best or {"error": str(error)}
                continue
            found = self.estimate(module, places[:_PLACES])
            if "seconds" not in best or found["seconds"] < best["seconds"]:
                best = found
        return {**best, "search_seconds": time.perf_counter() - start}

    def whole(self) -> dict[str, Any]:
        """The plan that puts each table on one device, the first on the first."""
        module = self.copy()
        place, *_ = mapping.device_mappings(self.cluster, Mesh.of({"d0": len(self.cluster.devices)}))
        shardings.set_mesh(module, place.mesh)
        self.run(f"pcg-baseline{{plan=dlrm-whole}},dist-propagate{{engine=dataflow}},{_INSERT}", module)
        return self.estimate(module, [place])

    def least(self) -> dict[str, Any]:
        """The seconds below which no plan of this program comes."""
        model = CostModel(self.machine, Mesh.of({"d0": len(self.cluster.devices)}))
        seconds = 0.0
        func = entry(self.module)
        assert func is not None
        for op in walk(func):
            if traits.has(op.name, Trait.CONTRACTION):
                rate = model.peak(op.name, str(op.operands[0].type.element_type))
                seconds += runs_per_step(op) * rule_for(op).flops / rate
        return {"seconds": seconds / len(self.cluster.devices)}


def _rules(module: ir.Module) -> Iterator[str]:
    """The rules by which a program was rewritten."""
    for applied in applied_rules(module.operation):
        yield from applied.name.split(THEN)


def report(plan: Candidate, rewritten: bool) -> None:
    """A plan that pcg-select has estimated, as a line of JSON."""
    label, group = (f"rewritten: {plan.name}", "rewritten") if rewritten else (plan.name, plan.group)
    found = {"label": label, "group": group, **plan.found, "fits": plan.fits}
    found |= {"mesh": str(plan.mesh), "where": ""}
    print(json.dumps(found), flush=True)


def work(model: str, cluster: str, side: str, limit: int) -> None:
    """Estimate one side of a cell; a line of JSON per plan on stdout. After `limit` processor seconds that is all."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    cell = Cell(model, cluster, **({"stacked": True} if side == "whole" else {}))
    label = "ours" if side == "plans" else side
    try:
        result = {"plans": cell.plans, "unity": cell.unity, "whole": cell.whole, "least": cell.least}[side]()
    except PcgError as error:
        result = {"error": str(error)}
    print(json.dumps({"label": label, "group": label, **result}), flush=True)


def fill(model: str, cluster: str, side: str, limit: int) -> tuple[dict[str, Any], str]:
    """Run one side of a cell in a process of its own: its results by label, and what went wrong."""
    command = [sys.executable, "-m", "bench.quality", "--work", model, cluster, side, str(limit)]
    why, late = "", f"not finished in {limit} s of processor time"
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_PATIENCE * limit)
        out, code = done.stdout, done.returncode
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            why = late
        elif code:
            why = (done.stderr.strip().splitlines() or [f"status {code}"])[-1]
    except subprocess.TimeoutExpired as end:
        out = end.stdout.decode() if isinstance(end.stdout, bytes) else end.stdout or ""
        why = late
    lines = [line for line in out.splitlines() if line.startswith("{") and line.endswith("}")]
    found = {r["label"]: r for r in map(json.loads, lines)}
    return {**found, f"done {side}": {"error": why} if why else {}}, why


def load(path: Path) -> dict[str, Any]:
    """What is known; nothing if there is no such file."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, cache: dict[str, Any]) -> None:
    """Write what is known; a run that is ended on the way leaves the old file."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(cache, indent=0, sort_keys=True))
    new.replace(path)


def needed(cell: dict[str, Any], side: str, retry: bool) -> bool:
    """Whether a side of a cell is still to be estimated."""
    known = cell.get(f"done {side}")
    if known is not None and not (retry and known.get("error")):
        return False
    return side != "unity" or not any(r.get("group") == "unity" for r in cell.values())


def sides_of(model: str, sides: Iterable[str]) -> list[str]:
    """Those of `sides` that there are of a model."""
    suits = {"whole": model in STACKED, "least": model in quality_table.PAPER}
    return [s for s in sides if suits.get(s, True)]


def apart(cell: dict[str, Any], label: str) -> bool:
    """Whether a result of a cell is of a side of its own: all but `plans`."""
    group = label.removeprefix("done ") if label.startswith("done ") else cell[label].get("group")
    return group in SIDES[1:] and f"done {group}" in cell


def complete(options: argparse.Namespace, model: str, cluster: str, limit: int) -> None:
    """Estimate what the cache lacks of a cell, one side after the other, and put it there."""
    for side in sides_of(model, options.sides):
        with _CACHE:
            known = load(options.cache).get(f"{model} {cluster}", {})
        if not options.again and not needed(known, side, options.retry):
            continue
        start = time.perf_counter()
        found, why = fill(model, cluster, side, options.time_limit or limit)
        with _CACHE:
            cache = load(options.cache)  # another cell, or another run, may have added to it
            cell = cache.setdefault(f"{model} {cluster}", {})
            if side == "plans":
                for label in [k for k in cell if not apart(cell, k)]:
                    del cell[label]
            cell.update(found)
            save(options.cache, cache)
        print(f"{model} {cluster} {side}: {time.perf_counter() - start:.0f} s {why}", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=list(ZOO), choices=list(ZOO))
    parser.add_argument("--clusters", nargs="+", default=list(CLUSTERS), choices=list(CLUSTERS))
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--time-limit", type=int, help="processor seconds for a side of a cell; default: its tier's")
    parser.add_argument("--jobs", type=int, default=0, help="cells made side by side; default: as many as cores")
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / "quality.json")
    parser.add_argument("--again", action="store_true", help="estimate also what the cache has")
    parser.add_argument("--retry", action="store_true", help="estimate again what failed or did not end in its time")
    parser.add_argument("--show", action="store_true", help="estimate nothing, print what the cache has")
    parser.add_argument("--plans", action="store_true", help="print every plan, not only the best of each kind")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    parser.add_argument("--work", nargs=4, metavar=("MODEL", "CLUSTER", "SIDE", "LIMIT"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work:
        model, cluster, side, limit = options.work
        work(model, cluster, side, int(limit))
        return 0
    tiers = () if options.show else ordered(options.models)
    cells = [(m, c, t) for models, t in tiers for c in options.clusters for m in models]
    with ThreadPoolExecutor(options.jobs or cpu_count()) as pool:
        for done in [pool.submit(complete, options, *cell) for cell in cells]:
            done.result()
    cache = load(options.cache)
    models = [m for names, _ in ordered(options.models) for m in names]
    print(quality_table.text(cache, models, options.clusters, options.plans))
    if options.markdown:
        memory = {c: Machine.of(cluster_of(c)).device.memory for c in options.clusters}
        options.markdown.write_text(quality_table.page(cache, models, options.clusters, memory))
    ratios = (r.ratio for r in quality_table.rows(cache, models, options.clusters))
    return int(any(math.isfinite(r) and r > 1 + 1e-9 for r in ratios))


if __name__ == "__main__":
    sys.exit(main())
