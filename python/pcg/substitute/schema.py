"""Rules for tensors of any size: a rule of which only the patterns and relations between sizes are fixed.

A schema is a line as `pcg.substitute.library` reads them.  Sizes of its variables may be letters and sums of letters,
and parameters names of letters::

    split: matmul['none'](concat[2](x, y), w) => add(matmul['none'](x, slice[1, 0, k](w)),
        matmul['none'](y, slice[1, k, l](w))) for x: 1*m*k, y: 1*m*l, w: 1*(k+l)*n

Names that follow from no variable have an example instead, as ``s=1``; so may letters.  ``i=s/g`` is a quotient: the
rule is for those `s` that `g` divides.
A rule without letters is a schema too: its sizes are an example, and its parameters are as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pcg.substitute.egraph import build
from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.pattern import Hole, Pattern, parse
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, variable

_LINE = re.compile(r"(?P<name>[\w-]+): (?P<source>.+?) => (?P<destination>.+?)(?: for (?P<types>.+))?")
_DIMENSION = re.compile(r"(\d{1,9})(?:\{(\d{1,9})\})?(?:/(\d{1,9}))?")
#: A size that is a letter, or a sum of letters.
_LETTERS = re.compile(r"[a-z]|\([a-z](?:\+[a-z])*\)")
_NUMBER = "number"
_EXAMPLE = re.compile(r"([a-z]\w*)=(\d{1,9})")
_QUOTIENT = re.compile(r"([a-z]\w*)=([a-z]\w*)/([a-z]\w*)")
#: The size of the first letter in an example; each has one more than the one before, so that no two are taken for one.
_FIRST = 2


@dataclass(frozen=True, eq=False)
class Schema:
    """`source` may be replaced by `destination` wherever both can be built and the sizes of variables fit `types`."""

    name: str
    source: Pattern
    destination: Pattern | Hole
    types: Mapping[str, str]
    """Of each variable the text of its type."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Of names that are no sizes of variables, and of letters that have one of their own, an example."""
    quotients: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of names that are quotients of others, these."""
    proof: str = ""
    """The properties that its proof uses, by their sources."""

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The sizes that are open, in order of their first use."""
        return tuple(dict.fromkeys(c for text in self.types.values() for dim in _dims(text) for c in _letters(dim)))

    @cached_property
    def chosen(self) -> frozenset[str]:
        """Names that follow from nothing in the source: the rule holds for any with which it can be built."""
        used = self.destination.parameters_named.union(*self.quotients.values()) - self.quotients.keys()
        return frozenset(used - self.source.parameters_named - set(self.letters))

    def example(self) -> Rule:
        """The rule for some sizes.

        Raises:
          RuleError, TermError: it is none.
        """
        sizes = {**{c: _FIRST + i for i, c in enumerate(self.letters)}, **self.parameters}
        types = {name: _type(text, sizes) for name, text in self.types.items()}
        return self.rule(types, sizes)

    def rule(self, types: Mapping[str, TensorType], parameters: Mapping[str, Parameter]) -> Rule:
        """The rule for variables of these types; `parameters` are what its names stand for.

        Raises:
          RuleError: a variable has no type.
          TermError: a side cannot be built of them.
        """
        terms = {name: variable(name, type) for name, type in types.items()}
        known = self.divided(parameters)
        return Rule(self.name, (_term(self.source, terms, known),), (_term(self.destination, terms, known),))

    def divided(self, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
        """Parameters with the quotients that follow from them.

        Raises:
          RuleError: a quotient of what is no known number.
          TermError: a number does not divide another.
        """
        found = dict(parameters)
        for name, (of, by) in self.quotients.items():
            number, divisor = found.get(of), found.get(by)
            if not isinstance(number, int) or not isinstance(divisor, int):
                raise RuleError(f"{name} is {of}/{by}; allowed: letters of sizes, and names with an example")
            if not divisor or number % divisor:
                raise TermError(f"{name} is {number} / {divisor}; allowed: a number and one that divides it")
            found[name] = number // divisor
        return found

    def sizes(self, types: Mapping[str, TensorType]) -> dict[str, int] | None:
        """What the letters stand for if variables have these types; None where sizes do not fit."""
        found: dict[str, int] = {}
        sums: list[tuple[list[str], int]] = []
        if not self.letters:
            return found
        for name, type in types.items():
            text = self.types[name]
            if text == _NUMBER:
                if type.rank:
                    return None
                continue
            dims = _dims(text)
            if len(dims) != type.rank:
                return None
            for dim, size in zip(dims, type.shape, strict=True):
                letters = _letters(dim)
                if len(letters) == 1:
                    if found.setdefault(dim, size) != size:
                        return None
                elif letters:
                    sums.append((letters, size))
                elif dim != str(size):
                    return None
        if any(sum(found.get(c, 0) for c in letters) != size for letters, size in sums):
            return None
        return found

    def __str__(self) -> str:
        types = [f"{name}: {type}" for name, type in self.types.items()]
        types += [f"{name}={value}" for name, value in self.parameters.items()]
        types += [f"{name}={of}/{by}" for name, (of, by) in self.quotients.items()]
        return f"{self.name}: {self.source} => {self.destination}" + (f" for {', '.join(types)}" if types else "")


def schema_of(text: str) -> Schema:
    """The schema that a line is; what follows ``#`` is its proof.

    Raises:
      RuleError: it is none.
      TermError: a side is no pattern.
    """
    line, _, proof = text.partition("#")
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise RuleError(f"{line.strip()[:60]!r}; allowed: name: source => destination for variable: type, ...")
    types: dict[str, str] = {}
    parameters: dict[str, int] = {}
    quotients: dict[str, tuple[str, str]] = {}
    for part in (found["types"] or "").split(", ") if found["types"] else []:
        name, of, type = part.partition(": ")
        if (example := _EXAMPLE.fullmatch(part)) is not None:
            parameters[example[1]] = int(example[2])
        elif (quotient := _QUOTIENT.fullmatch(part)) is not None:
            quotients[quotient[1]] = quotient[2], quotient[3]
        elif of and name not in types:
            types[name] = type
        else:
            allowed = "variable: type, each once, parameter=example or parameter=number/divisor"
            raise RuleError(f"{part!r} of rule {found['name']}; allowed: {allowed}")
    source, destination = parse(found["source"]), parse(found["destination"])
    if isinstance(source, Hole):
        raise RuleError(f"rule {found['name']} replaces {source}, which is any tensor; allowed: an operator")
    return Schema(found["name"], source, destination, types, parameters, quotients, proof.strip())


def _dims(text: str) -> list[str]:
    return [] if text == _NUMBER else text.split("*" if "*" in text else "x")


def _letters(dim: str) -> list[str]:
    """The letters that a size is the sum of; none of a number."""
    return re.findall("[a-z]", dim) if _LETTERS.fullmatch(dim) else []


def _type(text: str, sizes: Mapping[str, int]) -> TensorType:
    if text == _NUMBER:
        return TensorType.of(())
    parts: list[tuple[int, ...]] = []
    for dim in _dims(text):
        if _LETTERS.fullmatch(dim):
            if unknown := [c for c in _letters(dim) if c not in sizes]:
                raise RuleError(f"type {text!r} has size {unknown[0]}; allowed: numbers, here")
            parts.append((sum(sizes[c] for c in _letters(dim)), 1, 1))
            continue
        known = _DIMENSION.fullmatch(dim)
        if known is None:
            raise RuleError(f"type {text!r}; allowed: sizes with degrees, as 1x2{{2}}x4, or letters, as 1*m*(k+l)")
        parts.append(tuple(int(g or 1) for g in known.groups()))
    shape, degrees, microbatches = zip(*parts, strict=True)
    return TensorType(shape, degrees, microbatches)


def type_of_text(text: str) -> TensorType:
    """The type that prints so.

    Raises:
      RuleError: none does.
    """
    return _type(text, {})


def _term(of: Pattern | Hole, terms: Mapping[str, Term], parameters: Mapping[str, Parameter]) -> Term:
    missing = [v for v in sorted(of.variables) if v not in terms]
    if missing:
        raise RuleError(f"variable {missing[0]} of {of} has no type; allowed: those after 'for', {', '.join(terms)}")
    unknown = [p for p in sorted(of.parameters_named) if p not in parameters]
    if unknown:
        raise RuleError(f"{of} has parameter {unknown[0]}; allowed: integers, functions in quotes, letters of sizes")
    try:
        return build(of, terms, parameters)
    except KeyError as error:
        raise TermError(f"{of}: {error} is not known") from None
