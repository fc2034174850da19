"""What all pages have: the document around what they show, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pcg.viz.page.style import ARROW, STYLE


def framed(title: str, parts: Iterable[str], style: str = "") -> str:
    """A document of `parts`, which are HTML; `style` is added to the style sheet of all pages."""
    head = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        f'content="width=device-width">\n<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n'
        f"{ARROW}\n<main>"
    )
    return "\n".join([head, *parts, "</main>", "</body>", "</html>", ""])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    lines = ["<tr>" + "".join(f"<th>{escape(h)}</th>" for h in header) + "</tr>"] if header else []
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"
