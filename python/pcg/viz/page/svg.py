"""A part of a placed program as SVG: boxes of ops, smaller ones of redistributions on the lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pcg.viz.page.graph import OP, Node, Redistribution
from pcg.viz.page.layered import Box, draw
from pcg.viz.page.regions import Part

#: Pixels of a character and of a line of text in the page's font, around text, and around a drawing.
_CHARACTER, _LINE, _PADDING, _MARGIN = 7.3, 16.0, 8.0, 6.0
#: Characters of a line of text; the rest is in what is shown where the pointer rests.
_LONGEST = 44
#: Stands for a node itself where redistributions of its value have numbers.
_SELF = -1


def svg(part: Part, title: str) -> str:
    """The drawing, with the classes that the page gives colours to.

    Raises:
      NoIgraph: igraph is not installed.
    """
    at = {n: i for i, n in enumerate(part.nodes)}
    # A redistribution is a box, right behind what it is of, so that lines go from lower numbers to higher ones.
    found: dict[tuple[int, int], Node | Redistribution] = {(i, _SELF): part.graph.nodes[n] for n, i in at.items()}
    found |= {(at[e.source], r.number): r for e in part.edges if (r := e.redistribution) is not None}
    place = {key: i for i, key in enumerate(sorted(found))}
    shown = [found[key] for key in place]
    texts = [_lines(s) for s in shown]
    lines: dict[tuple[int, int], None] = {}
    for e in part.edges:
        source, target = place[at[e.source], _SELF], place[at[e.target], _SELF]
        if e.redistribution is not None:
            between = place[at[e.source], e.redistribution.number]
            lines[source, between] = None
            source = between
        lines[source, target] = None
    drawing = draw([_size(s, t) for s, t in zip(shown, texts, strict=True)], list(lines))
    changed = {place[at[n], _SELF] for n in part.changed}
    width, height = drawing.width + 2 * _MARGIN, drawing.height + 2 * _MARGIN
    return "\n".join([
        f'<svg viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(title)}">',
        *(_line(points) for points in drawing.lines),
        *(_box(s, t, b, i in changed) for i, (s, t, b) in enumerate(zip(shown, texts, drawing.boxes, strict=True))),
        "</svg>",
    ])  # fmt: skip


def _lines(shown: Node | Redistribution) -> tuple[str, ...]:
    if isinstance(shown, Redistribution):
        return (*shown.steps, shown.layout)
    return tuple(filter(None, (shown.name, shown.type, shown.layout)))


def _size(shown: Node | Redistribution, texts: Sequence[str]) -> tuple[float, float]:
    longest = max(min(len(t), _LONGEST) for t in texts)
    height = len(texts) * _LINE + _PADDING
    return longest * _CHARACTER + 2 * _PADDING + (height / 2 if _is_round(shown) else 0), height


def _is_round(shown: Node | Redistribution) -> bool:
    """Whether it is an argument or a result of the program."""
    return isinstance(shown, Node) and shown.kind != OP


def _box(shown: Node | Redistribution, texts: Sequence[str], box: Box, changed: bool) -> str:
    if isinstance(shown, Redistribution):
        kind, about = "redistribution", texts
    else:
        kind, about = shown.kind + (" changed" if changed else ""), (*texts, *filter(None, [shown.where]))
    left, top = box.x - box.width / 2, box.y - box.height / 2
    radius = box.height / 2 if _is_round(shown) else 4
    parts = [
        f'<g class="{kind}"><title>{escape(chr(10).join(about))}</title>'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:g}"/>'
    ]
    for i, text in enumerate(texts):
        y = top + _PADDING / 2 + (i + 0.75) * _LINE
        style = ' class="name"' if i == 0 and isinstance(shown, Node) else ""
        parts.append(f'<text{style} x="{box.x:.1f}" y="{y:.1f}">{escape(_short(text))}</text>')
    return "".join([*parts, "</g>"])


def _line(points: Sequence[tuple[float, float]]) -> str:
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" marker-end="url(#arrow)"/>'


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
