"""Which values of a step can be made microbatch by microbatch: the factor rules on a mesh whose one axis is time.

A value is whole (the same for every microbatch), split (each microbatch makes its part along a dimension), partial
(each makes an addend, or what a maximum is taken of), or late: made of sums over all microbatches, after the last one.
What a rule cannot split over devices it cannot split over time, for the same reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.rules import CONTROL_FLOW, rule_for, traits
from pcg.rules.custom_call import has_side_effect
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.registry import shape
from pcg.rules.traits import Trait
from pcg.rules.values import is_zero

#: The axis of time.
AXIS = "microbatch"
#: Reductions that a loop can take step by step.
KINDS = frozenset({"sum", "max", "min", "prod"})
#: What may be done before the loop may make this many times the bytes of the data.
_HOIST = 64


class CannotSplit(PcgError):
    """The program has an op that needs the whole batch at once; the message names it and says why."""


@dataclass
class Temporal:
    """What is split, partial or late in `func` when the dimensions `data` (argument -> dimension) are in `parts`."""

    func: ir.Operation
    parts: int
    data: dict[int, int]
    batch: int
    specs: dict[ir.Value, ShardSpec] = field(default_factory=dict)
    late: set[ir.Value] = field(default_factory=set)
    chosen: dict[ir.Operation, Assignment] = field(default_factory=dict)
    hoisted: set[ir.Operation] = field(default_factory=set)
    """Ops done on the whole batch before the loop, because every microbatch needs what they reduce to."""
    _zero: set[ir.Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mesh = Mesh.of({AXIS: self.parts})
        for op in walk(self.func):
            if has_side_effect(op):
                raise CannotSplit(
                    f"'{op.name}' op does something besides computing, which every microbatch would do again",
                    op.location,
                )
        block = self.func.regions[0].blocks[0]
        for i, argument in enumerate(block.arguments):
            spec = ShardSpec.replicated(len(shape(argument)))
            self.specs[argument] = spec.with_dim(self.data[i], [AXIS]) if i in self.data else spec
        for op in list(block.operations)[:-1]:
            self._visit(op.operation, False)

    # -- questions -----------------------------------------------------------------------------

    def is_whole(self, value: ir.Value) -> bool:
        return value not in self.late and self.specs[value].is_replicated

    def is_split(self, value: ir.Value) -> bool:
        return value not in self.late and any(self.specs[value].dims)

    def is_partial(self, value: ir.Value) -> bool:
        return value not in self.late and bool(self.specs[value].partial)

    def dim(self, value: ir.Value) -> int:
        """The dimension along which a split value is split."""
        return next(d for d, axes in enumerate(self.specs[value].dims) if axes)

    def made(self, value: ir.Value, depth: int = 10) -> bool:
        """Whether a value is made from nothing, by few cheap ops."""
        if isinstance(value, ir.BlockArgument) or not depth:
            return False
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            return ir.DenseElementsAttr(op.attributes["value"]).is_splat
        # An iota has no operands.
        return traits.has(op.name, Trait.CHEAP) and all(self.made(v, depth - 1) for v in op.operands)

    def remake(self, value: ir.Value, want: ShardSpec) -> Assignment | None:
        """How a made value is made in layout `want`, or a whole one is broadcast to it; None if it has to be sliced."""
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner.operation
        if not self.made(value):
            whole = self.is_whole(value) and all(self.is_whole(v) for v in op.operands)
            # What follows a generator is made again in the loop, not sliced, also where what it reads is just smaller.
            if not traits.has(op.name, Trait.PROPAGATES_GENERATOR) or not whole or want.is_replicated:
                return None
        if op.name == "stablehlo.iota" and want.dims[ir.IntegerAttr(op.attributes["iota_dimension"]).value]:
            return None
        rule = rule_for(op)
        for a in rule.strategies(self.mesh):
            if rule.result_spec(0, a) == want and all(
                (w := rule.operand_spec(i, a)).is_replicated or self.remake(v, w) is not None
                for i, v in enumerate(op.operands)
            ):
                return a
        return None

    # -- ops -----------------------------------------------------------------------------------

    def _visit(self, op: ir.Operation, nested: bool) -> None:
        read = captured(op)
        if any(v in self.late for v in read):
            for v in read:
                if self.is_split(v):
                    self._mixed(op, v)
            self.late.update(op.results)
        elif all(self.is_whole(v) for v in read):
            for r in op.results:
                self.specs[r] = ShardSpec.replicated(len(shape(r)))
        elif op.name == "stablehlo.while":
            self._loop(op)
        elif op.name in CONTROL_FLOW:
            raise CannotSplit(f"'{op.name}' op reads the data: it is not split into microbatches", op.location)
        elif op.name in CONSTRAINTS or op.name == "stablehlo.optimization_barrier":
            for v, r in zip(op.operands, op.results, strict=True):
                self.specs[r] = self.specs[v]
        else:
            self._ordinary(op, nested)

    def _mixed(self, op: ir.Operation, split: ir.Value) -> None:
        late = next((v for v in captured(op) if v in self.late or self.is_partial(v)), None)
        while late is not None and not isinstance(late, ir.BlockArgument):
            earlier = [v for v in captured(late.owner.operation) if v in self.late or self.is_partial(v)]
            if not earlier:
                break
            late = earlier[0]  # back to what reduces
        of = "" if late is None or isinstance(late, ir.BlockArgument) else f" (by '{late.owner.operation.name}')"
        raise CannotSplit(
            f"'{op.name}' op combines each example with what is reduced over the whole batch{of}: neither devices nor "
            "microbatches can split it by a partial sum", op.location,
        )

    def _ordinary(self, op: ir.Operation, nested: bool) -> None:
        rule = rule_for(op)
        split = [v for v in op.operands if self.is_split(v)]
        found = self._strategy(op, rule)
        if found is None and split:
            for v in op.operands:
                if self.is_partial(v) and not nested and self._hoist(v):
                    self.specs[v] = ShardSpec.replicated(len(shape(v)))
                    self._visit(op, nested)
                    return
            if any(self.is_partial(v) for v in op.operands):
                self._mixed(op, split[0])
            raise CannotSplit(f"'{op.name}' op cannot run on a part of the batch: {self._why(op, rule)}", op.location)
        if found is None or not (split or nested or self._smaller(op)):
            if nested:
                raise CannotSplit(
                    f"'{op.name}' op inside of a loop needs a sum over the whole batch: a microbatch has only its part",
                    op.location,
                )
            self.late.update(op.results)
            return
        self.chosen[op] = found
        for i, r in enumerate(op.results):
            self.specs[r] = rule.result_spec(i, found)

    def _strategy(self, op: ir.Operation, rule: FactorRule) -> Assignment | None:
        """The strategy on the axis of time that the operands allow and that slices the least."""
        best: tuple[float, Assignment] | None = None
        for a in rule.strategies(self.mesh):
            if not a.used or any(a.axes[e.factor] for e in rule.exchanges):
                continue
            cost = 0.0
            for i, v in enumerate(op.operands):
                have, want = self.specs[v], rule.operand_spec(i, a)
                if have == want or (have.is_replicated and want.partial and self._is_zero(v)):
                    continue
                if not have.is_replicated or want.partial:
                    cost = math.inf
                    break
                cost += 1.0 if self.remake(v, want) is not None else 2.0 + tensor_bytes(v.type)
            kinds = {k for i in range(len(op.results)) for _, k in rule.result_spec(i, a).partial}
            if cost < (math.inf if best is None else best[0]) and kinds <= KINDS:
                best = cost, a
        return None if best is None else best[1]

    def _why(self, op: ir.Operation, rule: FactorRule) -> str:
        if rule.reason:
            return rule.reason
        for i, v in enumerate(op.operands):
            if self.is_split(v):
                for f in rule.operands[i][self.dim(v)]:
                    if rule.factors[f].reason:
                        return rule.factors[f].reason
                    if any(e.factor == f for e in rule.exchanges):
                        return f"parts of dimension {self.dim(v)} of operand {i} depend on each other"
        return "its operands are split along dimensions that do not go together"

    def _smaller(self, op: ir.Operation) -> bool:
        """Whether to add up what an op makes of addends rather than these: it is less, or more exact."""
        partial = {v for v in op.operands if self.is_partial(v)}
        made = sum(tensor_bytes(r.type) for r in op.results)
        if op.name == "stablehlo.convert" and len(partial) == 1:
            # Addends of bf16 are summed in f32 if that is what is wanted.
            return made > tensor_bytes(next(iter(partial)).type)
        return made < sum(tensor_bytes(v.type) for v in partial)

    def _is_zero(self, value: ir.Value) -> bool:
        return value in self._zero or is_zero(value)

    def _hoist(self, value: ir.Value) -> bool:
        """Do what `value` is made of on the whole batch before the loop, if that is cheap."""
        ops: set[ir.Operation] = set()
        work, made = [value], 0.0
        while work:
            v = work.pop()
            if isinstance(v, ir.BlockArgument) or v.owner.operation in ops:
                continue
            op = v.owner.operation
            heavy = traits.has(op.name, Trait.CONTRACTION) or op.name == "stablehlo.custom_call"
            if heavy or op.name in CONTROL_FLOW:
                return False
            ops.add(op)
            made += sum(tensor_bytes(r.type) for r in op.results)
            work += op.operands
        block = self.func.regions[0].blocks[0]
        if made > _HOIST * sum(tensor_bytes(block.arguments[i].type) for i in self.data):
            return False
        self.hoisted |= ops
        return True

    # -- loops ---------------------------------------------------------------------------------

    def _loop(self, op: ir.Operation) -> None:
        """A loop inside of a microbatch: the layouts of what it carries, by iteration."""
        cond, body = (r.blocks[0] for r in op.regions)
        carried = [self.specs[v] for v in op.operands]
        zero = [self._is_zero(v) for v in op.operands]
        yields = list(body.operations)[-1].operation.operands
        while True:
            for block in (cond, body):
                for a, spec, z in zip(block.arguments, carried, zero, strict=True):
                    self.specs[a] = spec
                    (self._zero.add if z else self._zero.discard)(a)
                for inner in list(block.operations)[:-1]:
                    self._visit(inner.operation, True)
            new = [self._join(op, i, carried[i], zero[i], v) for i, v in enumerate(yields)]
            keeps = [z and (v == a or self._is_zero(v)) for z, v, a in zip(zero, yields, body.arguments, strict=True)]
            # That a carry stays zero is assumed until nothing changes any more, then held against what it becomes.
            if new == carried:
                if all(k or not z or not s.is_replicated for z, k, s in zip(zero, keeps, new, strict=True)):
                    break
                zero = [k or not s.is_replicated for k, s in zip(keeps, new, strict=True)]
            carried = new
        if not self.is_whole(list(cond.operations)[-1].operation.operands[0]):
            raise CannotSplit("'stablehlo.while' op runs until its data says so: microbatches may differ", op.location)
        for r, spec in zip(op.results, carried, strict=True):
            self.specs[r] = spec

    def _join(self, op: ir.Operation, i: int, have: ShardSpec, zero: bool, value: ir.Value) -> ShardSpec:
        new = self.specs[value]
        if new == have or (have.is_replicated and any(new.dims) and not new.partial):
            return new
        if have.is_replicated and new.partial and zero:
            return new
        if new.is_replicated and (self.remake(value, have) is not None if not have.partial else self._is_zero(value)):
            return have
        raise CannotSplit(
            f"'stablehlo.while' op: carried value {i} starts as {_say(have)} and becomes {_say(new)}", op.location
        )


def captured(op: ir.Operation) -> list[ir.Value]:
    """Operands, and values from outside that the regions of an op read."""
    found = list(op.operands)
    inner: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            inner.update(block.arguments)
            for o in block.operations:
                found += [v for v in captured(o.operation) if v not in inner]
                inner.update(o.operation.results)
    return found


def batch_arguments(func: ir.Operation, data: Sequence[int], parts: int) -> tuple[dict[int, int], int]:
    """Arguments whose first dimension is the batch -> that dimension, and the size of the batch.

    Raises:
      CannotSplit: there are none, or the batch does not divide into `parts`.
    """
    arguments = func.regions[0].blocks[0].arguments
    sizes: dict[int, float] = {}
    for i in data:
        if dims := shape(arguments[i]):
            sizes[dims[0]] = sizes.get(dims[0], 0.0) + tensor_bytes(arguments[i].type)
    sizes = {n: b for n, b in sizes.items() if n > 1}
    if not sizes:
        raise CannotSplit("no argument is data with a batch dimension", func.location)
    batch = max(sizes, key=lambda n: (sizes[n], n))
    if batch % parts:
        raise CannotSplit(f"a batch of {batch} does not divide into {parts} microbatches", func.location)
    return {i: 0 for i in data if shape(arguments[i])[:1] == (batch,)}, batch


def _say(spec: ShardSpec) -> str:
    if spec.partial:
        return "an addend"
    return "a part" if any(spec.dims) else "the whole"
