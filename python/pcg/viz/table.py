"""Plain-text tables and quantities."""

from __future__ import annotations

from collections.abc import Sequence

#: Columns of the page that tables are laid out on: wider than any table.
_WIDTH = 10_000


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "  ") -> str:
    """Columns as wide as their longest cell; the columns in `right` are right-aligned.

    Plain ASCII, the same on a terminal as in a file: cells are never wrapped, cut, coloured or read
    as markup (`[data, -]` is a layout).
    """
    # Imported here: only reports need it.
    from io import StringIO

    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for i in range(len(header)):
        grid.add_column(justify="right" if i in right else "left", no_wrap=True)
    grid.add_row(*header)
    grid.add_row(*(Rule(characters="-") if h else "" for h in header))
    for row in rows:
        grid.add_row(*row)
    out = StringIO()
    console = Console(
        file=out, width=_WIDTH, color_system=None, force_terminal=False, markup=False, emoji=False, highlight=False
    )
    console.print(grid)
    return "\n".join((indent + line).rstrip() for line in out.getvalue().splitlines())
