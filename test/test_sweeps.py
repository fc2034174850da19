"""What `support.sweeps` says of tests is true of the tests that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import sweeps

HERE = Path(__file__).resolve().parent


class Item:
    """As much of a collected test as is looked at."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.own_markers = nodeid, []
        if nodeid.endswith("]"):
            self.callspec = type("Spec", (), {"id": nodeid.partition("[")[2][:-1]})
        self.add_marker = self.own_markers.append

    def get_closest_marker(self, name: str) -> pytest.MarkDecorator | None:
        return next((mark for mark in self.own_markers if mark.name == name), None)


def test_every_sweep_is_in_a_file_that_there_is():
    assert [test for test in (*sweeps.DEFAULT, *sweeps.SLOW) if not (HERE / test.partition("::")[0]).is_file()] == []


def test_every_test_and_case_was_collected(request):
    """Of the files that this run collects: of all, where it is complete."""
    assert request.config.stash.get(sweeps.ABSENT, []) == []


def test_what_is_not_chosen_is_slow_or_exhaustive(monkeypatch):
    chosen = {"a.py::f": ("x", "z"), "a.py::g": 2, "a.py::h": (), "b.py::f": 2, "a.py::k": 1, "a.py::j": ()}
    monkeypatch.setattr(sweeps, "DEFAULT", chosen)
    monkeypatch.setattr(sweeps, "SLOW", {"a.py::g": 2, "a.py::f": ("w",), "a.py::i": 1})
    names = ["f[x]", "f[y]", *(f"g[{n}]" for n in range(5)), "i[0]", "j", "h"]
    items = [Item(f"test/a.py::{name}") for name in names]
    items[-1].add_marker(pytest.mark.exhaustive)
    items[5].add_marker(pytest.mark.slow)  # g[3]
    assert sweeps.mark(items) == ["a.py::k", "a.py::i", "a.py::f[z]", "a.py::f[w]"]

    def marked(mark: pytest.MarkDecorator) -> list[str]:
        return [name for name, item in zip(names, items, strict=True) if mark in item.own_markers]

    assert marked(pytest.mark.slow) == ["g[1]", "j"] and marked(pytest.mark.exhaustive) == ["f[y]", "g[3]", "h"]
