"""What is questionable about annotations: resharding, padding, replicated tensors, contradictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.locations import place
from pcg.ir.types import tensor_bytes
from pcg.layout import ShardSpec
from pcg.lint.advise import Advice
from pcg.lint.annotations import AnnotatedValue, AnnotationClass, spec_text
from pcg.lint.space import Figures, Space
from pcg.reshard.planner import plan as reshard_plan
from pcg.reshard.steps import Mask, Slice

#: Share of a step's communication from which resharding is a finding.  A choice: at most fifty findings.
_RESHARDING = 0.02
#: Share of all arguments' bytes from which a tensor is large.  A choice: at most twenty are.
_LARGE = 0.05
#: Share of padding below which uneven shards are no finding.  A choice: estimates are off by more than a percent.
_WASTE = 0.01

#: What the findings are, by their code.
CODES: Mapping[str, str] = {
    "contradictory": "two annotations are different layouts of one value",
    "impossible": "no plan has all annotations",
    "forced-reshard": "a value is resharded because its annotation is another layout than it is computed or read in",
    "padding": "a dimension does not divide by its axes: devices store and compute padding",
    "replicated": "a large tensor is annotated to be replicated on every device",
    "unused-axis": "no annotation uses an axis of the mesh",
    "idle-axis": "the completed plan splits no work over an axis of the mesh",
    "needless": "without the annotation the plan costs the same",
}


@dataclass(frozen=True)
class Finding:
    """One thing to look at: `code` is one of `CODES`, `seconds` and `bytes` per step and device what it costs."""

    code: str
    text: str
    where: str
    location: ir.Location | None = field(repr=False, default=None, compare=False)
    seconds: float = 0.0
    bytes: float = 0.0

    def __str__(self) -> str:
        return (f"{self.where}: " if self.where and self.where not in self.text else "") + f"{self.text} [{self.code}]"


def findings(space: Space, advice: Advice) -> list[Finding]:
    """All findings, in the order of `CODES`, in each the costliest first."""
    found = [*_contradictory(space)]
    annotated = advice.annotated
    if not annotated.possible:
        found.append(_of_all(space, "impossible", "the annotations contradict each other: no plan has them all"))
    else:
        found += [*_forced_reshards(space, annotated), *_idle(space, annotated), *_needless(space, advice)]
    found += [*_padding(space), *_replicated(space, advice.free), *_unused(space)]
    order = {code: i for i, code in enumerate(CODES)}
    return sorted(found, key=lambda f: (order[f.code], -f.seconds, -f.bytes))


# -- contradictions --------------------------------------------------------------------------------


def _contradictory(space: Space) -> Iterator[Finding]:
    sites = [s for a in space.annotations for s in a.sites]
    by_argument = {s.index: s for s in sites if s.kind == "argument"}
    for s in sites:
        argument = by_argument.get(space.state[s.index]) if s.kind == "result" and s.index in space.state else None
        if argument is not None and argument.spec != s.spec:
            seconds, sent = _cost(space, s.spec, argument.spec, s)
            text = (
                f"result {s.name} is annotated {_spec(space, s.spec)}, argument {argument.name}, whose next value it "
                f"is, {_spec(space, argument.spec)}: it is resharded at the end of every step, {sent:.0f} bytes sent "
                "per device"
            )
            yield Finding("contradictory", text, s.where, s.location, seconds, sent)
    by_node = {s.node: s for s in sites if s.kind != "op"}
    through = {node for _, node in space.built.layout_nodes}
    into: dict[int, list[int]] = {}
    for e in space.built.graph.edges:
        into.setdefault(e.dst, []).append(e.src)
    for s in sites:
        if s.kind != "constraint":
            continue
        for source in into.get(s.node, ()):
            while source in through and source not in by_node:
                source = into[source][0]
            other = by_node.get(source)
            if other is not None and other.spec != s.spec:
                seconds, sent = _cost(space, other.spec, s.spec, s)
                text = (
                    f"{s.name} {s.type} demands {_spec(space, s.spec)} of a value that {_called(other)} has as "
                    f"{_spec(space, other.spec)}: resharding sends {sent:.0f} bytes per device"
                )
                yield Finding("contradictory", text, s.where, s.location, seconds, sent)


def _called(s: AnnotatedValue) -> str:
    return f"{s.kind} {s.name}" if s.kind in ("argument", "result") else s.name + (f" at {s.where}" if s.where else "")


def _cost(space: Space, src: ShardSpec, dst: ShardSpec, s: AnnotatedValue) -> tuple[float, float]:
    """(seconds, bytes one device sends) of resharding an annotated value."""
    return space.resharding(src, dst, s.shape, s.bytes / max(1, math.prod(s.shape)))


# -- what the plan does with them ------------------------------------------------------------------


def _forced_reshards(space: Space, annotated: Figures) -> Iterator[Finding]:
    """Redistributions right before and behind annotated values, summed up per annotation."""
    nodes, choice = space.built.graph.nodes, space.node_choice(annotated)
    owner = {s.node: a for a in space.annotations for s in a.sites if s.kind != "op"}
    total: dict[tuple[int, str], list[float]] = {}
    for e in space.built.graph.edges:
        for node, arriving in ((e.dst, True), (e.src, False)):
            if node not in owner or (arriving and e.src in owner):
                continue  # between two annotations: contradictory
            src, dst = nodes[e.src].table.outs[e.slot][choice[e.src]], nodes[e.dst].table.ins[e.index][choice[e.dst]]
            if src == dst:
                continue
            seconds, sent = space.resharding(src, dst, e.shape, e.itemsize, e.timing)
            steps = reshard_plan(src, dst, e.shape, e.itemsize, space.mesh, space.model.link)
            kinds = " and ".join(dict.fromkeys(s.collective for s in steps if not isinstance(s, Slice | Mask)))
            if not sent or not kinds:
                continue
            row = total.setdefault((owner[node].index, f"{kinds} {'into' if arriving else 'out of'} it"), [0.0, 0.0])
            row[0] += e.times * seconds
            row[1] += e.times * sent
    for (a, what), (seconds, sent) in total.items():
        if annotated.communication and seconds >= _RESHARDING * annotated.communication:
            annotation = space.annotations[a]
            text = (
                f"{_subject(space, annotation)}: {what}, {sent:.0f} bytes sent per device and step, "
                f"{1e6 * seconds:.1f} us"
            )
            yield Finding("forced-reshard", text, annotation.first.where, annotation.first.location, seconds, sent)


def _idle(space: Space, annotated: Figures) -> Iterator[Finding]:
    """Axes of more than one device that split no op's work in the completed plan."""
    choice, busy = space.node_choice(annotated), set[str]()
    for _, n in space.built.ops:
        assignments = space.built.graph.nodes[n].table.assignments
        if assignments is not None:
            busy.update(axis for axes in assignments[choice[n]].axes for axis in axes)
    for axis, size in space.mesh.axes:
        if size > 1 and axis not in busy:
            text = f"under these annotations nothing is split over axis {axis}: its {size} devices all do the same work"
            yield _of_all(space, "idle-axis", text)


