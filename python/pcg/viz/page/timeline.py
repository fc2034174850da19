"""Timelines as a page: a row per device to scale, its memory below; several, as planned and measured, on one scale."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from html import escape

from pcg.viz.page.frame import framed, table
from pcg.viz.timeline import KINDS, Event, Timeline

#: Pixels: of rows, of memory, between devices, of the axis, of a character, between names and tasks.
_ROW, _MEMORY, _GAP, _AXIS, _CHARACTER, _SPACE = 26.0, 24.0, 10.0, 22.0, 7.3, 8.0
#: Pixels of a task of median length, and of a drawing at least and at most.  Choices: numbers of three digits fit.
_TASK, _LEAST, _MOST = 26.0, 1000.0, 16000.0
#: Pixels between marks of the axis, at least.
_MARK = 80.0

STYLE = """
:root { --f: #b9d5f4; --b: #f8cc9e; --w: #bce2bf; --bw: #f2b1ac; --other: #d9dde2; --memory: #b8bfc7; }
@media (prefers-color-scheme: dark) {
  :root { --f: #24507e; --b: #7d4a13; --w: #2b5d31; --bw: #7a2f2c; --other: #444c56; --memory: #4a535d; }
}
svg.timeline rect { stroke: var(--page); stroke-dasharray: none; }
svg.timeline text.left { text-anchor: end; }
svg.timeline path { stroke: var(--rule); }
svg.timeline path.memory { fill: var(--memory); stroke: none; }
svg.timeline path.limit { stroke: var(--changeline); stroke-dasharray: 4 3; }
svg.timeline .pale { fill-opacity: .55; }
.f { fill: var(--f); } .b { fill: var(--b); } .w { fill: var(--w); }
.bw { fill: var(--bw); } .prepare, .update { fill: var(--other); }
"""


def timeline_page(timelines: Sequence[Timeline], title: str) -> str:
    """The document.

    What does not fit into a task is shown where the pointer rests: when it runs, and where its result goes.
    """
    kinds = [k for k in KINDS if any(e.kind == k for t in timelines for e in t.events)]
    parts = [f"<h1>{escape(title)}</h1>", _legend(kinds)]
    end = max((t.end for t in timelines), default=0.0)
    lengths = [e.end - e.start for t in timelines for e in t.events if e.end > e.start]
    scale = _TASK / statistics.median(lengths) if lengths else 1.0
    width = min(max(scale * end, _LEAST), _MOST)
    memory = max((_most(t, d) for t in timelines for d in range(len(t.memory))), default=0.0)
    for t in timelines:
        if t.title != title:
            parts.append(f"<h2>{escape(t.title)}</h2>")
        if t.figures:
            parts.append(table([], t.figures))
        parts += ["<figure>", "\n".join(_drawing(t, width, end, memory)), "</figure>"]
    return framed(title, parts, STYLE)


def _legend(kinds: Sequence[str]) -> str:
    boxes = [
        f'<svg class="timeline" width="16" height="12"><rect class="{k.lower()}" width="16" height="12"/></svg>'
        f" {k}: {KINDS[k]}"
        for k in kinds
    ]
    return f"<p>{', '.join(boxes)}. Numbers are microbatches, every second chunk is pale; memory is grey.</p>"


def _most(t: Timeline, device: int) -> float:
    """What the memory of a device is drawn up to."""
    limit = t.limits[device] if t.limits else math.inf
    return max(t.peak(device), limit if math.isfinite(limit) else 0.0)


def _drawing(t: Timeline, width: float, end: float, memory: float) -> Iterator[str]:
    scale = width / end if end else 1.0
    step = _ROW + _GAP + (_MEMORY if t.memory else 0.0)
    height = _AXIS + step * len(t.devices)
    texts = [*t.devices, *(_amount(t, d) for d in range(len(t.memory)))]
    names = _CHARACTER * max(map(len, texts), default=0) + 2 * _SPACE
    yield (
        f'<svg class="timeline" viewBox="{-names:.0f} 0 {width + names + _MARK / 2:.0f} {height:.0f}"'
        f' width="{width + names + _MARK / 2:.0f}" height="{height:.0f}" role="img" aria-label="{escape(t.title)}">'
    )
    yield from _axis(t, width, scale, height)
    for d, name in enumerate(t.devices):
        top = _AXIS + d * step
        yield f'<text class="left name" x="{-_SPACE:g}" y="{top + 17:.0f}">{escape(name)}</text>'
        yield from (_task(e, scale, top) for e in t.events if e.device == d)
        if t.memory:
            yield from _memory(t, d, scale, end, memory, top + _ROW + _MEMORY)
    yield "</svg>"


def _axis(t: Timeline, width: float, scale: float, height: float) -> Iterator[str]:
    least = _MARK / scale
    power = 10 ** math.floor(math.log10(least))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= least)
    for n in range(math.floor(width / scale / step) + 1):
        x = n * step * scale
        yield f'<path d="M{x:.1f} {_AXIS - 5:g} V{height:.0f}"/>'
        yield f'<text x="{x:.1f}" y="12">{escape(t.time_text(n * step))}</text>'


def _task(e: Event, scale: float, top: float) -> str:
    left, width = e.start * scale, (e.end - e.start) * scale
    text = ""
    if len(e.label) * _CHARACTER <= width:
        text = f'<text x="{left + width / 2:.1f}" y="{top + 17:.0f}">{escape(e.label)}</text>'
    kind = e.kind.lower() + (" pale" if e.shade % 2 else "")
    return (
        f'<g><title>{escape(chr(10).join(e.about))}</title><rect class="{kind}" x="{left:.1f}" y="{top:.0f}"'
        f' width="{width:.1f}" height="{_ROW:g}"/>{text}</g>'
    )


def _amount(t: Timeline, device: int) -> str:
    """The peak of a device, and its limit if it has one."""
    limit = t.limits[device] if t.limits else math.inf
    of = f" of {t.memory_text(limit)}" if math.isfinite(limit) else ""
    return f"memory {t.memory_text(t.peak(device))}{of}"


def _memory(t: Timeline, device: int, scale: float, end: float, most: float, bottom: float) -> Iterator[str]:
    """The memory of a device as steps, and its limit."""
    high = (_MEMORY - 4) / most if most else 0.0
    limit = t.limits[device] if t.limits else math.inf
    if math.isfinite(limit):
        yield f'<path class="limit" d="M0 {bottom - limit * high:.1f} H{end * scale:.1f}"/>'
    path = "".join(f" H{time * scale:.1f} V{bottom - amount * high:.1f}" for time, amount in t.memory[device])
    path = f"M0 {bottom:.0f}{path} H{end * scale:.1f} V{bottom:.0f} z"
    text = escape(_amount(t, device))
    yield f'<path class="memory" d="{path}"><title>{text}</title></path>'
    yield f'<text class="left" x="{-_SPACE:g}" y="{bottom - 8:.0f}">{text}</text>'
