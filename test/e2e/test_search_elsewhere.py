"""`pcg.compile` begins with its search in another process while rewrites are looked for, and makes the same of it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import pcg
from examples import gpt
from pcg.planning import ahead
from pcg.solve import beside, other_process


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the other process has found, where a program of any size is large."""
    found: list[Any] = []
    look = other_process.OtherProcess.found

    def looking(self: Any, ended: Any) -> Any:
        found.append(look(self, ended))
        return found[-1]

    monkeypatch.setattr(beside, "_allowed", True)
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(ahead, "_LARGE", 0)
    monkeypatch.setattr(other_process.OtherProcess, "found", looking)
    other_process.start("pcg.planning.search")
    assert other_process._started is not None
    other_process._started.result()  # nobody waits for its start
    return found


def test_a_program_is_searched_there_and_computes_the_same(found: list[Any]) -> None:
    step, args = gpt.make("small")
    there = pcg.compile(step, "data=2,model=4")
    out = there(*args)
    assert [type(f[2]).__name__ for f in found] == ["SearchPass", "VerifyPass"]
    here = pcg.compile(step, "data=2,model=4", jobs=1)
    here.lower(*args)
    assert len(found) == 2
    assert there.as_text("local") == here.as_text("local")
    ours, other = there.executable.compilation, here.executable.compilation
    assert [r for r in ours.remarks if r[0] == "pcg-search"] == [r for r in other.remarks if r[0] == "pcg-search"]
    assert ours.report.seconds == other.report.seconds and ours.report.bound == other.report.bound
    for a, b in zip(jax.tree.leaves(out), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-5)


def test_the_other_process_is_started_for_a_large_program_once_it_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    monkeypatch.setattr(ahead, "expect", started.append)
    step, args = gpt.make("small")
    pcg.compile(step, "data=2,model=4").lower(*args)
    equations, ops = started
    assert equations > 100 and ops > 100
    for options in ({"jobs": 1}, {"strategy": "data"}, {"cluster": pcg.Cluster.preset("dgx-a100").take(8)}):
        pcg.compile(step, "data=2,model=4", **options).lower(*args)
    assert len(started) == 2


@pytest.mark.parametrize("options", [{"substitutions": False}, {"strategy": "unity"}, {"strategy": "data"}])
def test_where_the_search_does_not_begin_nothing_is_started(found: list[Any], options: dict[str, Any]) -> None:
    before = other_process._executor
    pcg.compile(lambda x, y: (x @ y).sum(), "data=2,model=4", **options).lower(*np.ones((2, 8, 8), np.float32))
    assert not found and other_process._executor is before
