"""The progress of the search on stderr: nothing at first, a vanishing line on terminals, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable

import pytest

from pcg.planning import progress as planning_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report(stream: io.StringIO, wanted: bool = True, until: Callable[[], bool] = lambda: True) -> str:
    """What is written while a search of two steps runs, the first of which ends when `until` says so."""
    with contextlib.redirect_stderr(stream), planning_progress.Progress(wanted) as progress:
        progress("12 decisions")
        latest = time.monotonic() + 60
        while not until() and time.monotonic() < latest:
            time.sleep(0.01)
        progress("bounding 3 decisions")
    return stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_quick_searches_say_nothing(stream):
    assert report(stream()) == ""


def test_plain_lines(monkeypatch):
    monkeypatch.setattr(planning_progress, "_QUIET", 0.0)
    assert report(io.StringIO()) == "pcg-search: 12 decisions\npcg-search: bounding 3 decisions\n"


def test_one_line_on_a_terminal_that_vanishes(monkeypatch):
    monkeypatch.setattr(planning_progress, "_QUIET", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    terminal, shown = Terminal(), "pcg-search: 12 decisions"
    text = report(terminal, until=lambda: shown in terminal.getvalue())
    assert shown in text, "a long step is shown without being reported again"
    assert text.endswith("\x1b[2K"), "the line is erased"


def test_unwanted(monkeypatch):
    monkeypatch.setattr(planning_progress, "_QUIET", 0.0)
    start = time.monotonic()
    assert report(Terminal(), wanted=False, until=lambda: time.monotonic() > start + 0.05) == ""
