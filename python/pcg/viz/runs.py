"""Who ran where and when on the islands of a controller, as a page and as a trace for ui.perfetto.dev."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pcg.machine.units import time_text
from pcg.simulate.trace import complete, process, write_events
from pcg.viz.page.frame import framed, table

#: Hues of clients, in degrees: neighbours in the list are far from one another.
_HUES = (210, 30, 130, 280, 0, 175, 60, 320)
#: Pixels of a row, of the space left of it, and of the drawing.
_ROW, _LEFT, _WIDTH = 26, 110, 1100
_STYLE = "svg.runs rect { stroke: var(--page); } svg.runs text.left { text-anchor: end; }"


@dataclass(frozen=True, slots=True)
class IslandRun:
    """A run of a program on one island; times in seconds since recording began."""

    island: str
    client: str
    program: str
    number: int
    """Of the run; the same on all of its islands."""
    submitted: float
    start: float
    """When the island began with it: it was launched, and what was before it was done."""
    end: float


@dataclass(frozen=True)
class Runs:
    """The runs of some time."""

    runs: tuple[IslandRun, ...]
    islands: tuple[str, ...]

    @property
    def clients(self) -> tuple[str, ...]:
        """Those that ran, sorted."""
        return tuple(sorted({r.client for r in self.runs}))

    @property
    def seconds(self) -> float:
        """From the first start to the last end."""
        return max((r.end for r in self.runs), default=0.0) - min((r.start for r in self.runs), default=0.0)

    def utilisation(self, island: str) -> float:
        """The part of the time that an island was busy."""
        return sum(r.end - r.start for r in self.runs if r.island == island) / self.seconds if self.seconds else 0.0

    def shares(self, island: str) -> dict[str, float]:
        """By client, its part of the time that an island was busy."""
        used: defaultdict[str, float] = defaultdict(float)
        for r in self.runs:
            if r.island == island:
                used[r.client] += r.end - r.start
        total = sum(used.values())
        return {client: used[client] / total for client in self.clients if total}

    def write(self, path: str | Path) -> None:
        """A page where the name ends in .html, else a trace as JSON.

        Raises:
          OSError: it cannot be written.
        """
        path = Path(path)
        if path.suffix == ".html":
            path.write_text(self.page(), encoding="utf-8")
        else:
            write_events(path, self.events())

    def events(self) -> list[dict[str, Any]]:
        """Of a trace: a process per island, a thread per client."""
        events: list[dict[str, Any]] = []
        clients = self.clients
        for i, island in enumerate(self.islands):
            events += process(i, f"island {island}", {j: f"client {c}" for j, c in enumerate(clients)})
        for r in self.runs:
            about = {"run": r.number, "waited_us": round((r.start - r.submitted) * 1e6, 1)}
            where = self.islands.index(r.island), clients.index(r.client)
            events.append(complete(r.program, r.client, *where, r.start, r.end - r.start, about))
        return events

    def page(self) -> str:
        """The document: a row per island, a colour per client."""
        title = "Runs on islands"
        rows = []
        for island in self.islands:
            shares = ", ".join(f"{client} {share:.1%}" for client, share in self.shares(island).items())
            rows.append((island, f"{self.utilisation(island):.1%}", shares))
        parts = [f"<h1>{title}</h1>", f"<p>{len(self.runs)} runs in {time_text(self.seconds)}</p>"]
        parts += [table(["island", "busy", "shares"], rows), "<figure>", self._drawing(), "</figure>"]
        return framed(title, parts, _STYLE)

    def _drawing(self) -> str:
        begin = min((r.start for r in self.runs), default=0.0)
        scale = _WIDTH / (self.seconds or 1.0)
        height = _ROW * (len(self.islands) + 1)
        lines = [f'<svg class="runs" width="{_LEFT + _WIDTH}" height="{height}">']
        for i, client in enumerate(self.clients):
            left = _LEFT + 120 * i
            lines.append(f'<rect x="{left}" y="4" width="14" height="14" fill="{_colour(i)}"/>')
            lines.append(f'<text x="{left + 20}" y="16">{escape(client)}</text>')
        for i, island in enumerate(self.islands):
            y = _ROW * (i + 1)
            lines.append(f'<text class="left" x="{_LEFT - 8}" y="{y + 16}">{escape(island)}</text>')
            for r in self.runs:
                if r.island != island:
                    continue
                x, width = _LEFT + (r.start - begin) * scale, max((r.end - r.start) * scale, 0.5)
                about = f"{r.program}, run {r.number} of {r.client}: {time_text(r.end - r.start)}"
                lines.append(
                    f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{_ROW - 4}"'
                    f' fill="{_colour(self.clients.index(r.client))}"><title>{escape(about)}</title></rect>'
                )
        return "\n".join([*lines, "</svg>"])


def _colour(client: int) -> str:
    return f"hsl({_HUES[client % len(_HUES)]} 55% {55 + 15 * (client // len(_HUES) % 3)}%)"


def collected(runs: Sequence[IslandRun], islands: Sequence[str]) -> Runs:
    """Runs by when they started."""
    return Runs(tuple(sorted(runs, key=lambda r: (r.start, r.number))), tuple(islands))
