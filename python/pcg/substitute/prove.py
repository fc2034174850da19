"""Proofs of rules from properties: an e-graph finds the instances that are needed, and Z3 says that they suffice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pcg.substitute.egraph import Directions, EGraph, Equation
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.property import Property
from pcg.substitute.rule import Rule
from pcg.substitute.term import Term, subterms

if TYPE_CHECKING:
    import z3

#: Rounds of applying all properties, and nodes of an e-graph, after which a rule is not proved.
_ROUNDS, _NODES = 8, 6000


@dataclass(frozen=True)
class Proof:
    """Why the results of a rule are equal: instances of properties from which it follows by congruence."""

    equations: tuple[Equation, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the properties that it uses are published, each once."""
        return tuple(dict.fromkeys(e.property.source for e in self.equations))

    def __str__(self) -> str:
        return "\n".join(f"{e.left} = {e.right}  ({e.property.source})" for e in self.equations)


def prove(rule: Rule, properties: tuple[Property, ...] | None = None) -> Proof | None:
    """A proof from properties, by default all, that Z3 accepts, or None if none was found.

    The properties are those whose conditions hold for the types of the terms; sizes matter to no condition but those of
    what is sliced or has groups, so that a proof for general sizes is one for others.
    """
    equations = equal_by(rule, _all() if properties is None else Directions(properties), _ROUNDS, _NODES)
    return None if equations is None else _checked(rule, equations)


def holds(rule: Rule) -> bool:
    """Whether properties make the results of a rule equal: what `prove` finds before Z3 looks at it."""
    return equal_by(rule, _all(), _ROUNDS, _NODES) is not None


@cache
def _all() -> Directions:
    return Directions(PROPERTIES)


def equal_by(rule: Rule, directions: Directions, rounds: int, nodes: int) -> list[Equation] | None:
    """Instances of properties that make the results of a rule equal; None if none were found in so many rounds of all,
    or of an e-graph of so many nodes."""
    graph = EGraph()
    goals = [(graph.add(s), graph.add(d)) for s, d in zip(rule.source, rule.destination, strict=True)]
    for _ in range(rounds):
        if all(graph.find(s) == graph.find(d) for s, d in goals):
            return graph.equations
        if not graph.saturate(directions, nodes) or len(graph) > nodes:
            break
    return graph.equations if all(graph.find(s) == graph.find(d) for s, d in goals) else None


def _checked(rule: Rule, equations: list[Equation]) -> Proof | None:
    """The proof by the equations that Z3 finds to suffice, of operators nothing else being known."""
    import z3

    encode = _Encoding(z3)
    solver = z3.Solver()
    solver.set("core.minimize", True)
    by_name: dict[str, Equation] = {}
    for i, equation in enumerate(equations):
        by_name[f"e{i}"] = equation
        solver.assert_and_track(encode.term(equation.left) == encode.term(equation.right), f"e{i}")
    goals = [encode.term(s) != encode.term(d) for s, d in zip(rule.source, rule.destination, strict=True)]
    solver.add(z3.Or(goals))
    if solver.check() != z3.unsat:
        return None
    used = sorted((str(name) for name in solver.unsat_core()), key=lambda n: int(n[1:]))
    return Proof(tuple(by_name[n] for n in used))


class _Encoding:
    """Terms as Z3 has them: constants and functions of one sort."""

    def __init__(self, z3: Any) -> None:
        self._z3 = z3
        self._sort = z3.DeclareSort("Tensor")
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._terms: dict[Term, Any] = {}

    def term(self, term: Term) -> z3.ExprRef:
        for t in subterms(term) if term not in self._terms else ():
            if t not in self._terms:
                # Types are part of the name: a function of terms of other types is another.
                key = t.operator, t.parameters, tuple(o.type for o in t.operands), t.type
                if key not in self._functions:
                    name = f"{t.operator}{list(t.parameters)}#{len(self._functions)}"
                    self._functions[key] = self._z3.Function(name, *[self._sort] * (len(t.operands) + 1))
                self._terms[t] = self._functions[key](*(self._terms[o] for o in t.operands))
        return self._terms[term]
