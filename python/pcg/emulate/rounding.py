"""A widened program that rounds at random: how far results move when every operation errs by a little.

The method is Monte Carlo arithmetic (Parker, 1997): in f64, what an operation yields is multiplied by 1 + e, e random
and about as large as the rounding of the type that the value had in the program.  How far results of several such runs
lie from the unperturbed one is the noise of the program, whatever makes it: cancellation, an ill-conditioned matrix, a
comparison that flips.  Perturbing the arguments alone would not see E[x^2] - E[x]^2.

The numbers 1 + e come as arguments of the program, one vector for each type that it rounds to, of which each operation
reads a part of its own.  A vector of ones is the program without noise.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from pcg.emulate.build import create, slice_dim
from pcg.emulate.exactness import SUMS, Exactness, RoundingState
from pcg.emulate.widen import is_float, stays_narrow, widen
from pcg.ir.walk import entry
from pcg.rules import traits
from pcg.rules.registry import CONTROL_FLOW
from pcg.rules.traits import Trait

#: What a body may do without rounding.
_EXACT = frozenset(
    "stablehlo." + n for n in ("maximum", "minimum", "compare", "select", "and", "or", "return", "constant")
)
#: Bits of the significand of each type, the hidden one included.
SIGNIFICAND = {
    "f64": 53, "f32": 24, "tf32": 11, "f16": 11, "bf16": 8, "f8E4M3FN": 4, "f8E4M3": 4, "f8E4M3FNUZ": 4,
    "f8E4M3B11FNUZ": 4, "f8E5M2": 3, "f8E5M2FNUZ": 3, "f8E3M4": 5, "f8E8M0FNU": 1, "f4E2M1FN": 2, "f6E2M3FN": 4,
    "f6E3M2FN": 3,
}  # fmt: skip
#: How far into its vector an operation may start to read: a choice, so many that few operations share their start.
_SLACK = 1 << 16


def unit(element: str) -> float:
    """Largest relative error of one rounding to an element type (to that of its parts, if it is complex)."""
    return 2.0 ** -SIGNIFICAND.get(_part_of(element), 24)


def _part_of(element: str) -> str:
    """The type of the parts of a complex number; other types are their own."""
    return element.removeprefix("complex<").removesuffix(">")


@dataclass(frozen=True)
class Noise:
    """One of the vectors that a perturbed program takes: for values of `element`, `length` numbers.

    `narrow`: the operation computes in its own type also in the widened program, and errs by that always.
    """

    element: str
    narrow: bool
    length: int

    def ones(self) -> np.ndarray:
        """No noise."""
        return np.ones(self.length)

    def draw(self, rng: np.random.Generator, scale: float, double: bool) -> np.ndarray:
        """1 + e, with |e| from half to all of `scale` roundings: of f64 (`double`), or of the type itself."""
        size = unit(self.element if self.narrow or not double else "f64")
        e = rng.uniform(0.5, 1.0, self.length) * rng.choice((-1.0, 1.0), self.length)
        return 1.0 + min(scale * size, 0.25) * e


def perturbed(module: ir.Module | ir.Operation) -> list[Noise]:
    """Widen `module` in place and let it round at random; its entry function takes the vectors returned, as last.

    Calls must have been inlined: other functions stay without noise.

    Raises:
      PcgError: the program cannot be widened.
    """
    root = module.operation
    function = entry(root)
    assert function is not None
    block = function.regions[0].blocks[0]
    exact = Exactness(block)
    wanted: list[tuple[ir.Value, ir.Operation | None, str, bool]] = [
        (a, None, _element(a), False) for a in block.arguments if is_float(a.type)
    ]
    into: list[tuple[ir.Operation, int, str]] = []
    for op in _reached(block):
        if _rounds(op):
            for result in op.results:
                if is_float(result.type) and exact.of(result) == RoundingState.INEXACT:
                    wanted.append((result, op, _element(result), stays_narrow(op)))
        elif op.name == "stablehlo.bitcast_convert" and exact.of(op.operands[0]) == RoundingState.INEXACT:
            into.append((op, 0, _element(op.operands[0])))
        if traits.has(op.name, SUMS) and RoundingState.INEXACT in map(exact.of, op.results):
            # What depends on no argument errs where it is summed.
            into += [
                (op, i, _element(v)) for i, v in enumerate(op.operands)
                if _is_summed(v) and exact.of(v) == RoundingState.FIXED
            ]  # fmt: skip
    hashes = _Hashes(block)
    widen(root)
    with root.context, ir.Location.unknown():
        insert = _Inserter(block, hashes)
        for value, op, element, narrow in wanted:
            insert.after(value, op, element, narrow)
        for op, i, element in into:
            insert.before(op, i, element, op.name == "stablehlo.bitcast_convert")
        kinds = insert.finish()
        types = [a.type for a in block.arguments]
        results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
        for name in ("arg_attrs", "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]
        root.verify()
    return kinds


class _Inserter:
    """Multiplies values by parts of the vectors."""

    def __init__(self, block: ir.Block, hashes: _Hashes) -> None:
        self.block, self.hashes = block, hashes
        self.vectors: dict[tuple[str, bool], ir.Value] = {}
        self.sizes: dict[tuple[str, bool], int] = {}
        self.float = ir.F64Type.get()

    def after(self, value: ir.Value, op: ir.Operation | None, element: str, narrow: bool) -> None:
        uses = list(value.uses)
        if not uses:
            return
        point = ir.InsertionPoint.at_block_begin(self.block) if op is None else ir.InsertionPoint.after(op)
        if op is not None and narrow:  # after the conversion that widens it
            value = next(u.owner.operation.results[0] for u in uses)
            point = ir.InsertionPoint.after(value.owner.operation)
        with point:
            new, first = self._times(value, element, narrow)
        value.replace_all_uses_except(new, first)

    def before(self, op: ir.Operation, i: int, element: str, narrow: bool) -> None:
        value = op.operands[i]
        at = op
        if narrow:  # before the conversion that narrows it
            at = value.owner.operation
            value, i = at.operands[0], 0
        with ir.InsertionPoint(at):
            at.operands[i] = self._times(value, element, narrow)[0]

    def _times(self, value: ir.Value, element: str, narrow: bool) -> tuple[ir.Value, list[ir.Operation]]:
        seed = self.hashes.of(value)
        if not isinstance(value.type.element_type, ir.ComplexType):
            new = create("stablehlo.multiply", [value, self._part(value.type, element, narrow, seed)], value.type)
            return new, [new.owner.operation]
        part = ir.RankedTensorType.get(value.type.shape, self.float)
        parts, users = [], []
        for name, n in (("real", 1), ("imag", 2)):
            x = create(f"stablehlo.{name}", [value], part)
            users.append(x.owner.operation)
            parts.append(create("stablehlo.multiply", [x, self._part(part, element, narrow, seed * n + n)], part))
        return create("stablehlo.complex", parts, value.type), users

    def _part(self, type_: ir.RankedTensorType, element: str, narrow: bool, seed: int) -> ir.Value:
        key, size = (_part_of(element), narrow), int(np.prod(type_.shape, dtype=np.int64))
        if key not in self.vectors:
            kind = ir.RankedTensorType.get([_SLACK], self.float)
            self.vectors[key] = self.block.add_argument(kind, ir.Location.unknown())
            self.sizes[key] = 0
        self.sizes[key] = max(self.sizes[key], size)
        start = seed % _SLACK
        # Sliced as if of the length known at last: the type of the vector is set then.
        part = slice_dim(self.vectors[key], 0, start, start + size)
        return part if type_.rank == 1 else create("stablehlo.reshape", [part], type_)

    def finish(self) -> list[Noise]:
        found = []
        for (element, narrow), value in self.vectors.items():
            length = self.sizes[element, narrow] + _SLACK
            value.set_type(ir.RankedTensorType.get([length], self.float))
            found.append(Noise(element, narrow, length))
        return found


class _Hashes:
    """The same number for values computed in the same way, so that what is computed twice errs the same twice."""

    def __init__(self, block: ir.Block) -> None:
        self.found: dict[ir.Value, int] = {}
        self.count = 0
        self._block(block)

    def _block(self, block: ir.Block) -> None:
        for argument in block.arguments:
            self.count += 1
            self.found[argument] = zlib.crc32(b"argument %d" % self.count)
        for op in block.operations:
            op = op.operation
            text = f"{op.name} {[str(op.attributes[a]) for a in op.attributes] if op.name != _CONSTANT else op}"
            text += f" {[self.found.get(v, 0) for v in op.operands]}"
            if len(op.regions):
                self.count += 1
                text += f" {self.count}"
            for i, result in enumerate(op.results):
                self.found[result] = zlib.crc32(f"{text} {i} {result.type}".encode())
            if op.name in CONTROL_FLOW:
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner)

    def of(self, value: ir.Value) -> int:
        if value not in self.found:  # a conversion that widening made
            value = value.owner.operation.operands[0]
        return self.found.get(value, 0)


_CONSTANT = "stablehlo.constant"


def _reached(block: ir.Block) -> Sequence[ir.Operation]:
    """Ops of the program, those in loops and branches too, but not those in bodies of reductions."""
    found = []
    for op in block.operations:
        op = op.operation
        found.append(op)
        if op.name in CONTROL_FLOW:
            for i, region in enumerate(op.regions):
                if op.name == "stablehlo.while" and i == 0:
                    continue
                for inner in region.blocks:
                    found += _reached(inner)
    return found


def _rounds(op: ir.Operation) -> bool:
    if traits.has(op.name, Trait.ROUNDS) or op.name == "sdy.manual_computation":
        return True
    if op.name.startswith("chlo."):
        return not stays_narrow(op)
    if traits.has(op.name, Trait.SCALAR_BODY):
        return any(o.operation.name not in _EXACT for r in op.regions for b in r.blocks for o in b.operations)
    if op.name == "stablehlo.convert" and is_float(op.results[0].type):
        source = op.operands[0]
        return is_float(source.type) and unit(_element(op.results[0])) > unit(_element(source))
    return False


def _is_summed(value: ir.Value) -> bool:
    """Whether an operand of a sum has several numbers that are not one constant."""
    if not is_float(value.type) or value.type.rank == 0:
        return False
    return isinstance(value, ir.BlockArgument) or value.owner.name != "stablehlo.constant"


def _element(value: ir.Value) -> str:
    return str(value.type.element_type)
