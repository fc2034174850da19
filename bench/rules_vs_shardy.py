"""Factor rules of pcg against Shardy's own, op by op: what differs, and why.

usage: python -m bench.rules_vs_shardy [--markdown FILE] [--all] [--python INTERPRETER]

Prints every difference with its reason (`--all`: the equal groups too), then the counts.  `--markdown` writes the page
docs/rules-vs-shardy.md instead.  Exit status 1 if a difference has no reason, or a reason no difference.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch_mlir import ir

from bench.rule_compare import Finding, compare
from bench.rule_instances import instances
from bench.rule_reasons import REASONS, VERDICTS, Reason, reason_of
from bench.shardy_rules import Answer, shardy_rules
from pcg.ir.context import make_context
from pcg.rules import CONTROL_FLOW, FactorRule, rule_for
from pcg.rules.registry import shape


@dataclass(frozen=True)
class Instance:
    """One op instance: its name, the label of its op, both rules, and the groups of their factors."""

    name: str
    op: str
    rule: FactorRule
    shardy: Answer
    findings: tuple[Finding, ...]

    @property
    def differences(self) -> list[Finding]:
        return [f for f in self.findings if f.kind != "equal"]


@dataclass(frozen=True)
class Comparison:
    """All instances, against the Shardy in jaxlib `version`."""

    version: str
    instances: tuple[Instance, ...]

    def differences(self) -> list[tuple[Instance, Finding]]:
        return [(i, f) for i in self.instances for f in i.differences]

    def verdict(self, i: Instance) -> str:
        """The worst of its differences: equal, then VERDICTS from good to bad."""
        order = ["equal", *VERDICTS]
        found = [r.verdict for f in i.differences if (r := reason_of(i.op, f.kind))]
        return max(found, key=order.index, default="equal")

    def problems(self) -> list[str]:
        """Differences without a reason, and reasons without a difference."""
        found = [
            f"{i.op}: '{f.kind}' has no reason ({i.name}: {f.ours} against {f.shardy})"
            for i, f in self.differences()
            if reason_of(i.op, f.kind) is None
        ]
        used = {reason_of(i.op, f.kind) for i, f in self.differences()}
        found += [f"{', '.join(r.ops)}: '{r.kind}' has a reason, but no difference" for r in REASONS if r not in used]
        for r in used - {None}:
            assert r is not None
            idle = [p for p in r.ops if not any(Reason((p,), r.kind, "", "").covers(i.op, f.kind)
                                                for i, f in self.differences())]  # fmt: skip
            found += [f"{p}: '{r.kind}' has a reason, but no difference" for p in idle]
        return found


def label(op: ir.Operation) -> str:
    """The op's name; for a custom call with its target."""
    if op.name != "stablehlo.custom_call":
        return op.name
    return f"{op.name} @{ir.StringAttr(op.attributes['call_target_name']).value}"


def collect(programs: dict[str, str] | None = None, python: str = sys.executable) -> Comparison:
    """Ask both sides about every program and compare.

    Raises:
      RuntimeError: Shardy's process fails.
    """
    programs = instances() if programs is None else programs
    version, answers = shardy_rules(list(programs.values()), python)
    found = []
    context = make_context()
    context.allow_unregistered_dialects = True  # attributes of sdy and mhlo on custom calls
    with context, ir.Location.unknown():
        for (name, text), answer in zip(programs.items(), answers, strict=True):
            module = ir.Module.parse(text)
            main = next(
                f.operation for f in module.body.operations
                if ir.StringAttr(f.operation.attributes["sym_name"]).value == "main"
            )  # fmt: skip
            op = list(main.regions[0].blocks[0].operations)[-2].operation
            rule = rule_for(op)
            shapes = [shape(v) for v in (*op.operands, *op.results)]
            findings = compare(rule, answer, shapes, op.name in CONTROL_FLOW)
            found.append(Instance(name, label(op), rule, answer, tuple(findings)))
    return Comparison(version, tuple(found))


def printed(c: Comparison, everything: bool) -> str:
    """The table for a terminal."""
    lines = [f"{'instance':<38} {'difference':<14} {'verdict':<8} pcg | Shardy"]
    for i in c.instances:
        for f in i.findings:
            if f.kind != "equal" or everything:
                r = reason_of(i.op, f.kind)
                verdict = "" if f.kind == "equal" else r.verdict if r else "NONE"
                lines.append(f"{i.name:<38} {f.kind:<14} {verdict:<8} {f.ours} | {f.shardy}")
    return "\n".join([*lines, "", *counts(c)])


def counts(c: Comparison) -> list[str]:
    """Instances and ops by verdict."""
    ops = {i.op for i in c.instances}
    per = Counter(c.verdict(i) for i in c.instances)
    equal = {op for op in ops if all(c.verdict(i) == "equal" for i in c.instances if i.op == op)}
    return [
        f"Shardy of jaxlib {c.version}: {len(c.instances)} instances of {len(ops)} ops; "
        f"{per['equal']} instances and {len(equal)} ops are equal in everything.",
        *(f"{per[v]:>4} instances: {text} ({v})" for v, text in VERDICTS.items()),
    ]


