"""Whether properties hold: both sides by the definitions of their operators, on all small shapes, of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pcg.solve.pool import each
from pcg.substitute.egraph import build, complete
from pcg.substitute.entries import Array
from pcg.substitute.errors import TermError
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.operators import OPERATORS
from pcg.substitute.pattern import Hole, Pattern
from pcg.substitute.polynomial import Symbols
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.property import Property
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import VARIABLE, Parameter, Term, variable, variables

_NONE: Mapping[str, Parameter] = {}


@dataclass(frozen=True)
class Validation:
    """On how many instances a property was evaluated, and one where the sides differ."""

    instances: int
    wrong: tuple[Term, Term] | None = None


@dataclass(frozen=True)
class Sizes:
    """Of instances: up to which size every dimension is, and how they are split."""

    most: int = 4
    split: bool = True
    """Over all numbers of devices that divide a dimension, else over one."""
    time: bool = False
    """And in two slices."""


def sizes_for(p: Property, most: int) -> tuple[Sizes, ...]:
    """The sizes that a property is validated on, up to `most`.

    Windows of images up to that on one device, and split up to 2: they have five dimensions, and kernels.
    What splits in time also in slices, where sizes are large enough for both.
    """
    if "conv" in str(p) or "pool" in str(p):
        return (Sizes(most, split=False), *([Sizes(min(most, 2))] if most > 1 else []))
    return (Sizes(most, time=any(name in str(p) for name in ("pipeline", "batch"))),)


def validate(p: Property, sizes: Sizes) -> Validation:
    """Evaluate both sides wherever they can be built, are of one type, and the condition holds.

    What is computed the same way for several types is evaluated for one of them (`computation`).
    """
    count = 0
    known: set[tuple[object, object]] = set()
    for left, right in instances(p, sizes):
        count += 1
        sides = computation(left), computation(right)
        if sides in known:
            continue
        if not equal(left, right):
            return Validation(count, (left, right))
        known.add(sides)
    return Validation(count)


def computation(term: Term) -> object:
    """All that the value of a term depends on: terms with equal ones have equal values for equal inputs.

    Operators that only change how a tensor is split compute nothing, and in how many slices a tensor is run no
    operator's value depends on (`Operator.value_of`).
    """
    if term.operator == VARIABLE:
        return term.parameters[0], term.type.shape
    if not OPERATORS[term.operator].changes_value:
        return computation(term.operands[0])
    operands = tuple((computation(o), o.type.shape, o.type.degrees) for o in term.operands)
    return term.operator, term.parameters, operands


def validate_all(properties: Sequence[Property], most: int, jobs: int = 1) -> Iterator[Validation]:
    """Of each of the properties that proofs use what `validate` finds for sizes up to `most`, in `jobs` processes."""
    # Conditions are functions, which are not pickled: a process has the properties, and is told which.
    numbers = [next(i for i, q in enumerate(PROPERTIES) if q is p) for p in properties]
    return each(_validated, [(number, most) for number in numbers], jobs)


def _validated(task: tuple[int, int]) -> Validation:
    p = PROPERTIES[task[0]]
    found = [validate(p, sizes) for sizes in sizes_for(p, task[1])]
    wrong = next((v.wrong for v in found if v.wrong is not None), None)
    return Validation(sum(v.instances for v in found), wrong)


def equal(left: Term, right: Term) -> bool:
    """Whether two terms have the same value for all values of their variables, functions being any."""
    on = Symbols()
    inputs: dict[str, Array] = {}
    rows = indices(left, right)
    for name, type in sorted(variables(left, right).items()):
        if name in rows:  # which rows are read does not depend on what is in them
            random = np.random.default_rng(len(inputs))
            inputs[name] = on.integers(random.integers(0, 60, type.shape))
        else:
            inputs[name] = on.symbols(name, type.shape)
    a, b = evaluate([left, right], inputs, on)
    return a.shape == b.shape and bool(np.all(a == b))


def instances(p: Property, sizes: Sizes) -> Iterator[tuple[Term, Term]]:
    """Both sides for all types and parameters within `sizes` for which the property says that they are equal."""
    left, right = p.sides
    called: dict[str, str] = {}
    for side in (left, right):
        if not isinstance(side, Hole):
            called |= dict(side.names())
    free = _Free.of(p, called)
    computed = [name for name in called if name in p.let]
    for types in _types(p, sizes):
        rank = max((t.rank for t in types.values()), default=5)
        terms = {name: variable(name, type) for name, type in types.items()}
        for values in free.assignments(terms, [_values(called[name], rank, sizes.most) for name in free.names]):
            for parameters in _computed(p, types, values, computed, called, rank, sizes.most):
                try:
                    sides = build(left, terms, parameters), build(right, terms, parameters)
                except TermError:
                    continue
                if sides[0].type == sides[1].type:
                    yield sides


@dataclass(frozen=True)
class _Free:
    """The parameters of a property that follow from no others, those first that the smallest parts of its sides have.

    Where a part cannot be built the sides cannot, whatever the other parameters are.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[Pattern, ...], ...]
    """Of every number of names the parts that have parameters of these and no others, the last among them."""

    @staticmethod
    def of(p: Property, called: Iterable[str]) -> _Free:
        """Those of a property, whose parameters are `called`."""
        every = [name for name in called if name not in p.let]
        inner = [part for side in p.sides for part in _parts(side) if part.parameters_named <= set(every)]
        inner.sort(key=lambda part: len(part.parameters_named))
        names = tuple(dict.fromkeys([*(name for part in inner for name, _ in part.names()), *every]))
        known = [frozenset(names[:i]) for i in range(len(names) + 1)]
        first = [next(i for i, k in enumerate(known) if part.parameters_named <= k) for part in inner]
        return _Free(
            names, tuple(tuple(q for q, n in zip(inner, first, strict=True) if n == i) for i in range(len(known)))
        )

    def assignments(
        self, terms: Mapping[str, Term], values: Sequence[Sequence[Parameter]], first: Mapping[str, Parameter] = _NONE
    ) -> Iterator[dict[str, Parameter]]:
        """Those of these values per name for which all parts can be built of `terms`; the `first` are chosen."""
        parameters, at = dict(first), len(first)
        try:
            for part in self.parts[at]:
                build(part, terms, parameters)
        except TermError:
            return
        if at == len(self.names):
            yield parameters
            return
        for value in values[at]:
            yield from self.assignments(terms, values, {**parameters, self.names[at]: value})


