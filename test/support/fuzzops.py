"""Growing a random program: one method per op family, each adding one op (or a few) to the program.

Every value holds integers whose magnitude is bounded, whatever the program does; a family that would
break the bound first cuts its operands down.  So results are exact however sums are ordered, and
programs can be compared bit for bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from support.fuzzprogram import Node, Program, Region, Type, Value, constant

#: Magnitudes stay below this; sums in f32 are exact up to 2**24.
LIMIT = float(1 << 20)
#: Elements of the largest tensor.
LARGEST = 384
_SIZES = (1, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8, 8, 9, 11, 12, 13, 16)
#: Element types whose arithmetic wraps, and floats of 16 bits: of those, only what does not round is done.
NARROW = ("i8", "i16", "ui8", "ui16", "ui32", "ui64")
HALF = ("f16", "bf16")
#: Element types of arithmetic that stays within a bound.
WHOLE = ("i32", "i64")


class Skip(Exception):
    """The family has nothing to work on here."""


class Grower:
    """A program under construction.  `values` are those visible where the next op goes."""

    def __init__(
        self, rng: random.Random, empty: bool = False, exotic: bool = False, wild: bool = False, types: bool = False
    ) -> None:
        #: Whether there are tensors without elements.
        self.empty = empty
        #: Whether arguments hold NaN and infinities, and whether all element types are used.
        self.wild, self.types = wild, types
        #: Whether there are ops that only XLA runs.
        self.exotic = exotic
        self.rng = rng
        self.program = Program()
        self.nodes = self.program.nodes
        self.values: list[Value] = []
        self.used: set[int] = set()
        self.depth = 0
        self.ops = 0
        self._next = 0

    # -- values --------------------------------------------------------------------------------

    def new(self, type_: Type, bound: float) -> Value:
        self._next += 1
        return Value(self._next, type_, float(bound))

    def argument(self, type_: Type, bound: float = 3) -> Value:
        """A new argument of the function."""
        v = self.new(type_, 1 if type_.element == "i1" else bound)
        if self.wild and type_.element in ("f32", "f64") and bound >= 3 and self.flip():
            v = replace(v, wild=True)
        self.program.arguments.append(v)
        # Visible everywhere; in front, so that leaving a region does not drop it.
        self.values.insert(0, v)
        return v

    def emit(
        self, name: str, operands: Sequence[Value], results: Sequence[tuple[Type, float]], attributes: str = "",
        regions: Sequence[Region | str] = (),
    ) -> list[Value]:  # fmt: skip
        wild = any(v.wild for v in operands) or any(_captures_wild(r) for r in regions)
        made = [replace(self.new(t, b), wild=wild and t.element.startswith("f")) for t, b in results]
        self.ops += 1
        self.node(_full(name), operands, made, attributes, regions)
        self.values += made
        self.used |= {v.id for v in operands}
        return made

    def one(
        self, name: str, operands: Sequence[Value], type_: Type, bound: float, attributes: str = "",
        regions: Sequence[Region | str] = (),
    ) -> Value:  # fmt: skip
        return self.emit(name, operands, [(type_, bound)], attributes, regions)[0]

    def hidden(self, name: str, operands: Sequence[Value], type_: Type, attributes: str = "") -> Value:
        """An op whose result only the next op may use, for it may hold anything."""
        v = self.new(type_, LIMIT)
        self.node(_full(name), operands, [v], attributes)
        return v

    def node(
        self, name: str, operands: Sequence[Value], results: Sequence[Value], attributes: str = "",
        regions: Sequence[Region | str] = (),
    ) -> None:  # fmt: skip
        """Add an op by its full name."""
        self.nodes.append(Node(name, list(operands), list(results), attributes, list(regions)))

    def constant(self, type_: Type, number: float) -> Value:
        v = self.new(type_, abs(number))
        self.nodes.append(constant(v, number))
        return v

    def pick(self, accept: Callable[[Value], bool] = lambda v: True, empty: bool = False, wild: bool = False) -> Value:
        """A visible value, rather a late one; it may have no elements if `empty`, NaN and infinities if `wild`."""
        found = [v for v in self.values if (empty or v.type.size) and (wild or not v.wild) and accept(v)]
        if not found:
            raise Skip
        if self.flip(0.7):  # rather one that nothing uses yet
            found = [v for v in found if v.id not in self.used] or found
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def number(self, rank: int = 0, empty: bool = False, wild: bool = False, narrow: bool = True) -> Value:
        """A visible value of numbers with at least `rank` dimensions."""
        elements = ("f32", "f64", *WHOLE, *(NARROW if narrow else ()))
        return self.pick(lambda v: len(v.type.shape) >= rank and v.type.element in elements, empty, wild)

    def like(self, type_: Type, bound: float = LIMIT) -> Value:
        """Some value of `type_` and at most that bound, made if there is none."""
        found = [v for v in self.values if v.type == type_ and not v.wild]
        if found and self.rng.random() < 0.8:
            return self.fit(self.rng.choice(found), bound)
        small = [
            v for v in self.values
            if not v.wild and v.type.element == type_.element and len(v.type.shape) < len(type_.shape)
            and self._positions(v.type.shape, type_.shape)
        ]  # fmt: skip
        if small and self.rng.random() < 0.5:
            v = self.rng.choice(small)
            where = self._positions(v.type.shape, type_.shape)
            assert where is not None
            v = self.one("broadcast_in_dim", [v], type_, v.bound, f"broadcast_dimensions = {array(where)}")
            return self.fit(v, bound)
        if self.rng.random() < 0.3:
            return self.constant(type_, self.rng.randrange(2) if type_.element == "i1" else self.rng.randrange(-2, 3))
        return self.argument(type_, min(3, bound) if type_.element not in ("f32", "f64") else min(2, bound))

    @staticmethod
    def _positions(small: tuple[int, ...], big: tuple[int, ...]) -> list[int] | None:
        """Where the dimensions of `small` are in `big`, in order; None if they are not."""
        where, d = [], 0
        for s in small:
            while d < len(big) and big[d] != s:
                d += 1
            if d == len(big):
                return None
            where.append(d)
            d += 1
        return where if where else ([] if not small else None)

    def fit(self, v: Value, bound: float) -> Value:
        """`v`, cut down to `bound` if it may be larger."""
        if v.bound <= bound or v.type.element == "i1" or v.type.element in NARROW:
            return v
        if bound < 2 or self.rng.random() < 0.5:
            scalar = Type((), v.type.element)
            low, high = self.constant(scalar, -int(bound)), self.constant(scalar, int(bound))
            return self.one("clamp", [low, v, high], v.type, int(bound))
        divisor = self.constant(v.type, int(bound))
        return self.one("remainder", [v, divisor], v.type, int(bound))

    def shape(self, rank: int | None = None, largest: int = LARGEST) -> tuple[int, ...]:
        while True:
            n = self.rng.choices(range(5), (2, 4, 8, 6, 3))[0] if rank is None else rank
            shape = tuple(0 if self.empty and self.flip(0.1) else self.rng.choice(_SIZES) for _ in range(n))
            if Type(shape).size <= largest:
                return shape

    def element(self) -> str:
        if self.types and self.flip(0.5):
            return self.rng.choice((*NARROW, *(HALF if self.exotic else ())))
        return self.rng.choices(("f32", "i32", "f64", "i1", "i64"), (12, 4, 1, 1, 1))[0]

    def flip(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance


def _captures_wild(region: Region | str) -> bool:
    if isinstance(region, str):
        return False
    return any(v.wild for n in region.nodes for v in (*n.operands, *n.results))


def _full(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


def array(numbers: Sequence[int]) -> str:
    """`DenseI64ArrayAttr` text."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def pairs(numbers: Sequence[tuple[int, int]]) -> str:
    """Text of an Nx2 tensor of integers."""
    rows = ", ".join(f"[{a}, {b}]" for a, b in numbers)
    return f"dense<[{rows}]> : tensor<{len(numbers)}x2xi64>"


