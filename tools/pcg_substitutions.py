"""pcg-substitutions: generate, prove and check rules, list the properties that proofs use, and validate them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcg.tools import arguments

if TYPE_CHECKING:
    from pcg.substitute.check import Verdict
    from pcg.substitute.property import Property
    from pcg.substitute.rule import Rule

DONE, NOT_ALL = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 all hold, 1 some do not or it is not known, 2 it cannot run."""
    args = parser().parse_args(argv)
    try:
        import z3  # noqa: F401
    except ImportError as error:
        return arguments.fail("pcg-substitutions", f"needs Z3: pip install 'pcg[verify]' ({error})")
    try:
        status: int = args.run(args)
    except KeyboardInterrupt:
        return arguments.fail("pcg-substitutions", "interrupted")
    except BrokenPipeError:  # who reads it has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_ALL
    return status


def _check(args: argparse.Namespace) -> int:
    from pcg.substitute.check import PROVED, VERDICTS, check_entry
    from pcg.substitute.errors import RuleError
    from pcg.substitute.rule_file import read

    try:
        entries = read(Path(args.file))
    except RuleError as error:
        return arguments.fail("pcg-substitutions", str(error))
    found = []
    start = time.perf_counter()
    with _bar(args.quiet) as notify:
        for entry in entries:
            verdict = check_entry(entry)
            found.append(verdict)
            notify("rules", len(found), len(entries))
            if not args.json:
                print(_line(verdict, args.proofs), flush=True)
    counts = Counter(v.verdict for v in found)
    if args.json:
        print(json.dumps({"file": args.file, "counts": dict(counts), "rules": [_entry(v) for v in found]}, indent=1))
    else:
        said = ", ".join(f"{counts[v]} {v}" for v in VERDICTS)
        print(f"{len(found)} rules: {said}, in {time.perf_counter() - start:.1f} s")
    return DONE if counts[PROVED] == len(found) else NOT_ALL


def _generate(args: argparse.Namespace) -> int:
    from pcg.substitute.errors import RuleError
    from pcg.substitute.generate.generate import generate
    from pcg.substitute.generate.space import SPACES
    from pcg.substitute.library import line

    if args.space not in SPACES:
        return arguments.fail("pcg-substitutions", f"space {args.space!r}; allowed: {', '.join(SPACES)}")
    for path in (args.output, args.state):
        if path and not Path(path).absolute().parent.is_dir():
            return arguments.fail("pcg-substitutions", f"no folder {Path(path).absolute().parent} for {path}")
    space = SPACES[args.space].of_size(args.size or SPACES[args.space].size)
    start = time.perf_counter()
    try:
        with _bar(args.quiet) as notify:
            found = generate(space, args.jobs, Path(args.state) if args.state else None, notify)
    except RuleError as error:
        return arguments.fail("pcg-substitutions", str(error))
    lines = [
        f"# pcg-substitutions generate {space.name} --size {space.size}",
        *(f"# {what}: {count}" for what, count in found.counts.items()),
        *(f"{line(rule)}  # {', '.join(proof.sources)}" for rule, proof in zip(found.rules, found.proofs, strict=True)),
    ]
    text = "\n".join(lines) + "\n"
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    for what, rules in (("not proved", found.unknown), ("refuted", found.refuted)):
        for rule in rules:
            print(f"{what}: {line(rule)}", file=sys.stderr)
    counts = ", ".join(f"{count} {what}" for what, count in found.counts.items())
    print(
        f"{space.name}, up to {space.size} operators: {counts}, in {time.perf_counter() - start:.1f} s", file=sys.stderr
    )
    return DONE if not found.unknown else NOT_ALL


