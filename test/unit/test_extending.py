"""Adding an op, a pass, a planning strategy, a device preset or a baseline takes the steps that the how-to pages have, and no others."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from support.pages import ROOT, blocks, change, run_page, shell

PAGES = sorted((ROOT / "docs/how-to").glob("*.md"))
PARTS = ("python", "dialects", "passes", "tools", "test")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the repository, from which commands import pcg; `stablehlo.broadcast` is unknown to it."""
    monkeypatch.chdir(tmp_path)
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "tree/pcg"
    package.mkdir(parents=True)
    for entry in [*(tmp_path / "python/pcg").iterdir(), *(tmp_path / p for p in ("dialects", "passes", "tools"))]:
        (package / entry.name).symlink_to(entry)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "tree"))
    without_rule(tmp_path, "stablehlo.broadcast")
    return tmp_path


def without_rule(tree: Path, op: str) -> None:
    """Take the rule and the local form of `op` out of a copy: what a page about adding an op starts from."""
    taken = 0
    for file in [*(tree / "python/pcg/rules").glob("*.py"), *(tree / "python/pcg/lower").glob("local_*.py")]:
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            if any(isinstance(d, ast.Call) and [ast.unparse(a) for a in d.args] == [repr(op)] for d in decorators):
                lines = text.splitlines(keepends=True)
                file.write_text("".join(lines[: decorators[0].lineno - 1] + lines[node.end_lineno :]), encoding="utf-8")
                taken += 1
                break
    assert taken == 2, f"{taken} functions are registered for {op} alone; expected a rule and a local form"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_extension(page, copy):
    """The steps of the page, in a copy, end in what it shows; at most two files that exist are touched."""
    assert len({b.title for b in blocks(page) if b.language == "diff"}) <= 2
    assert run_page(page, copy, {}) >= 5


@pytest.mark.exhaustive
def test_reference_has_extensions(copy):
    """Generating the reference is all that documents them."""
    for page in PAGES:
        for block in blocks(page):
            if block.title:
                change(block, copy)
    shell("python -m pcg.tools.gen_docs -o reference", copy)
    passes, rules = ((copy / f"reference/{name}.md").read_text() for name in ("passes", "rules"))
    assert "## `dist-count`" in passes and "## `pcg-coordinate-descent`" in passes
    assert "dlrm-zero1" in passes and "`stablehlo.broadcast`" in rules
