"""Algebra and parallelism chosen together, one after the other, or not at all: step time by the simulator.

  python -m bench.joint                                 the seven models of the Unity paper on 96 V100
  python -m bench.joint --models llama3_8b --cluster dgx-h100 --devices 64
  python -m bench.joint --models xdl --unity            with Unity's backtracking beside it

Every side plans the same training step, traced from shapes, by `pcg-select`, whose plans are simulated, from the mesh
of `pcg-choose-mesh` for the program as it is, or only on --mesh:

  parallel     the program as it is
  sequential   rewritten first to what is fastest on one device (`pcg-substitute` there), then parallelised, from the
               mesh that is chosen for the new program
  joint        `pcg-substitute` on the mesh; pcg-select takes the original if that is faster by simulation
  unity        with --unity, by Unity's backtracking over the same rules (`pcg-substitute{algorithm=unity}`), with its
               dynamic program inside and the budget that the artifact has for the model, then parallelised

`search s` is what choosing the substitutions takes, layouts of the joint search included, without drafting and
simulating plans.  `by estimate` are the seconds of the plans that the two searches found, joint first: costs added up,
which both minimise.  Unity's is the plan of its own dynamic program; `unity ms` is that of pcg-select for its program.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes import pipelines
from pcg.passes.base import Pass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pcg_substitute import SubstitutePass
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings
from pcg.planning.rewritten import forget

SEVEN = ("resnext50", "inception_v3", "bert_large", "dlrm", "xdl", "candle_uno", "mlp")
#: Programs that Unity's search goes on with, as the runs of its artifact are configured; for other models `_BUDGET`.
_BUDGETS = {"resnext50": 20, "inception_v3": 10, "bert_large": 30, "dlrm": 20, "xdl": 20, "candle_uno": 20, "mlp": 20}
_BUDGET = 30
#: Devices of a node of each cluster.
_NODE = {"summit": 6, "dgx-h100": 8}
_RULE = re.compile(r"(?:^|; )([\w-]+): ")
_ESTIMATE = re.compile(r"substitutions: ([\d.]+) us")


@dataclass
class Side:
    """What one way of planning has found: seconds of a step by simulation, of the search, by estimate, and rules."""

    seconds: float = float("nan")
    search: float = 0.0
    estimate: float = float("nan")
    rules: str = ""
    said: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(SEVEN), choices=list(ZOO), metavar="MODEL")
    parser.add_argument("--cluster", default="summit", choices=list(_NODE), help="preset of the cluster")
    parser.add_argument("--devices", type=int, default=96)
    parser.add_argument("--mesh", help="instead of the one that is chosen")
    parser.add_argument("--unity", action="store_true", help="also Unity's backtracking")
    parser.add_argument("--budget", type=int, help="programs that Unity's backtracking goes on with, for all models")
    args = parser.parse_args()
    sides = ("parallel", "sequential", "joint", *(("unity",) if args.unity else ()))
    print(f"| model on {args.devices} devices of {args.cluster} | mesh | {' | '.join(f'{s} ms' for s in sides)} | "
          f"parallel/joint | sequential/joint | search s{', unity s' if args.unity else ''} | by estimate ms | rules |")
    print("|" + "---|" * (7 + len(sides)))
    for model in args.models:
        try:
            print(_row(model, args, sides), flush=True)
        except PcgError as error:
            print(f"| {model} | {error.message} |" + " |" * (5 + len(sides)), flush=True)


def _row(model: str, args: argparse.Namespace, sides: tuple[str, ...]) -> str:
    step, shapes = ZOO[model].shapes(args.devices)
    text = jax.jit(step, donate_argnums=(0, 1)).lower(*shapes).as_text()
    node = _NODE[args.cluster]
    machine = Machine.of(Cluster.preset(args.cluster, nodes=-(-args.devices // node)).take(args.devices))
    settings = Settings(machine)
    with make_context() as context:
        module = load_module(text, context)
        if args.mesh:
            shardings.set_mesh(module, Mesh.parse(args.mesh))
        _run(module, pipelines.prepare(settings))
        single = clone_module(module)
        _run(module, _meshed(args, settings))
        mesh = shardings.mesh_of(module)
        budget = args.budget or _BUDGETS.get(model, _BUDGET)
        found = {side: _side(side, module, single, args, settings, budget) for side in sides}
    joint = found["joint"]
    ratio = [f"{found[s].seconds / joint.seconds:.2f}" for s in ("parallel", "sequential")]
    searches = [f"{joint.search:.2g}", *([f"{found['unity'].search:.2g}"] if args.unity else [])]
    estimates = [f"{1e3 * f.estimate:.4g}" for s, f in found.items() if s in ("joint", "unity")]
    cells = [f"{1e3 * found[s].seconds:.4g}" for s in sides]
    return (f"| {model} | {mesh} | {' | '.join(cells)} | {' | '.join(ratio)} | {', '.join(searches)} | "
            f"{', '.join(estimates)} | {joint.rules}{joint.said} |")


def _meshed(args: argparse.Namespace, settings: Settings) -> list[Pass]:
    """What gives a program its mesh."""
    return [*([] if args.mesh else pipelines.choose(settings)), *pipelines.refine()]


def _side(
    side: str, module: ir.Module, single: ir.Module, args: argparse.Namespace, settings: Settings, budget: int
) -> Side:
    copy, found = clone_module(module), Side()
    machine = settings.machine
    assert machine is not None
    passes: list[Pass] = []
    if side == "sequential":
        alone = clone_module(single)
        shardings.set_mesh(alone, Mesh.of({"one": 1}))
        _run(alone, [SubstitutePass(machine=Machine(machine.device))])
        if options := forget(alone.operation):
            copy = clone_module(single)
            passes = [SubstitutePass.from_options(options), *_meshed(args, settings)]
    elif side == "joint":
        passes = pipelines.substitute(settings)
    elif side == "unity":
        passes = [SubstitutePass(algorithm="unity", budget=budget, machine=machine), *pipelines.refine()]
    start = time.perf_counter()
    remarks = _run(copy, passes)
    found.search = time.perf_counter() - start
    found.estimate = next((1e-6 * float(m[1]) for r in remarks if (m := _ESTIMATE.search(r))), float("nan"))
    if side == "joint" and math.isnan(found.estimate):  # nothing was rewritten
        search = SearchPass(machine=machine, recompute=False, accumulate=False, progress=False)
        _run(clone_module(copy), [search])
        assert search.outcome is not None
        found.estimate = search.outcome.seconds
    names = Counter(" then ".join(_RULE.findall(r)) for r in remarks if " => " in r)
    found.rules = ", ".join(f"{name} {n}" for name, n in names.items())
    select = SelectPass(machine=machine)
    remarks = _run(copy, [select])
    assert select.outcome is not None
    found.seconds = select.outcome.seconds
    found.said = "".join(f" ({r})" for r in remarks if r.startswith("no substitutions"))
    return found


def _run(module: ir.Module, passes: list[Pass]) -> list[str]:
    pipeline = Pipeline(passes)
    pipeline.run(module)
    return [text for _, _, text in pipeline.remarks()]


if __name__ == "__main__":
    main()
