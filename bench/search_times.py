"""How long the search takes, from StableHLO text to a plan: the clusters and programs for which others published it.

  python bench/search_times.py [ROW ...] [--markdown]        rows by name, default all; --list names them

A row reads the text of a training step, normalises it, chooses the process mesh and its place on the cluster, and
searches, in a process of its own; tracing is not counted. `gap` is what the plan may cost more than the best one at
most, by the search's own bound over all meshes that were candidates. The last column is what the other system took,
from its paper or measured with its code on a machine of two cores; its programs are of the same shapes but not the
same text.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax

from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline

_UNITY = "Unity, OSDI'22"
_PEER = "autoparallel, 2 cores"


@dataclasses.dataclass(frozen=True)
class Row:
    """A program of the zoo for a number of devices of a cluster.

    `mesh` if that is given, as the authors of the other system gave it: then its place is too, devices in order.
    """

    model: str
    devices: int
    cluster: tuple[str, int]
    theirs: str
    mesh: str = ""
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def _rows() -> dict[str, Row]:
    out = {}
    for devices, seconds in ((6, "57 s"), (12, "107 s"), (24, "180 s"), (48, "355 s")):
        out[f"resnext50-{devices}"] = Row("resnext50", devices, ("summit", devices // 6), f"{seconds} ({_UNITY})")
    for model in ("resnext50", "inception_v3", "bert_large", "dlrm", "xdl", "candle_uno", "mlp"):
        limit = "20 min" if model == "inception_v3" else "10 min"
        out[f"{model}-192"] = Row(model, 192, ("summit", 32), f"< {limit} ({_UNITY})")
    peers = {"vocab": 32_000}
    out["llama3_8b-32x8"] = Row("llama3_8b", 256, ("dgx-h100", 32), f"101 s ({_PEER})", "d0=32,d1=8", peers)
    out["llama3_8b-32x8-unrolled"] = dataclasses.replace(
        out["llama3_8b-32x8"], overrides={**peers, "scan": False}
    )
    out["block-8x8x4"] = Row(
        "llama3_8b", 256, ("dgx-h100", 32), f"1464 s ({_PEER})", "d0=8,d1=8,d2=4", {**peers, "layers": 1}
    )
    out["llama3_70b-512"] = Row("llama3_70b", 512, ("dgx-h100", 64), "-")
    return out


ROWS = _rows()


@dataclasses.dataclass(frozen=True)
class Result:
    """Seconds of each part; the plan's estimate and the bound in seconds per step; bytes per device."""

    lines: int
    decisions: int
    meshes: int
    mesh: str
    preparing: float
    choosing: float
    searching: float
    estimate: float
    bound: float
    peak: float

    @property
    def seconds(self) -> float:
        return self.preparing + self.choosing + self.searching

    @property
    def gap(self) -> float:
        """How much more than the best plan this one may cost, relatively."""
        return max(0.0, self.estimate / self.bound - 1) if self.bound > 0 else float("inf")


def measure(row: Row) -> Result:
    """Plan the program of a row once."""
    step, args = ZOO[row.model].shapes(row.devices, **row.overrides)
    text = jax.jit(step).lower(*args).as_text()
    cluster = Cluster.preset(row.cluster[0], nodes=row.cluster[1])
    start = time.perf_counter()
    module = load_module(text, make_context(), row.model)
    Pipeline("prepare").run(module)
    if row.mesh:
        shardings.set_mesh(module.operation, Mesh.parse(row.mesh))
    ready = time.perf_counter()
    choose = ChooseMeshPass(devices=row.devices, machine=Machine.of(cluster))
    if not row.mesh:
        Pipeline([choose]).run(module)
    chosen = time.perf_counter()
    Pipeline("dist-refine-mesh{reshapes=true max-axes=2}").run(module)
    search = SearchPass(machine=Machine.of(cluster), progress=False)
    Pipeline([search]).run(module)
    done = time.perf_counter()
    outcome, built = search.outcome, search.built
    assert outcome is not None and built is not None
    return Result(
        text.count("\n"), len(built.graph.nodes), max(1, choose.statistics["candidates"]),
        str(shardings.mesh_of(module)),
        ready - start, chosen - ready, done - chosen, outcome.seconds, min(outcome.bound, choose.bound),
        outcome.peak_bytes,
    )  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--list", action="store_true", help="names of the rows")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(ROWS))
        return 0
    if unknown := [r for r in options.rows if r not in ROWS]:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    heads = ("row", "lines", "decisions", "meshes", "read s", "mesh s", "search s", "all s", "gap %", "ms/step", "GiB",
             "theirs")  # fmt: skip
    bar = " | " if options.markdown else "  "
    widths = [max(map(len, ROWS)), *map(len, heads[1:])]

    def show(cells: Sequence[Any]) -> None:
        pairs = enumerate(zip(map(str, cells), widths, strict=True))
        print(bar.join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in pairs), flush=True)

    show(heads)
    if options.markdown:
        print("|".join("---" for _ in heads))
    for name in options.rows or ROWS:
        # A process each: what is compiled or remembered for one row would make the next one look faster.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            r = pool.submit(measure, ROWS[name]).result()
        show((
            name, r.lines, r.decisions, r.meshes, f"{r.preparing:.1f}", f"{r.choosing:.1f}", f"{r.searching:.1f}",
            f"{r.seconds:.1f}", f"{100 * r.gap:.2f}", f"{1e3 * r.estimate:.1f}", f"{r.peak / 2**30:.1f}",
            ROWS[name].theirs,
        ))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
