"""Programs that substitutions are tried on: executing them before and after, and random ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.rewrite.substitutions.saturate import Saturation
from pcg.rewrite.substitutions.view import ALTERNATIVES
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.substitute.schema import Schema
from support.close import assert_close
from support.rulecheck import context, dtype_of, random_value, run

#: Relative error that arithmetic in another order makes in small programs, by the elements.
TOLERANCE = {"f64": 1e-13, "f32": 2e-5, "bf16": 6e-2}
#: Row numbers of tables that programs look up: one more than their rows, so that some are out of range.
ROWS = 5


def parsed(text: str) -> ir.Module:
    """A program in the context of the harness, verified."""
    module = load_module(text, context(), "<test>")
    module.operation.verify()
    return module


def main_of(module: ir.Module) -> ir.Operation:
    """Its function `main`."""
    functions = [f.operation for f in module.body.operations]
    return next(f for f in functions if ir.StringAttr(f.attributes["sym_name"]).value == "main")


def elements(module: ir.Module) -> str:
    """The element type of the first result."""
    kind = ir.FunctionType(main_of(module).attributes["function_type"].value)
    return str(kind.results[0].element_type)


def inputs(module: ir.Module, seed: int = 0) -> list[np.ndarray]:
    """Normal numbers, small integers; row numbers where arguments are of another type than results."""
    rng, of = np.random.default_rng(seed), elements(module)
    found = []
    for argument in main_of(module).regions[0].blocks[0].arguments:
        kind = argument.type
        dtype = dtype_of(kind.element_type)
        if str(kind.element_type) != of:
            found.append(rng.integers(0, ROWS + 1, kind.shape).astype(dtype))
        elif dtype.kind in "biu":
            found.append(random_value(kind, rng))
        else:
            found.append(np.asarray(rng.standard_normal(kind.shape)).astype(dtype))
    return found


def evaluated(module: ir.Module, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a program."""
    with context():
        return run(str(module), values)


def assert_same(
    got: Sequence[np.ndarray], want: Sequence[np.ndarray], of: str, what: str = "", exact: bool = False
) -> None:
    """Results of two programs with elements `of`: equal if they are integers or `exact`, else close."""
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g.dtype == w.dtype and g.shape == w.shape, what
        if exact or of not in TOLERANCE:
            np.testing.assert_array_equal(g, w, err_msg=f"result {i} of\n{what}")
        else:
            assert_close(g.astype(np.float64), w.astype(np.float64), TOLERANCE[of], what=f"result {i} of\n{what}")


def ops(module: ir.Module) -> Counter[str]:
    """How often ops are in `main`, without those in regions of ops; names without their dialect."""
    return Counter(op.operation.name.partition(".")[2] for op in main_of(module).regions[0].blocks[0].operations)


def dead(module: ir.Module) -> list[str]:
    """Ops without effects whose results nothing reads."""
    return [
        str(op) for op in walk(main_of(module))
        if len(op.results) and not traits.has(op.name, Trait.UNREPEATABLE) and not any(list(r.uses) for r in op.results)
    ]  # fmt: skip


def saturated(module: ir.Module, rules: Sequence[Schema]) -> list[ir.Operation]:
    """Saturate a program; the alternatives."""
    saturation = Saturation(main_of(module), rules)
    saturation.run()
    module.operation.verify()
    found = {op for op in walk(main_of(module)) if op.name == ALTERNATIVES}
    assert found == set(saturation.alternatives) and len(found) == len(saturation.alternatives)
    return saturation.alternatives


# -- random programs -------------------------------------------------------------------------------

_ELEMENTWISE = ("add", "add", "add", "subtract", "subtract", "multiply")
_BODY = """({{
  ^bb0(%l: tensor<{0}>, %r: tensor<{0}>):
    %s = stablehlo.{1} %l, %r : tensor<{0}>
    stablehlo.return %s : tensor<{0}>
  }})"""


