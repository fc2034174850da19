"""The report behind `explain()`: layouts, collectives and their reasons, costs, rejected plans."""

from __future__ import annotations

from collections.abc import Sequence

from pcg.driver.compilation import Compilation
from pcg.driver.cost import Collective, Cost
from pcg.driver.module_program import entry_function
from pcg.driver.program import Leaf, tensor_bytes
from pcg.explain.replicated import Replicated, replicated
from pcg.ir.locations import place as where
from pcg.layout import Mesh, ShardSpec, refine
from pcg.machine.units import bytes_text, time_text
from pcg.search.outcome import SIMULATION
from pcg.viz.names import common, listed, pattern
from pcg.viz.substitutions import substitutions
from pcg.viz.table import table
from pcg.viz.why import Reasons, collectives_section, layouts_section

#: How a compiled program can be explained.
FORMATS = ("text", "html")


def explain(compilation: Compilation, cost: Cost, *, verbose: bool = False) -> str:
    """The whole report as plain text; `verbose` shows every collective and layout by itself."""
    p, mesh = compilation.program, compilation.mesh
    parts = [
        f"{p.name} on mesh {mesh.origin} ({mesh.size} devices)",
        summary(cost),
        "Arguments\n" + tensors(p.arguments, compilation.in_specs, mesh),
        "Results\n" + tensors(p.results, compilation.out_specs, mesh),
        "Collectives (per step and device)\n" + collectives(cost.collectives),
    ]
    if compilation.plan.applied_rules:
        parts.append(f"Substitutions (the program was rewritten)\n{substitutions(compilation.plan.applied_rules)}")
    reasons = Reasons(compilation)
    if cost.collectives:
        parts.append("Why collectives (per step and device)\n" + collectives_section(reasons, cost, verbose))
    parts.append("Why layouts\n" + layouts_section(reasons, verbose))
    if found := reasons.conflicts():
        parts.append("Conflicts\n" + "\n".join(f"  {text}" for text in found))
    if rows := replicated_ops(compilation):
        parts.append("Replicated (run on every device along these axes, though an operand is split)\n" + rows)
    if cost.alternatives:
        parts.append(f"Rejected (steps: {cost.by})\n" + alternatives(cost))
    if notes := _notes(compilation):
        parts.append("Notes\n" + notes)
    return "\n\n".join(parts) + "\n"


def summary(cost: Cost) -> str:
    """Three lines: time, communication, memory."""
    lines = []
    simulated = f"{time_text(cost.simulated)} {SIMULATION}"
    if cost.seconds is None or cost.by == SIMULATION:
        lines.append(f"  estimated step    {simulated}")
    else:
        lines.append(f"  estimated step    {time_text(cost.seconds)} ({cost.by}), {simulated}")
    lines.append(
        f"  communication     {bytes_text(cost.communication_bytes)} sent per device,"
        f" {time_text(cost.communication_seconds)}"
    )
    lines.append(
        f"  memory            {bytes_text(cost.peak_bytes)} peak per device"
        f" (arguments {bytes_text(cost.argument_bytes)}, results {bytes_text(cost.result_bytes)})"
    )
    return "\n".join(lines)


def tensors(leaves: Sequence[Leaf], specs: Sequence[ShardSpec], mesh: Mesh) -> str:
    """One row per group of tensors with the same name up to numbers, type and layout."""
    groups: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for leaf, spec in zip(leaves, specs, strict=True):
        local = tensor_bytes(spec.local_shape(leaf.shape, mesh), leaf.element)
        shown = str(refine.to_origin(spec, mesh))
        groups.setdefault((pattern(leaf.name), str(leaf), shown), []).append((leaf.name, local))
    rows = []
    for (_, kind, split), found in groups.items():
        shown = common([n for n, _ in found])
        layout = split if any(c.isalpha() for c in split) else "replicated"
        rows.append([shown, str(len(found)), kind, layout, bytes_text(sum(n for _, n in found))])
    return table(["tensor", "count", "type", "sharding", "per device"], rows, right=(1, 4))


def collectives(found: Sequence[Collective]) -> str:
    """One row per kind, axes and type, with the source lines they come from."""
    if not found:
        return "  none"
    groups: dict[tuple[str, str, str], list[Collective]] = {}
    for c in found:
        groups.setdefault((c.kind, "+".join(c.axes), c.type), []).append(c)
    rows = []
    for (kind, axes, type_), cs in groups.items():
        sent, seconds = sum(c.bytes * c.times for c in cs), sum(c.seconds * c.times for c in cs)
        row = [kind, axes, str(sum(c.times for c in cs)), type_, bytes_text(sent), time_text(seconds)]
        rows.append((sent, [*row, listed(c.where for c in cs)]))
    rows.sort(key=lambda r: -r[0])
    header = ["collective", "over", "times", "type on a device", "sent", "estimate", "from"]
    return table(header, [r for _, r in rows], right=(2, 4, 5))


def replicated_ops(compilation: Compilation) -> str:
    """One row per op, reason and layout of ops that run replicated although an operand was split; empty if none do."""
    groups: dict[tuple[str, str, str, str], list[Replicated]] = {}
    module = compilation.modules["plan"]
    with module.context:
        for r in replicated(entry_function(module), compilation.mesh, compilation.machine):
            over, split = refine.origin_names(r.axes, compilation.mesh), refine.to_origin(r.have, compilation.mesh)
            groups.setdefault((r.op.name, "+".join(over), str(split), r.reason), []).append(r)
    rows = []
    for (name, axes, have, reason), found in groups.items():
        seconds, gather = (sum(getattr(r, n) * r.times for r in found) for n in ("seconds", "gather_seconds"))
        at, times = listed(where(r.op.location) for r in found), str(sum(r.times for r in found))
        row = [name.removeprefix("stablehlo."), axes, times, have, time_text(seconds), time_text(gather), reason, at]
        rows.append((seconds + gather, row))
    rows.sort(key=lambda r: -r[0])
    header = ["op", "over", "times", "operand is split as", "runs", "gathers", "because", "from"]
    return table(header, [r for _, r in rows], right=(2, 4, 5)) if rows else ""


def alternatives(cost: Cost) -> str:
    """One row per plan that was considered and not chosen; first what the chosen one is called, if it has a name."""
    rows = []
    if cost.plan and cost.seconds is not None:
        rows.append([cost.plan, time_text(cost.seconds), "1.00x", bytes_text(cost.peak_bytes), "chosen"])
    for a in cost.alternatives:
        ratio = f"{a.seconds / cost.seconds:.2f}x" if cost.seconds else ""
        rows.append([a.name, time_text(a.seconds), ratio, bytes_text(a.bytes), "" if a.fits else "does not fit"])
    return table(["plan", "step", "against chosen", "peak memory", ""], rows, right=(1, 2, 3))


def _notes(compilation: Compilation) -> str:
    """Remarks about ops that run replicated, and others that have no section of their own, collapsed by text."""
    counts: dict[tuple[str, str], list[str]] = {}
    applied = {"; ".join(a.proofs) for a in compilation.plan.applied_rules}
    for name, place, text in compilation.remarks:
        sections = text.startswith("plan:"), " runs replicated over " in text, text in applied
        if not any(sections):
            counts.setdefault((name, text), []).append(place)
    lines = []
    for (name, text), places in counts.items():
        at = ", ".join(sorted({p for p in places if p})[:3])
        times = f" ({len(places)}x)" if len(places) > 1 else ""
        lines.append(f"  {name}: {text}{times}" + (f" at {at}" if at else ""))
    return "\n".join(lines)
