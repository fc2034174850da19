"""The documentation runs: code and commands in the tutorial, the how-to and the README, in the order of each page.

| block | what happens |
|---|---|
| `python` | executed; the blocks of a page share one namespace and a directory that holds `examples/` |
| `sh` | if it starts with `pcg-opt` or `pcg-run`: executed in that directory |
| `mlir` | if it starts with `// RUN:`: its RUN line is executed |
| `py` | an excerpt: the first line names a file of the repository, the rest is in it |
"""

from __future__ import annotations

import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pcg

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_TOOLS = "".join(f'pcg-{t}() {{ "{sys.executable}" -m pcg.tools.pcg_{t} "$@"; }}\n' for t in ("opt", "plan", "run"))
_TOOLS += f'FileCheck() {{ "{sys.executable}" -m filecheck "$@"; }}\n'


class Block(NamedTuple):
    """A fenced block of a page: its language, text, and the number of the line of its fence."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _BLOCK.finditer(text)]


def shell(script: str, where: Path) -> str:
    """Run `script` in bash; its output.

    Raises:
      AssertionError: it fails; the text has its output.
    """
    run = subprocess.run(
        ["bash", "-e", "-c", _TOOLS + script], cwd=where, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout + run.stderr


def execute(block: Block, where: Path, names: dict[str, Any]) -> str | None:
    """Do what the table above says; the output of commands, None for blocks that are only read."""
    if block.language == "python":
        exec(compile(block.text, "train.py", "exec"), names)
        return ""
    if block.language == "sh" and block.text.startswith(("pcg-opt", "pcg-run")):
        return shell(block.text, where)
    if block.language == "mlir" and block.text.startswith("// RUN:"):
        file = where / "test.mlir"
        file.write_text(block.text)
        command = block.text.splitlines()[0].removeprefix("// RUN:")
        return shell(command.replace("%pcg-opt", "pcg-opt").replace("%s", str(file)), where)
    if block.language == "py":
        first, _, rest = block.text.partition("\n")
        source = (ROOT / first.removeprefix("# ")).read_text()
        assert rest.strip("\n") in source, f"not in {first.removeprefix('# ')} any more"
        return ""
    return None


def run_page(page: Path, where: Path, names: dict[str, Any], seen: Callable[[Block, str], None] | None = None) -> int:
    """Execute the blocks of `page`; how many there were."""
    (where / "examples").symlink_to(ROOT / "examples")
    count = 0
    for block in blocks(page):
        try:
            out = execute(block, where, names)
        except BaseException as error:
            error.add_note(f"in the {block.language} block at {page.relative_to(ROOT)}:{block.line}")
            raise
        if out is not None:
            count += 1
            if seen:
                seen(block, out)
    return count


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def names(monkeypatch):
    """The namespace of a page: that of a module, because classes look for theirs."""
    module = types.ModuleType("train")
    monkeypatch.setitem(sys.modules, "train", module)
    return vars(module)


@pytest.mark.parametrize("page, least", [("docs/overview.md", 3), ("docs/tutorial.md", 15), ("docs/how-to.md", 15)])
def test_page(page, least, where, names):
    assert run_page(ROOT / page, where, names) >= least


def test_readme(where, names):
    """Its example needs a training step: this one."""
    import jax
    import jax.numpy as jnp

    def train_step(params, opt, batch):
        loss, gradient = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
        return params - 0.1 * gradient, opt, loss

    names |= {"train_step": train_step, "params": jnp.ones((16, 8)), "opt": (), "batch": jnp.ones((32, 16))}
    assert run_page(ROOT / "README.md", where, names) == 1
    assert isinstance(names["step"], pcg.Compiled) and names["loss"].shape == ()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"], ids=lambda p: p.name)
def test_links(page):
    """Every relative link leads to a file."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: no {target}"
