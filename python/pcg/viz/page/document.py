"""The page as one HTML document that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from pcg.layout import Mesh
from pcg.machine.units import time_text
from pcg.substitute.applied import AppliedRules
from pcg.viz.names import listed
from pcg.viz.page.frame import framed, table
from pcg.viz.page.graph import Graph
from pcg.viz.page.regions import Part, Region, regions
from pcg.viz.page.svg import svg

#: Nodes of a graph that is drawn, and regions that are.  Choices.
MOST_NODES, MOST_REGIONS = 60, 12
_LEGEND = (
    "Boxes are ops with the type and the layout of their results, round ones arguments and results of the program; "
    "[a, -] says that dimension 0 is split over mesh axis a and dimension 1 is not. Ops that only one of both programs "
    "has are filled, those next to them are dashed. Boxes on lines change layouts."
)
_SAVED = "Saved: how much longer a step takes without a rule, estimated by costs added up."


@dataclass(frozen=True)
class Side:
    """A placed program, and the estimate of its step with the measure that it is by, if there is one."""

    graph: Graph
    seconds: float | None = None
    by: str = ""


def page(
    program: str, mesh: Mesh, applied: Sequence[AppliedRules], after: Side, before: Side | str | None = None
) -> str:
    """The document; `before` is the plan of the program as it was, on the same mesh, or why there is none.

    Raises:
      NoIgraph: igraph is not installed.
    """
    title = f"{program} on mesh {mesh.origin} ({mesh.size} devices)"
    parts = [f"<h1>{escape(title)}</h1>", _figures(after, before), "<h2>Substitutions</h2>"]
    if applied:
        parts += [_rules(applied), f"<p>{_SAVED}</p>", "<h2>Before and after</h2>"]
        parts += _regions(applied, after, before)
    else:
        parts += ["<p>None: the program is planned as it is.</p>", "<h2>The program</h2>"]
        every = tuple(range(len(after.graph.nodes)))
        parts += _drawn(Part(after.graph, every, frozenset(every)), "as planned")
    return framed(title, parts)


def _figures(after: Side, before: Side | str | None) -> str:
    """The estimated steps."""
    rows = []
    if isinstance(before, Side):
        rows.append(["without substitutions", _step(before)])
    elif before is not None:
        rows.append(["without substitutions", f"no plan: {before}"])
    rows.append(["with substitutions" if before is not None else "estimated step", _step(after)])
    if isinstance(before, Side) and before.seconds and after.seconds:
        rows.append(["", f"{before.seconds / after.seconds:.2f} times as fast"])
    return table(["", "estimated step"] if before is not None else [], rows)


def _step(side: Side) -> str:
    return "not estimated" if side.seconds is None else f"{time_text(side.seconds)} ({side.by})"


def _rules(applied: Iterable[AppliedRules]) -> str:
    rows = [
        [a.name, f"{listed(a.places)} ({len(a.places)}x)", "\n".join(a.proofs),
         "not known" if a.saved is None else time_text(a.saved)]
        for a in applied
    ]  # fmt: skip
    return table(["rules", "at", "what they replace, and the proof", "saved"], rows)


def _regions(applied: Sequence[AppliedRules], after: Side, before: Side | str | None) -> list[str]:
    if not isinstance(before, Side):
        return ["<p>There is no plan of the program as it was to compare with.</p>"]
    found = regions(before.graph, after.graph)
    parts = [f"<p>{_LEGEND}</p>"]
    for region in found[:MOST_REGIONS]:
        parts += ["<section>", f"<h3>{escape(_named(region, applied))}</h3>", '<div class="pair">']
        for name, part in (("before", region.before), ("after", region.after)):
            parts += _drawn(part, name)
        parts += ["</div>", "</section>"]
    if len(found) > MOST_REGIONS:
        parts.append(f"<p>{len(found) - MOST_REGIONS} more regions that differ are not drawn.</p>")
    return parts


def _named(region: Region, applied: Sequence[AppliedRules]) -> str:
    """The rules that were applied in a region, how often, and where; of no rule, the lines of ops that differ."""
    rules = [a for a in applied if set(a.places) & set(region.where)]
    places = {p for a in rules for p in a.places}
    lines = [w for w in region.where if not rules or w in places]
    times = f", {region.times} times" if region.times > 1 else ""
    return ": ".join(filter(None, [(listed(a.name for a in rules) or "other ops") + times, listed(lines)]))


def _drawn(part: Part, name: str) -> list[str]:
    """A figure; of what is too large only how large it is."""
    if len(part.nodes) > MOST_NODES:
        size = f"{len(part.nodes)} ops, arguments and results"
        return [f"<p>{escape(name)}: {size}; graphs of up to {MOST_NODES} are drawn.</p>"]
    return [f"<figure><figcaption>{escape(name)}</figcaption>", svg(part, name), "</figure>"]
