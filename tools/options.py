"""The command line of pcg-opt."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from pcg.passes.pipelines import PIPELINES
from pcg.pipeline.placement import FORMS
from pcg.tools.arguments import integer


class UsageError(ValueError):
    """The command line asks for something that cannot be."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def named_flags() -> dict[str, str]:
    """Flags that are not passes but stand for some."""
    return {n: x.summary for n, x in PIPELINES.items()} | {
        "export-sdy": "Write the chosen layouts as StableHLO with Shardy annotations (the pass sdy-export)."
    }


def parser() -> argparse.ArgumentParser:
    """The argument parser; pass flags are not in it, see `parse`."""
    p = _Parser(
        prog="pcg-opt",
        allow_abbrev=False,
        description="Run passes on MLIR programs.  Every pass and named pipeline is also a flag: "
        "--dist-verify, --pcg-search='option=value ...', --canonicalize; they run in the order given.",
        epilog="named pipelines:\n" + "\n".join(f"  --{n:16s} {text}" for n, text in named_flags().items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("input", nargs="?", default="-", help="program: MLIR text, bytecode or artifact; - is stdin")
    p.add_argument("-o", dest="output", default="-", metavar="FILE", help="where the result goes; - is stdout")

    g = p.add_argument_group("what to run")
    g.add_argument("--pass-pipeline", metavar="TEXT", help="textual pipeline; C++ and Python passes mixed")
    g.add_argument("--mesh", metavar="NAME=SIZE,...", help="declare the process mesh of the program first")
    g.add_argument(
        "--group", action="append", metavar="NAME=SIZE,...",
        help="declare the mesh of a group of devices of a pipeline; once for each group, which need not be equal, in "
        "order; each has the next devices",
    )  # fmt: skip
    g.add_argument(
        "--cluster", metavar="FILE|preset:NAME[:SIZE]|detect",
        help="the machine to plan for; see docs/reference/clusters.md",
    )  # fmt: skip
    g.add_argument(
        "--devices", type=integer(1), metavar="N",
        help="number of devices; the mesh and its device mapping on the cluster are searched",
    )
    g.add_argument(
        "--jobs", type=integer(1), metavar="N",
        help="processes that evaluate candidates for a large program side by side; default: as many as there are cores",
    )
    g.add_argument(
        "--effort", choices=("quick", "default", "proof"),
        help="when a plan is good enough: 1%% above the bound; 0.1%%, or 1%% where the rest takes long; or 0.001%%",
    )  # fmt: skip
    g.add_argument("--exact", action="store_true", help="rewrite only by rules that change no rounding")
    g.add_argument("--no-substitutions", action="store_true", help="do not rewrite the program by rules")
    g.add_argument("--memory-limit", metavar="BYTES", help="bytes per device, such as 16GiB, where a pass has a limit")
    g.add_argument(
        "--stages", type=_stages, metavar="N|auto",
        help="divide a training step into the stages of a pipeline; axis `stage` of the mesh, or --group, says on "
        "how many groups of devices. auto: choose groups, their meshes, stages, microbatches and schedule",
    )  # fmt: skip
    g.add_argument(
        "--microbatches", type=integer(2), metavar="N", help="microbatches of the pipeline; chosen with --stages=auto"
    )
    g.add_argument(
        "--placement", choices=FORMS,
        help="which group has which stages; default: linear, or interleaved where groups have several",
    )  # fmt: skip
    g.add_argument("--run-reproducer", action="store_true", help="run the pipeline that a crash reproducer names")
    g.add_argument("--dump-pass-pipeline", action="store_true", help="print the pipeline to stderr before running it")

    g = p.add_argument_group("explaining")
    g.add_argument(
        "--explain", choices=("html",), metavar="FORMAT",
        help="print not the program but a page in this format (html): which substitutions were applied, and the parts "
        "of the program that differ before and after, with their layouts",
    )  # fmt: skip

    g = p.add_argument_group("linting (--lint)")
    g.add_argument("--lint-format", choices=("text", "json"), default="text", help="how the report is written")
    g.add_argument(
        "--lint-fail-above", metavar="PERCENT",
        help="exit with 1 if the annotations make a step longer by more than this (5 or 5%%), or no plan has them all",
    )  # fmt: skip
    g.add_argument(
        "--lint-budget", type=integer(1), metavar="N", help="how many variants of annotations are estimated at most"
    )

    g = p.add_argument_group("input and output")
    g.add_argument("--split-input-file", action="store_true", help="process parts between '// -----' lines separately")
    g.add_argument("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    g.add_argument("--emit-bytecode", action="store_true", help="write bytecode instead of text")
    g.add_argument("--mlir-print-op-generic", action="store_true", help="print every op in generic form")
    g.add_argument("--mlir-print-debuginfo", action="store_true", help="print source locations")
    g.add_argument("--remarks", action="store_true", help="show the remarks of passes")

    g = p.add_argument_group("checking")
    g.add_argument("--verify-diagnostics", action="store_true", help="compare diagnostics with expected-* comments")
    g.add_argument(
        "--verify-each", action=argparse.BooleanOptionalAction,
        help="verify after every pass; by default named pipelines only once, at their end",
    )  # fmt: skip
    g.add_argument("--verify-roundtrip", action="store_true", help="check that the result prints and parses to itself")

    g = p.add_argument_group("looking inside")
    for when in ("before", "after"):
        g.add_argument(
            f"--mlir-print-ir-{when}", action="append", default=[], metavar="PASS", help=f"print the IR {when} a pass"
        )
        g.add_argument(f"--mlir-print-ir-{when}-all", action="store_true", help=f"print the IR {when} every pass")
    g.add_argument("--mlir-print-ir-after-change", action="store_true", help="print the IR after passes that change it")
    g.add_argument("--mlir-print-ir-after-failure", action="store_true", help="print the IR after a pass that fails")
    g.add_argument("--mlir-print-ir-module-scope", action="store_true", help="print the whole module in IR dumps")
    g.add_argument("--mlir-print-ir-tree-dir", metavar="DIR", help="write IR dumps to files in DIR")
    g.add_argument("--mlir-timing", action="store_true", help="time of every pass, and peak memory")
    g.add_argument("--mlir-pass-statistics", action="store_true", help="statistics of every pass")
    g.add_argument("--mlir-generate-reproducer", metavar="FILE", help="write input and pipeline to FILE, then run")
    g.add_argument(
        "--mlir-pass-pipeline-crash-reproducer", metavar="FILE", help="leave input and pipeline in FILE if a pass fails"
    )
    g.add_argument("--debug", action="store_true", help="show the Python traceback of an internal error")

    g = p.add_argument_group("about pcg-opt")
    g.add_argument("--list-passes", action="store_true", help="list passes and named pipelines")
    g.add_argument("--show-dialects", action="store_true", help="list the dialects a program may use")
    g.add_argument("--version", action="store_true", help="versions of pcg and of the MLIR it runs on")
    return p


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Options, and the pipeline elements that flags ask for, in order.

    `--my-pass` and `--my-pass=opt=1 other=2` are shorthand for the pipeline elements `my-pass` and
    `my-pass{opt=1 other=2}`, as in mlir-opt; one dash is as good as two.

    Raises:
      UsageError: malformed command line.
    """
    argv = [re.sub(r"^-(?=[A-Za-np-z][\w-])", "--", a) for a in argv]
    p = parser()
    try:
        args, rest = p.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise UsageError(str(error)) from None
    flags = []
    for a in rest:
        if not a.startswith("-") or a == "-":
            raise UsageError(f"one input at a time; got '{args.input}' and '{a}'")
        name, eq, options = a.lstrip("-").partition("=")
        if f"--{name}" in p._option_string_actions:
            raise UsageError(f"option '--{name}' takes no value, got '{options}'")
        name = {"export-sdy": "sdy-export"}.get(name, name)
        flags.append(f"{name}{{{options}}}" if eq else name)
    if flags and args.pass_pipeline is not None:
        raise UsageError(f"--pass-pipeline and pass flags (--{flags[0]}) exclude each other")
    return args, flags


def flag_suggestions() -> list[str]:
    """All option names without their dashes, for 'did you mean'."""
    return ["export-sdy", *(s.removeprefix("--") for s in parser()._option_string_actions if s.startswith("--"))]


def _stages(text: str) -> int:
    """A number of stages; 0 where it is chosen."""
    return 0 if text == "auto" else integer(1)(text)
