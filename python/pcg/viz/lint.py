"""The report of the linter: what annotations cost, which to change first, and what else is questionable about them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from pcg.driver.decide import Options, run
from pcg.driver.program import Program
from pcg.driver.signature import annotate, check_mesh, declare_mesh
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.transformation import Bytes
from pcg.ir.walk import entry
from pcg.layout import Mesh, ShardSpec
from pcg.lint import Advice, AnnotationClass, Figures, Finding
from pcg.lint.annotations import spec_text
from pcg.machine.units import bytes_text, time_text
from pcg.passes import pipelines
from pcg.passes.base import Pass
from pcg.passes.pcg_lint import LintPass
from pcg.search.outcome import ESTIMATE
from pcg.viz.table import table

#: Annotations, and findings of one code, that are shown.  A choice.
_ROWS = 12


@dataclass(frozen=True)
class Lint:
    """What the linter found about one program on one mesh; printed it is the report.

    `given` are the figures of the program as annotated, `free` of the program without annotations, both completed as
    well as possible; `advice.changes` are changes in the order in which to make them.
    """

    program: str
    mesh: Mesh
    annotations: tuple[AnnotationClass, ...]
    advice: Advice
    findings: tuple[Finding, ...]

    @property
    def annotated(self) -> Figures:
        return self.advice.annotated

    @property
    def free(self) -> Figures:
        return self.advice.free

    @property
    def excess(self) -> float:
        """By how much, relative to a plan without annotations, the annotations make a step longer; 0.05 is 5%."""
        return self.advice.excess

    def __str__(self) -> str:
        count, places = len(self.annotations), sum(len(a.sites) for a in self.annotations)
        many = f"{count} annotations" + (f" at {places} places" if places > count else "")
        parts = [f"{self.program} on mesh {self.mesh.origin} ({self.mesh.size} devices): {many}", _summary(self)]
        if self.advice.changes:
            parts.append("Change first\n" + _changes(self))
        elif self.annotations:
            parts.append("No change of the annotations shortens the step")
        if not self.advice.complete:
            parts.append("The budget is spent before all changes were tried: more may help (option budget)")
        if any(f is not None for f in self.advice.alone):
            parts.append("Each annotation by itself\n" + _alone(self))
        if self.findings:
            parts.append("Findings\n" + _findings(self.findings))
        return "\n\n".join(parts) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; an impossible plan has no seconds."""
        mesh = self.mesh
        return {
            "program": self.program,
            "mesh": dict(mesh.origin.axes),
            "excess": self.excess if math.isfinite(self.excess) else None,
            "annotated": _figures(self.annotated),
            "free": _figures(self.free),
            "annotations": [
                {
                    "name": a.name, "kind": a.kind, "type": a.first.type, "layout": spec_text(a.spec, mesh),
                    "places": [{"name": s.name, "where": s.where} for s in a.sites],
                    "without": None if f is None else _figures(f), "then": [spec_text(s, mesh) for s in to],
                }
                for a, f, to in zip(self.annotations, self.advice.alone, self.advice.alone_to, strict=True)
            ],
            "changes": [
                {
                    "annotations": list(c.annotations),
                    "to": [[spec_text(s, mesh) for s in to] for to in c.to],
                    "again": {str(a): [spec_text(s, mesh) for s in to] for a, to in c.revised},
                    "before": _figures(c.before), "after": _figures(c.after),
                }
                for c in self.advice.changes
            ],
            "complete": self.advice.complete,
            "findings": [
                {"code": f.code, "text": f.text, "where": f.where, "seconds": f.seconds, "bytes": f.bytes}
                for f in self.findings
            ],
        }  # fmt: skip


def lint_program(program: Program, mesh: Mesh, options: Options | None = None, budget: int | None = None) -> Lint:
    """What the layouts that `program` and `options` give cost on `mesh`, and which to change first.

    Raises:
      PcgError: the program is not valid, or does not go with the mesh; at the op's location.
    """
    options = options or Options()
    module = load_module(program.source, make_context(), program.path or "<program>")
    declare_mesh(module, mesh)
    run(module, pipelines.prepare(options.settings), [], {})
    check_mesh(module, mesh)
    annotate(module, program, mesh, options)
    run(module, options.refinement(), [], {})
    limit = None if options.memory_limit is None else Bytes(options.memory_limit)
    chosen = LintPass(memory_limit=limit, machine=options.machine)
    if budget is not None:
        chosen.budget = budget
    chosen.names = [x.name for x in program.arguments], [x.name for x in program.results]
    run(module, [chosen], [], {})
    return dataclasses.replace(of_pass(chosen, module), program=program.name)


