"""Rules as text, one a line: ``name: source => destination for x1: 1x2x4, w1: 1x4x4``.

Both sides are patterns (`pcg.substitute.pattern`) whose variables have the types that follow, as `TensorType` prints
them; ``number`` is the type of a tensor of no dimensions.  What follows ``#`` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.pattern import Hole, Name, Pattern, parse
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Term, apply, variable, variables

_LINE = re.compile(r"(?P<name>[\w-]+): (?P<source>.+?) => (?P<destination>.+?)(?: for (?P<types>.+))?")
_DIMENSION = re.compile(r"(\d{1,9})(?:\{(\d{1,9})\})?(?:/(\d{1,9}))?")
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
    """The rules of a text.

    Raises:
      RuleError: a line is no rule.
    """
    names: set[str] = set()
    for number, text in enumerate(lines, 1):
        stripped = text.partition("#")[0].strip()
        if not stripped:
            continue
        try:
            rule = rule_of(stripped)
        except (RuleError, TermError) as error:
            raise RuleError(f"{where}:{number}: {error}") from None
        if rule.name in names:
            raise RuleError(f"{where}:{number}: there are two rules {rule.name}")
        names.add(rule.name)
        yield rule


def rule_of(text: str) -> Rule:
    """The rule that a line is.

    Raises:
      RuleError: it is none.
      TermError: its sides are no terms, or not of one type.
    """
    found = _LINE.fullmatch(text)
    if found is None:
        raise RuleError(f"{text[:60]!r}; allowed: name: source => destination for variable: type, ...")
    types = {}
    for part in (found["types"] or "").split(", ") if found["types"] else []:
        name, _, type = part.partition(": ")
        types[name] = type_of_text(type)
    sides = (_term(parse(found[side]), types) for side in ("source", "destination"))
    return Rule(found["name"], *((side,) for side in sides))


def type_of_text(text: str) -> TensorType:
    """The type that prints so.

    Raises:
      RuleError: none does.
    """
    if text == _NUMBER:
        return TensorType.of(())
    dims = [_DIMENSION.fullmatch(d) for d in text.split("x")]
    if any(d is None for d in dims):
        raise RuleError(f"type {text!r}; allowed: sizes with degrees, as 1x2{{2}}x4")
    parts = [tuple(int(g or 1) for g in d.groups()) for d in dims if d is not None]
    shape, degrees, microbatches = zip(*parts, strict=True)
    return TensorType(shape, degrees, microbatches)


def _term(of: Pattern | Hole, types: dict[str, TensorType]) -> Term:
    if isinstance(of, Hole):
        if of.name not in types:
            raise RuleError(f"variable {of.name} has no type")
        return variable(of.name, types[of.name])
    if any(isinstance(p, Name) for p in of.parameters):
        raise RuleError(f"{of} has parameters that are names; allowed: integers and functions in quotes")
    return apply(
        of.operator,
        tuple(p for p in of.parameters if not isinstance(p, Name)),
        tuple(_term(o, types) for o in of.operands),
    )
