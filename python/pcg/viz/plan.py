"""Plans as text: one by itself, two against each other, and what one costs.  Needs neither jax nor MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pcg.driver.plan import Plan
from pcg.driver.plan_document import Decision, Value
from pcg.layout import Mesh, ShardSpec, refine
from pcg.machine.units import bytes_text, time_text
from pcg.viz.names import common, listed, pattern
from pcg.viz.substitutions import substitutions
from pcg.viz.table import table

if TYPE_CHECKING:
    from pcg.driver.plan_cost import PlanCost

#: Rows of a section that are shown.  A choice.
_ROWS = 40
#: Numbers of an estimate, and how they are written.
_ESTIMATES = {"seconds": time_text, "bound": time_text, "compute": time_text, "communication": time_text,
    "bytes": bytes_text, "peak_bytes": bytes_text}  # fmt: skip


def show(plan: Plan) -> str:
    """What a plan says: mesh, estimate, arguments, results, by which rules it was rewritten, and what is resharded."""
    head = f"plan of {plan.program} ({plan.fingerprint[:12]}) on mesh {plan.mesh.origin} ({plan.mesh.size} devices)"
    if plan.mesh.device_ids:
        head += f"\ndevices {list(plan.mesh.device_ids)}"
    parts = [head]
    estimate = {k: n for k in _ESTIMATES if (n := plan.estimate.get(k)) is not None}
    known = [f"  {k:<14} {_ESTIMATES[k](n)}" for k, n in estimate.items()]
    if known:
        by = f" ({plan.estimate['by']})" if "by" in plan.estimate else ""
        parts.append(f"Estimate at planning{by}\n" + "\n".join(known))
    for name, values in (("Arguments", plan.arguments), ("Results", plan.results)):
        parts.append(f"{name}\n" + _values(values, plan.mesh))
    if plan.applied_rules:
        parts.append(f"Substitutions\n{substitutions(plan.applied_rules)}")
    split = sum(any(s is not None and s.used_axes for s in d.results or ()) for d in plan.operations)
    parts.append(
        f"Operations\n  {len(plan.operations)} placed, {split} of them split; {len(plan.reshards)} values are kept in "
        f"another layout than they are computed in\n  {'with' if plan.source else 'without'} the program"
    )
    return "\n\n".join(parts) + "\n"


def diff_plans(old: Plan, new: Plan) -> str:
    """How `new` differs from `old`: mesh, layouts of tensors and ops, reshards and estimates; empty if it does not.

    Like differences are said once.
    """
    parts = []
    if old.fingerprint != new.fingerprint:
        parts.append(f"program: {old.program} ({old.fingerprint[:12]}) -> {new.program} ({new.fingerprint[:12]})")
    if old.mesh != new.mesh:
        parts.append(f"mesh: {_mesh(old.mesh)} -> {_mesh(new.mesh)}")
    for name, mine, theirs in (("Arguments", old.arguments, new.arguments), ("Results", old.results, new.results)):
        if text := _value_changes(mine, theirs, old.mesh, new.mesh):
            parts.append(f"{name}\n{text}")
    if old.fingerprint == new.fingerprint:
        if text := _op_changes(old, new):
            parts.append(f"Operations\n{text}")
        if text := _reshard_changes(old, new):
            parts.append(f"Kept in another layout than computed in\n{text}")
    elif parts:
        parts.append("the programs differ: operations are not compared")
    if parts and (text := _estimates(old.estimate, new.estimate)):
        parts.append(f"Estimate\n{text}")
    return "\n\n".join(parts) + "\n" if parts else ""


def _mesh(mesh: Mesh) -> str:
    return str(mesh.origin) + (f" on devices {list(mesh.device_ids)}" if mesh.device_ids else "")


def _text(spec: ShardSpec | None, mesh: Mesh) -> str:
    if spec is None:
        return "as it comes"
    return str(refine.to_origin(spec, mesh)) if spec.used_axes else "replicated"


def _values(values: Sequence[Value], mesh: Mesh) -> str:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for v in values:
        groups.setdefault((pattern(v.name), v.type, _text(v.spec, mesh)), []).append(v.name)
    rows = [[common(names), str(len(names)), type_, spec] for (_, type_, spec), names in groups.items()]
    return table(["tensor", "count", "type", "layout"], rows, (1,), limit=_ROWS)


def _value_changes(old: Sequence[Value], new: Sequence[Value], a: Mesh, b: Mesh) -> str:
    """Tensors by name: those of one plan alone, and those whose type or layout differs."""
    mine, theirs = {v.name: v for v in old}, {v.name: v for v in new}
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for name in dict.fromkeys([*mine, *theirs]):
        x, y = mine.get(name), theirs.get(name)
        before, after = (_described(x, y, a), _described(y, x, b))
        if before != after:
            kind = y.type if y is not None else x.type if x is not None else ""
            groups.setdefault((pattern(name), kind, before, after), []).append(name)
    rows = [[common(names), str(len(names)), kind, x, y] for (_, kind, x, y), names in groups.items()]
    return table(["tensor", "count", "type", "was", "is"], rows, (1,), limit=_ROWS) if rows else ""


def _described(v: Value | None, other: Value | None, mesh: Mesh) -> str:
    if v is None:
        return "not there"
    return (f"{v.type} " if other is not None and other.type != v.type else "") + _text(v.spec, mesh)


def _op_changes(old: Plan, new: Plan) -> str:
    mine, theirs = ({d.at: d for d in p.operations} for p in (old, new))
    groups: dict[tuple[str, str, str], list[str]] = {}
    for at in sorted({*mine, *theirs}):
        x, y = mine.get(at), theirs.get(at)
        before, after = _decided(x, old.mesh), _decided(y, new.mesh)
        some = x or y
        if before != after and some is not None:
            groups.setdefault((some.op.removeprefix("stablehlo."), before, after), []).append(some.where)
    rows = [[name, str(len(places)), x, y, listed(places)] for (name, x, y), places in groups.items()]
    rows.sort(key=lambda r: -int(r[1]))
    return table(["op", "count", "was", "is", "from"], rows, (1,), limit=_ROWS) if rows else ""


def _decided(d: Decision | None, mesh: Mesh) -> str:
    """Layouts that an op needs and yields."""
    if d is None:
        return "not placed"
    need, made = (", ".join(_text(s, mesh) for s in specs or ()) for specs in (d.operands, d.results))
    return f"{need} => {made}" if need else made


def _reshard_changes(old: Plan, new: Plan) -> str:
    sides = [{(r.value, r.uses): (_text(r.spec, p.mesh), r.where) for r in p.reshards} for p in (old, new)]
    groups: dict[tuple[str, str], list[str]] = {}
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        x, y = (side.get(key, ("as it is computed", "")) for side in sides)
        if x[0] != y[0]:
            groups.setdefault((x[0], y[0]), []).append(x[1] or y[1])
    rows = [[str(len(places)), x, y, listed(places)] for (x, y), places in groups.items()]
    return table(["values", "was", "is", "from"], rows, (0,), limit=_ROWS) if rows else ""


def _estimates(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    rows = []
    for key, write in _ESTIMATES.items():
        x, y = old.get(key), new.get(key)
        if x is not None and y is not None and x != y:
            rows.append([key, write(x), write(y), f"{y / x:.2f}x" if x else ""])
    if rows and old.get("by") != new.get("by"):
        rows.append(["by", str(old.get("by", "")), str(new.get("by", "")), ""])
    return table(["", "was", "is", ""], rows, right=(1, 2, 3)) if rows else ""


def costs(plan: Plan, found: Sequence[PlanCost]) -> str:
    """What a plan costs on some machines, a row each."""
    header = ["machine", "step", "compute", "communication", "sent per device", "peak memory"]
    rows = []
    for p in found:
        row = [
            p.machine, time_text(p.seconds), time_text(p.compute), time_text(p.communication), bytes_text(p.bytes),
            bytes_text(p.peak_bytes) + ("" if p.fits else " (does not fit)"),
        ]  # fmt: skip
        if (s := p.simulation) is not None:
            row += [time_text(s.seconds), time_text(s.exposed), bytes_text(s.peak_bytes)]
        rows.append(row)
    if any(p.simulation is not None for p in found):
        header += ["simulated step", "exposed communication", "peak memory"]
    text = f"plan of {plan.program} on mesh {plan.mesh.origin}, per step and device\n"
    text += table(header, rows, right=range(1, len(header))) + "\n"
    placed = [f"  {p.machine}: devices {list(p.mesh.device_ids)}" for p in found if p.mesh.device_ids]
    return text + ("\n" + "\n".join(placed) + "\n" if placed else "")
