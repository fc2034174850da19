"""Pages of the documentation as tests: their commands and snippets run, and what they print is compared.

| block | what happens |
|---|---|
| `python` | executed; the blocks of a page share one namespace and one directory, which holds `examples/` |
| `sh` | executed by bash in that directory |
| `text` | compared with the output of the block executed last |
| `mlir` | its `// RUN:` line is executed; or, with a first line `// in FILE`, it is an excerpt of that file |
| `py` | an excerpt of the repository's file that the first line names |
| any with `title="FILE"` | the text of a new file in that directory |
| `diff` with `title="FILE"` | a change of a file there; its context is found once |
| none | a drawing, or a session that cannot be repeated: not run |

In `text` and `mlir` blocks `...` stands for anything, and whitespace counts in neither `mlir` blocks nor output that
differs by machine: if the paragraph before a `text` block says "by machine", its numbers may be others.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_PART = re.compile(r'^```(\w*)(?: title="([^"\n]+)")?\n(.*?)^```$|^## ([^\n]+)$', re.M | re.S)
_TOOLS = "".join(
    f'pcg-{t}() {{ "{sys.executable}" -m pcg.tools.pcg_{t} "$@"; }}\n' for t in ("opt", "plan", "run", "calibrate", "cluster")
)
_TOOLS += f'FileCheck() {{ "{sys.executable}" -m filecheck "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
_FIGURE = re.compile(r"-?\d+(,\d{3})*(\.\d+)?(e[-+]?\d+)?( ?(B|KiB|MiB|GiB|ns|us|ms|s|x|%))?(?!\w)")


class Block(NamedTuple):
    """A fenced block of a page.

    Attributes:
      language: the word behind the fence, "" if there is none.
      title: the file that the block makes or changes, "" if it is no such block.
      text: what is between the fences.
      line: number of the line of its fence, from 1.
      section: title of the section it is in, "" before the first.
      lead: the paragraph before it.
    """

    language: str
    title: str
    text: str
    line: int
    section: str
    lead: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found, section = [], ""
    for m in _PART.finditer(text):
        if m[4] is not None:
            section = m[4]
        else:
            before = text[: m.start()]
            lead = before.rstrip("\n").rsplit("\n\n", 1)[-1]
            found.append(Block(m[1], m[2] or "", m[3], before.count("\n") + 1, section, lead))
    return found


def change(block: Block, where: Path) -> None:
    """Make or change the file of a block with a title, in the tree `where`.

    Raises:
      AssertionError: a new file exists, or what a `diff` changes is not there once.
    """
    file = where / block.title
    if block.language != "diff":
        assert not file.exists(), f"{block.title} exists"
        file.write_text(block.text, encoding="utf-8")
        return
    lines = block.text.splitlines(keepends=True)
    assert all(line[0] in " +-" for line in lines), "lines of a diff start with a space, + or -"
    old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{block.title} has {text.count(old)} times:\n{old}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def sections(page: Path) -> list[str]:
    """Titles of the sections of a page that hold blocks, in order."""
    return list(dict.fromkeys(b.section for b in blocks(page)))


def shell(script: str, where: Path) -> str:
    """Run `script` in bash; what it prints to stdout.  Progress, which comes when a search takes long, is on stderr.

    Raises:
      AssertionError: it fails; the text has its output.
    """
    run = subprocess.run(["bash", "-e", "-c", _TOOLS + script], cwd=where, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout


def match(want: str, got: str, free: bool = False) -> None:
    """Compare output with what a page shows; with `free` whitespace does not count.

    Raises:
      AssertionError: they differ; the text has the difference.
    """
    flags = doctest.ELLIPSIS | doctest.REPORT_NDIFF | (doctest.NORMALIZE_WHITESPACE if free else 0)
    want, got = ("".join(f"{line.rstrip()}\n" for line in t.rstrip().splitlines()) for t in (want, got))
    checker = doctest.OutputChecker()
    if not checker.check_output(want, got, flags):
        raise AssertionError(checker.output_difference(doctest.Example("", want), got, flags))


def _without_figures(text: str) -> str:
    return re.sub(r"-{3,}", "---", _FIGURE.sub("#", text))


def _check_text(block: Block, output: str) -> None:
    if "by machine" in block.lead:
        match(_without_figures(block.text), _without_figures(output), free=True)
    else:
        match(block.text, output)


def _run_mlir(block: Block, where: Path) -> None:
    first, _, rest = block.text.partition("\n")
    if first.startswith("// RUN:"):
        file = where / "test.mlir"
        file.write_text(block.text)
        command = first.removeprefix("// RUN:").replace("%pcg-opt", "pcg-opt").replace("%s", str(file))
        shell(command, where)
    elif first.startswith("// in "):
        match(f"...\n{rest}...\n", (where / first.removeprefix("// in ")).read_text(), free=True)
    else:
        raise AssertionError("an `mlir` block starts with `// RUN: command` or `// in FILE`")


def _check_excerpt(block: Block) -> None:
    first, _, rest = block.text.partition("\n")
    name = first.removeprefix("# ")
    assert rest.strip("\n") in (ROOT / name).read_text(), f"not in {name} any more"


def _steps(page: Path, where: Path, names: dict[str, Any], leave: frozenset[str]) -> Iterator[tuple[Block, str]]:
    output: str | None = None
    for block in blocks(page):
        if block.section in leave or not block.language:
            continue
        try:
            if block.title:
                change(block, where)
            elif block.language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as stream:
                    exec(compile(block.text, "train.py", "exec"), names)
                output = stream.getvalue()
            elif block.language == "sh":
                output = shell(block.text, where)
            elif block.language == "text":
                assert output is not None, "no block before it was executed"
                _check_text(block, output)
            elif block.language == "mlir":
                _run_mlir(block, where)
            elif block.language == "py":
                _check_excerpt(block)
            else:
                raise AssertionError(f"what should become of a `{block.language}` block?")
        except BaseException as error:
            error.add_note(f"in the {block.language} block at {page.relative_to(ROOT)}:{block.line}")
            raise
        yield block, output or ""


def run_page(
    page: Path,
    where: Path,
    names: dict[str, Any],
    leave: frozenset[str] = frozenset(),
    seen: Callable[[Block, str], None] | None = None,
) -> int:
    """Do what the table above says with the blocks of a page in order, and count them.

    Args:
      page: a file of the repository.
      where: the current directory: empty, or a copy of the repository.
      names: the namespace of the `python` blocks.
      leave: titles of sections that are left out.
      seen: called with each block and the output of what was executed last.

    Raises:
      AssertionError: an output is not what the page shows; a note says which block.
    """
    if not (where / "examples").exists():
        (where / "examples").symlink_to(ROOT / "examples")
    count = 0
    for block, output in _steps(page, where, names, leave):
        count += 1
        if seen is not None:
            seen(block, output)
    return count
