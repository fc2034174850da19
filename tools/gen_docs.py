"""Generate docs/architecture.md and docs/reference/{passes,...}.md from the definitions, or check them."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
import typing
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pcg.tools import architecture
from pcg.tools.architecture import HEADER, table


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _sentence(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(_doc(thing).split("\n\n")[0].split())


def _type_name(hint: Any) -> str:
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__name__
    return re.sub(r"(?:\w+\.)+(?=\w)", "", str(hint))


def passes_md() -> str:
    """One section per named pipeline and per Python pass, and a list of C++ passes."""
    from pcg import passes

    pipelines = [[f"`--{n}`", p.summary, f"`{p}`"] for n, p in passes.PIPELINES.items()]
    out = [
        HEADER, "# Passes\n",
        "Every pass is an element of `--pass-pipeline` and a flag of `pcg-opt`: `--pass-pipeline='a,b{option=1}'` "
        "is `--a --b=option=1`.  Until a program is lowered, no pass changes what it computes.\n",
        "## Named pipelines\n", table(["flag", "what it does", "passes"], pipelines),
    ]  # fmt: skip
    for name in passes.pass_names():
        cls = passes.lookup(name)
        assert cls is not None
        out.append(f"## `{name}`\n\n{_doc(cls)}\n")
        hints = typing.get_type_hints(cls)
        rows = []
        for key, f in cls.option_fields().items():
            help_text = f.metadata.get("help", "")
            if choices := f.metadata.get("choices"):
                help_text += f" One of {', '.join(f'`{c}`' for c in choices)}."
            rows.append([f"`{key}`", f"`{_type_name(hints[f.name])}`", f"`{f.default}`", help_text])
        if rows:
            out.append(table(["option", "type", "default", "meaning"], rows))
    out.append("## Passes of MLIR and StableHLO\n\nAll that MLIR registers may be used; these are of use here.\n")
    out.append(table(["pass", "what it does"], [[f"`{n}`", text] for n, text in passes.NATIVE.items()]))
    return "\n".join(out)


def dialects_md() -> str:
    """Attributes and ops of `dist` and `pcg`, from their classes."""
    from pcg.dialects import dist, pcg
    from pcg.ir.context import make_context

    make_context()  # completes the classes
    out = [HEADER, "# Dialects\n", "What each op demands is numbered in [semantics.md](semantics.md).\n"]
    for module, dialect in ((dist, dist.Dist), (pcg, pcg.Pcg)):
        out.append(f"## `{dialect.DIALECT_NAMESPACE}`\n\n{_doc(module)}\n")
        for attr in dialect.attributes:
            out.append(f"### `#{attr.attr_name}`\n\n{_doc(attr)}\n")
            out.append(table(["parameter", "kind"], _fields(attr)))
        for op in dialect.operations:
            out.append(f"### `{op.OPERATION_NAME}`\n\n{_doc(op)}\n")
            if rows := _fields(op):
                out.append(table(["field", "kind"], rows))
    return "\n".join(out)


def _fields(cls: type) -> list[list[str]]:
    rows = []
    for name, hint in cls.__dict__.get("__annotations__", {}).items():
        text = hint if isinstance(hint, str) else _type_name(hint)
        for noise in (
            "torch_mlir._mlir_libs._mlir.", "torch_mlir.dialects.", "collections.abc.", "ext.", "ir.",
            "pcg.dialects.dist.", "pcg.dialects.pcg.",
        ):  # fmt: skip
            text = text.replace(noise, "")
        kind = "result" if text.startswith("OpResult[") else "operand" if text.startswith("Value[") else f"`{text}`"
        rows.append([f"`{name}`", kind])
    return rows


def rules_md() -> str:
    """Which ops have a factor rule, which traits, and how they are lowered, by family; what the traits mean."""
    from pcg.lower import local
    from pcg.rules import registry, traits

    rules = registry.registered()
    families: dict[str, list[str]] = {}
    for op, function in rules.items():
        families.setdefault(function.__module__.rpartition(".")[2], []).append(op)
    out = [
        HEADER, "# Ops\n",
        f"{len(rules)} ops have a factor rule; an op without one runs replicated, with a remark.  Control flow "
        f"({', '.join(f'`{n}`' for n in sorted(registry.CONTROL_FLOW))}) is handled structurally.  *Local form* is "
        "what one device executes: the same op on local shapes, or a form of its own.  [Traits](#traits) are facts "
        "that are true of every op of that name.\n",
    ]  # fmt: skip
    for family in sorted(families):
        out.append(f"## {family}\n\n{_sentence(sys.modules[f'pcg.rules.{family}'])}\n")
        ops_of: dict[tuple[str, str, str], list[str]] = {}
        for op in sorted(families[family]):
            own = ", ".join(str(t.name) for t in traits.of(op))
            ops_of.setdefault((_sentence(rules[op]), _form(local, op), own), []).append(f"`{op}`")
        rows = [[", ".join(ops), *row] for row, ops in ops_of.items()]
        out.append(table(["ops", "rule", "local form", "traits"], rows))
    rows = [
        [str(trait.name), meaning, ", ".join(f"`{op}`" for op in sorted(traits.ops(trait)))]
        for trait, (meaning, _) in traits.MEANINGS.items()
    ]
    return "\n".join([*out, "## Traits\n", table(["trait", "an op with it", "ops"], rows)])


def _form(local: Any, op: str) -> str:
    local._load()
    function = local._FORMS.get(op)
    return "same op" if function is None else _sentence(function) or "own"


_TEST = "test/unit/rules/test_every_op.py"


def status_md() -> str:
    """Per op of StableHLO and CHLO: its factors, what is sharded, what stays whole and why, and what of it is run."""
    from torch_mlir import ir

    from pcg.ir.context import make_context
    from pcg.rules import rule_for
    from pcg.tools import op_samples as ops
    from pcg.tools import op_variants

    split, partly, rows, unsharded = 0, 0, [], []
    programs = executed = legal = ran = 0
    refused: Counter[str] = Counter()
    with make_context(), ir.Location.unknown():
        for name in ops.every():
            if name not in ops.SAMPLES:
                text = ops.STRUCTURAL.get(name) or ops.REPLICATED[name]
                unsharded.append([f"`{name}`", "inside" if name in ops.STRUCTURAL else "no", text])
                continue
            module = ir.Module.parse(ops.SAMPLES[name])
            op = list(module.body.operations[0].regions[0].blocks[0].operations)[-2].operation
            rule = rule_for(op)
            sharded, stays = _factors(rule)
            split += bool(sharded)
            partly += bool(sharded and stays)
            row = [f"`{name}`", f"`{rule}`" if rule.factors else "", sharded, stays]
            if name in ops.NOT_RUN:
                rows.append([*row, "", "", f"rule only: {ops.NOT_RUN[name]}"])
                continue
            cases = op_variants.cases(name)
            counts = sum(c.count for c in cases), sum(c.legal for c in cases if c.runs)
            rows.append([*row, _types(cases), f"{counts[0]} of {counts[1]}", f"`test_op[{name}]`"])
            programs += len(cases)
            executed += sum(1 for c in cases if c.count)
            ran, legal = ran + counts[0], legal + counts[1]
            refused.update(op_variants.NOT_EXECUTED[c.variant.op, c.variant.key] for c in cases if not c.runs)
    count = len(rows) + len(unsharded)
    meshes = " and ".join(
        f"a {n} mesh ({', '.join(f'{a}={size}' for a, size in m.axes)})" for n, m in op_variants.MESHES.items()
    )
    return "\n".join([
        HEADER, "# Status of every op\n",
        f"Of the {count} ops of StableHLO and CHLO, {split} are sharded ({partly} of them not along "
        f"every dimension), {len(ops.STRUCTURAL)} are handled by what is inside them, and "
        f"{count - split - len(ops.STRUCTURAL)} run replicated for the reason given: every op is one of these.  Rules "
        "are those of one small program per op; other attributes of an op may free or bind other dimensions.  The rule "
        "names each dimension's factors, as an einsum does; a contracted factor leaves a partial value, and *passes* "
        "are the operands that may be partial themselves.\n",
        "## What is run\n",
        f"Tests are in `{_TEST}`.  Each takes the program of an op in every element type, index type, "
        f"degenerate shape and other form that verifies, {programs} programs in all, lowers it under strategies on "
        f"{meshes}, runs all devices in the lock-step emulator, and compares with the global op: bit for bit "
        "where elements are only moved, and on integers.  The default suite runs "
        f"{ran} strategies of {executed} programs, a sample with a fixed seed of the {legal} that are legal there; "
        "`-m exhaustive` runs all of them, and a sample on wider meshes.  *Types* are the classes of element types "
        f"that are run ({_classes(op_variants.CLASSES)}).  Random programs are in `test/unit/test_fuzz.py`.\n",
        f"{refused.total()} of the programs cannot be run even on global tensors, neither by XLA nor by the "
        "reference interpreter; the tests check that there are no others:\n",
        table(["why", "programs"], [[why, str(n)] for why, n in refused.items()]),
        "## Ops with samples\n",
        table(["op", "rule", "sharded", "replicated, and why", "types", "strategies run of legal", "test"], rows),
        "## Ops without factors\n", table(["op", "sharded", "why"], unsharded),
    ])  # fmt: skip


def _classes(classes: dict[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{name}: {', '.join(types)}" if (name,) != types else name for name, types in classes.items())


def _types(cases: Iterable[Any]) -> str:
    """The classes of types that are run, and those of which nothing can be run."""
    cases = list(cases)
    ran = dict.fromkeys(c.variant.dtype_class for c in cases if c.count)
    never = dict.fromkeys(c.variant.dtype_class for c in cases if not c.runs and c.variant.dtype_class not in ran)
    return " ".join(ran) + (f"; not executable: {' '.join(never)}" if never else "")


def _factors(rule: Any) -> tuple[str, str]:
    """What of a rule may be split, and what may not and why."""
    from pcg.rules.factor import factor_name as letter

    letters = [letter(i) + (f" ({f.reduce})" if f.reduce else "") for i, f in enumerate(rule.factors) if f.splittable]
    sharded = ", ".join(letters)
    if passes := ", ".join(f"{p.kind} of {'+'.join(map(str, sorted(p.operands)))}" for p in rule.linear):
        sharded += f"; passes {passes}" if sharded else ""
    reasons: dict[str, list[str]] = {}
    for i, f in enumerate(rule.factors):
        if not f.splittable:
            reasons.setdefault(f.reason, []).append(letter(i))
    stays = "; ".join(f"{', '.join(who)}: {why}" for why, who in reasons.items())
    return sharded, stays or (f"all: {rule.reason}" if rule.reason else "")


def cli_md() -> str:
    """The options of the command-line programs."""
    from pcg.tools import options, pcg_calibrate, pcg_cluster, pcg_run, pcg_schedule, pcg_substitutions

    out = [HEADER, "# Command line\n"]
    programs = {
        "pcg-opt": options.parser(),
        "pcg-run": pcg_run.parser(),
        "pcg-calibrate": pcg_calibrate.parser(),
        **{f"pcg-cluster {name}": parser for name, parser in pcg_cluster.subcommands().items()},
        "pcg-schedule": pcg_schedule.parser(),
        **{f"pcg-substitutions {name}": parser for name, parser in pcg_substitutions.commands().items()},
    }
    for name, parser in programs.items():
        out.append(f"## {name}\n\n{' '.join((parser.description or '').split())}\n")
        if parser.prog == "pcg-opt":
            out.append("### Named pipelines\n")
            flags = options.named_flags().items()
            out.append(table(["flag", "meaning"], [[f"`--{n}`", text] for n, text in flags]))
        for group in parser._action_groups:
            actions = [a for a in group._group_actions if not isinstance(a, argparse._HelpAction)]
            if not actions:
                continue
            title = (group.title or "").replace("positional arguments", "input").replace("options", "basic options")
            out.append(f"### {title[:1].upper()}{title[1:]}\n")
            out.append(table(["option", "meaning"], [[_spelling(a), _help(a)] for a in actions]))
    return "\n".join(out)


def properties_md() -> str:
    """The properties of operators that proofs of substitutions use."""
    from pcg.substitute.properties import PROPERTIES

    rows = [
        [f"`{p.left}`", f"`{p.right}`", p.source, f"`{p.domain}`" if p.domain else "", "yes" if p.where else ""]
        for p in PROPERTIES
    ]
    text = (
        f"The {len(PROPERTIES)} properties that proofs of substitutions use"
        " ([substitutions](../substitutions.md)).  Both sides are equal wherever both can be built and have one type;"
        " where the last column says so, on a condition besides, which is in `python/pcg/substitute/properties.py`."
        "  `pcg-substitutions validate` evaluates all of them on small shapes.\n"
    )
    columns = ["left", "right", "source", "dimensions of variables", "condition"]
    return "\n".join([HEADER, "# Properties of operators\n", text, table(columns, rows)])


def _spelling(a: argparse.Action) -> str:
    if not a.option_strings:
        return f"`{a.metavar or a.dest}`"
    value = "" if a.nargs == 0 else f"={a.metavar or a.dest.upper()}"
    return ", ".join(f"`{s}{value if s.startswith('--') else value.replace('=', ' ')}`" for s in a.option_strings)


def _help(a: argparse.Action) -> str:
    text = " ".join((a.help or "").replace("%(default)s", str(a.default)).replace("%%", "%").split())
    return text + (f" (one of {', '.join(f'`{c}`' for c in a.choices)})" if a.choices else "")


PAGES: dict[str, Callable[[], str]] = {
    "passes.md": passes_md,
    "dialects.md": dialects_md,
    "rules.md": rules_md,
    "properties.md": properties_md,
    "status.md": status_md,
    "cli.md": cli_md,
    "../architecture.md": architecture.page,
}


def stale(directory: Path) -> list[Path]:
    """Pages in `directory` that differ from what the definitions say now."""
    paths = {directory / name: page for name, page in PAGES.items()}
    return [p for p, page in paths.items() if not p.exists() or p.read_text(encoding="utf-8") != page()]


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="gen_docs", description=textwrap.dedent(__doc__ or ""))
    p.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    p.add_argument("-o", dest="directory", type=Path, default=Path("docs/reference"), metavar="DIR")
    args = p.parse_args(argv)
    if args.check:
        pages = stale(args.directory)
        for path in pages:
            print(f"{path}: error: stale; run python -m pcg.tools.gen_docs -o {args.directory}", file=sys.stderr)
        return 1 if pages else 0
    args.directory.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (args.directory / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
