"""The documentation runs: commands, snippets and what they print, page by page; see `support.pages` for the rules."""

from __future__ import annotations

import re
import sys
import types

import pytest

import pcg
from examples import megatron4
from pcg.driver.decide import STRATEGIES
from pcg.runtime.cluster import state
from pcg.tools import pcg_cluster
from support.pages import ROOT, blocks, match, run_page, sections, shell

#: Page -> sections that take long and define nothing that others use; they run with the marker `slow`.
SLOW = {
    "docs/overview.md": frozenset[str](),
    "docs/islands.md": frozenset(),
    "docs/tutorial.md": frozenset({"Check it"}),
    "docs/how-to.md": frozenset(
        {
            "Compare plans, and what one costs on another machine",
            "Compare with baselines",
            "See one step in time",
            "Look inside",
        }
    ),
}
#: Page -> how many blocks of it run at least, without those sections.
LEAST = {"docs/overview.md": 13, "docs/islands.md": 5, "docs/tutorial.md": 30, "docs/how-to.md": 30}
GUIDES = [*(ROOT / page for page in SLOW), *sorted((ROOT / "docs/how-to").glob("*.md")), ROOT / "README.md"]


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    yield tmp_path
    if state.files():  # of a page that does not come to its end
        pcg_cluster.main(["stop", "--now"])


@pytest.fixture
def names(monkeypatch):
    """The namespace of a page: that of a module, because classes look for theirs."""
    module = types.ModuleType("train")
    monkeypatch.setitem(sys.modules, "train", module)
    return vars(module)


@pytest.mark.parametrize("page", LEAST)
def test_page(page, where, names):
    assert run_page(ROOT / page, where, names, SLOW[page]) >= LEAST[page]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in SLOW if SLOW[page]])
def test_page_completely(page, where, names):
    assert SLOW[page] <= set(sections(ROOT / page))
    assert run_page(ROOT / page, where, names) > LEAST[page]


def test_readme(where, names, monkeypatch):
    """Its snippet is planned for the example whose report it shows, and not run: eight large shares of one processor."""
    step, (params, opt, batch) = megatron4.shapes("large")

    def plan(self, *args):
        self.lower(*args)
        return args[0], args[1], None

    monkeypatch.setattr(pcg.Compiled, "__call__", plan)
    names |= {"train_step": step, "params": params, "opt": opt, "batch": batch}
    assert run_page(ROOT / "README.md", where, names, frozenset({"Try it"})) == 2


def test_first_command_of_the_readme(where):
    """Installing is what `.ci/run` does; the command behind it plans an example."""
    (block,) = (b for b in blocks(ROOT / "README.md") if b.section == "Try it")
    command = re.search(r"&& \.venv/bin/(pcg-opt .*)", block.text)
    assert command is not None
    (where / "examples").symlink_to(ROOT / "examples")
    assert "pcg-search: plan: " in shell(f"{command[1]} 2>&1", where)
    assert '"pcg.' in (where / "plan.mlir").read_text()


@pytest.mark.parametrize(
    "want, got, same",
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n\n", True),
        ("a ... d\n", "a b c d\n", True),
        ("a\nd\n", "a\nb\nd\n", False),
        ("x  1\n", "x 1\n", False),
    ],
)
def test_output_is_compared_exactly(want, got, same):
    if same:
        match(want, got)
    else:
        with pytest.raises(AssertionError, match="Differences"):
            match(want, got)


@pytest.mark.parametrize(
    "lead, shown, same",
    [
        ("", "ran in 1.00 ms, 3 KiB\n", False),
        ("It prints (times differ by machine):", "ran in 1.00 ms, 3 KiB\n", True),
        ("It prints (times differ by machine):", "ran in 1.00 ms, three KiB\n", False),
    ],
)
def test_figures_may_differ_where_the_page_says_so(lead, shown, same, where, names, monkeypatch):
    page = where / "page.md"
    page.write_text(f"```python\nprint('ran in  12 s, 40 B')\n```\n\n{lead}\n\n```text\n{shown}```\n")
    monkeypatch.setattr("support.pages.ROOT", where)
    if same:
        assert run_page(page, where, names) == 2
    else:
        with pytest.raises(AssertionError, match="Differences"):
            run_page(page, where, names)


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_commands_in_sentences(page):
    """Commands that a page only mentions have options that exist, and files that it names are there."""
    reference = "".join((ROOT / f"docs/reference/{name}.md").read_text() for name in ("cli", "passes"))
    known = set(re.findall(r"--[a-z][a-z0-9-]*", reference)) | {f"--{n}" for n in re.findall(r"^## `(.+)`", reference, re.M)}
    made = {b.title for b in blocks(page)}
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    for code in re.findall(r"`([^`\n]+)`", prose):
        if code.startswith("pcg-"):
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", code)) <= known, f"{page.name}: {code}"
        for module in re.findall(r"python -m (bench\.\w+)", code):
            assert (ROOT / f"{module.replace('.', '/')}.py").exists(), f"{page.name}: {code}"
        for file in re.findall(r"(?<![\w/])(?:bench|docs|examples|passes|dialects|tools|test|python|\.ci)/[\w/.<>-]*", code):
            assert "<" in file or file in made or (ROOT / file).exists(), f"{page.name}: {file}"


def test_every_strategy_is_listed():
    """In the how-to's table, and where `pcg.compile` and `pcg-run` describe theirs."""
    table = set(re.findall(r'^\| `"(\w+)"`', (ROOT / "docs/how-to.md").read_text(), re.M))
    assert set(STRATEGIES) <= table
    assert set(STRATEGIES) <= set(re.findall(r'"(\w+)"', pcg.compile.__doc__ or ""))
    (row,) = re.findall(r"^\| `--strategy=STRATEGY` \| (.*)", (ROOT / "docs/reference/cli.md").read_text(), re.M)
    assert set(STRATEGIES) <= set(re.findall(r"\w+", row))


@pytest.mark.parametrize("page", sorted((ROOT / "docs/decisions").glob("*.md")), ids=lambda p: p.stem)
def test_decision(page):
    """One template, at most a page; rows of tables may be longer than its lines."""
    text = page.read_text()
    lines = text.splitlines()
    parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.M)
    assert parts == ["Context", "Decision", "Alternatives", "Consequences"]
    assert lines[0].startswith(f"# {int(page.name[:4])}. ")
    assert len(lines) <= 50 and max(len(line) for line in lines if not line.startswith("|")) <= 120


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"], ids=lambda p: p.name)
def test_links(page):
    """Every relative link leads to a file."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "code", page.read_text(), flags=re.S | re.M)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: no {target}"
