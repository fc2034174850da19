"""The solver of python/pcg/solve on problem files, beside published results where the instance is known.

  python bench/bench_solve.py FILE_OR_FOLDER... [--seconds S] [--processes N] [--seed S]

Per instance: the cost found (checked here from the definition), wall and CPU seconds of the program with all its
processes, the peak of memory as a share of the limit, the lower bound and the gap to it, and how the cost compares with
the best published. Without --seconds an instance gets the contest's time if its name is known, else 60 s. The wall time
includes starting Python, reading and writing.

Published figures: `best`, `first` and `xla` are from the results of the ASPLOS/EuroSys 2025 contest on intra-operator
parallelism (`iopddl_final_results.csv` of github.com/ti2-group/iopddl_experiments; 8 cores, the times below; answers
that pay a forbidden cost count as none). `bound` and `rerun`, the winner's solver on 2 cores in the same time, are as
given with this project's copy of the instances.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pcg.solve.problem import read_problem


@dataclass
class Published:
    """None where there is no answer."""

    seconds: float
    best: int
    first: int
    xla: int | None
    bound: int
    rerun: int


PUBLISHED = {
    "A": Published(60, 6_548_641_531, 6_569_457_676, 13_214_846_074, 6_513_812_172, 6_573_803_721),
    "B": Published(60, 532_843, 532_843, 990_205, 532_843, 532_843),
    "C": Published(60, 84_102_445_260, 84_102_445_260, 4_195_881_092_919, 82_509_087_987, 86_306_451_946),
    "D": Published(60, 313_613_524_736, 313_613_524_736, None, 298_253_500_099, 315_745_019_812),
    "G": Published(60, 217_039, 217_039, 1_264_777, 216_931, 217_039),
    "K": Published(180, 2_274_276_676, 2_274_276_676, None, 2_065_623_588, 4_251_019_281),
    "V": Published(30, 1_632_051, 2_213_404, None, 1_617_084, 2_213_404),
}

COLUMNS = (
    f"{'':12}{'ours':>16}{'wall s':>8}{'CPU s':>7}{'peak':>7}{'bound':>16}{'gap':>8}"
    f"{'best publ.':>16}{'ours/best':>10}{'winner 2 cores':>16}{'XLA':>20}"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    files = [f for p in args.paths for f in (sorted(p.glob("*.json*")) if p.is_dir() else [p])]
    print(COLUMNS, flush=True)
    bad = 0
    for file in files:
        name = file.name.split(".")[0].rpartition("-")[2]
        known = PUBLISHED.get(name)
        seconds = args.seconds or (known.seconds if known else 60.0)
        bad += not run(file, name, known, seconds, args)
    return 1 if bad else 0


def run(file: Path, name: str, known: Published | None, seconds: float, args: argparse.Namespace) -> bool:
    """Solve one file and print its line; whether the answer fits and came in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer"
        before, start = os.times(), time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pcg.tools.pcg_solve", str(file), str(seconds), "-o", str(out),
             "--processes", str(args.processes), "--seed", str(args.seed)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        wall, after = time.monotonic() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        if done.returncode != 0:
            print(f"{name:12} no answer after {wall:.1f} s: {done.stderr.strip()}", flush=True)
            return False
        x = json.loads(out.read_text().splitlines()[-1])
    p = read_problem(file)
    cost, peak = p.cost(x), p.peak(x)
    bound = float(done.stderr.split("bound ")[1].split(",")[0])
    share = f"{100 * peak / p.limit:.1f}%" if p.limit else "-"
    line = f"{name:12}{cost:16,}{wall:8.1f}{cpu:7.0f}{share:>7}{bound:16,.0f}{100 * (1 - bound / max(cost, 1)):7.2f}%"
    if known is not None:
        xla = f"{known.xla:,}" if known.xla is not None else "none"
        line += f"{known.best:16,}{cost / known.best:10.5f}{known.rerun:16,}{xla:>20}"
    fits = p.feasible(x)
    line += ("" if fits else "  DOES NOT FIT") + ("" if wall <= seconds else "  LATE")
    print(line, flush=True)
    return fits and wall <= seconds


if __name__ == "__main__":
    sys.exit(main())