def _needless(space: Space, advice: Advice) -> Iterator[Finding]:
    for a in advice.needless():
        annotation = space.annotations[a]
        text = f"{_subject(space, annotation)}: the step takes as long without"
        yield Finding("needless", text, annotation.first.where, annotation.first.location)


# -- what they say themselves ----------------------------------------------------------------------


def _padding(space: Space) -> Iterator[Finding]:
    for annotation in space.annotations:
        s = annotation.first
        uneven = s.spec.uneven_dims(s.shape, space.mesh)
        if not uneven:
            continue
        shards = math.prod(s.spec.shards(space.mesh))
        waste = math.prod(s.spec.local_shape(s.shape, space.mesh)) * shards / math.prod(s.shape) - 1
        if waste < _WASTE:
            continue
        d = uneven[0]
        text = (
            f"{_subject(space, annotation)}: dimension {d} of size {s.shape[d]} does not divide by "
            f"{space.mesh.axes_size(s.spec.dims[d])}: {100 * waste:.0f}% of what the devices hold is padding"
        )
        yield Finding("padding", text, s.where, s.location, 0.0, waste * s.bytes / shards)


def _replicated(space: Space, free: Figures) -> Iterator[Finding]:
    """Large arguments that every device must hold, where the plan without annotations splits them."""
    arguments = space.func.regions[0].blocks[0].arguments
    total = sum(tensor_bytes(a.type) for a in arguments)
    for annotation in space.annotations:
        s = annotation.first
        size = sum(x.bytes for x in annotation.sites if x.kind == "argument")
        if s.kind != "argument" or s.spec.used_axes or size < _LARGE * total or space.mesh.size == 1:
            continue
        other = space.specs(annotation.index, free)[0]
        split = math.prod(other.shards(space.mesh))
        if split > 1:
            text = (
                f"{_subject(space, annotation)}: every device holds all of it, {size:.0f} bytes; as "
                f"{_spec(space, other)}, as without annotations, it would hold {size / split:.0f}"
            )
            yield Finding("replicated", text, s.where, s.location, 0.0, size - size / split)


def _unused(space: Space) -> Iterator[Finding]:
    used = {axis for a in space.annotations for s in a.sites for axis in s.spec.used_axes}
    for axis, size in space.mesh.axes:
        if size > 1 and axis not in used:
            yield _of_all(space, "unused-axis", f"no annotation uses axis {axis} (size {size})")


def _of_all(space: Space, code: str, text: str) -> Finding:
    """A finding at the function."""
    return Finding(code, text, place(space.func.location), space.func.location)


def _subject(space: Space, a: AnnotationClass) -> str:
    count = f" ({len(a.sites)} places)" if len(a.sites) > 1 else ""
    return f"{a.name}{count} as {_spec(space, a.spec)}"


def _spec(space: Space, spec: ShardSpec) -> str:
    return spec_text(spec, space.mesh)
