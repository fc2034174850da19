"""What `support.sweeps` says of tests is true of the tests that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import sweeps

HERE = Path(__file__).resolve().parent


class Item:
    """As much of a collected test as is looked at."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.marks = nodeid, []
        if nodeid.endswith("]"):
            self.callspec = type("Spec", (), {"id": nodeid.partition("[")[2][:-1]})
        self.add_marker = self.marks.append


def test_every_sweep_is_in_a_file_that_there_is():
    assert [test for test in sweeps.DEFAULT if not (HERE / test.partition("::")[0]).is_file()] == []


def test_every_test_and_case_was_collected(request):
    """Of the files that this run collects: of all, where it is complete."""
    assert request.config.stash.get(sweeps.ABSENT, []) == []


def test_what_is_not_chosen_is_slow(monkeypatch):
    monkeypatch.setattr(sweeps, "DEFAULT", {"a.py::f": ("x", "z"), "a.py::g": 2, "a.py::h": (), "b.py::f": 2, "a.py::k": 1})
    names = ["f[x]", "f[y]", "g[0]", "g[1]", "g[2]", "h", "i[0]"]
    items = [Item(f"test/a.py::{name}") for name in names]
    assert sweeps.mark(items) == ["a.py::k", "a.py::f[z]"]
    marked = [name for name, item in zip(names, items, strict=True) if pytest.mark.slow in item.marks]
    assert marked == ["f[y]", "g[1]", "h"]