def _verify(args: argparse.Namespace) -> int:
    from pcg.substitute import library
    from pcg.substitute.check import PROVED, VERDICTS, verify
    from pcg.substitute.errors import RuleError

    start = time.perf_counter()
    rules: list[Rule] = []
    for path in [Path(f) for f in args.file] or library.files():
        try:
            rules += library.read(path.read_text(encoding="utf-8").splitlines(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            return arguments.fail("pcg-substitutions", f"{path}: cannot be read: {error}")
        except RuleError as error:
            return arguments.fail("pcg-substitutions", str(error))
    found = []
    with _bar(args.quiet) as notify:
        for rule in rules:
            verdict = verify(rule)
            found.append(verdict)
            notify("rules", len(found), len(rules))
            if not args.quiet or verdict.verdict != PROVED:
                print(_line(verdict, args.proofs), flush=True)
    counts = Counter(v.verdict for v in found)
    said = ", ".join(f"{counts[v]} {v}" for v in VERDICTS)
    print(f"{len(found)} rules: {said}, in {time.perf_counter() - start:.1f} s")
    return DONE if counts[PROVED] == len(found) else NOT_ALL


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """What shows how much of what is done, on a terminal's error stream."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, Any] = {}

        def notify(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=of)
            progress.update(tasks[what], completed=done, total=of)

        yield notify


def _line(verdict: Verdict, proofs: bool) -> str:
    text = f"{verdict.name}: {verdict.verdict}"
    if verdict.reason:
        text += f": {verdict.reason}"
    if verdict.proof is not None:
        text += f" from {', '.join(verdict.proof.sources) or 'congruence alone'}"
        if proofs:
            text += "".join(f"\n  {line}" for line in (str(verdict.rule), *str(verdict.proof).splitlines()))
    return text


def _entry(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {"name": verdict.name, "verdict": verdict.verdict}
    if verdict.reason:
        found["reason"] = verdict.reason
    if verdict.rule is not None:
        found["rule"] = str(verdict.rule)
    if verdict.proof is not None:
        found["proof"] = [
            {"left": str(e.left), "right": str(e.right), "property": str(e.property), "source": e.property.source}
            for e in verdict.proof.equations
        ]
    return found


def _properties(args: argparse.Namespace) -> int:
    from pcg.substitute.properties import PROPERTIES
    from pcg.substitute.redundant import follows_from

    for p in _selected(args.source):
        text = f"{p.source:24} {p}{'  on a condition' if p.where is not None else ''}"
        if args.redundant:
            found = follows_from(p, PROPERTIES)
            text += f"  follows from {', '.join(found) or 'congruence'}" if found is not None else "  is independent"
        print(text, flush=True)
    return DONE


def _validate(args: argparse.Namespace) -> int:
    from pcg.substitute.validate import validate_all

    wrong = none = instances = 0
    chosen = _selected(args.source)
    start = time.perf_counter()
    with _bar(args.quiet) as notify:
        for i, (p, found) in enumerate(zip(chosen, validate_all(chosen, args.most, args.jobs), strict=True)):
            instances += found.instances
            none += not found.instances
            said = "holds" if found.instances else "has no instance"
            if found.wrong is not None:
                wrong += 1
                said = f"does not hold: {'; '.join(f'{t}: {t.type}' for t in found.wrong)}"
            if not args.quiet or found.wrong is not None:
                print(f"{p.source}: {p}: {said} ({found.instances} instances)", flush=True)
            notify("properties", i + 1, len(chosen))
    print(
        f"{len(chosen)} properties, {instances} instances up to size {args.most}: {len(chosen) - wrong - none}"
        f" hold, {wrong} do not, {none} have no instance, in {time.perf_counter() - start:.1f} s"
    )
    return DONE if not wrong else NOT_ALL


def _selected(source: str) -> list[Property]:
    from pcg.substitute.properties import PROPERTIES

    return [p for p in PROPERTIES if source.lower() in p.source.lower()]


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of its commands, by name."""
    (subparsers,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(subparsers.choices)


def parser() -> argparse.ArgumentParser:
    p = arguments.Parser(
        prog="pcg-substitutions",
        description="Substitutions: rules by which a small program may replace another one. Exit status: 0 all hold,"
        " 1 some do not or it is not known, 2 it cannot be run.",
    )
    subparsers = p.add_subparsers(required=True, metavar="COMMAND")
    check = subparsers.add_parser(
        "check",
        help="say of each rule of a file of TASO or FlexFlow whether it is proved, refuted, ill-typed or unknown",
        description="Say of each rule of a file in the JSON of TASO and FlexFlow whether it is proved from properties"
        " of its operators, refuted by a counterexample, ill-typed, or neither.",
    )
    check.add_argument("file", metavar="FILE", help="a rule collection, JSON")
    check.add_argument("--json", action="store_true", help="print verdicts, counterexamples and proofs as JSON")
    check.add_argument("--proofs", action="store_true", help="print the instances of properties of each proof")
    check.set_defaults(run=_check)
    generate = subparsers.add_parser(
        "generate",
        help="find all rules between terms of up to so many operators, and prove them",
        description="Enumerate all terms of a space of operators and inputs, pair those of equal values, drop what"
        " follows from other pairs, and prove what is left. Writes the proved rules, one a line. They do not depend"
        " on the number of processes. Exit status: 0 all that was kept is proved, 1 some is not, 2 it cannot be run.",
    )
    generate.add_argument(
        "space", metavar="SPACE",
        help="taso: matrices, images, kernels; unity: layers, parallel operators; products: matrix products of four",
    )  # fmt: skip
    generate.add_argument(
        "--size", type=arguments.integer(1, 4), help="operators of a term, at most (default: the space's)"
    )
    generate.add_argument("--jobs", type=arguments.integer(1), default=1, help="processes (default 1)")
    generate.add_argument("--state", metavar="FILE", help="keep here how far it is, and go on from there")
    generate.add_argument("-o", "--output", metavar="FILE", help="write the rules here instead of to stdout")
    generate.set_defaults(run=_generate)
    verify = subparsers.add_parser(
        "verify",
        help="prove or refute each rule of a file that generate wrote, or of pcg's own",
        description="Prove or refute each rule of files of lines name: source => destination for variable: type, ...",
    )
    verify.add_argument("file", metavar="FILE", nargs="*", help="rules, one a line (default: those that pcg has)")
    verify.add_argument("--proofs", action="store_true", help="print the instances of properties of each proof")
    verify.set_defaults(run=_verify)
    properties = subparsers.add_parser(
        "properties",
        help="list the properties that proofs use",
        description="List the properties that proofs use, with their sources.",
    )
    properties.add_argument("--redundant", action="store_true", help="say of each whether it follows from the others")
    properties.set_defaults(run=_properties)
    validate = subparsers.add_parser(
        "validate",
        help="evaluate both sides of every property by the definitions of its operators",
        description="Evaluate both sides of every property on symbols, by the definitions of its operators, for all"
        " shapes and degrees up to a size.",
    )
    validate.add_argument(
        "--most",
        type=arguments.integer(1, 6),
        default=2,
        help="size of dimensions, at most (default 2; TASO's paper: 4)",
    )
    validate.add_argument("--jobs", type=arguments.integer(1), default=1, help="processes (default 1)")
    validate.set_defaults(run=_validate)
    for command in (properties, validate):
        command.add_argument(
            "--source", default="", metavar="TEXT", help="only those whose source has this text, as TASO"
        )
    for command in (check, validate, generate, verify):
        command.add_argument(
            "--quiet", action="store_true", help="no progress, and of validate only what does not hold"
        )
    return p


if __name__ == "__main__":
    sys.exit(main())
