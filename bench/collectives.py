"""Counting what a lowered program moves: collectives, their result bytes, and the bytes a ring algorithm sends.

`of_stablehlo` reads a per-device StableHLO module; `bench.hlo.of_hlo` reads XLA's compiled text. Both multiply what is
inside a loop by its trip count, and both count an all-reduce whose only use is a slice of one part as the
reduce-scatter that it is: XLA:CPU never forms one, its GPU and TPU pipelines do.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch_mlir import ir

from pcg.rules import traits
from pcg.rules.traits import Trait

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute", "collective_broadcast")
_BITS = {"i1": 8, "complex<f32>": 64, "complex<f64>": 128}


@dataclass(frozen=True)
class Collective:
    """One collective: `elements` and `bytes` of its per-device result, `group` devices, run `times` per step."""

    kind: str
    elements: int
    bytes: int
    group: int
    times: int = 1
    where: str = ""

    @property
    def wire_factor(self) -> float:
        """What each device sends in a ring, in units of the result."""
        g = self.group
        return {
            "all_reduce": 2 * (g - 1) / g, "all_gather": (g - 1) / g, "reduce_scatter": g - 1,
            "all_to_all": (g - 1) / g, "collective_permute": 1, "collective_broadcast": 1,
        }[self.kind] if g > 1 else 0.0  # fmt: skip

    @property
    def wire_bytes(self) -> float:
        """Bytes each device sends per step."""
        return self.times * self.wire_factor * self.bytes

    @property
    def wire_elements(self) -> float:
        """Elements each device sends per step."""
        return self.times * self.wire_factor * self.elements


@dataclass(frozen=True)
class Traffic:
    """All collectives of a program. `unknown_loops` is how many loops had no readable trip count (taken as 1)."""

    collectives: tuple[Collective, ...]
    unknown_loops: int = 0

    @property
    def wire_bytes(self) -> float:
        """Bytes each device sends per step."""
        return sum(c.wire_bytes for c in self.collectives)

    @property
    def wire_elements(self) -> float:
        """Elements each device sends per step."""
        return sum(c.wire_elements for c in self.collectives)

    def counts(self, smallest: int = 0) -> dict[str, int]:
        """Executions per step by kind, of collectives whose result has at least `smallest` elements."""
        out: collections.Counter[str] = collections.Counter()
        for c in self.collectives:
            if c.elements >= smallest:
                out[c.kind] += c.times
        return dict(out)

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts().items())) or "none"
        return f"{counts}; {self.wire_bytes / 2**20:.3f} MiB on the wire per device"


def of_stablehlo(module: ir.Module) -> Traffic:
    """The traffic of a per-device StableHLO module, from its entry function."""
    functions = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    attributes = module.operation.attributes
    name = "mhlo.num_partitions"
    partitions = ir.IntegerAttr(attributes[name]).value if name in attributes else 1
    counter = _StableHloCounter(functions, partitions)
    entry = functions.get("main", next(iter(functions.values())))
    return Traffic(tuple(counter.visit(entry, 1)), counter.unknown_loops)


def of_stablehlo_text(text: str) -> Traffic:
    """As `of_stablehlo`, for text."""
    from pcg.ir.context import make_context

    with make_context():
        return of_stablehlo(ir.Module.parse(text))


class _StableHloCounter:
    def __init__(self, functions: dict[str, ir.Operation], partitions: int) -> None:
        self.functions = functions
        self.partitions = partitions
        self.unknown_loops = 0

    def visit(self, op: ir.Operation, times: int) -> Iterator[Collective]:
        """Collectives of the regions of `op`, itself run `times` times; every branch of a conditional counts."""
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    yield from self.visit_op(inner.operation, times)

    def visit_op(self, op: ir.Operation, times: int) -> Iterator[Collective]:
        kind = op.name.removeprefix("stablehlo.")
        if kind in KINDS:
            yield from self.collective(op, kind, times)
        elif kind == "while":
            trips = trip_count(op)
            if trips is None and any(True for _ in self.visit(op, 1)):
                self.unknown_loops += 1
            yield from self.visit(op, times * (1 if trips is None else trips))
        elif op.name == "func.call":
            yield from self.visit(self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value], times)
        else:
            yield from self.visit(op, times)

    def collective(self, op: ir.Operation, kind: str, times: int) -> Iterator[Collective]:
        if kind == "collective_permute":
            pairs = list(ir.DenseIntElementsAttr(op.attributes["source_target_pairs"]))
            moving = any(a != b for a, b in zip(pairs[::2], pairs[1::2], strict=True))
            group = 2 if moving else 1
        else:
            group = ir.RankedTensorType(ir.DenseIntElementsAttr(op.attributes["replica_groups"]).type).shape[-1]
            group = group or self.partitions
        for result in op.results:
            shape = ir.RankedTensorType(result.type)
            elements = math.prod(shape.shape)
            one = Collective(kind, elements, elements * element_bits(str(shape.element_type)) // 8, group, times)
            yield scattered(one) if kind == "all_reduce" and only_sliced(result, elements // group) else one


def scattered(c: Collective) -> Collective:
    """The reduce-scatter that an all-reduce followed by a slice amounts to."""
    return replace(c, kind="reduce_scatter", elements=c.elements // c.group, bytes=c.bytes // c.group)


def only_sliced(value: ir.Value, part: int) -> bool:
    """Whether every use of a value takes a slice of `part` elements of it."""
    uses = list(value.uses)
    return bool(uses) and all(_sliced(use.owner.operation, part) for use in uses)


def _sliced(op: ir.Operation, part: int) -> bool:
    if traits.has(op.name, Trait.SLICE):
        return math.prod(ir.RankedTensorType(op.results[0].type).shape) == part
    return traits.has(op.name, Trait.FORWARDS) and only_sliced(op.results[0], part)


def element_bits(element: str) -> int:
    """Bits of an MLIR element type, booleans taking a byte."""
    return _BITS.get(element) or int("".join(c if c.isdigit() else " " for c in element).split()[0])


def trip_count(loop: ir.Operation) -> int | None:
    """How often a `stablehlo.while` runs, when it counts a variable from a constant to a constant; else None."""
    condition, body = (region.blocks[0] for region in loop.regions)
    test = list(condition.operations)[-1].operation.operands[0].owner
    if not isinstance(test, ir.Operation | ir.OpView) or test.operation.name != "stablehlo.compare":
        return None
    test = test.operation
    counter = test.operands[0]
    if not isinstance(counter, ir.BlockArgument) or "LT" not in str(test.attributes["comparison_direction"]):
        return None
    position = ir.BlockArgument(counter).arg_number
    last = constant(test.operands[1], loop, condition)
    first = constant(loop.operands[position], loop, condition)
    step_op = list(body.operations)[-1].operation.operands[position].owner
    if last is None or first is None or not hasattr(step_op, "operation"):
        return None
    if step_op.operation.name != "stablehlo.add":
        return None
    a, b = step_op.operation.operands
    if a == body.arguments[position]:
        step = constant(b, loop, body)
    elif b == body.arguments[position]:
        step = constant(a, loop, body)
    else:
        step = None
    return None if not step else max(0, math.ceil((last - first) / step))


def constant(value: ir.Value, loop: ir.Operation, block: ir.Block) -> int | None:
    """The integer a scalar value is, looking through loop-invariant loop arguments."""
    if isinstance(value, ir.BlockArgument):
        argument = ir.BlockArgument(value)
        if argument.owner != block:
            return None
        body = loop.regions[1].blocks[0]
        returned = list(body.operations)[-1].operation.operands[argument.arg_number]
        if returned != body.arguments[argument.arg_number]:
            return None
        return constant(loop.operands[argument.arg_number], loop, block)
    op = value.owner.operation
    if op.name != "stablehlo.constant":
        return None
    numbers = list(ir.DenseIntElementsAttr(op.attributes["value"]))
    return int(numbers[0]) if len(numbers) == 1 else None


