"""All terms of a space, smallest first, and which have the values of another one.

A term whose value is that of one before it is a candidate for a rule, and is an operand of no other: what it would
give follows from the candidate by congruence.  Values are residues for inputs drawn by chance, the same for a space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pcg.substitute.entries import Array
from pcg.substitute.errors import TermError
from pcg.substitute.generate.field import PRIME, BatchedOperator, batched
from pcg.substitute.generate.space import Space
from pcg.substitute.operators import OPERATORS
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, apply, variable

#: Pairs of operands that are evaluated at a time.
_CHUNK = 1 << 17
#: Variables of a term, at most: four operators of two operands have five.
_VARIABLES = 6


@dataclass
class Counts:
    """What was enumerated."""

    terms: int = 0
    distinct: int = 0
    equal: int = 0
    """Terms with the value of another one."""
    candidates: int = 0
    """Of those, the ones that differ by more than the names of variables."""


#: Types of two operands, and numbers of terms that are both.
_Pairs = tuple[tuple[int, int], Array, Array]


@dataclass
class Enumeration:
    """Terms by number: operators and operands, and pairs of equal value."""

    space: Space
    operators: list[tuple[str, tuple[Parameter, ...]]] = field(default_factory=list)
    types: list[TensorType] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    """Numbers of a term and of the one before it that it equals."""
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._operator = np.empty(0, dtype=np.int32)
        self._operands = np.empty((0, 2), dtype=np.int64)
        self._type = np.empty(0, dtype=np.int32)
        self._ops = np.empty((0, self.space.size), dtype=np.int64)
        self._variables = np.empty((0, _VARIABLES), dtype=np.int16)
        self._blocks: dict[tuple[int, int], Array] = {}
        self._prints: dict[int, tuple[Array, Array]] = {}
        self._type_numbers: dict[TensorType, int] = {}
        self._batched: dict[tuple[int, tuple[int, ...]], tuple[int, BatchedOperator] | None] = {}
        self._commutative: set[int] = set()
        self._terms: dict[int, Term] = {}
        self._random = np.random.default_rng(20221011)
        self._weights: dict[int, Array] = {}
        self._pair_cache: dict[tuple[int, bool], dict[tuple[int, int], tuple[Array, Array]]] = {}
        self._pairable: dict[tuple[int, int], bool] = {}
        self._store: dict[int, Array] = {}
        self._row = np.empty(0, dtype=np.int64)
        self._extra_operator: list[int] = []
        self._extra_operands: list[tuple[int, ...]] = []

    def run(self, notify: Callable[[int], None] = lambda size: None) -> Enumeration:
        """Enumerate all of it."""
        self._predecessor = np.full(len(self.space.inputs), -1)
        for i, (_, type) in enumerate(self.space.inputs):
            same = [j for j, (_, t) in enumerate(self.space.inputs[:i]) if t == type]
            self._predecessor[i] = same[-1] if same else -1
            value = self._random.integers(1, PRIME, (1, type.elements))
            variables = np.full((1, _VARIABLES), -1, dtype=np.int16)
            variables[0, 0] = i
            self._keep(
                -1 - i, np.full((1, 2), -1), self._number(type), value, 0, variables, np.empty((1, 0), dtype=np.int64)
            )
        self.operators = list(self.space.operators)
        for size in range(1, self.space.size + 1):
            for op in range(len(self.operators)):
                for left, right, result, operator in self._operands_of(op, size):
                    self._evaluate(op, left, right, result, operator, size)
            if size == 1:
                self._find_commutative()
            notify(size)
        return self

    def term(self, number: int) -> Term:
        """A term by its number."""
        found = self._terms.get(number)
        if found is None:
            op = int(self._operator[number])
            if op < 0:
                name, type = self.space.inputs[-1 - op]
                found = variable(name, type)
            else:
                operands = tuple(self.term(int(o)) for o in self._operands[number] if o >= 0)
                found = apply(*self.operators[op], operands)
            self._terms[number] = found
        return found

    def _number(self, type: TensorType) -> int:
        if type not in self._type_numbers:
            self._type_numbers[type] = len(self.types)
            self.types.append(type)
        return self._type_numbers[type]

    # --- operands

    def _operands_of(self, op: int, size: int) -> Iterator[tuple[Array, Array | None, int, BatchedOperator]]:
        """Numbers of operands with which an operator makes terms of a size, by the types of operands."""
        arity = OPERATORS[self.operators[op][0]].arity
        if arity == 0:
            if size == 1 and (found := self._batch(op, ())) is not None:
                yield np.full(1, -1), None, *found
            return
        for (type, of), block in list(self._blocks.items()):
            if of and self.operators[op][0] in self.space.first:
                continue
            if arity == 1 and of == size - 1 and (found := self._batch(op, (type,))) is not None:
                yield block, None, *found
        if arity == 2:
            by_types = self._pairs(size, op in self._commutative)
            for types, (left, right) in by_types.items():
                if (found := self._batch(op, types)) is not None:
                    yield left, right, *found

    def _pairs(self, size: int, commutative: bool) -> dict[tuple[int, int], tuple[Array, Array]]:
        """Pairs of operands that have `size` - 1 operators together."""
        if (size, commutative) in self._pair_cache:
            return self._pair_cache[size, commutative]
        found: dict[tuple[int, int], list[tuple[Array, Array]]] = {}
        for types, left, right in (*self._apart(size), *self._nested(size), *(self._sharing() if size == 4 else ())):
            found.setdefault(types, []).append((left, right))
        joined = {}
        for types, parts in found.items():
            left, right = (np.concatenate([p[side] for p in parts]) for side in (0, 1))
            if commutative:
                ordered = left <= right
                left, right = left[ordered], right[ordered]
            if len(left):
                joined[types] = left, right
        self._pair_cache[size, commutative] = joined
        return joined

    def _apart(self, size: int) -> Iterator[_Pairs]:
        """Pairs that have no operator in common."""
        for (first, i), a in self._blocks.items():
            for (second, j), b in self._blocks.items():
                if i + j == size - 1 and self._may_be_operands(first, second):
                    left, right = np.repeat(a, len(b)), np.tile(b, len(a))
                    if i and j:
                        ops, others = self._ops[left], self._ops[right]
                        common = ((ops[:, :, None] == others[:, None]) & (ops >= 0)[:, :, None]).any((1, 2))
                        left, right = left[~common], right[~common]
                    yield (first, second), left, right

    def _nested(self, size: int) -> Iterator[_Pairs]:
        """Pairs of which one is part of the other, or the same."""
        for (first, of), outer in self._blocks.items():
            for column in range(of if of == size - 1 else 0):
                part = self._ops[outer, column]
                for second in map(int, np.unique(self._type[part])):
                    chosen = self._type[part] == second
                    inner, around = part[chosen], outer[chosen]
                    yield (first, second), around, inner
                    other = inner != around
                    yield (second, first), inner[other], around[other]

    def _sharing(self) -> Iterator[_Pairs]:
        """Pairs of terms of two operators each that have the inner one in common."""
        both = [block for (_, of), block in self._blocks.items() if of == 2]
        if not both:
            return
        numbers = np.concatenate(both)
        inner = np.where(self._ops[numbers, 0] == numbers, self._ops[numbers, 1], self._ops[numbers, 0])
        order = np.argsort(inner, kind="stable")
        starts = np.flatnonzero(np.diff(inner[order])) + 1
        for group in np.split(numbers[order], starts):
            left, right = np.repeat(group, len(group)), np.tile(group, len(group))
            types = np.stack([self._type[left], self._type[right]], axis=1)
            for first, second in np.unique(types, axis=0).tolist():
                chosen = (types == (first, second)).all(1) & (left != right)
                yield (first, second), left[chosen], right[chosen]

    def _may_be_operands(self, first: int, second: int) -> bool:
        """Whether an operator takes operands of such types."""
        key = first, second
        if key not in self._pairable:
            self._pairable[key] = any(
                self._batch(op, key) is not None
                for op, (name, _) in enumerate(self.operators)
                if OPERATORS[name].arity == 2
            )
        return self._pairable[key]

    def _batch(self, op: int, types: tuple[int, ...]) -> tuple[int, BatchedOperator] | None:
        """The type of the result and the operator on many operands; None where there is none, or it is too large."""
        key = op, types
        if key not in self._batched:
            operands = tuple(self.types[t] for t in types)
            name, parameters = self.operators[op]
            try:
                result = self.space.type_of(name, parameters, operands)
            except TermError:
                self._batched[key] = None
            else:
                fits = result.elements <= self.space.elements and int(np.prod(result.degrees)) <= self.space.degree
                self._batched[key] = (self._number(result), batched(name, parameters, operands)) if fits else None
        return self._batched[key]

    # --- values

    def _evaluate(
        self, op: int, left: Array, right: Array | None, result: int, operator: BatchedOperator, size: int
    ) -> None:
        """Evaluate an operator on operands; keep what is new, and note what is not."""
        for start in range(0, len(left), _CHUNK):
            a = left[start : start + _CHUNK]
            b = right[start : start + _CHUNK] if right is not None else None
            operands = [self._values(n) for n in (a, b) if n is not None] if a[0] >= 0 else []
            values = operator(*operands)
            prints = self._fingerprints(values, result)
            self.counts.terms += len(prints)
            numbers = np.stack([a, b if b is not None else np.full(len(a), -1)], axis=1)
            variables, ops = self._parts(numbers)
            known, of = self._prints.get(result, (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)))
            at = np.searchsorted(known, prints)
            at_known = np.minimum(at, max(len(known) - 1, 0))
            present = known[at_known] == prints if len(known) else np.zeros(len(prints), dtype=bool)
            fresh, first, inverse = np.unique(prints[~present], return_index=True, return_inverse=True)
            where = np.flatnonzero(~present)
            new = where[first]
            begin = len(self._type)
            self._keep(
                op, numbers[new], result, values[new], size, variables[new], ops[new], last=size == self.space.size
            )
            numbers_of_new = np.arange(begin, begin + len(new))
            merged = np.concatenate((known, fresh))
            order = np.argsort(merged, kind="stable")
            self._prints[result] = merged[order], np.concatenate((of, numbers_of_new))[order]
            again = np.ones(len(prints), dtype=bool)
            again[new] = False
            equal_to = np.empty(len(prints), dtype=np.int64)
            equal_to[present] = of[at_known[present]]
            equal_to[where] = numbers_of_new[inverse]
            self.counts.distinct += len(new)
            self.counts.equal += int(again.sum())
            self._note(op, numbers[again], equal_to[again], variables[again])

    def _values(self, numbers: Array) -> Array:
        """Values of terms of one type."""
        type = int(self._type[numbers[0]])
        return self._store[type][self._row[numbers]]

    def _fingerprints(self, values: Array, type: int) -> Array:
        if type not in self._weights:
            self._weights[type] = self._random.integers(1, PRIME, (2, values.shape[1]))
        one, two = ((values * w % PRIME).sum(1) % PRIME for w in self._weights[type])
        return one.astype(np.uint64) << np.uint64(32) | two.astype(np.uint64)

    def _parts(self, operands: Array) -> tuple[Array, Array]:
        """Variables in the order of their first use, and operators, of terms on operands."""
        sides = [np.where(operands[:, [s]] >= 0, self._variables[operands[:, s]], -1) for s in (0, 1)]
        variables = _first_uses(np.concatenate(sides, axis=1))[:, :_VARIABLES]
        ops = [np.where(operands[:, [s]] >= 0, self._ops[operands[:, s]], -1) for s in (0, 1)]
        return variables, _first_uses(np.concatenate(ops, axis=1))[:, : self.space.size - 1]

    def _keep(
        self,
        op: int,
        operands: Array,
        type: int,
        values: Array,
        size: int,
        variables: Array,
        ops: Array,
        last: bool = False,
    ) -> None:
        count = len(operands)
        begin = len(self._type)
        numbers = np.arange(begin, begin + count)
        self._operator = np.append(self._operator, np.full(count, op, dtype=np.int32))
        self._operands = np.concatenate((self._operands, operands))
        self._type = np.append(self._type, np.full(count, type, dtype=np.int32))
        self._variables = np.concatenate((self._variables, variables.astype(np.int16)))
        if op < 0:
            of = self._prints.get(type, (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)))
            prints = np.append(of[0], self._fingerprints(values, type))
            order = np.argsort(prints)
            self._prints[type] = prints[order], np.append(of[1], numbers)[order]
        full = np.full((count, self.space.size), -1, dtype=np.int64)
        full[:, : ops.shape[1]] = ops
        if op >= 0:
            full[np.arange(count), (full >= 0).sum(1)] = numbers
        self._ops = np.concatenate((self._ops, full))
        if last:
            return
        block = self._blocks.get((type, size))
        self._blocks[type, size] = numbers if block is None else np.append(block, numbers)
        store = self._store.get(type)
        rows = np.arange(count) + (0 if store is None else len(store))
        self._row = np.append(self._row, rows)
        self._store[type] = values if store is None else np.concatenate((store, values))

    def _note(self, op: int, operands: Array, equal_to: Array, variables: Array) -> None:
        """Note candidates: those in which variables are used in order, as others are these with other names."""
        others = self._variables[equal_to]
        ordered = self._in_order(np.concatenate((variables, others), axis=1))
        ordered |= self._in_order(np.concatenate((others, variables), axis=1))
        chosen = np.flatnonzero(ordered)
        self.counts.candidates += len(chosen)
        begin = len(self._extra_operator)
        self._extra_operator.extend([op] * len(chosen))
        self._extra_operands.extend(map(tuple, operands[chosen].tolist()))
        self.pairs.extend((begin + i, int(n)) for i, n in enumerate(equal_to[chosen]))

    def _in_order(self, uses: Array) -> Array:
        """Whether each variable in rows of variables is used after those before it of the same type."""
        ordered = np.ones(len(uses), dtype=bool)
        for column in range(uses.shape[1]):
            before = self._predecessor[np.maximum(uses[:, column], 0)]
            needs = (uses[:, column] >= 0) & (before >= 0)
            ordered &= ~needs | (uses[:, :column] == before[:, None]).any(1)
        return ordered

    def candidates(self) -> Iterator[tuple[Term, Term]]:
        """Terms of equal value: one, and one before it."""
        for extra, number in self.pairs:
            operands = tuple(self.term(o) for o in self._extra_operands[extra] if o >= 0)
            yield apply(*self.operators[self._extra_operator[extra]], operands), self.term(number)

    def _find_commutative(self) -> None:
        """Operators whose operands may be exchanged, by the candidates of one operator."""
        for left, right in self.candidates():
            if (
                left.operator == right.operator
                and left.operands == right.operands[::-1]
                and len(set(left.operands)) == 2
            ):
                self._commutative.add(self.operators.index((left.operator, left.parameters)))


def _first_uses(rows: Array) -> Array:
    """Entries of each row that are not negative, each once, in order; -1 after them."""
    again = np.zeros(rows.shape, dtype=bool)
    for column in range(1, rows.shape[1]):
        again[:, column] = (rows[:, :column] == rows[:, [column]]).any(1)
    kept = np.where(again, -1, rows)
    order = np.argsort(kept < 0, axis=1, kind="stable")
    return np.take_along_axis(kept, order, axis=1)

