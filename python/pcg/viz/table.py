"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), limit: int | None = None
) -> str:
    """Columns as wide as their longest cell; those in `right` are right-aligned; rows past `limit` are counted.

    The same on a terminal as in a file: cells are never wrapped, shortened, coloured or read as markup (`[data, -]` is
    a layout).
    """
    shown = [header, ["-" * len(h) for h in header], *rows[:limit]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(header))]
    shown[1] = ["-" * w if h else "" for h, w in zip(header, widths, strict=True)]
    lines = [
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in shown
    ]
    if limit is not None and len(rows) > limit:
        lines.append(f"and {len(rows) - limit} more")
    return "\n".join(f"  {line}".rstrip() for line in lines)
