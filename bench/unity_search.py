"""Search time of Unity's algorithm and of parts of it, beside the default engine and the paper's figures.

  python bench/unity_search.py [resnext50] [--devices 6 12 24 48] [--cap 60]

The paper's table 2: ResNeXt-50 on nodes of Summit. One mesh per number of devices (nodes x 6; one node: 2 x 3), with
the sub-axes that reshapes want. Per number of devices, on the same graph:
- the default engine, all of it, and its plan; Unity's algorithm, all of it (costs, contraction to forward decisions,
  dynamic program, completion), and its plan;
- the dynamic program alone, from the same contracted graph, with everything, without graph splits, also without the
  cache, also without dynamic programming (everything is tried): seconds of processor time, the best of `--repeat`, and
  how many sub-problems (segment, choice of source, choice of sink) were solved, which does not depend on the machine.
What takes longer than the cap reads "> cap". The paper's times contain the search over substitutions, which is not
part of this.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from bench.zoo import ZOO
from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pipeline import Pipeline
from pcg.search.build import Builder
from pcg.search.optimize import optimize
from pcg.search.outcome import Outcome
from pcg.search.quotient import Quotient
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.unity import DecisionGraph, Dynamic, OutOfTime, Rules, UnityOptimizer, Work

#: What is left out, one more in each column.
VARIANTS: dict[str, tuple[str, ...]] = {
    "all": (), "no split": ("split",), "nor cache": ("split", "cache"), "nor DP": ("split", "cache", "dp"),
}  # fmt: skip
#: Table 2 of the paper, in seconds: all, without graph splits.
PAPER = {6: ("57", "241"), 12: ("107", "675"), 24: ("180", ">3600"), 48: ("355", ">3600")}


def graph(name: str, devices: int) -> Quotient:
    """The decisions of a step of a model of the zoo."""
    nodes = max(1, devices // 6)
    mesh = Mesh.of({"data": nodes, "model": devices // nodes} if nodes > 1 else {"data": 2, "model": devices // 2})
    step, args = ZOO[name].shapes(devices)
    context = make_context()
    module = load_module(jax.jit(step).lower(*args).as_text(), context, name)
    Pipeline("prepare").run(module)
    with context, ir.Location.unknown():
        shardings.set_mesh(module, mesh)
        Pipeline("dist-refine-mesh{reshapes=true max-axes=2}").run(module)
        function = entry(module.operation)
        found = shardings.mesh_of(module)
        assert function is not None and found is not None
        model = CostModel(Machine.of(Cluster.preset("summit", nodes=nodes)), found)
        state = state_of(function)
        built = Builder(model, Tables(found)).build(function, state)
    return built.quotient(model)


def timed(search: Callable[[], Outcome]) -> tuple[Outcome, float]:
    """The outcome, and the seconds it took."""
    start = time.perf_counter()
    return search(), time.perf_counter() - start


def alone(problem: DecisionGraph, parts: Sequence[str], cap: float, repeat: int) -> tuple[float, Work]:
    """Processor seconds of the dynamic program without `parts` (infinite: it was stopped), and what it did."""
    best = math.inf
    for _ in range(repeat):
        # Ids and restricted arrays are part of the work: every run starts without them.
        pcg = DecisionGraph(problem.network, problem.succ, reduced=problem.reduced)
        dynamic = Dynamic(pcg, Rules.without(parts), time.perf_counter() + cap)
        start = time.process_time()
        try:
            dynamic.run()
        except OutOfTime:
            return math.inf, dynamic.work
        best = min(best, time.process_time() - start)
        if best > 1:
            break
    return best, dynamic.work


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="resnext50", choices=sorted(ZOO))
    parser.add_argument("--devices", type=int, nargs="+", default=[6, 12, 24, 48], help="multiples of 6")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds that a dynamic program may take (60)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of which the quickest counts (5)")
    options = parser.parse_args(argv)
    if wrong := [n for n in options.devices if n < 6 or n % 6]:
        parser.error(f"--devices {wrong[0]}: expected multiples of 6, the devices of a node")
    print(f"{options.model}, nodes of Summit; s: seconds, k: thousands of sub-problems")
    print(f"{'':>7} | {'default engine':>17} | {'unity, all of it':>17} | {'dynamic program alone':>70} | paper, s")
    head = f"{'devices':>7} |{'s':>7}{'plan ms':>11} |{'s':>7}{'plan ms':>11} |"
    print(head + "".join(f"{v + ', s':>13}{'k':>5}" for v in VARIANTS) + f" |{'all':>5}{'no split':>10}", flush=True)
    for devices in options.devices:
        made = graph(options.model, devices)
        row = f"{devices:>7} |"
        for search in (partial(optimize, made), UnityOptimizer(made).run):
            outcome, seconds = timed(search)
            row += f"{seconds:>7.1f}{1e3 * outcome.seconds:>11.2f} |"
        problem = UnityOptimizer(made).problem()
        for parts in VARIANTS.values():
            seconds, work = alone(problem, parts, options.cap, options.repeat)
            row += f"{f'> {options.cap:.0f}':>13}{'':>5}" if seconds == math.inf else f"{seconds:>13.3f}"
            row += "" if seconds == math.inf else f"{work.solved / 1e3:>5.0f}"
        paper = PAPER.get(devices, ("", "")) if options.model == "resnext50" else ("", "")
        print(f"{row} |{paper[0]:>5}{paper[1]:>10}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