def _parts(side: Pattern | Hole) -> Iterator[Pattern]:
    """The patterns inside of a side."""
    for operand in side.operands if isinstance(side, Pattern) else ():
        if isinstance(operand, Pattern):
            yield operand
            yield from _parts(operand)


def _computed(
    p: Property, types: Mapping[str, TensorType], parameters: dict[str, Parameter], computed: list[str],
    called: Mapping[str, str], rank: int, most: int,
) -> Iterator[dict[str, Parameter]]:  # fmt: skip
    """Parameters with those that follow; where each of two follows from the other, for all values of the first."""
    try:
        found = complete(p, types, parameters)
    except (IndexError, ValueError):
        return
    if found is None:
        return
    missing = [name for name in computed if name not in found]
    if not missing:
        yield found
    else:
        for value in _values(called[missing[0]], rank, most):
            yield from _computed(p, types, {**parameters, missing[0]: value}, computed, called, rank, most)


def _values(called: str, rank: int, most: int) -> tuple[Parameter, ...]:
    """Of a parameter that operators call so."""
    match called:
        case "dim" | "axis" | "other":
            return tuple(range(rank + 1))
        case "degree" | "factor":
            return tuple(range(2, most + 1))
        case "function":
            return ("relu",)
        case "activation":
            return ("none", "relu")
        case "stride":
            return (1, 2)
        case "padding":
            return ("same", "valid")
        case "kernel":
            return (1, 3)
        case "start":
            return tuple(range(most))
        case _:
            return tuple(range(1, most + 1))


def _types(p: Property, sizes: Sizes) -> Iterator[dict[str, TensorType]]:
    """Types of the variables: those with the same letters have the same, and what one letter stands for is split
    equally in all, but for replica dimensions."""
    letters = list(dict.fromkeys(letter for shape in p.shapes.values() for letter in shape))
    inside = {letter for shape in p.shapes.values() for letter in shape[1:]}

    def choices_of(letter: str) -> Iterable[int]:
        if letter in ("kh", "kw"):
            return (1, 3)  # 3 is the least that reaches over both borders
        # On one device an image has one copy.
        return range(1, sizes.most + 1) if sizes.split or letter in inside else (1,)

    choices = [choices_of(letter) for letter in letters]
    replicas = sorted({shape for shape in p.shapes.values() if shape})
    inner = [letter for letter in letters if any(letter in shape[1:] for shape in replicas)]
    for chosen in product(*choices):
        size = dict(zip(letters, chosen, strict=True))
        for first in product(*(_splits(size[shape[0]], sizes) for shape in replicas)):
            for rest in product(*(_splits(size[letter], sizes) for letter in inner)):
                split = dict(zip(inner, rest, strict=True))
                of = {
                    shape: TensorType(
                        tuple(size[letter] for letter in shape),
                        (copies[0], *(split[letter][0] for letter in shape[1:])),
                        (copies[1], *(split[letter][1] for letter in shape[1:])),
                    )
                    for shape, copies in zip(replicas, first, strict=True)
                }
                yield {name: of[shape] if shape else TensorType.of(()) for name, shape in p.shapes.items()}


def _splits(size: int, sizes: Sizes) -> list[tuple[int, int]]:
    """Degrees and microbatches of a dimension."""
    degrees = [d for d in range(1, size + 1) if size % d == 0] if sizes.split else [1]
    return [(d, m) for d in degrees for m in ((1, 2, 4) if sizes.time else (1,)) if size % (d * m) == 0]
