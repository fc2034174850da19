"""E-graphs: terms that are equal by the properties that were applied so far, and by congruence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pcg.substitute.errors import TermError
from pcg.substitute.pattern import Hole, Name, Pattern, operator_of
from pcg.substitute.property import Binding, Property
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, subterms, term_of, type_of


@dataclass(frozen=True)
class Node:
    """An operator on classes."""

    operator: str
    parameters: tuple[Parameter, ...]
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Equation:
    """An instance of a property: two terms that are equal by it."""

    property: Property
    left: Term
    right: Term


@dataclass
class _Match:
    """What a side of a property stands for."""

    classes: dict[str, int]
    parameters: dict[str, Parameter]


@dataclass(frozen=True)
class Direction:
    """A property from one side to the other."""

    number: int
    property: Property
    here: Pattern
    there: Pattern | Hole
    operands: tuple[tuple[int, str], ...]
    """Operands of `here` that are operators, and which."""


class Directions:
    """Properties, by what they may be applied to.  Those of an operator are parsed when they are first looked for."""

    def __init__(self, properties: Iterable[Property] = ()) -> None:
        self._by_root: dict[tuple[str, tuple[Parameter, ...] | None], list[Direction]] = {}
        self._texts: dict[str, list[tuple[int, Property, bool]]] = {}
        """By the operator that a side begins with, sides that are not parsed: a number, and whether it is the right."""
        self._count = 0
        for p in properties:
            self.add(p)

    def add(self, p: Property) -> None:
        """One more property."""
        for text, backward in ((p.left, False), (p.right, True)):
            self._texts.setdefault(operator_of(text), []).append((self._count, p, backward))
            self._count += 1

    def of(self, node: Node) -> Iterator[Direction]:
        """Those whose side may match a node."""
        for number, p, backward in self._texts.pop(node.operator, ()):
            self._parse(number, p, backward)
        yield from self._by_root.get((node.operator, None), ())
        yield from self._by_root.get((node.operator, node.parameters), ())

    def _parse(self, number: int, p: Property, backward: bool) -> None:
        here, there = reversed(p.sides) if backward else p.sides
        if isinstance(here, Pattern) and there.variables <= here.variables:
            operands = tuple((i, o.operator) for i, o in enumerate(here.operands) if isinstance(o, Pattern))
            named = any(isinstance(n, Name) for n in here.parameters)
            known = None if named else tuple(n for n in here.parameters if not isinstance(n, Name))
            direction = Direction(number, p, here, there, operands)
            self._by_root.setdefault((here.operator, known), []).append(direction)


class EGraph:
    """Classes of equal terms.  A class has one type, and a term that stands for it."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._terms: list[Term] = []
        self._nodes: list[dict[Node, None]] = []
        self._users: list[dict[Node, int]] = []
        self._class_of: dict[Node, int] = {}
        self._changed: list[int] = []
        self.equations: list[Equation] = []
        self._seen: set[object] = set()

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._class_of)

    def find(self, number: int) -> int:
        """The class that a class is part of now."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def type(self, number: int) -> TensorType:
        """The type of the terms of a class."""
        return self._terms[self.find(number)].type

    def add(self, term: Term) -> int:
        """The class of a term."""
        classes: dict[Term, int] = {}
        for t in subterms(term):
            classes[t] = self._add(Node(t.operator, t.parameters, tuple(classes[o] for o in t.operands)), t.type)
        return classes[term]

    def _add(self, node: Node, type: TensorType) -> int:
        node = self._canonical(node)
        found = self._class_of.get(node)
        if found is not None:
            return self.find(found)
        number = len(self._parent)
        self._parent.append(number)
        self._terms.append(term_of(node.operator, node.parameters, tuple(self._terms[o] for o in node.operands), type))
        self._nodes.append({node: None})
        self._users.append({})
        self._class_of[node] = number
        for operand in node.operands:
            self._users[operand][node] = number
        return number

    def _canonical(self, node: Node) -> Node:
        operands = tuple(self.find(o) for o in node.operands)
        return node if operands == node.operands else Node(node.operator, node.parameters, operands)

    def merge(self, a: int, b: int) -> bool:
        """Make one class of two; whether they were two."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if len(self._users[a]) < len(self._users[b]):
            a, b = b, a
        self._parent[b] = a
        self._nodes[a].update(self._nodes[b])
        self._users[a].update(self._users[b])
        self._nodes[b], self._users[b] = {}, {}
        self._changed.append(a)
        return True

    def rebuild(self) -> None:
        """Restore congruence: equal operators on equal classes are one class."""
        while self._changed:
            changed, self._changed = {self.find(c) for c in self._changed}, []
            for number in changed:
                number = self.find(number)
                users, self._users[number] = self._users[number], {}
                for node, of in users.items():
                    self._class_of.pop(node, None)
                    canonical = self._canonical(node)
                    other = self._class_of.get(canonical)
                    if other is not None:
                        self.merge(other, of)
                    self._class_of[canonical] = self.find(of)
                    self._users[self.find(number)][canonical] = self.find(of)
        for number, nodes in enumerate(self._nodes):
            if nodes:
                self._nodes[number] = {self._canonical(n): None for n in nodes}

    def saturate(self, directions: Directions, most: int) -> bool:
        """Apply every property once wherever it can be; whether anything was new.

        Stops where there are more than `most` nodes.
        """
        operators = [{n.operator for n in nodes} for nodes in self._nodes]
        found: list[tuple[Direction, int, _Match]] = []
        for number, nodes in enumerate(self._nodes):
            for node in nodes:
                for direction in directions.of(node):
                    if all(o in operators[self.find(node.operands[i])] for i, o in direction.operands):
                        matches = self._of_node(direction.here, node, _Match({}, {}))
                        found.extend((direction, number, match) for match in matches)
        # In the order of the properties, whatever the order of the nodes.
        found.sort(key=lambda f: f[0].number)
        changed = False
        for direction, number, match in found:
            changed |= self._apply(direction, number, match)
            if len(self) > most:
                break
        self.rebuild()
        return changed

    def _of_class(self, pattern: Pattern | Hole, number: int, match: _Match) -> Iterator[_Match]:
        number = self.find(number)
        if isinstance(pattern, Hole):
            bound = match.classes.get(pattern.name)
            if bound is None:
                yield _Match({**match.classes, pattern.name: number}, match.parameters)
            elif self.find(bound) == number:
                yield match
            return
        for node in list(self._nodes[number]):
            if node.operator == pattern.operator:
                yield from self._of_node(pattern, node, match)

    def _of_node(self, pattern: Pattern, node: Node, match: _Match) -> Iterator[_Match]:
        parameters = match.parameters
        for wanted, has in zip(pattern.parameters, node.parameters, strict=True):
            if isinstance(wanted, Name):
                if wanted.name not in parameters:
                    parameters = {**parameters, wanted.name: has}
                elif parameters[wanted.name] != has:
                    return
            elif wanted != has:
                return
        matches = [_Match(match.classes, parameters)]
        for operand, number in zip(pattern.operands, node.operands, strict=True):
            matches = [m for before in matches for m in self._of_class(operand, number, before)]
        yield from matches

    def _apply(self, direction: Direction, number: int, match: _Match) -> bool:
        """Make what one side matches equal to the same instance of the other."""
        p, here, there = direction.property, direction.here, direction.there
        classes = tuple((n, self.find(c)) for n, c in match.classes.items())
        key = direction.number, classes, tuple(match.parameters.items()), self.find(number)
        if key in self._seen:
            return False
        self._seen.add(key)
        parameters = complete(p, {n: self.type(c) for n, c in match.classes.items()}, match.parameters)
        if parameters is None:
            return False
        if not there.parameters_named <= parameters.keys():
            return False
        try:
            other = self._instance(there, match.classes, parameters)
        except TermError:
            return False
        if self.type(other) != self.type(number):
            return False
        if self.find(number) == self.find(other):
            return False
        # As they were before: the equation is what makes them equal.
        terms = {n: self._terms[self.find(c)] for n, c in match.classes.items()}
        self.merge(number, other)
        self.equations.append(Equation(p, build(here, terms, parameters), build(there, terms, parameters)))
        return True

    def _instance(
        self, pattern: Pattern | Hole, classes: Mapping[str, int], parameters: Mapping[str, Parameter]
    ) -> int:
        if isinstance(pattern, Hole):
            return self.find(classes[pattern.name])
        operands = tuple(self._instance(o, classes, parameters) for o in pattern.operands)
        values = tuple(parameters[p.name] if isinstance(p, Name) else p for p in pattern.parameters)
        node = self._canonical(Node(pattern.operator, values, operands))
        if node in self._class_of:
            return self.find(self._class_of[node])
        return self._add(node, type_of(pattern.operator, values, tuple(self.type(o) for o in operands)))


def complete(
    p: Property, types: Mapping[str, TensorType], parameters: Mapping[str, Parameter]
) -> dict[str, Parameter] | None:
    """Parameters of a property with those that follow from others; None where its condition does not hold."""
    found = dict(parameters)
    binding = Binding(types, found)
    for name, of in p.let.items():
        try:
            value = of(binding)
        except KeyError:  # of what the other side has
            continue
        if value is None or found.setdefault(name, value) != value:
            return None
    try:
        return found if p.holds(binding) else None
    except KeyError:
        return None


def build(pattern: Pattern | Hole, terms: Mapping[str, Term], parameters: Mapping[str, Parameter]) -> Term:
    """The term that a pattern is for terms in place of its variables.

    Raises:
      TermError: it cannot be built.
    """
    if isinstance(pattern, Hole):
        return terms[pattern.name]
    operands = tuple(build(o, terms, parameters) for o in pattern.operands)
    values = tuple(parameters[p.name] if isinstance(p, Name) else p for p in pattern.parameters)
    type = type_of(pattern.operator, values, tuple(o.type for o in operands))
    return term_of(pattern.operator, values, operands, type)
