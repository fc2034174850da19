"""Rules as text, one a line: ``name: source => destination for x1: 1x2x4, w1: 1x4x4``.

Both sides are patterns (`pcg.substitute.pattern`) whose variables have the types that follow, as `TensorType` prints
them, or schemas of types (`pcg.substitute.schema`); ``number`` is the type of a tensor of no dimensions.  What follows
``#`` is a comment: of a rule, the properties that its proof uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.rule import Rule
from pcg.substitute.schema import Schema, schema_of
from pcg.substitute.term import variables

_NUMBER = "number"


def files() -> list[Path]:
    """The rules that pcg has: as `pcg-substitutions generate` wrote them."""
    return sorted(Path(__file__).with_name("rules").glob("*.txt"))


def line(rule: Rule) -> str:
    """A rule of one result as a line.

    Raises:
      RuleError: it has several results.
    """
    if len(rule.source) != 1:
        raise RuleError(f"rule {rule.name} has {len(rule.source)} results; allowed: one")
    types = ", ".join(f"{name}: {type if type.rank else _NUMBER}" for name, type in variables(*rule.source).items())
    text = f"{rule.name}: {rule.source[0]} => {rule.destination[0]}"
    return f"{text} for {types}" if types else text


def read(lines: Iterable[str], where: str) -> Iterator[Rule]:
    """The rules of a text, of schemas their examples.

    Raises:
      RuleError: a line is no rule.
    """
    yield from (rule for _, rule in _both(lines, where))


def schemas(lines: Iterable[str], where: str) -> Iterator[Schema]:
    """The rules of a text, for any sizes.

    Raises:
      RuleError: a line is no rule.
    """
    yield from (schema for schema, _ in _both(lines, where))


def _both(lines: Iterable[str], where: str) -> Iterator[tuple[Schema, Rule]]:
    names: set[str] = set()
    for number, text in enumerate(lines, 1):
        if not text.partition("#")[0].strip():
            continue
        try:
            schema = schema_of(text)
            rule = schema.example()
        except (RuleError, TermError) as error:
            raise RuleError(f"{where}:{number}: {error}") from None
        if rule.name in names:
            raise RuleError(f"{where}:{number}: there are two rules {rule.name}")
        names.add(rule.name)
        yield schema, rule


def rule_of(text: str) -> Rule:
    """The rule that a line is, of a schema its example.

    Raises:
      RuleError: it is none.
      TermError: its sides are no terms, or not of one type.
    """
    return schema_of(text).example()


@cache
def known() -> dict[str, Schema]:
    """All rules that pcg has, by name."""
    found = (s for path in files() for s in schemas(path.read_text(encoding="utf-8").splitlines(), str(path)))
    return {s.name: s for s in found}


@cache
def for_programs() -> tuple[Schema, ...]:
    """Those that programs are optimised with."""
    path = Path(__file__).with_name("rules") / "programs.txt"
    return tuple(schemas(path.read_text(encoding="utf-8").splitlines(), str(path)))


def named(name: str) -> Schema:
    """The rule of that name; all are read only where it is none for programs.

    Raises:
      KeyError: there is none.
    """
    return next((s for s in for_programs() if s.name == name), None) or known()[name]
