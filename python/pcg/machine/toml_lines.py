"""Reading TOML texts and the values in them; errors name the line, which `tomllib` does not say of a key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pcg.layout.brief import brief
from pcg.machine.errors import ClusterError

#: What a text describes.
Parsed = TypeVar("Parsed")
#: A value in one.
Value = TypeVar("Value")

#: A bare or quoted key, and several joined by dots.
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY})\s*=")
#: What opens or closes a value of several lines.
_STRINGS = re.compile(r'"""|\'\'\'')
_TYPES: dict[type, str] = {
    dict: "a table", list: "a list", str: "text", int: "a whole number", bool: "true, false"
}  # fmt: skip


def read(text: str, path: str, make: Callable[[Mapping[str, Any]], Parsed]) -> Parsed:
    """`make` of the tables of a TOML text; its errors name the file and, where they name a key, its line."""
    try:
        doc = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also integers of thousands of digits
        raise ClusterError(f"{path}: not TOML: {error}") from None
    try:
        return make(doc)
    except ClusterError as error:
        line = line_of(text, error.key)
        raise ClusterError(f"{path}: {error}" + (f" (line {line})" if line else ""), error.key) from None


def line_of(text: str, key: str) -> int | None:
    """The line (from 1) of `groups[0].levels[1].size` or of the nearest table around it; None if there is none."""
    found = _places(text)
    while key:
        if key in found:
            return found[key]
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return None


def _places(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    inside = ""  # the quotes of a string of several lines, or "[" within an array
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        if inside in ('"""', "'''"):
            if inside in line:
                inside = ""
            continue
        if depth <= 0:
            depth = 0
            if header := _HEADER.match(line):
                table = _resolved(_parts(header[2]), counts, header[1] == "[[")
                found.setdefault(table, number)
                continue
            if assigned := _ASSIGNED.match(line):
                key = ".".join(_parts(assigned[1]))
                found.setdefault(f"{table}.{key}" if table else key, number)
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*', "", line)
        depth += bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")
        quotes = _STRINGS.findall(line)
        inside = quotes[0] if len(quotes) % 2 else ""
    return found


def _parts(key: str) -> list[str]:
    return [p[1:-1] if p[0] in "\"'" else p for p in re.findall(_PART, key)]


def _resolved(parts: list[str], counts: dict[str, int], new: bool) -> str:
    """The path of a table, with the numbers of the arrays that it is in; `new`: it is the next one of an array."""
    path = ""
    for n, part in enumerate(parts):
        path = f"{path}.{part}" if path else part
        last = n == len(parts) - 1
        if last and new:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = f"{path}[{counts[path] - 1}]"
    return path


# -- values: `where` is the path of a key, or "the ..." for the tables at the top ------------------------


def path_of(where: str, key: str) -> str:
    """The path of a key of table `where`."""
    return key if where.startswith("the ") else f"{where}.{key}"


def check_keys(t: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Raise ClusterError if a table has a key that is not `allowed`."""
    if unknown := [k for k in t if k not in allowed]:
        text = f"unknown key {brief(unknown[0])} in {where}; allowed: {', '.join(allowed)}"
        raise ClusterError(text, path_of(where, unknown[0]))


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Errors raised in here are about table `where`, which they then name, as does their key."""
    try:
        yield
    except ClusterError as error:
        if str(error).startswith(where):
            raise
        raise ClusterError(f"{where}: {error}", f"{where}.{error.key}" if error.key else where) from None


def of_type(value: Any, type_: type[Value], where: str) -> Value:
    """`value`, if it is of this type."""
    if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
        raise ClusterError(f"{where} is {brief(value)}; allowed: {_TYPES[type_]}", where)
    return value


def quote(text: str) -> str:
    """Text as a value, or as a key."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
