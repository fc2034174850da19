"""Plain-text tables and quantities."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "  ") -> str:
    """Columns as wide as their longest cell; the columns in `right` are right-aligned."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(r[i]) for r in cells) for i in range(len(header))]
    lines = []
    for k, row in enumerate(cells):
        text = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append((indent + "  ".join(text)).rstrip())
        if k == 0:
            lines.append((indent + "  ".join("-" * w for w in widths)).rstrip())
    return "\n".join(lines)


def bytes_text(n: float) -> str:
    """`1.50 MiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n:.0f} B"


def time_text(seconds: float) -> str:
    """`12.3 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"
