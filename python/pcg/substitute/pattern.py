"""Patterns of terms as text: ``partition[d, k](add(x, y))``.

A name with operands is an operator, one without is a variable; what is in brackets are its parameters: integers, names
of functions in quotes, or names that stand for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pcg.substitute.errors import TermError
from pcg.substitute.operators import OPERATORS

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>\d{1,9}(?!\d))|(?P<quoted>'\w+')|(?P<mark>[\[\](),]))")


@dataclass(frozen=True)
class Name:
    """A parameter that stands for any."""

    name: str


@dataclass(frozen=True)
class Hole:
    """A variable of a pattern: any term."""

    name: str

    @cached_property
    def variables(self) -> frozenset[str]:
        """Itself."""
        return frozenset((self.name,))

    @property
    def parameters_named(self) -> frozenset[str]:
        """It has no parameters."""
        return frozenset()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pattern:
    """An operator on patterns."""

    operator: str
    parameters: tuple[int | str | Name, ...]
    operands: tuple[Pattern | Hole, ...]

    def __str__(self) -> str:
        shown = [p.name if isinstance(p, Name) else repr(p) for p in self.parameters]
        parameters = f"[{', '.join(shown)}]" if shown else ""
        return f"{self.operator}{parameters}({', '.join(map(str, self.operands))})"

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables in it."""
        return frozenset().union(*(o.variables for o in self.operands))

    @cached_property
    def parameters_named(self) -> frozenset[str]:
        """The names of its parameters that stand for any."""
        return frozenset(name for name, _ in self.names())

    def names(self) -> Iterator[tuple[str, str]]:
        """Its parameters that stand for any, each with what the operator calls it."""
        for called, parameter in zip(OPERATORS[self.operator].parameters, self.parameters, strict=True):
            if isinstance(parameter, Name):
                yield parameter.name, called
        for operand in self.operands:
            if isinstance(operand, Pattern):
                yield from operand.names()


def operator_of(text: str) -> str:
    """What a pattern begins with: its operator, or the variable that it is."""
    found = _TOKEN.match(text)
    return found["name"] or "" if found else ""


def parse(text: str) -> Pattern | Hole:
    """The pattern that a text is.

    Raises:
      TermError: it is none.
    """
    tokens, at = [], 0
    stripped = text.rstrip()
    while at < len(stripped):
        found = _TOKEN.match(stripped, at)
        if not found:
            raise TermError(
                f"pattern {text!r} has {stripped[at:].strip()[0]!r} at {at}; allowed: names, integers, [ ] ( ) ,"
            )
        tokens.append(found)
        at = found.end()
    parser = _Parser(text, tokens)
    pattern = parser.pattern()
    if parser.next is not None:
        raise TermError(f"pattern {text!r} goes on after its end, with {parser.next!r}")
    return pattern


class _Parser:
    def __init__(self, text: str, tokens: list[re.Match[str]]) -> None:
        self._text, self._tokens, self._at = text, tokens, 0

    @property
    def next(self) -> str | None:
        return self._tokens[self._at][0].strip() if self._at < len(self._tokens) else None

    def pattern(self) -> Pattern | Hole:
        name = self._take("name")
        parameters: list[int | str | Name] = []
        brackets = self.next == "["
        if brackets:
            self._mark("[")
            while self.next != "]":
                parameters.append(self._parameter())
                self._comma("]")
            self._mark("]")
        if self.next != "(":
            if brackets:
                raise TermError(f"pattern {self._text!r}: {name} has parameters and no operands")
            return Hole(name)
        self._mark("(")
        operands: list[Pattern | Hole] = []
        while self.next != ")":
            operands.append(self.pattern())
            self._comma(")")
        self._mark(")")
        op = OPERATORS.get(name)
        if op is None or len(parameters) != len(op.parameters) or len(operands) != op.arity:
            raise TermError(
                f"pattern {self._text!r}: {name} with {len(parameters)} parameters and {len(operands)} operands"
            )
        return Pattern(name, tuple(parameters), tuple(operands))

    def _parameter(self) -> int | str | Name:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        self._at += 1
        if token is not None and token["number"]:
            return int(token["number"])
        if token is not None and token["quoted"]:
            return token["quoted"][1:-1]
        if token is not None and token["name"]:
            return Name(token["name"])
        raise TermError(f"pattern {self._text!r}: a parameter is missing")

    def _take(self, kind: str) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        self._at += 1
        if token is None or not token[kind]:
            raise TermError(f"pattern {self._text!r}: {token[0].strip() if token else 'its end'} in place of a {kind}")
        return token[kind]

    def _mark(self, mark: str) -> None:
        if self._take("mark") != mark:
            raise TermError(f"pattern {self._text!r}: {mark} is missing")

    def _comma(self, end: str) -> None:
        if self.next == ",":
            self._mark(",")
        elif self.next != end:
            raise TermError(f"pattern {self._text!r}: {end} is missing")