def reducer(op: str, *elements: str) -> str:
    """Region `(a..., b...) -> op(a, b)...`."""
    types = [f"tensor<{e}>" for e in elements]
    head = ", ".join(f"%ra{i}: {t}" for i, t in enumerate(types))
    head += ", " + ", ".join(f"%rb{i}: {t}" for i, t in enumerate(types))
    body = "\n".join(
        f'%rc{i} = "stablehlo.{op}"(%ra{i}, %rb{i}) : ({t}, {t}) -> {t}' for i, t in enumerate(types)
    )
    names = ", ".join(f"%rc{i}" for i in range(len(types)))
    return f'{{^bb0({head}):\n{body}\n"stablehlo.return"({names}) : ({", ".join(types)}) -> ()}}'


def compare_type(element: str) -> str:
    """How elements of a type are compared."""
    return "FLOAT" if element.startswith(("f", "bf")) else "UNSIGNED" if element == "i1" or element[0] == "u" else "SIGNED"


def comparator(direction: str, *elements: str) -> str:
    """Region of a sort or a select_and_scatter: compares the first pair."""
    types = [f"tensor<{e}>" for e in elements]
    head = ", ".join(f"%ra{i}: {t}, %rb{i}: {t}" for i, t in enumerate(types))
    kind = compare_type(elements[0])
    attributes = f"{{comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = #stablehlo<comparison_type {kind}>}}"
    return (
        f'{{^bb0({head}):\n%rc = "stablehlo.compare"(%ra0, %rb0) {attributes} : ({types[0]}, {types[0]}) -> tensor<i1>\n'
        '"stablehlo.return"(%rc) : (tensor<i1>) -> ()}'
    )  # fmt: skip