@dataclass
class _Writer:
    """Writes a program from its results back to its arguments, so that shapes fit."""

    draw: Callable[..., object]
    element: str
    arguments: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """All values that were computed, or are arguments."""

    def type(self, shape: Sequence[int], element: str = "") -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{element or self.element}>"

    def pick(self, options: Sequence[object]) -> object:
        return self.draw(st.sampled_from(list(options)))

    def number(self, low: int, high: int) -> int:
        found = self.draw(st.integers(low, high))
        assert isinstance(found, int)
        return found

    def argument(self, shape: Sequence[int], element: str = "") -> str:
        name = f"%arg{len(self.arguments)}"
        self.arguments.append((name, self.type(shape, element)))
        if not element:
            self.values.append((name, tuple(shape)))
        return name

    def emit(self, text: str, shape: Sequence[int]) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, tuple(shape)))
        return name

    def value(self, shape: tuple[int, ...], depth: int, likely: str = "") -> str:
        """A value of this shape, often the result of an op that is `likely`."""
        known = [v for v, s in self.values if s == shape]
        if likely and shape and depth > 0 and self.number(0, 2):
            between = str(self.pick(("", "", "transpose", "reshape")))
            return str(
                getattr(self, f"_{between}")(shape, depth, likely)
                if between
                else getattr(self, f"_{likely}")(shape, depth - 1)
            )
        if known and (depth <= 0 or self.number(0, 4) == 0):
            return str(self.pick(known))
        if depth <= 0:
            return self.argument(shape)
        kinds = ["elementwise", "elementwise", "negate", "scale"]
        if shape:
            kinds += (
                ["product"] * 5 + ["concatenate"] * 3 + ["slice", "slice", "transpose", "reshape", "scatter", "scatter"]
            )
        return str(getattr(self, f"_{self.pick(kinds)}")(shape, depth - 1))

    def _elementwise(self, shape: tuple[int, ...], depth: int) -> str:
        likely = str(self.pick(("", "product", "scatter")))
        a = self.value(shape, depth, likely if likely == "product" else "")
        b = self.value(shape, depth, likely)
        return self.emit(f"stablehlo.{self.pick(_ELEMENTWISE)} {a}, {b} : {self.type(shape)}", shape)

    def _negate(self, shape: tuple[int, ...], depth: int) -> str:
        return self.emit(f"stablehlo.negate {self.value(shape, depth, 'scatter')} : {self.type(shape)}", shape)

    def _scale(self, shape: tuple[int, ...], depth: int) -> str:
        a, kind = self.value(shape, depth, "scatter"), self.type(shape)
        if self.number(0, 1):
            number = "3" if self.element.startswith("i") else "0.5"
            factor = self.emit(f"stablehlo.constant dense<{number}> : {kind}", shape)
        else:
            scalar = self.value((), 0)
            factor = self.emit(f"stablehlo.broadcast_in_dim {scalar}, dims = [] : ({self.type(())}) -> {kind}", shape)
        pair = (a, factor) if self.number(0, 1) else (factor, a)
        return self.emit(f"stablehlo.multiply {pair[0]}, {pair[1]} : {kind}", shape)

    def _product(self, shape: tuple[int, ...], depth: int) -> str:
        split = self.number(0, len(shape))
        if len(shape) > 1 and self.number(0, 3):
            split = self.number(1, len(shape) - 1)
        summed = [self.number(1, 3) for _ in range(self.number(1, 2))]
        if self.number(0, 2) == 0:
            summed = [12]  # enough that a sum beside a product counts little
        (a, left), (b, right) = self._factor(shape[:split], summed, depth), self._factor(shape[split:], summed, depth)
        types = f"({self.type(left[0])}, {self.type(right[0])}) -> {self.type(shape)}"
        text = f"stablehlo.dot_general {a}, {b}, contracting_dims = {left[1]} x {right[1]} : {types}"
        return self.emit(text, shape)

    def _factor(
        self, free: Sequence[int], summed: Sequence[int], depth: int
    ) -> tuple[str, tuple[tuple[int, ...], list[int]]]:
        """An operand of a product, its shape, and where the contracted dimensions are in it."""
        places = sorted(self.draw(st.permutations(range(len(free) + len(summed))))[: len(free)])  # type: ignore[index]
        others = [d for d in range(len(free) + len(summed)) if d not in places]
        shape = [0] * (len(free) + len(summed))
        for d, n in [*zip(places, free, strict=True), *zip(others, summed, strict=True)]:
            shape[d] = n
        likely = str(self.pick(("", "concatenate", "product")))
        return self.value(tuple(shape), depth, likely), (tuple(shape), others)

    def _concatenate(self, shape: tuple[int, ...], depth: int) -> str:
        wide = [d for d, n in enumerate(shape) if n > 1]
        if not wide:
            return self._negate(shape, depth)
        dim = int(str(self.pick(wide)))
        marks = self.draw(st.sets(st.integers(1, shape[dim] - 1), min_size=1, max_size=3))
        assert isinstance(marks, set)
        edges = [0, *sorted(marks), shape[dim]]
        shapes = [tuple(b - a if d == dim else n for d, n in enumerate(shape)) for a, b in pairwise(edges)]
        likely = str(self.pick(("", "product")))
        parts = [self.value(s, depth, likely) for s in shapes]
        types = f"({', '.join(self.type(s) for s in shapes)}) -> {self.type(shape)}"
        return self.emit(f"stablehlo.concatenate {', '.join(parts)}, dim = {dim} : {types}", shape)

    def _slice(self, shape: tuple[int, ...], depth: int) -> str:
        dim = self.number(0, len(shape) - 1)
        low, high, stride = self.number(0, 2), self.number(0, 2), self.number(0, 5) // 5 + 1
        size = (shape[dim] - 1) * stride + 1
        outer = tuple(low + size + high if d == dim else n for d, n in enumerate(shape))
        box = ", ".join(f"{low}:{low + size}:{stride}" if d == dim else f"0:{n}" for d, n in enumerate(shape))
        operand = self.value(outer, depth, "product")
        return self.emit(f"stablehlo.slice {operand} [{box}] : ({self.type(outer)}) -> {self.type(shape)}", shape)

    def _transpose(self, shape: tuple[int, ...], depth: int, likely: str = "") -> str:
        order = list(self.draw(st.permutations(range(len(shape)))))  # type: ignore[call-overload]
        inner = [0] * len(shape)
        for d, of in enumerate(order):
            inner[of] = shape[d]
        operand = self.value(tuple(inner), depth, likely)
        types = f"({self.type(inner)}) -> {self.type(shape)}"
        return self.emit(f"stablehlo.transpose {operand}, dims = {order} : {types}", shape)

    def _reshape(self, shape: tuple[int, ...], depth: int, likely: str = "") -> str:
        parts = [n for n in shape for n in _factors(n)]
        joins = [self.number(0, 1) for _ in parts]
        inner: list[int] = []
        for n, join in zip(parts, joins, strict=True):
            if join and inner:
                inner[-1] *= n
            else:
                inner.append(n)
        if self.number(0, 2) == 0:
            inner.insert(self.number(0, len(inner)), 1)
        assert math.prod(inner) == math.prod(shape)
        operand = self.value(tuple(inner), depth, likely)
        return self.emit(f"stablehlo.reshape {operand} : ({self.type(inner)}) -> {self.type(shape)}", shape)

    def _scatter(self, shape: tuple[int, ...], depth: int) -> str:
        batch = tuple(self.number(1, 3) for _ in range(self.number(1, 2)))
        if self.number(0, 2):
            table = self.emit(
                f"stablehlo.constant dense<{0 if self.element[0] == 'i' else 0.0}> : {self.type(shape)}", shape
            )
        else:
            table = self.value(shape, depth)
        updates = (*batch, *shape[1:])
        indices, rows = self.argument((*batch, 1), "i64"), self.value(updates, depth)
        windows = list(range(len(batch), len(updates)))
        numbers = (
            f"#stablehlo.scatter<{f'update_window_dims = {windows}, ' if windows else ''}inserted_window_dims = [0], "
            f"scatter_dims_to_operand_dims = [0], index_vector_dim = {len(batch)}>"
        )
        body = _BODY.format(self.element, self.pick(("add", "add", "add", "maximum")))
        types = f"({self.type(shape)}, {self.type((*batch, 1), 'i64')}, {self.type(updates)}) -> {self.type(shape)}"
        text = f'"stablehlo.scatter"({table}, {indices}, {rows}) <{{scatter_dimension_numbers = {numbers}}}> {body} : {types}'
        return self.emit(text, shape)


