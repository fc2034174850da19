"""Reads the tables of docs/glossary.md, and finds the words of its second one in names and in text."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "glossary.md"
#: Files that say what must not be said.
_OWN = {PAGE, ROOT / "test/unit/test_glossary.py", Path(__file__).resolve()}
#: Where names are checked, and where only text is.
SOURCES = ("python", "passes", "dialects", "tools")
OTHERS = ("bench", "examples", "test")
_WORD = re.compile(r"[a-z]+")
SCOPES = ("names", "definitions", "everywhere")


@dataclass(frozen=True)
class Rule:
    """A row of "Words not used": the words, what to write, where they are forbidden, the phrases in which they stay."""

    words: tuple[str, ...]
    write: str
    scope: str
    stays: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A forbidden word."""

    file: Path
    line: int
    word: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.word!r}: write {self.rule.write}"


def _rows(heading: str) -> Iterator[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    for row in [line for line in section.splitlines() if line.startswith("|")][2:]:
        yield [cell.strip() for cell in row.strip().strip("|").split("|")]


def terms() -> dict[str, str]:
    """Term -> meaning."""
    return {row[0]: row[1] for row in _rows("Terms")}


@functools.cache
def rules() -> tuple[Rule, ...]:
    return tuple(
        Rule(tuple(w.strip() for w in words.split(",")), write, scope, tuple(re.findall(r'[`"]([^`"]+)[`"]', stays)))
        for words, write, scope, stays in _rows("Words not used")
    )


@functools.cache
def parts(name: str) -> tuple[str, ...]:
    """`DeviceMapping`, `device_mapping` and `device-mapping` are `device`, `mapping`."""
    return tuple(p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))


@functools.cache
def sources(tops: tuple[str, ...] = SOURCES) -> list[Path]:
    return [
        f for top in tops for f in sorted((ROOT / top).rglob("*.py"))
        if "__pycache__" not in f.parts and f.resolve() not in _OWN
    ]


@functools.cache
def texts() -> list[Path]:
    """All sources, the programs in tests, and the documents that people write."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return [*sources(), *sources(OTHERS), *sorted((ROOT / "test").rglob("*.mlir")), *sorted(p for p in pages if p.resolve() not in _OWN)]


@functools.lru_cache(1)
def _nodes(file: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


@functools.cache
def defined(file: Path) -> tuple[tuple[int, str], ...]:
    """Names that others can see: of functions, classes, parameters, attributes and of modules' own variables."""
    found: list[tuple[int, str]] = []
    for node in _nodes(file):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append((node.lineno, node.name))
        elif isinstance(node, ast.arg):
            found.append((node.lineno, node.arg))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.append((node.lineno, node.attr))
        if isinstance(node, ast.Module | ast.ClassDef):
            for s in node.body:
                targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AnnAssign) else []
                found += ((t.lineno, t.id) for t in targets if isinstance(t, ast.Name))
    return tuple(found)


@functools.cache
def named(file: Path) -> tuple[tuple[int, str], ...]:
    """All identifiers of a source, local ones included."""
    found = list(defined(file))
    for node in _nodes(file):
        if isinstance(node, ast.Name):
            found.append((node.lineno, node.id))
        elif isinstance(node, ast.Attribute):
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.keyword) and node.arg:
            found.append((node.lineno, node.arg))
        elif isinstance(node, ast.alias):
            found.append((node.lineno, node.asname or node.name))
    return tuple(dict.fromkeys(found))


@functools.cache
def _words(file: Path) -> tuple[list[str], dict[str, list[int]], list[int]]:
    """The words of a text, where each stands among them, and the line of each; `device_mapping` is two."""
    words: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").lower().splitlines(), 1):
        found = _WORD.findall(line)
        words += found
        lines += [number] * len(found)
    places: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        places.setdefault(word, []).append(i)
    return words, places, lines


@functools.cache
def _with_part(file: Path, only_defined: bool) -> dict[str, list[tuple[int, str]]]:
    """Part of identifiers -> where they stand."""
    found: dict[str, list[tuple[int, str]]] = {}
    for line, name in defined(file) if only_defined else named(file):
        for part in set(parts(name)):
            found.setdefault(part, []).append((line, name))
    return found


def in_names(rule: Rule, file: Path) -> Iterator[Found]:
    """Identifiers of which a part is a word of `rule`."""
    with_part = _with_part(file, rule.scope == "definitions")
    for word in rule.words:
        yield from (Found(file, line, name, rule) for line, name in with_part.get(word, ()) if name not in rule.stays)


def in_text(rule: Rule, file: Path) -> Iterator[Found]:
    """Words of `rule` in any text of `file`, names included."""
    words, places, lines = _words(file)
    for phrase in map(_split, rule.words):
        for i in places.get(phrase[0], ()):
            if words[i : i + len(phrase)] == phrase and not any(_covers(words, i, _split(s)) for s in rule.stays):
                yield Found(file, lines[i], " ".join(phrase), rule)


def _split(phrase: str) -> list[str]:
    return _WORD.findall(phrase.lower())


def _covers(words: list[str], i: int, phrase: list[str]) -> bool:
    """Whether word `i` is part of `phrase`."""
    return any(words[i - k : i - k + len(phrase)] == phrase for k in range(min(len(phrase), i + 1)))
