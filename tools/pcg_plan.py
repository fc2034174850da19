"""pcg-plan: look at saved plans, compare two, and estimate what one costs on any machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pcg.tools import arguments

SAME, DIFFERENT = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 done (or equal), 1 the plans differ or do not fit, 2 cannot be read."""
    args = parser().parse_args(argv)
    from pcg.driver.plan_document import PlanError
    from pcg.driver.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import MeshError, SpecError
    from pcg.machine import ClusterError

    try:
        return {"show": _show, "diff": _diff, "cost": _cost}[args.command](args)
    except OSError as error:
        return arguments.fail("pcg-plan", f"{error.filename or 'plan'}: {error.strerror or error}")
    except (PlanError, PcgError, ProgramError, MeshError, SpecError, ClusterError) as error:
        return arguments.fail("pcg-plan", str(error))


def parser() -> argparse.ArgumentParser:
    p = arguments.Parser(prog="pcg-plan", description="Look at saved plans, compare them, and estimate what they cost.")
    commands = p.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="print what a plan says")
    show.add_argument("plan", help="plan as JSON, from Plan.save or pcg-run --save-plan")
    diff = commands.add_parser("diff", help="print how two plans differ; exit status 1 if they do")
    diff.add_argument("old")
    diff.add_argument("new")
    cost = commands.add_parser("cost", help="print what a plan costs on a machine; nothing is searched")
    cost.add_argument("plan", help="plan as JSON")
    cost.add_argument("--program", metavar="FILE", help="the program, if the plan was saved without it")
    cost.add_argument(
        "--cluster", metavar="FILE|preset:NAME[:SIZE]|detect", action="append", default=[],
        help="the machine; more than one: a row for each; default: the one that the plan was made for",
    )  # fmt: skip
    cost.add_argument("--remap", action="store_true", help="lay the mesh where the plan runs fastest on the machine")
    cost.add_argument("--no-simulation", action="store_true", help="leave out lowering and simulating the program")
    cost.add_argument("--json", action="store_true", help="print the costs as JSON")
    return p


def _show(args: argparse.Namespace) -> int:
    from pcg.driver.plan import Plan
    from pcg.viz.plan import show

    sys.stdout.write(show(Plan.load(args.plan)))
    return SAME


def _diff(args: argparse.Namespace) -> int:
    from pcg.driver.plan import Plan
    from pcg.viz.plan import diff_plans

    text = diff_plans(Plan.load(args.old), Plan.load(args.new))
    sys.stdout.write(text)
    return DIFFERENT if text else SAME


def _cost(args: argparse.Namespace) -> int:
    from pcg.driver.plan import Plan
    from pcg.driver.plan_cost import plan_cost
    from pcg.viz.plan import costs

    plan = Plan.load(args.plan)
    program = Path(args.program) if args.program else None
    found = [
        plan_cost(plan, cluster, program=program, remap=args.remap, simulate=not args.no_simulation)
        for cluster in args.cluster or [None]
    ]
    if args.json:
        print(json.dumps([c.to_dict() for c in found], indent=2))
    else:
        sys.stdout.write(costs(plan, found))
    return SAME if all(c.fits for c in found) else DIFFERENT


if __name__ == "__main__":
    sys.exit(main())
