"""Plan documents as JSON text: what one may say, checked where it is read, and how it is written.

What is checked here needs only the document: kinds of values, layouts on the mesh, counts.  Whether a plan fits
a program is checked against that (`pcg.driver.plan_ir`).
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pcg.driver.checked_json import At, document, shown
from pcg.driver.plan_document import Decision, PlanDocument, PlanError, Reshard, Value
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.substitute.applied import AppliedRules

#: Version of the document's format.
VERSION = 1
#: Entries of `Plan.estimate` that are shown as quantities.
NUMBERS = ("seconds", "bound", "compute", "communication", "bytes", "peak_bytes")
#: Keys of `Plan.memory`, and the least that each may be.
MEMORY = {"microbatches": 1, "recompute": 0}

_NEEDED = ("pcg_plan", "program", "fingerprint", "mesh", "signature", "arguments", "results", "operations", "reshards")
_ALLOWED = (
    *_NEEDED, "estimate", "state", "donated", "constants", "cluster", "platform", "memory", "substitutions",
    "applied_rules", "source",
)  # fmt: skip
_VALUE = re.compile(r"@\d+|r\d+|\d+#\d+|\d+\^\d+:\d+")
_TENSOR = re.compile(r".*\[((?:\d+(?:,\d+)*)?)\]\Z")
_T = TypeVar("_T")


# -- reading -------------------------------------------------------------------------------------


def read(text: str) -> PlanDocument:
    """The plan that a text describes.

    Raises:
      PlanError: not a plan, or of a version that this pcg does not read; one line that names the place in the document,
        the value there and what is allowed.
    """
    doc = document(text, "a plan", PlanError)
    if not isinstance(doc.value, dict) or "pcg_plan" not in doc.value:
        raise PlanError("not a plan: the document has no 'pcg_plan' entry")
    if doc.value["pcg_plan"] != VERSION or isinstance(doc.value["pcg_plan"], bool):
        raise PlanError(f"plan has version {shown(doc.value['pcg_plan'])}; this pcg reads version {VERSION}")
    doc.keys(_NEEDED, _ALLOWED)
    mesh = _mesh(doc["mesh"])
    arguments, results = (tuple(_value(v, mesh) for v in doc[key].items()) for key in ("arguments", "results"))
    operations = tuple(_decision(o, mesh) for o in doc["operations"].items())
    places: dict[int, int] = {}
    for n, d in enumerate(operations):
        if places.setdefault(d.at, n) != n:
            raise PlanError(f"operations[{n}].at is {d.at}, as operations[{places[d.at]}].at is; allowed: once")
    return PlanDocument(
        mesh=mesh,
        program=doc["program"].line(),
        fingerprint=doc["fingerprint"].line(),
        signature=tuple(s.line() for s in doc["signature"].items()),
        arguments=arguments,
        results=results,
        operations=operations,
        reshards=tuple(_reshard(r, n, mesh) for n, r in enumerate(doc["reshards"].items())),
        estimate={k: v.number(-1e300) if k in NUMBERS else v.plain() for k, v in doc.table("estimate")},
        state=_state(doc, arguments, results),
        donated=_distinct(doc, "donated", lambda n: n.integer(below=len(arguments))),
        constants=_constants(doc, len(arguments)),
        cluster=doc["cluster"].text() if "cluster" in doc else "",
        platform=doc["platform"].line() if "platform" in doc else "",
        memory={k: _memory(k, v) for k, v in doc.table("memory")},
        substitutions=_substitutions(doc["substitutions"]) if "substitutions" in doc else "",
        applied_rules=_applied_rules(doc),
        source=_unpacked(doc["source"]) if "source" in doc else "",
    )


def _mesh(at: At) -> Mesh:
    at.keys(("axes", "device_ids"), ("axes", "device_ids", "refined"))
    axes = {name: size.integer(1) for name, size in at.table("axes")}
    ids = None if at["device_ids"].value is None else [n.integer() for n in at["device_ids"].items()]
    parts = {axis: [n.integer(1) for n in sizes.items()] for axis, sizes in at.table("refined")}
    try:
        return Mesh.of(axes, ids).refined(parts)
    except MeshError as error:
        raise PlanError(f"{at.path}: {error}") from None


def _layout(at: At, mesh: Mesh) -> ShardSpec:
    """A layout, in any spelling, by the axes of the refined mesh."""
    try:
        spec = refine.to_parts(ShardSpec.parse(at.text()), mesh)
        spec.check(mesh)
    except SpecError as error:
        raise PlanError(f"{at.path}: {error}") from None
    return spec


def _layouts(at: At, key: str, mesh: Mesh) -> tuple[ShardSpec | None, ...] | None:
    if key not in at or at[key].value is None:
        return None
    return tuple(None if s.value is None else _layout(s, mesh) for s in at[key].items())


def _value(at: At, mesh: Mesh) -> Value:
    at.keys(("name", "type", "spec"), ("name", "type", "spec", "key_rank"))
    type_, spec = at["type"].line(), _layout(at["spec"], mesh)
    if spec.partial:
        raise PlanError(
            f"{at.path}.spec is {at['spec'].value!r}, partial over {', '.join(map(repr, spec.partial_axes))}; allowed: "
            "no partial axes, because nothing reduces arguments and results"
        )
    rank = None
    if found := _TENSOR.match(type_):
        shape = [int(n) for n in found[1].split(",") if n]
        rank = len(shape)
        try:
            spec.check(mesh, shape, even=True)
        except SpecError as error:
            raise PlanError(f"{at.path}.spec of a {type_}: {error}") from None
    key_rank = at["key_rank"].integer(0, None if rank is None else rank + 1) if "key_rank" in at else 0
    return Value(at["name"].line(), type_, spec, key_rank)


def _decision(at: At, mesh: Mesh) -> Decision:
    at.keys(("at", "op"), ("at", "op", "where", "operands", "results"))
    place = at["where"].line() if "where" in at else ""
    return Decision(
        at["at"].integer(), at["op"].line(), place, _layouts(at, "operands", mesh), _layouts(at, "results", mesh)
    )


def _reshard(at: At, number: int, mesh: Mesh) -> Reshard:
    at.keys(("value", "spec"), ("value", "spec", "where", "uses", "apart"))
    value = at["value"].line()
    if not _VALUE.fullmatch(value) or len(value) > 40:
        allowed = "'12#0' (a result), '12^1:2' (an argument of a region), '@3' (of the program), or 'r4'"
        raise at["value"].refuse(allowed)
    if value.startswith("r") and int(value[1:]) >= number:
        raise at["value"].refuse(f"a reshard before this one, r0 to r{number - 1}" if number else "none before r0")
    uses = None
    if "uses" in at:
        pairs = [u.pair() for u in at["uses"].items()]
        uses = tuple((op.integer(), operand.integer()) for op, operand in pairs)
        if any(b <= a for a, b in zip(uses, uses[1:], strict=False)):
            raise at["uses"].refuse("pairs of op and operand in rising order")
    apart = at["apart"].flag() if "apart" in at else False
    return Reshard(value, _layout(at["spec"], mesh), at["where"].line() if "where" in at else "", uses, apart)


def _state(doc: At, arguments: Sequence[Value], results: Sequence[Value]) -> tuple[tuple[int, int], ...]:
    def one(at: At) -> tuple[int, int]:
        result, argument = at.pair()
        found = result.integer(below=len(results)), argument.integer(below=len(arguments))
        have, want = results[found[0]].type, arguments[found[1]].type
        if have != want:
            raise PlanError(f"{at.path} makes result {found[0]} ({have}) the next argument {found[1]} ({want})")
        return found

    pairs = _distinct(doc, "state", one)
    for side, name in enumerate(("result", "argument")):
        if len({p[side] for p in pairs}) != len(pairs):
            raise PlanError(f"state has a {name} twice; allowed: once")
    return pairs


def _distinct(doc: At, key: str, read_one: Callable[[At], _T]) -> tuple[_T, ...]:
    """What a list says, nothing twice; empty if there is no list."""
    found: dict[_T, None] = {}
    for item in doc[key].items() if key in doc else ():
        one = read_one(item)
        if one in found:
            raise item.refuse("everything once")
        found[one] = None
    return tuple(found)


def _constants(doc: At, arguments: int) -> tuple[str, ...]:
    found = tuple(c.line() for c in doc["constants"].items()) if "constants" in doc else ()
    if len(found) > arguments:
        raise PlanError(f"constants has {len(found)} entries; allowed: one per argument, {arguments} at most")
    return found


def _memory(key: str, at: At) -> float:
    if key not in MEMORY:
        raise PlanError(f"memory has an entry {shown(key)}; allowed: {', '.join(MEMORY)}")
    number = at.number(MEMORY[key])
    if key == "microbatches" and number != int(number):
        raise at.refuse("a whole number")
    return float(number)


def _substitutions(at: At) -> str:
    text = at.line()
    if not re.fullmatch(r"rules=[\w,-]+ taken=\d{1,6}(?:,\d{1,6})*", text):
        raise at.refuse("options of pcg-substitute: rules=NAME,... taken=NUMBER,...")
    return text


def _applied_rules(doc: At) -> tuple[AppliedRules, ...]:
    found = _distinct(doc, "applied_rules", _applied)
    if found and "substitutions" not in doc:
        raise doc["applied_rules"].refuse("none, because the plan has no substitutions")
    return found


def _applied(at: At) -> AppliedRules:
    at.keys(("rules", "places", "proofs"), ("rules", "places", "proofs", "saved"))
    places, proofs = (tuple(t.line() for t in at[key].items()) for key in ("places", "proofs"))
    for key, texts in (("places", places), ("proofs", proofs)):
        if not texts:
            raise at[key].refuse("one or more")
    return AppliedRules(at["rules"].line(), places, proofs, at["saved"].number(0) if "saved" in at else None)


def _unpacked(at: At) -> str:
    text = at.text()
    if not text:
        return ""
    try:
        return zlib.decompress(base64.b64decode(text, validate=True)).decode()
    except (ValueError, zlib.error):
        raise at.refuse("a program as plans are saved with (zlib, in base64)") from None


# -- writing -------------------------------------------------------------------------------------


def write(plan: PlanDocument, program: bool = True) -> str:
    """The plan as text: one line per argument, result and op; the last has the program, unless it is left out."""
    head: dict[str, Any] = {
        "pcg_plan": VERSION,
        "program": plan.program,
        "fingerprint": plan.fingerprint,
        "mesh": _mesh_json(plan.mesh),
        "estimate": {k: v for k, v in plan.estimate.items() if not isinstance(v, float) or math.isfinite(v)},
        "signature": list(plan.signature),
    }
    if plan.state:
        head["state"] = [list(pair) for pair in plan.state]
    if plan.donated:
        head["donated"] = list(plan.donated)
    if plan.constants:
        head["constants"] = list(plan.constants)
    if plan.cluster:
        head["cluster"] = plan.cluster
    if plan.platform:
        head["platform"] = plan.platform
    if plan.memory:
        head["memory"] = dict(plan.memory)
    if plan.substitutions:
        head["substitutions"] = plan.substitutions
    if plan.applied_rules:
        head["applied_rules"] = [_applied_json(a) for a in plan.applied_rules]
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    tables: dict[str, list[dict[str, Any]]] = {
        "arguments": [_value_json(v, plan.mesh) for v in plan.arguments],
        "results": [_value_json(v, plan.mesh) for v in plan.results],
        "operations": [_decision_json(d, plan.mesh) for d in plan.operations],
        "reshards": [_reshard_json(r, plan.mesh) for r in plan.reshards],
    }
    for name, rows in tables.items():
        body = ",\n".join("    " + json.dumps(row) for row in rows)
        lines.append(f'  "{name}": [\n{body}\n  ]' if rows else f'  "{name}": []')
    if program and plan.source:
        packed = base64.b64encode(zlib.compress(plan.source.encode(), 9)).decode()
        lines.append(f'  "source": {json.dumps(packed)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _mesh_json(mesh: Mesh) -> dict[str, Any]:
    """The mesh as the user knows it, and the sizes of the parts of refined axes."""
    row: dict[str, Any] = {"axes": dict(mesh.origin.axes), "device_ids": mesh.device_ids}
    parts = {axis: [mesh.axis_size(n) for n in names] for axis, names in mesh.parts.items() if len(names) > 1}
    return row | ({"refined": parts} if parts else {})


def _value_json(v: Value, mesh: Mesh) -> dict[str, Any]:
    row = {"name": v.name, "type": v.type, "spec": str(refine.to_origin(v.spec, mesh))}
    return row | ({"key_rank": v.key_rank} if v.key_rank else {})


def _decision_json(d: Decision, mesh: Mesh) -> dict[str, Any]:
    row: dict[str, Any] = {"at": d.at, "op": d.op}
    if d.where:
        row["where"] = d.where
    for name, specs in (("operands", d.operands), ("results", d.results)):
        if specs is not None:
            row[name] = [None if s is None else str(refine.to_origin(s, mesh)) for s in specs]
    return row


def _applied_json(a: AppliedRules) -> dict[str, Any]:
    row: dict[str, Any] = {"rules": a.name, "places": list(a.places), "proofs": list(a.proofs)}
    return row if a.saved is None else row | {"saved": a.saved}


def _reshard_json(r: Reshard, mesh: Mesh) -> dict[str, Any]:
    row: dict[str, Any] = {"value": r.value, "spec": str(refine.to_origin(r.spec, mesh))}
    if r.where:
        row["where"] = r.where
    if r.uses is not None:
        row["uses"] = [list(u) for u in r.uses]
    if r.apart:
        row["apart"] = True
    return row
