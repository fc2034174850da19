"""bench/planted_faults.py on a small package: what is caught, what survives, and how a run goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import planted_faults
from bench.fault_runs import Batch, Outcome, Workspace, batches_in, digest, ordered
from bench.planted_faults import Results, Verdict, judge
from bench.source_faults import Fault

#: `size` is tested, `spare` is not; `steps` has a loop.
SOURCE = """\
def size(a, b):
    return a < b


def spare(a):
    return a + 1


def steps(n):
    while n > 0:
        n = n - 1
    return n
"""
TESTS = """\
from pcg.rules.small import size, steps


def test_size():
    assert not size(1, 1)


def test_steps():
    assert steps(3) == 0
"""
CAUGHT = Fault("python/pcg/rules/small.py", "comparison", 2, 13, "<", "<=")
HARMLESS = Fault("python/pcg/rules/small.py", "arithmetic", 6, 13, "+", "-")
ENDLESS = Fault("python/pcg/rules/small.py", "arithmetic", 11, 14, "-", "+")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of one module, with a test of it, one of another room, and one that fails."""
    files = {
        "python/pcg/__init__.py": "", "python/pcg/rules/__init__.py": "", "python/pcg/rules/small.py": SOURCE,
        "test/unit/rules/test_all.py": "def test_nothing():\n    pass\n", "test/unit/rules/test_small.py": TESTS,
        "test/unit/lower/test_other.py": "def test_broken():\n    assert False\n",
        "test/unit/search/test_user.py": "from pcg.rules import (\n    small,\n)\n\n\ndef test_it():\n    assert small\n",
        "test/passes/a.mlir": "// RUN: true\n", "test/passes/b.mlir": "// RUN: true\n", "test/passes/Inputs/c.mlir": "// RUN:",
        ".git/config": "", "test/__pycache__/old.pyc": "",
    }  # fmt: skip
    for name, text in files.items():
        file = tmp_path / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "root"


def picked(root: Path, *names: str) -> list[Batch]:
    return [t for t in batches_in(root) if any(n in t.name for n in names)]


def test_tests_are_files_and_directories_of_lit_tests(root: Path) -> None:
    assert [t.name for t in batches_in(root)] == [
        "test/passes/*.mlir", "test/unit/lower/test_other.py", "test/unit/rules/test_all.py",
        "test/unit/rules/test_small.py", "test/unit/search/test_user.py",
    ]  # fmt: skip
    assert batches_in(root)[0].files == ("test/passes/a.mlir", "test/passes/b.mlir")


def test_the_likeliest_tests_come_first(root: Path) -> None:
    def names(reach: str) -> list[str]:
        return [Path(t.name).stem for t in ordered(batches_in(root), root, CAUGHT, reach)]

    assert names("room") == ["test_small", "test_all"]
    assert names("module") == ["test_small", "test_all", "test_user"]
    assert names("all") == ["test_small", "test_all", "test_user", "*", "test_other"]


def test_faults_are_caught_and_survive(root: Path, tmp_path: Path) -> None:
    """The same workspace for both: what is planted for one is gone for the next, bytecode included."""
    workspace = Workspace(root, tmp_path / "copy")
    assert not (workspace.tree / ".git").exists() and not (workspace.tree / "test/__pycache__").exists()
    results = Results(tmp_path / "results.json", digest(root))
    tests = picked(workspace.tree, "test_small", "test_other")
    harmless = judge(HARMLESS, workspace, tests, results)
    assert (harmless.status, harmless.passed) == ("passed", ("test/unit/rules/test_small.py",))
    assert results.baseline["test/unit/lower/test_other.py"].status == "failed"
    caught = judge(CAUGHT, workspace, tests, results)
    assert (caught.status, caught.test) == ("failed", "test/unit/rules/test_small.py::test_size")
    assert (workspace.tree / CAUGHT.path).read_text() == SOURCE and (root / CAUGHT.path).read_text() == SOURCE
    again = Results(tmp_path / "results.json", digest(root))
    assert again.verdicts == results.verdicts and again.baseline == results.baseline


def test_a_fault_without_an_end_is_caught_by_the_limit(root: Path, tmp_path: Path) -> None:
    workspace = Workspace(root, tmp_path / "copy")
    with workspace.planted(ENDLESS):
        outcome = workspace.run(picked(workspace.tree, "test_small")[0], 1)
    assert outcome.status == "limit" and outcome.test == "test/unit/rules/test_small.py"


def test_tests_that_cannot_run_stop_everything(root: Path, tmp_path: Path) -> None:
    workspace = Workspace(root, tmp_path / "copy")
    (workspace.tree / "pytest.py").write_text("raise SystemExit('no pytest here')")
    with pytest.raises(RuntimeError, match="does not run without a fault:\nno pytest here"):
        judge(CAUGHT, workspace, picked(workspace.tree, "test_small"), Results(None, ""))


def test_a_run_goes_on_where_it_was(root: Path, tmp_path: Path) -> None:
    """Tests that passed with a fault are not run again, nor is anything for one that was caught."""
    file = tmp_path / "results.json"
    results = Results(file, "0")
    passed, failed = (Batch(n, (n,)) for n in ("test/a.py", "test/b.py"))
    for t in (passed, failed):
        results.keep(t, Outcome("passed", "", 1.0))
    first = Verdict(HARMLESS).then(passed, Outcome("passed", "", 2.0))
    results.keep(passed, Outcome("passed", "", 2.0), first)
    second = Verdict(CAUGHT).then(failed, Outcome("failed", "test/b.py::test_it", 3.0))
    results.keep(failed, Outcome("failed", "test/b.py::test_it", 3.0), second)

    class NoWorkspace(Workspace):
        def __init__(self) -> None:
            pass

    kept = Results(file, "0")
    assert judge(HARMLESS, NoWorkspace(), [passed], kept) == first
    assert judge(CAUGHT, NoWorkspace(), [passed, failed], kept) == second
    with pytest.raises(ValueError, match="results of other source or tests"):
        Results(file, "1")


def test_the_digest_tells_source_and_tests_apart(root: Path) -> None:
    before = digest(root)
    (root / "README.md").write_text("text")
    assert digest(root) == before
    (root / "test/unit/rules/test_all.py").write_text("")
    assert digest(root) != before


def test_the_command(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = tmp_path / "left.json"
    command = ["--root", str(root), "--rooms", "rules", "--reach", "room", "--tests", "test/unit/rules/test_small.py"]
    left.write_text(json.dumps([CAUGHT.__dict__, HARMLESS.__dict__]))
    assert planted_faults.main([*command, "--from", str(left), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "   0 comparison  python/pcg/rules/small.py:2: < -> <=", "   1 arithmetic  python/pcg/rules/small.py:6: + -> -",
    ]  # fmt: skip
    assert planted_faults.main([*command, "--from", str(left), "--survivors", str(left)]) == 0
    assert capsys.readouterr().out.splitlines()[4:] == [
        "1 of 2 faults caught, 0 of them by the time limit",
        "survived: python/pcg/rules/small.py:6: + -> -", "    return a + 1",
    ]  # fmt: skip
    assert [Fault(**d) for d in json.loads(left.read_text())] == [HARMLESS]
