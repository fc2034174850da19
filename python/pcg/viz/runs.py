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
    planned: tuple[float, float] | None = None
    """When it would begin and end by what pcg estimates; None if that is not known."""


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

    def planned_seconds(self, island: str) -> float:
        """How long an island would be busy by what pcg estimates."""
        return sum(r.planned[1] - r.planned[0] for r in self.runs if r.island == island and r.planned is not None)

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
        """Of a trace: a process per island, a thread per client, measured, and one more, planned."""
        events: list[dict[str, Any]] = []
        clients = self.clients
        for i, island in enumerate(self.islands):
            threads = {j: f"client {c}" for j, c in enumerate(clients)}
            threads |= {len(clients) + j: f"client {c}, planned" for j, c in enumerate(clients)}
            events += process(i, f"island {island}", threads)
        for r in self.runs:
            about = {"run": r.number, "waited_us": round((r.start - r.submitted) * 1e6, 1)}
            where = self.islands.index(r.island), clients.index(r.client)
            events.append(complete(r.program, r.client, *where, r.start, r.end - r.start, about))
            if r.planned is not None:
                begin, end = r.planned
                row = where[0], len(clients) + where[1]
                events.append(complete(r.program, r.client, *row, begin, end - begin, {"run": r.number}))
        return events

    def page(self) -> str:
        """The document: a row per island for what was measured, one for the plan below it, a colour per client."""
        title = "Runs on islands"
        rows = []
        for island in self.islands:
            shares = ", ".join(f"{client} {share:.1%}" for client, share in self.shares(island).items())
            measured = sum(r.end - r.start for r in self.runs if r.island == island)
            times = time_text(measured), time_text(self.planned_seconds(island))
            rows.append((island, f"{self.utilisation(island):.1%}", *times, shares))
        parts = [f"<h1>{title}</h1>", f"<p>{len(self.runs)} runs in {time_text(self.seconds)}</p>"]
        columns = ["island", "busy", "measured", "planned", "shares"]
        parts += [table(columns, rows), "<figure>", self._drawing(), "</figure>"]
        return framed(title, parts, _STYLE)

    def _drawing(self) -> str:
        planned = [r.planned for r in self.runs if r.planned is not None]
        begin = min([r.start for r in self.runs] + [p[0] for p in planned], default=0.0)
        end = max([r.end for r in self.runs] + [p[1] for p in planned], default=0.0)
        scale = _WIDTH / ((end - begin) or 1.0)
        height = _ROW * (2 * len(self.islands) + 1)
        lines = [f'<svg class="runs" width="{_LEFT + _WIDTH}" height="{height}">']
        for i, client in enumerate(self.clients):
            left = _LEFT + 120 * i
            lines.append(f'<rect x="{left}" y="4" width="14" height="14" fill="{_colour(i)}"/>')
            lines.append(f'<text x="{left + 20}" y="16">{escape(client)}</text>')
        for i, island in enumerate(self.islands):
            y = _ROW * (2 * i + 1)
            for row, what in ((y, island), (y + _ROW, "planned")):
                lines.append(f'<text class="left" x="{_LEFT - 8}" y="{row + 16}">{escape(what)}</text>')
            for r in self.runs:
                if r.island != island:
                    continue
                for row, times, what in ((y, (r.start, r.end), ""), (y + _ROW, r.planned, " planned")):
                    if times is None:
                        continue
                    x, width = _LEFT + (times[0] - begin) * scale, max((times[1] - times[0]) * scale, 0.5)
                    about = f"{r.program}, run {r.number} of {r.client}:{what} {time_text(times[1] - times[0])}"
                    lines.append(
                        f'<rect x="{x:.1f}" y="{row + 2}" width="{width:.1f}" height="{_ROW - 4}"'
                        f' fill="{_colour(self.clients.index(r.client))}"><title>{escape(about)}</title></rect>'
                    )
        return "\n".join([*lines, "</svg>"])


def _colour(client: int) -> str:
    return f"hsl({_HUES[client % len(_HUES)]} 55% {55 + 15 * (client // len(_HUES) % 3)}%)"


def collected(runs: Sequence[IslandRun], islands: Sequence[str]) -> Runs:
    """Runs by when they started."""
    return Runs(tuple(sorted(runs, key=lambda r: (r.start, r.number))), tuple(islands))
