"""Values of JSON documents that are checked where they are read, with errors that say where and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

#: Characters of a key that is the name of something.
_LONGEST = 200


def document(text: str, what: str, error: type[ValueError]) -> At:
    """The value of a text that is JSON; raises `error` if it is not, or what it says later is not as it should be."""
    try:
        return At(json.loads(text), "", error)
    except RecursionError:
        raise error(f"{what} is a JSON document: this one is nested too deeply") from None
    except ValueError as wrong:  # also numbers of more digits than Python reads
        raise error(f"{what} is a JSON document: {str(wrong).splitlines()[0]}") from None


class At:
    """A value in a document, and where: `operations[3].results[0]`.

    Its methods return what the value is, or raise `error`.
    """

    def __init__(self, value: Any, path: str, error: type[ValueError]) -> None:
        self.value, self.path, self.error = value, path, error

    def refuse(self, allowed: str) -> ValueError:
        return self.error(f"{self.path or 'the document'} is {shown(self.value)}; allowed: {allowed}")

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def __getitem__(self, key: str) -> At:
        return At(self.value[key], f"{self.path}.{key}" if self.path else key, self.error)

    def keys(self, needed: Sequence[str], allowed: Sequence[str]) -> None:
        """Raise unless it is an object with the `needed` keys and none but the `allowed`."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"an object with {', '.join(needed)}")
        where = self.path or "the document"
        for key in needed:
            if key not in self.value:
                raise self.error(f"{where} has no '{key}'; it needs {', '.join(needed)}")
        for key in self.value:
            if key not in allowed:
                raise self.error(f"{where} has an entry {shown(key)}; allowed: {', '.join(allowed)}")

    def items(self) -> list[At]:
        if not isinstance(self.value, list):
            raise self.refuse("a list")
        return [At(v, f"{self.path}[{i}]", self.error) for i, v in enumerate(self.value)]

    def table(self, key: str) -> Iterator[tuple[str, At]]:
        """The entries of the object under `key`; none if it is not there."""
        if key not in self:
            return
        inner = self[key]
        if not isinstance(inner.value, dict):
            raise inner.refuse("an object")
        for name in inner.value:
            word = At(name, f"a key of {inner.path}", self.error)
            if len(word.line()) > _LONGEST:
                raise word.refuse(f"up to {_LONGEST} characters")
            yield name, inner[name]

    def pair(self) -> tuple[At, At]:
        if not isinstance(self.value, list) or len(self.value) != 2:
            raise self.refuse("a list of two numbers")
        first, second = self.items()
        return first, second

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.refuse("text")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise self.refuse("text in Unicode") from None
        return self.value

    def line(self) -> str:
        """Text without control characters, which go into tables and one-line messages."""
        text = self.text()
        if not text.isprintable() and any(ord(c) < 32 or ord(c) == 127 for c in text):
            raise self.refuse("text of one line")
        return text

    def integer(self, least: int = 0, below: int | None = None) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.refuse(f"a whole number from {least}")
        if self.value < least or (below is not None and self.value >= below):
            some = f"{least} to {below - 1}" if below else "none"
            raise self.refuse(f"a whole number from {least}" if below is None else some)
        return self.value

    def number(self, least: float) -> float:
        """A number as it is written, so that a plan read and written again stays the same."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.refuse("a number")
        if not least <= self.value <= 1e300:  # so neither a NaN
            raise self.refuse(f"a number from {least:g} to 1e300")
        return self.value

    def plain(self) -> Any:
        """A number, text or a truth value."""
        if isinstance(self.value, bool):
            return self.value
        if isinstance(self.value, int | float):
            if not -1e300 <= self.value <= 1e300:
                raise self.refuse("a number from -1e300 to 1e300")
            return self.value
        return self.line()

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.refuse("true or false")
        return self.value


def shown(value: Any) -> str:
    """A value in an error message: as JSON writes it, if that is short."""
    if isinstance(value, dict | list):
        what = "object" if isinstance(value, dict) else "list"
        return f"{'an' if what == 'object' else 'a'} {what} of {len(value)}" if value else f"an empty {what}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**30:
        return f"a number of about {int(value.bit_length() * 0.30103)} digits"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:60]}... of {len(value)} characters"