def of_pass(done: Pass, module: ir.Module | ir.Operation) -> Lint:
    """What the pass `pcg-lint` found when it ran on `module`."""
    assert isinstance(done, LintPass) and done.space is not None and done.advice is not None
    func = entry(module)
    assert func is not None
    name = ir.StringAttr(func.attributes["sym_name"]).value
    space = done.space
    return Lint(name, space.mesh, tuple(space.annotations), done.advice, tuple(done.findings))


def _figures(f: Figures) -> dict[str, Any]:
    return {
        "seconds": f.seconds if f.possible else None, "compute": f.compute, "communication": f.communication,
        "bytes": f.bytes, "peak_bytes": f.peak_bytes, "fits": f.fits,
    }  # fmt: skip


def _summary(found: Lint) -> str:
    rows = [_row("as annotated", found.annotated), _row("without annotations", found.free)]
    if found.advice.changes:
        rows.insert(1, _row("after the changes below", found.advice.final))
    text = table(["", "step", "compute", "communication", "sent per device", "peak memory", ""], rows, (1, 2, 3, 4, 5))
    if math.isfinite(found.excess) and found.excess > 0:
        text += f"\n  the annotations make a step {100 * found.excess:.1f}% longer"
    return f"{text}\n  steps: {ESTIMATE}, as dist-measure does"


def _row(name: str, f: Figures) -> list[str]:
    if not f.possible:
        return [name, "impossible", "", "", "", "", ""]
    return [
        name, _time(f.seconds), _time(f.compute), _time(f.communication), bytes_text(f.bytes),
        bytes_text(f.peak_bytes), "" if f.fits else "does not fit",
    ]  # fmt: skip


def _changes(found: Lint) -> str:
    lines = []
    for i, c in enumerate(found.advice.changes):
        both = " (these together)" if len(c.annotations) > 1 else ""
        lines.append(f"  {i + 1}. {_seconds(c.before)} -> {_seconds(c.after)}{both}")
        for a, to in zip(c.annotations, c.to, strict=True):
            annotation = found.annotations[a]
            was = spec_text(annotation.spec, found.mesh)
            lines.append(f"     {_named(annotation)}: {was} -> {_to(to, found.mesh)}")
        lines += [f"     and {_named(found.annotations[a])} -> {_to(to, found.mesh)}" for a, to in c.revised]
    return "\n".join(lines)


def _alone(found: Lint) -> str:
    """One row per annotation, those first whose dropping gains most."""
    known = [(f, a) for a, f in zip(found.annotations, found.advice.alone, strict=True) if f is not None]
    known.sort(key=lambda row: (row[0].seconds, row[1].index))
    rows = []
    for f, a in known:
        to = found.advice.alone_to[a.index]
        gain = 1 - f.seconds / found.annotated.seconds if found.annotated.possible and f.possible else 0.0
        shown = _seconds(f) + ("" if f.fits else " (does not fit)")
        layouts = [spec_text(a.spec, found.mesh), _to(to, found.mesh)]
        rows.append([_named(a), a.first.type, *layouts, shown, f"-{100 * gain:.1f}%" if gain > 5e-4 else ""])
    return table(["annotation", "type", "is", "if dropped", "step then", ""], rows, right=(4, 5), limit=_ROWS)


def _findings(found: Sequence[Finding]) -> str:
    lines, count = [], dict[str, int]()
    for f in found:
        count[f.code] = count.get(f.code, 0) + 1
        if count[f.code] <= _ROWS:
            lines.append(f"  {f}")
    lines += [f"  and {n - _ROWS} more [{code}]" for code, n in count.items() if n > _ROWS]
    return "\n".join(lines)


def _named(a: AnnotationClass) -> str:
    return a.name + (f" ({len(a.sites)} places)" if len(a.sites) > 1 else "")


def _to(specs: Sequence[ShardSpec], mesh: Mesh) -> str:
    return " or ".join(spec_text(s, mesh) for s in specs)


def _time(seconds: float) -> str:
    """Microseconds up to ten milliseconds: figures are compared with each other."""
    return f"{1e6 * seconds:.1f} us" if seconds < 1e-2 else time_text(seconds)


def _seconds(f: Figures) -> str:
    return _time(f.seconds) if f.possible else "impossible"
