"""Printing diagnostics as mlir-opt does, and checking them (`--verify-diagnostics`)."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TextIO

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.locations import file_line_col

_EXPECTED = re.compile(
    r"expected-(error|warning|note|remark)(-re)?\s*(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*?)\}\}"
)
_PLACE = re.compile(r"(.*):(\d+):(\d+)\Z")


@dataclass
class Diagnostic:
    """One diagnostic.  `line` and `column` count from 1; None when the place is unknown.

    `file` is "" for the input being processed.
    """

    severity: str
    text: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    notes: list[Diagnostic] = field(default_factory=list)


def at(severity: str, text: str, location: ir.Location | str | None, own: str) -> Diagnostic:
    """A message at an MLIR location; `own` is the name of the input, which becomes ""."""
    found: tuple[str, int, int] | None = None
    if isinstance(location, ir.Location):
        found = file_line_col(location)
    elif location and (m := _PLACE.match(location)):
        found = (m[1], int(m[2]), int(m[3]))
    if found is None:
        return Diagnostic(severity, text)
    file, line, column = found
    return Diagnostic(severity, text, "" if file in ("-", own) else file, line, column)


def from_diagnostic(d: ir.Diagnostic | ir.DiagnosticInfo, own: str) -> Diagnostic:
    """The message of a diagnostic reported by MLIR; native notes that dump an operation are dropped."""
    m = at(str(d.severity).rpartition(".")[2].lower(), d.message, d.location, own)
    notes = [n for n in d.notes if not n.message.startswith("see current operation")]
    m.notes = [from_diagnostic(n, own) for n in notes]
    return m


def from_error(error: Exception, own: str) -> list[Diagnostic]:
    """The messages of an exception raised by MLIR or by the project."""
    if isinstance(error, PcgError):
        return [at("error", error.message, error.location, own)]
    found = [from_diagnostic(d, own) for d in getattr(error, "error_diagnostics", ())]
    return found or [Diagnostic("error", _one_line(str(error)))]


def _one_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "unknown error")


@lru_cache(maxsize=64)
def _lines_of(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as f:
            return f.read().split("\n")
    except OSError:
        return []


def render(m: Diagnostic, source: list[str], name: str, out: TextIO | None = None) -> None:
    """Write `file:line:col: severity: text`, the source line and a caret, then the notes.

    `source` holds the lines of the input called `name`; a place in another file (a model in Python,
    through the locations a frontend left) shows the line of that file, if it can be read.
    """
    out = out or sys.stderr
    if m.line is None:
        print(f"{name}: {m.severity}: {m.text}", file=out)
    else:
        column = max(m.column or 1, 1)
        print(f"{m.file or name}:{m.line}:{column}: {m.severity}: {m.text}", file=out)
        lines = _lines_of(m.file) if m.file else source
        if 0 < m.line <= len(lines) and len(lines[m.line - 1]) < 4096:
            text = lines[m.line - 1]
            print(text, file=out)
            print("".join("\t" if c == "\t" else " " for c in text[: column - 1]) + "^", file=out)
    for n in m.notes:
        render(n, source, name, out)


@dataclass
class _Expectation:
    severity: str
    is_regex: bool
    line: int | None
    text: str
    written_at: int


def _expectations(source: str) -> list[_Expectation]:
    found = []
    for number, text in enumerate(source.split("\n"), 1):
        for m in _EXPECTED.finditer(text):
            where = m[3] or "+0"
            line = None if where == "unknown" else number + int({"above": "-1", "below": "+1"}.get(where, where))
            found.append(_Expectation(m[1], bool(m[2]), line, m[4], number))
    return found


def check(source: str, messages: list[Diagnostic], name: str) -> list[Diagnostic]:
    """Match `messages` against the `expected-*` comments of `source`; return the mismatches as errors.

    A message whose place is in another file counts as `@unknown`.  Remarks and notes need no
    expectation unless the source has one of their kind; errors and warnings do.
    """
    expected = _expectations(source)
    kinds = {e.severity for e in expected} | {"error", "warning"}
    problems = []
    flat = [x for m in messages for x in (m, *m.notes)]
    for m in (x for x in flat if x.severity in kinds):
        line = m.line if not m.file else None
        for e in expected:
            hit = re.search(e.text, m.text) if e.is_regex else e.text in m.text
            if e.severity == m.severity and e.line == line and hit:
                expected.remove(e)
                break
        else:
            problems.append(Diagnostic("error", f"unexpected {m.severity}: {m.text}", m.file, m.line, m.column))
    for e in expected:
        where = "" if e.line in (None, e.written_at) else f" on line {e.line}"
        problems.append(
            Diagnostic("error", f'expected {e.severity} "{e.text}"{where} was not produced', "", e.written_at, 1)
        )
    return problems