def _factors(n: int) -> list[int]:
    """Primes whose product is `n`; 1 of 1."""
    for p in range(2, n):
        if n % p == 0:
            return [p, *_factors(n // p)]
    return [n]


@st.composite
def programs(draw: Callable[..., object], element: str = "i32", depth: int = 4) -> str:
    """Small programs of products, sums, concatenations, slices, transposes, reshapes and scatters."""
    writer = _Writer(draw, element)
    shape = tuple(writer.number(1, 4) for _ in range(writer.number(1, 3)))
    results = [(writer.value(shape, depth), shape)]
    names = {name for name, _ in results}
    others = [v for v in writer.values if v[0] not in names]
    if others and writer.number(0, 2) == 0:
        results.append(writer.pick(others))  # type: ignore[arg-type]
    taken = ", ".join(f"{name}: {kind}" for name, kind in writer.arguments)
    types = ", ".join(writer.type(s) for _, s in results)
    lines = [
        f"func.func @main({taken}) -> ({types}) {{", *(f"  {line}" for line in writer.lines),
        f"  return {', '.join(n for n, _ in results)} : {types}", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def subsets(count: int, seeds: Sequence[int]) -> list[Collection[int]]:
    """Nothing, everything, and some of `count` alternatives for each seed."""
    random = [set(np.flatnonzero(np.random.default_rng(s).integers(0, 2, count)).tolist()) for s in seeds]
    return [set(), set(range(count)), *random]
