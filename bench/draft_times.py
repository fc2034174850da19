"""Plans timed before they are lowered, beside the same plans lowered and simulated.

  python bench/draft_times.py [MODEL ...] [--clusters v100-8 ...] [--markdown]     MODEL: of the zoo

Of every plan that `pcg-select` drafts on the mesh of `pcg-choose-mesh` (those of the searches, and the baselines) the
milliseconds of a step by both, how far they are apart, and what each costs: `timing s` is the timing on the search's
graph alone, `lowering s` writing, lowering and simulating.  The last line of a cell says how far apart the ratios of
two plans are, among those within 5% of the fastest: by so much the order of plans may be wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from bench.quality import CLUSTERS, Cell
from bench.zoo import ZOO
from pcg.baselines import plans
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.passes import pipelines
from pcg.planning.attempt import Attempt, BaselineAttempt, Common, SearchAttempt
from pcg.planning.baseline import suitable
from pcg.planning.evaluate import Context
from pcg.planning.memory_plans import mark_own_reshards
from pcg.planning.overlaps import OVERLAPS
from pcg.planning.search import Search
from pcg.planning.target import cost_model
from pcg.planning.workspace import Workspace

#: Plans that are this much slower than the fastest do not count for the last line.
_NEAR = 1.05


def attempts(cell: Cell, workspace: Workspace) -> Iterator[Attempt]:
    """All that are drafted."""
    common = Common(Context(cell.machine), cell.machine.device.memory)
    for o in OVERLAPS:
        search = Search(
            machine=cell.machine, effort="quick", progress=False, gradient_overlap=o.gradient, final_overlap=o.final,
            branch_overlap=o.branch, other_overlap=o.other,
        )  # fmt: skip
        name = f"search {o.gradient:g} {o.final:g} {o.branch:g} {o.other:g}"
        yield SearchAttempt(common, name, "search", search=search)
    mesh = shardings.mesh_of(workspace.module)
    assert mesh is not None
    for plan in plans.on_mesh(mesh, suitable(entry_of(workspace.module))):
        yield BaselineAttempt(common, plan.label, plan.group, plan=plan)


def compared(cell: Cell, attempt: Attempt, workspace: Workspace) -> tuple[float, float, float, float] | None:
    """Seconds of a step before lowering and after, and of finding them; None where there is no plan."""
    try:
        draft = attempt.draft(workspace)
        on = workspace.on()
        timer = on.timer(cost_model(on.module, cell.machine, on.mesh))
        start = time.perf_counter()
        timer.seconds(draft.choice, draft.apart)
        timing = time.perf_counter() - start
        start = time.perf_counter()
        found = attempt.of(draft)(workspace).candidate
        lowering = time.perf_counter() - start
    except PcgError:
        return None
    return None if found is None else (draft.seconds, found.seconds, timing, lowering)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--clusters", nargs="+", default=["v100-8"], choices=list(CLUSTERS))
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    options = parser.parse_args(argv)
    if unknown := [m for m in options.models if m not in ZOO]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(ZOO)}")
    bar = " | " if options.markdown else "  "

    def show(cells: Sequence[str]) -> None:
        pairs = enumerate(zip(cells, (18, 8, 44, 12, 12, 7, 8, 10), strict=True))
        print(bar.join(c.ljust(w) if n < 3 else c.rjust(w) for n, (c, w) in pairs), flush=True)

    show(("model", "cluster", "plan", "before ms", "lowered ms", "apart", "timing s", "lowering s"))
    if options.markdown:
        print("|".join(["---"] * 8))
    for model in options.models or ["mlp", "transformer_unity", "bert_large"]:
        for cluster in options.clusters:
            cell = Cell(model, cluster)
            module = cell.copy()
            cell.run([*pipelines.choose(cell.settings), *pipelines.refine()], module)
            mark_own_reshards(module.operation)
            found: list[tuple[float, float]] = []
            with module.context:
                workspace = Workspace(module.operation)
                for attempt in attempts(cell, workspace):
                    done = compared(cell, attempt, workspace)
                    if done is None:
                        continue
                    before, after, timing, lowering = done
                    found.append((before, after))
                    numbers = f"{1e3 * before:.4g}", f"{1e3 * after:.4g}", f"{before / after - 1:+.2%}"
                    show((model, cluster, attempt.name, *numbers, f"{timing:.3f}", f"{lowering:.2f}"))
            best = min((after for _, after in found), default=0.0)
            ratios = [before / after for before, after in found if after <= _NEAR * best]
            if ratios:
                spread = f"{max(ratios) / min(ratios) - 1:.2%}"
                show((model, cluster, f"ratios of {len(ratios)} plans", "", "", spread, "", ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
