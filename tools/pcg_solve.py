"""pcg-solve: one strategy per node of a problem file, at the least cost that memory allows, within a time limit."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pcg.tools import arguments

FOUND, INFEASIBLE = 0, 1
#: Bytes of a file from which reading it takes long enough to compile loops meanwhile.
_LARGE = 1 << 16


def _since_start() -> float:
    """Seconds since this process started (0 where the system does not say): starting Python counts too."""
    try:
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = float(Path("/proc/uptime").read_text().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
    return min(max(age, 0.0), 5.0)


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 found, 1 nothing fits, 2 cannot be read or written."""
    start = time.monotonic() - (_since_start() if argv is None else 0.0)
    args = parser().parse_args(argv)
    if args.output and not Path(args.output).absolute().parent.is_dir():
        return arguments.fail("pcg-solve", f"no folder {Path(args.output).absolute().parent} for the answer")
    from pcg.solve.problem import Infeasible, ProblemError, read_problem
    from pcg.solve.solve import solve, warm

    gc.disable()  # the file is a large tree without cycles
    warming = None
    try:
        if Path(args.problem).stat().st_size > _LARGE:
            warming = warm()
        problem = read_problem(args.problem)
        # Writing the answer and ending Python take time as well.
        left = args.seconds - min(0.3 + 0.02 * args.seconds, 1.2) - (time.monotonic() - start)
        answer = solve(problem, max(left, 0.0), args.seed, args.processes)
        text = json.dumps(answer.strategies) + "\n"
        if args.output:
            Path(args.output).write_text(text)
        else:
            sys.stdout.write(text)
    except Infeasible as error:
        print(f"pcg-solve: {error}", file=sys.stderr)
        return INFEASIBLE
    except (ProblemError, OSError, MemoryError) as error:
        return arguments.fail("pcg-solve", str(error))
    finally:
        gc.enable()
        if warming is not None:
            warming.kill()
    limit = "none" if problem.limit is None else f"{problem.limit} ({100 * answer.peak / max(problem.limit, 1):.1f}%)"
    print(
        f"cost {answer.cost}\npeak {answer.peak}, limit {limit}\n"
        f"bound {answer.bound:.0f}, gap {100 * answer.gap:.3f}%\n"
        f"time {time.monotonic() - start:.1f} s",
        file=sys.stderr,
    )
    return FOUND


def parser() -> argparse.ArgumentParser:
    p = arguments.Parser(
        prog="pcg-solve",
        description="Choose a strategy per node so that node and edge costs are least and memory stays in the limit."
        " The file is as in the ASPLOS/EuroSys 2025 contest on intra-operator parallelism. Prints the strategies as a"
        " JSON list, and cost, peak and lower bound on stderr."
        " There is an answer at any limit, the first one a moment after reading if that takes longer; at tiny problems"
        " it is the best. Exit status: 0 found, 1 nothing fits, 2 cannot be read or written.",
    )
    p.add_argument("problem", metavar="PROBLEM", help="JSON file, may be gzipped")
    p.add_argument(
        "seconds", metavar="SECONDS", type=arguments.real(zero=False),
        help="wall time for all, reading and writing included",
    )  # fmt: skip
    p.add_argument("-o", "--output", metavar="FILE", help="write the strategies here instead of to stdout")
    p.add_argument("--seed", type=arguments.seed, default=0, help="of the search (default 0)")
    p.add_argument("--processes", type=arguments.integer(1), default=2, help="searching at once (default 2)")
    return p


if __name__ == "__main__":
    sys.exit(main())