def markdown(c: Comparison) -> str:
    """docs/rules-vs-shardy.md."""
    ops = sorted({i.op for i in c.instances})
    per = Counter(c.verdict(i) for i in c.instances)
    equal = [op for op in ops if all(c.verdict(i) == "equal" for i in c.instances if i.op == op)]
    lines = [
        "# Factor rules against Shardy's",
        "",
        _filled(
            "Shardy, too, writes what it knows of an op as factors (`sdy-populate-op-sharding-rules`), and jaxlib has "
            f"that pass. This page holds the rules of pcg against those of Shardy in jaxlib {c.version}, on "
            f"{len(c.instances)} instances of {len(ops)} ops: the sample of every op that the tests run, and more "
            "where a rule has cases (dimension numbers, groups, windows, sizes with common divisors, kinds of gather "
            "and scatter, custom calls). `python -m bench.rules_vs_shardy` prints it; with `--markdown "
            "docs/rules-vs-shardy.md` it writes this page. A test fails when a difference has no reason below, or a "
            "reason no difference."
        ),
        "",
        "| verdict | instances | meaning |",
        "|---|---|---|",
        f"| equal | {per['equal']} | the same dimensions are tied, split, reduced or whole, and the same is sent |",
        *(f"| {v} | {per[v]} | {text} |" for v, text in VERDICTS.items()),
        "",
        "An instance counts once, under the worst of its differences (from top to bottom).",
        "",
        "## Differences",
        "",
        _filled(
            "The example is one group of factors that lie at the same places of the op: `j permute` is a factor whose "
            "shards send pieces to each other, `j reduced` one that makes the results partial, `j whole` one that "
            "every device must hold. The kinds of difference are those of `bench/rule_compare.py`."
        ),
        "",
        "| ops | difference | verdict | pcg | Shardy | instance | why |",
        "|---|---|---|---|---|---|---|",
        *_rows(c),
        "",
        "## What Shardy's rules do not say",
        "",
        *_beyond(c),
        "",
        "## Equal in every instance",
        "",
        _filled(", ".join(f"`{op}`" for op in equal) + "."),
        "",
    ]
    return "\n".join(lines)


def _rows(c: Comparison) -> Iterable[str]:
    for r in REASONS:
        mine = [(i, f) for i, f in c.differences() if reason_of(i.op, f.kind) is r]
        if not mine:
            continue
        ops = sorted({i.op.removeprefix("stablehlo.") for i, _ in mine})
        names = f"{len(ops)} ops of CHLO" if len(ops) > 12 else ", ".join(f"`{op}`" for op in ops)
        i, f = mine[-1] if len(ops) > 12 else mine[0]
        shardy = "" if r.kind == "not read" else f"`{f.shardy}`"
        cells = [names, r.kind, r.verdict, f"`{f.ours.strip()}`", shardy, i.name, r.text]
        yield "| " + " | ".join(cells) + " |"


def _beyond(c: Comparison) -> Iterable[str]:
    rules = [i.rule for i in c.instances]
    reduces = [r for r in rules if any(f.reduce and f.splittable for f in r.factors)]
    kinds = sorted({f.reduce for r in reduces for f in r.factors if f.reduce})
    sends = [r for r in rules if r.exchanges]
    yield f"- by what a split factor reduces: {', '.join(kinds)} ({len(reduces)} instances); Shardy says `reduction`."
    yield (
        f"- that partial operands give partial results, so that sums are finished later or never "
        f"({sum(bool(r.linear) for r in rules)} instances)."
    )
    yield f"- what is sent, and how many elements ({len(sends)} instances): the search counts it."
    yield (
        f"- the smallest part that a device may hold ({sum(any(f.least > 1 for f in r.factors) for r in rules)} "
        "instances), so that a halo never reaches beyond a neighbour."
    )


def _filled(text: str) -> str:
    """Text in lines; names in backticks are not broken."""
    glued = re.sub(r"`[^`]*`", lambda m: m[0].replace(" ", "\0"), text)
    return textwrap.fill(glued, 118, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", metavar="FILE", help="write the page to FILE ('-': standard output)")
    parser.add_argument("--all", action="store_true", help="print equal groups too")
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose jaxlib is asked")
    options = parser.parse_args(argv)
    found = collect(python=options.python)
    if options.markdown == "-":
        print(markdown(found), end="")
    elif options.markdown:
        Path(options.markdown).write_text(markdown(found))
    else:
        print(printed(found, options.all))
    for problem in found.problems():
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found.problems() else 0


if __name__ == "__main__":
    sys.exit(main())
