"""pcg-solve: one strategy per node of a problem file, at the least cost that memory allows, within a time limit."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOUND, INFEASIBLE, FAILED = 0, 1, 2
#: Seconds that starting the interpreter and writing the answer may take.
_OVERHEAD = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 found, 1 nothing fits, 2 cannot be read or written."""
    start = time.monotonic()
    args = parser().parse_args(argv)
    if not args.seconds > 0:
        return _fail(f"SECONDS is {args.seconds}; want a time above 0")
    from pcg.solve.problem import ProblemError, read_problem
    from pcg.solve.solve import solve
    from pcg.solve.timeline import Infeasible

    try:
        problem = read_problem(args.problem)
        left = args.seconds - _OVERHEAD - (time.monotonic() - start)
        if left <= 0:
            return _fail(f"reading {args.problem} took {time.monotonic() - start:.1f} s of the {args.seconds} s given")
        answer = solve(problem, left, args.seed, args.processes)
        text = json.dumps(answer.strategies) + "\n"
        if args.output:
            Path(args.output).write_text(text)
        else:
            sys.stdout.write(text)
    except Infeasible as error:
        print(f"pcg-solve: {error}", file=sys.stderr)
        return INFEASIBLE
    except (ProblemError, OSError) as error:
        return _fail(str(error))
    limit = "none" if problem.limit is None else f"{problem.limit} ({100 * answer.peak / max(problem.limit, 1):.1f}%)"
    print(
        f"cost {answer.cost}\npeak {answer.peak}, limit {limit}\nbound {answer.bound:.0f}, gap {100 * answer.gap:.3f}%\n"
        f"time {time.monotonic() - start:.1f} s",
        file=sys.stderr,
    )
    return FOUND


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="pcg-solve",
        description="Choose a strategy per node so that node and edge costs are least and memory stays within the limit."
        " The file is as in the ASPLOS/EuroSys 2025 contest on intra-operator parallelism. Prints the strategies as a"
        " JSON list, and cost, peak and lower bound on stderr."
        " Exit status: 0 found, 1 nothing that fits, 2 cannot be read or written.",
    )
    p.add_argument("problem", metavar="PROBLEM", help="JSON file, may be gzipped")
    p.add_argument("seconds", metavar="SECONDS", type=float, help="wall time for all, reading and writing included")
    p.add_argument("-o", "--output", metavar="FILE", help="write the strategies here instead of to stdout")
    p.add_argument("--seed", type=int, default=0, help="of the search (default 0)")
    p.add_argument("--processes", type=int, default=2, help="searching at once (default 2)")
    return p


def _fail(message: str) -> int:
    print(f"pcg-solve: error: {message}", file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
