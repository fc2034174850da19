"""Rules of candidates: variables named in order, no instances of other rules, nothing that follows from others."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from pcg.substitute.egraph import Directions
from pcg.substitute.errors import TermError
from pcg.substitute.generate.space import Space
from pcg.substitute.pattern import Hole, Pattern
from pcg.substitute.property import Property
from pcg.substitute.prove import equal_by
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import VARIABLE, Term, apply, subterms, term_of, variable, variables

#: Sizes of dimensions, on how many choices of them a candidate is evaluated, and how many choices are tried.
_SIZES, _OTHERS, _TRIES = (2, 3, 4, 6), 6, 80
#: Rounds of applying rules, and nodes of an e-graph, after which a candidate is taken not to follow from them.
_ROUNDS, _NODES = 3, 400


def named(space: Space, candidates: Iterable[tuple[Term, Term]]) -> list[tuple[Term, Term]]:
    """Each candidate once, however its variables are called, in the order in which they first come."""
    return list(dict.fromkeys(_named(space, left, right) for left, right in candidates))


def bound(candidates: Iterable[tuple[Term, Term]]) -> list[Rule]:
    """Those of which one side has all variables of the other, as rules from it, smallest and most general first."""
    found = []
    for left, right in candidates:
        a, b = variables(left).keys(), variables(right).keys()
        if b <= a or a <= b:
            found.append(Rule("candidate", *(((left,), (right,)) if b <= a else ((right,), (left,)))))
    return sorted(found, key=lambda r: (size(r.source[0]) + size(r.destination[0]), -len(variables(*r.source)), str(r)))


def general(rules: Iterable[Rule]) -> list[Rule]:
    """Those that are no instances of one before them: with terms for its variables."""
    found: list[Rule] = []
    index: dict[tuple[object, ...], list[tuple[Pattern | Hole, Pattern | Hole]]] = {}
    for rule in rules:
        left, right = rule.source[0], rule.destination[0]
        both = ((left, right), (right, left))
        if any(_instance(known, pair) for pair in both for known in index.get(_root(*pair), ())):
            continue
        found.append(rule)
        sides = as_property(rule).sides
        for pair, patterns in zip(both, (sides, sides[::-1]), strict=True):
            # A side that is a variable is that of any operator.
            index.setdefault(_root(*pair), []).append(patterns)
    return found


def _root(left: Term, right: Term) -> tuple[object, ...]:
    return left.operator, left.parameters if left.operator != VARIABLE else (), right.operator


def _instance(known: tuple[Pattern | Hole, Pattern | Hole], pair: tuple[Term, Term]) -> bool:
    found: dict[str, Term] = {}
    return all(_match(p, t, found) for p, t in zip(known, pair, strict=True))


def _match(of: Pattern | Hole, term: Term, found: dict[str, Term]) -> bool:
    if isinstance(of, Hole):
        return found.setdefault(of.name, term) == term
    if term.operator != of.operator or term.parameters != of.parameters:
        return False
    return all(_match(o, t, found) for o, t in zip(of.operands, term.operands, strict=True))


def follows(rule: Rule, directions: Directions) -> bool:
    """Whether a few rounds of these make both sides equal."""
    return equal_by(rule, directions, _ROUNDS, _NODES) is not None


def as_property(rule: Rule) -> Property:
    """A rule as an equation that proofs can use, of variables of as many dimensions."""
    ranks = {name: type.rank for name, type in variables(*rule.source).items()}
    return Property(
        str(rule.source[0]),
        str(rule.destination[0]),
        rule.name,
        "",
        where=lambda b: all(b.type(name).rank == rank for name, rank in ranks.items() if name in b.types),
    )


def other_sizes(rule: Rule) -> list[Rule]:
    """The rule for a few other sizes of its variables for which it has terms; none where it slices."""
    if any(t.operator == "slice" for t in subterms(*rule.source, *rule.destination)):
        return []  # where they begin depends on sizes
    random = Random(zlib.crc32(str(rule).encode()))
    types = variables(*rule.source)
    found: list[Rule] = []
    for _ in range(_TRIES):
        of = {size: random.choice(_SIZES) for size in sorted({s for t in types.values() for s in t.shape[1:]})}
        # What was one size is one size in half of them, as contracted dimensions are.
        loose = random.random() < 0.5
        sized = {}
        try:
            for name, type in types.items():
                inner = (random.choice(_SIZES) if loose else of[s] for s in type.shape[1:])
                shape = (*type.shape[:1], *(s * d for s, d in zip(inner, type.degrees[1:], strict=True)))
                sized[name] = replace(type, shape=shape)
            sides = (tuple(_resized(t, sized) for t in side) for side in (rule.source, rule.destination))
            found.append(Rule(rule.name, *sides))
        except TermError:
            continue
        if len(found) == _OTHERS:
            break
    return found


def _resized(term: Term, types: dict[str, TensorType]) -> Term:
    if term.operator == VARIABLE:
        return variable(str(term.parameters[0]), types[str(term.parameters[0])])
    return apply(term.operator, term.parameters, tuple(_resized(o, types) for o in term.operands))


def size(term: Term) -> int:
    """How many operators it has."""
    return sum(1 for t in subterms(term) if t.operator != VARIABLE)


def _named(space: Space, left: Term, right: Term) -> tuple[Term, Term]:
    """The same two terms with other names of variables; the lesser of both orders of first use."""
    orders = []
    for pair in ((left, right), (right, left)):
        names: dict[str, str] = {}
        for name, type in variables(*pair).items():
            same = [n for n, t in space.inputs if t == type]
            names[name] = same[sum(1 for n in names if n in same)]
        orders.append((_renamed(left, names), _renamed(right, names)))
    return min(orders, key=lambda pair: (str(pair[0]), str(pair[1])))


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if term.operator == VARIABLE:
        return variable(names[str(term.parameters[0])], term.type)
    return term_of(term.operator, term.parameters, tuple(_renamed(o, names) for o in term.operands), term.type)
