"""Recompute loop-invariant values in a loop where that is cheap, instead of keeping them in memory around it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.clone import clone_mapped, remap
from pcg.ir.transformation import Transformation
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import captured, defining_op, entry, outer_values
from pcg.rules import traits
from pcg.rules.registry import CONTROL_FLOW
from pcg.rules.traits import Trait

#: Times the bytes of what it is computed from that a value must have to be recomputed in every iteration.  A choice:
#: masks and broadcasts have many times more.
_LARGER = 8.0
#: A value of fewer bytes on all devices together stays where it is.  A choice: 4 KiB are no memory.
_SMALL = 1 << 12
#: Most ops that one value is computed by.  A choice: masks take ten.
_OPS = 64


@dataclass
class SinkInvariants(Transformation):
    """Compute loop-invariant values inside of the loops that read them, where that is cheap and saves memory."""

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if func is None:
            return
        saved = 0.0
        for block in [r.blocks[0] for r in func.regions]:
            saved += self._block(block)
        if saved:
            count = self.statistics["values sunk"]
            self.remark(func, f"{count} values of {saved / 2**20:.4g} MiB are computed in the loops that read them")

    def _block(self, block: ir.Block) -> float:
        """Loops of a block, the outer ones first: what is sunk into a body may be read by a loop in it."""
        saved = 0.0
        for op in [o.operation for o in block.operations]:
            if op.name == "stablehlo.while":
                saved += self._captured(op)
                op, more = self._carried(op)
                saved += more
            for region in op.regions if op.name in CONTROL_FLOW else ():
                saved += self._block(region.blocks[0])
        return saved

    def _carried(self, loop: ir.Operation) -> tuple[ir.Operation, float]:
        """Compute what the loop carries unchanged in its body; the loop without these carried values."""
        body = loop.regions[1].blocks[0]
        yields = list(body.operations[-1].operation.operands)
        gone = [
            i
            for i, v in enumerate(loop.operands)
            if yields[i] == body.arguments[i] and yields.count(yields[i]) == 1 and _chain(v) is not None
        ]
        values = [loop.operands[i] for i in gone]
        saved = sum(tensor_bytes(v.type) for v in values)
        for i, value in zip(gone, values, strict=True):
            for region in loop.regions:
                self._sink(value, region.blocks[0].arguments[i], region.blocks[0])
        self.statistics["values sunk"] += len(gone)
        if not gone:
            return loop, saved
        loop = _without(loop, set(gone))
        for value in values:
            _clean(value)
        return loop, saved

    def _captured(self, loop: ir.Operation) -> float:
        """Compute what the regions of the loop read from outside inside of them."""
        saved = 0.0
        values = [v for v in captured(loop) if _chain(v) is not None]
        for value in values:
            for region in loop.regions:
                self._sink(value, value, region.blocks[0])
            saved += tensor_bytes(value.type)
            _clean(value)
        self.statistics["values sunk"] += len(values)
        return saved

    @staticmethod
    def _sink(value: ir.Value, known: ir.Value, block: ir.Block) -> None:
        """Compute `value` at the start of `block`, for the ops in it that read it as `known`."""
        readers = [op.operation for op in block.operations if known in outer_values(op.operation)]
        if not readers:
            return
        chain = _chain(value)
        assert chain is not None
        with ir.InsertionPoint.at_block_begin(block):
            values: dict[ir.Value, ir.Value] = {}
            for op in chain:
                clone_mapped(op, values)
        *inner, last = readers
        # The next value of an unchanged carried value is itself: `_without` removes both.
        for op in readers if last.name != "stablehlo.return" else inner:
            remap(op, {known: values[value]})


def _chain(value: ir.Value) -> list[ir.Operation] | None:
    """The ops that compute `value` from much smaller values, in order; None if there are none, or expensive ones."""
    size = tensor_bytes(value.type)
    if size < _SMALL or isinstance(value, ir.BlockArgument):
        return None
    ops: dict[ir.Operation, None] = {}
    left: set[ir.Value] = set()

    def visit(v: ir.Value) -> bool:
        if isinstance(v, ir.BlockArgument):
            left.add(v)
            return True
        op = v.owner.operation
        if op in ops:
            return True
        small = tensor_bytes(v.type) * _LARGER <= size
        cheap = traits.has(op.name, Trait.CHEAP) and _plain(op)
        if not cheap or len(op.results) != 1 or shardings.SPECS in op.attributes:
            left.add(v)
            return small
        if len(ops) >= _OPS:
            return False
        # What is small enough to be read in every iteration is not recomputed, unless it is generated.
        if small and op.operands and not _is_generated(op):
            left.add(v)
            return True
        if not all(visit(o) for o in op.operands):
            return False
        ops[op] = None
        return True

    if not visit(value) or not ops or sum(tensor_bytes(v.type) for v in left) * _LARGER > size:
        return None
    return list(ops)


def _is_generated(op: ir.Operation, depth: int = 8) -> bool:
    """Whether an op depends on constants and iotas only."""
    if not traits.has(op.name, Trait.CHEAP) or not _plain(op) or not depth:
        return False
    return all(not isinstance(v, ir.BlockArgument) and _is_generated(v.owner.operation, depth - 1) for v in op.operands)


def _plain(op: ir.Operation) -> bool:
    """Whether an op is no large constant: one in a loop takes as many bytes as one before it."""
    if op.name != "stablehlo.constant" or tensor_bytes(op.results[0].type) < _SMALL:
        return True
    if isinstance(op.results[0].type.element_type, ir.ComplexType):
        return False  # the bindings cannot read these
    return bool(getattr(op.attributes["value"], "is_splat", False))


def _clean(value: ir.Value) -> None:
    """Remove the ops that compute a value that no op reads any more."""
    work = [value.owner.operation]
    while work:
        op = work.pop()
        if traits.has(op.name, Trait.CHEAP) and not any(list(r.uses) for r in op.results):
            operands = [defining for v in op.operands if (defining := defining_op(v)) is not None]
            op.erase()
            work += dict.fromkeys(operands)


def _without(loop: ir.Operation, gone: set[int]) -> ir.Operation:
    """The loop without some of its carried values, which only its terminator reads now."""
    kept = [i for i in range(len(loop.operands)) if i not in gone]
    operands = [loop.operands[i] for i in kept]
    attributes = {n: loop.attributes[n] for n in loop.attributes if n != shardings.SPECS}
    new = ir.Operation.create(
        loop.name, results=[v.type for v in operands], operands=operands, attributes=attributes, regions=2,
        loc=loop.location, ip=ir.InsertionPoint(loop),
    )  # fmt: skip
    for old, region in zip(loop.regions, new.regions, strict=True):
        block = old.blocks[0]
        last = block.operations[-1].operation
        if old == loop.regions[1]:
            values = [last.operands[i] for i in kept]
            with last.location, ir.InsertionPoint(last):
                ir.Operation.create(last.name, operands=values)
            last.erase()
        for i in sorted(gone, reverse=True):
            block.erase_argument(i)
        block.append_to(region)
    if shardings.SPECS in loop.attributes:
        specs = shardings.result_specs(loop)
        shardings.set_result_specs(new, [specs[i] for i in kept])
    for i, r in enumerate(loop.results):
        r.replace_all_uses_with(new.results[kept.index(i)] if i not in gone else loop.operands[i])
    loop.erase()
    return new
