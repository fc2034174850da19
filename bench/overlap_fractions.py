"""Which overlap fractions find the fastest plan: searches with each, and their plans by simulation.

  python -m bench.overlap_fractions bert_large dlrm --clusters v100-8 v100-48
  python -m bench.overlap_fractions mlp --fractions 0,0,0,0 0.5,0.5,0.9,0

A set of fractions is gradient, final, branch, other (options of `pcg-search`). For each model and cluster of
`bench.quality`, the mesh is that of `pcg-choose-mesh`. At the end come the sets that `pcg-select` should have, one by
one: each time the one with which the best plan found is nearest to the best of all, on average over the cells.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.quality import CLUSTERS, Cell
from bench.zoo import ZOO
from pcg.cost import NO_OVERLAP, Overlap
from pcg.ir.errors import PcgError
from pcg.passes import pipelines
from pcg.planning.attempt import Common, SearchAttempt
from pcg.planning.evaluate import Context
from pcg.planning.overlaps import OVERLAPS
from pcg.planning.search import Search
from pcg.planning.workspace import Workspace

#: What is tried unless `--fractions` says otherwise: those of `pcg-select`, and others around them.
TRIED = tuple(
    dict.fromkeys(
        (NO_OVERLAP, *OVERLAPS, Overlap(0.3, 0.3, 0.3, 0.3), Overlap(0.5, 0.5, 0.5, 0.5), Overlap(0.8, 0.8, 0.8, 0.8),
         Overlap(0.9, 0.9, 0.9, 0.9), Overlap(0.7, 0.0, 0.3), Overlap(0.95))
        + tuple(Overlap(g, f, b) for g in (0.5, 0.9) for f in (0.0, 0.5) for b in (0.0, 0.5, 0.9))
    )
)  # fmt: skip


def label(shares: Overlap) -> str:
    """As `--fractions` reads it."""
    return f"{shares.gradient:g},{shares.final:g},{shares.branch:g},{shares.other:g}"


def fractions(text: str) -> Overlap:
    """Four numbers from 0 to 1, with commas.

    Raises:
      ValueError: they are not that.
    """
    found = Overlap(*map(float, text.split(",")))
    if not all(0 <= x <= 1 for x in (found.gradient, found.final, found.branch, found.other)):
        raise ValueError(text)
    return found


def searched(model: str, cluster: str, tried: Sequence[Overlap]) -> dict[Overlap, float]:
    """Simulated seconds of the plan that the search finds with each set, infinite where it does not fit."""
    cell = Cell(model, cluster)
    module = cell.copy()
    cell.run([*pipelines.choose(cell.settings), *pipelines.refine()], module)
    workspace = Workspace(module.operation)
    common = Common(Context(cell.machine), cell.machine.device.memory)
    found = {}
    for shares in tried:
        search = Search(
            machine=cell.machine, gradient_overlap=shares.gradient, final_overlap=shares.final,
            branch_overlap=shares.branch, other_overlap=shares.other, effort="quick", brief=True, recompute=False,
            accumulate=False, progress=False,
        )  # fmt: skip
        start = time.perf_counter()
        try:
            plan = SearchAttempt(common, label(shares), "search", search=search)(workspace).candidate
        except PcgError as error:
            print(f"  {label(shares):20s} {error.message[:90]}", flush=True)
            continue
        assert plan is not None
        found[shares] = plan.seconds if plan.fits else math.inf
        step = " ".join(f"{k} {1e3 * plan.found[k]:9.3f}" for k in ("compute", "communication", "exposed"))
        note = "" if plan.fits else " does not fit"
        took = time.perf_counter() - start
        print(f"  {label(shares):20s} {1e3 * plan.seconds:9.3f} ms: {step}{note} ({took:.1f} s)", flush=True)
    return found


def excess(cells: Sequence[Mapping[Overlap, float]], chosen: Sequence[Overlap]) -> tuple[float, float]:
    """By how much the best plan of `chosen` is slower than the best of all: on average over `cells`, and at most."""
    ratios = [min(c.get(s, math.inf) for s in chosen) / min(c.values()) - 1 for c in cells]
    return sum(ratios) / len(ratios), max(ratios)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", choices=list(ZOO), metavar="MODEL", help=", ".join(ZOO))
    parser.add_argument("--clusters", nargs="+", default=["v100-48"], choices=list(CLUSTERS))
    parser.add_argument("--fractions", nargs="+", type=fractions, default=TRIED, metavar="G,F,B,O")
    options = parser.parse_args(argv)
    cells = []
    for model in options.models:
        for cluster in options.clusters:
            print(f"{model} {cluster}", flush=True)
            found = searched(model, cluster, options.fractions)
            if any(map(math.isfinite, found.values())):
                cells.append(found)
    chosen: list[Overlap] = []
    left = list(options.fractions)
    while cells and left and len(chosen) <= len(OVERLAPS):
        best = min(left, key=lambda s: excess(cells, [*chosen, s]))
        left.remove(best)
        chosen.append(best)
        mean, most = excess(cells, chosen)
        print(f"with {label(best):20s} {100 * mean:.2f}% above the best on average, {100 * most:.2f}% at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
