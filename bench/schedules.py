"""Schedules that are found beside the best of published schedulers, and proved optima: `python bench/schedules.py`."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

from pcg.pipeline.named import named
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.viz.table import table

REFERENCES = Path(__file__).resolve().parents[1] / "test" / "unit" / "pipeline" / "references.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="of the cases, each this many-th")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--placement", action="append", help="only of these first columns; may be repeated")
    args = parser.parse_args()
    references = json.loads(REFERENCES.read_text())
    cases = [
        (form if grid == "grid" else "v, 16 devices", objective, p, m, costs, chunks, memory * (1 + 1e-5), best)
        for grid in ("grid", "v_16")
        for p, m, costs, form, chunks, memory, *both in references[grid][args.first :: args.every]
        for objective, best in zip(("span", "makespan"), both, strict=True)
    ]
    cases += [
        ("optimum", objective, p, m, costs, 1, limit or math.inf, best)
        for objective, p, m, costs, limit, best in references["optima"][args.first :: args.every]
    ]
    cases = [case for case in cases if args.placement is None or case[0] in args.placement]
    ratios, seconds = defaultdict(list), []
    for kind, objective, p, m, costs, chunks, memory, best in cases:
        *times, residual = references["costs"][costs]
        form = {"optimum": "linear", "v, 16 devices": "v"}.get(kind, kind)
        pipeline = Pipeline.uniform(placement(form, p, chunks), m, times, (1.0, residual), memory)
        begin = time.process_time()
        found = named(pipeline, "auto", objective, args.effort).objective(objective)
        seconds.append(time.process_time() - begin)
        ratios[kind, objective].append(found / best)
        if found > best * (1 + 1e-5):
            print(f"longer: {kind} {objective} p={p} m={m} {costs} memory {memory:g}: {found:g}, {best:g}", flush=True)
        if len(seconds) % 100 == 0:
            print(f"{len(seconds)} of {len(cases)} cases, {sum(seconds):.0f} s", file=sys.stderr, flush=True)
    rows = []
    for (kind, objective), values in ratios.items():
        shorter, longer = (sum(v < 1 - 1e-5 for v in values), sum(v > 1 + 1e-5 for v in values))
        figures = (len(values), shorter, len(values) - shorter - longer, longer)
        rows.append([kind, objective, *map(str, figures), f"{min(values):.4f}", f"{max(values):.4f}"])
    header = ["placement", "objective", "cases", "shorter", "equal", "longer", "least ratio", "largest"]
    print(table(header, rows, right=range(2, 8)))
    print(f"CPU seconds: median {statistics.median(seconds):.2f}, most {max(seconds):.2f}")


if __name__ == "__main__":
    main()
