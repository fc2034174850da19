"""Layouts of the values of a step over time: the factor rules on a mesh whose one axis is the microbatches.

A value is replicated (the same in every microbatch), split (each microbatch computes its slice of a dimension), partial
(each computes a term of a sum, maximum, ...), or deferred: computed after the loop from reductions over all
microbatches.  What a rule cannot split over devices it cannot split over time, for the same reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import defining_op, outer_values, walk
from pcg.layout import Mesh, ShardSpec
from pcg.rules import CONTROL_FLOW, rule_for, traits
from pcg.rules.custom_call import has_side_effect
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.registry import shape
from pcg.rules.traits import Trait
from pcg.rules.values import is_zero

#: The axis of time.
TIME_AXIS = "microbatch"
#: Reductions that a loop can accumulate.
_ACCUMULATED = frozenset({"sum", "max", "min", "prod"})
#: Ops on the whole batch before the loop may write this many times the bytes of the data.  A choice: a few masks and
#: statistics, but no activations of a layer.
_HOIST = 64


class CannotSplit(PcgError):
    """The program has an op that needs the whole batch at once; the message names it and says why."""


def cannot_split(op: ir.Operation, why: str) -> CannotSplit:
    """The error at an op; `why` goes on after `'stablehlo.sort' op`."""
    return CannotSplit(f"'{op.name}' op{why}", op.location)


@dataclass
class TemporalLayouts:
    """The layout of every value of `func` over time when the dimensions `data` (argument -> dimension) are in `parts`.

    Raises:
      CannotSplit: an op needs the whole batch at once.
    """

    func: ir.Operation
    parts: int
    data: dict[int, int]
    batch: int
    specs: dict[ir.Value, ShardSpec] = field(default_factory=dict)
    deferred: set[ir.Value] = field(default_factory=set)
    chosen: dict[ir.Operation, Assignment] = field(default_factory=dict)
    hoisted: set[ir.Operation] = field(default_factory=set)
    """Ops that also run on the whole batch before the loop, because every microbatch needs what they reduce to."""
    _zero: set[ir.Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mesh = Mesh.of({TIME_AXIS: self.parts})
        for op in walk(self.func):
            if has_side_effect(op):
                raise cannot_split(op, " has a side effect, which every microbatch would repeat")
        block = self.func.regions[0].blocks[0]
        for i, argument in enumerate(block.arguments):
            spec = ShardSpec.replicated(len(shape(argument)))
            self.specs[argument] = spec.with_dim(self.data[i], [TIME_AXIS]) if i in self.data else spec
        for op in list(block.operations)[:-1]:
            self._visit(op.operation, False)

    # -- queries -------------------------------------------------------------------------------

    def is_replicated(self, value: ir.Value) -> bool:
        return value not in self.deferred and self.specs[value].is_replicated

    def is_split(self, value: ir.Value) -> bool:
        return value not in self.deferred and any(self.specs[value].dims)

    def is_partial(self, value: ir.Value) -> bool:
        return value not in self.deferred and bool(self.specs[value].partial)

    def dim(self, value: ir.Value) -> int:
        """The dimension along which a split value is split."""
        return next(d for d, axes in enumerate(self.specs[value].dims) if axes)

    def is_generated(self, value: ir.Value, depth: int = 10) -> bool:
        """Whether a value depends on constants and iotas alone, through few cheap ops."""
        if isinstance(value, ir.BlockArgument) or not depth:
            return False
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            return ir.DenseElementsAttr(op.attributes["value"]).is_splat
        # An iota has no operands.
        return traits.has(op.name, Trait.CHEAP) and all(self.is_generated(v, depth - 1) for v in op.operands)

    def rematerialisation(self, value: ir.Value, want: ShardSpec) -> Assignment | None:
        """The strategy that computes a generated value in layout `want`, or broadcasts a replicated one to it.

        None if the value has to be sliced.
        """
        op = defining_op(value)
        if op is None:
            return None
        if not self.is_generated(value):
            replicated = self.is_replicated(value) and all(self.is_replicated(v) for v in op.operands)
            # Ops like broadcasts are recomputed in the loop, not sliced: what they read is smaller.
            if not traits.has(op.name, Trait.PROPAGATES_GENERATOR) or not replicated or want.is_replicated:
                return None
        if op.name == "stablehlo.iota" and want.dims[ir.IntegerAttr(op.attributes["iota_dimension"]).value]:
            return None
        rule = rule_for(op)
        for a in rule.strategies(self.mesh):
            if rule.result_spec(0, a) == want and all(
                (w := rule.operand_spec(i, a)).is_replicated or self.rematerialisation(v, w) is not None
                for i, v in enumerate(op.operands)
            ):
                return a
        return None

    # -- ops -----------------------------------------------------------------------------------

    def _visit(self, op: ir.Operation, nested: bool) -> None:
        read = outer_values(op)
        if any(v in self.deferred for v in read):
            if any(map(self.is_split, read)):
                self.refuse(op)
            self.deferred.update(op.results)
        elif all(self.is_replicated(v) for v in read):
            self.specs.update((r, ShardSpec.replicated(len(shape(r)))) for r in op.results)
        elif op.name == "stablehlo.while":
            self._loop(op)
        elif op.name in CONTROL_FLOW:
            raise cannot_split(op, " reads the data: conditionals are not split into microbatches")
        elif op.name in CONSTRAINTS or op.name == "stablehlo.optimization_barrier":
            self.specs.update(zip(op.results, map(self.specs.__getitem__, op.operands), strict=True))
        else:
            self._ordinary(op, nested)

    def refuse(self, op: ir.Operation) -> NoReturn:
        """Raise CannotSplit for an op that reads a split value and what is reduced over all microbatches."""
        reducing, reader = None, op
        while found := next((v for v in outer_values(reader) if v in self.deferred or self.is_partial(v)), None):
            if (defining := defining_op(found)) is None:
                break
            reducing = reader = defining
        of = f" (by '{reducing.name}')" if reducing is not None else ""
        raise cannot_split(
            op, f" combines each example with what is reduced over the whole batch{of}: neither devices nor "
            "microbatches can split it by a partial sum",
        )  # fmt: skip

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
                self.refuse(op)
            raise cannot_split(op, f" cannot run on a part of the batch: {self._why(op, rule)}")
        if found is None or not (split or nested or self._accumulate_results(op)):
            if nested:
                raise cannot_split(op, " in a loop reads a sum over the whole batch: a microbatch has a partial sum")
            self.deferred.update(op.results)
            return
        self.chosen[op] = found
        self.specs.update((r, rule.result_spec(i, found)) for i, r in enumerate(op.results))

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
                cost += 1.0 if self.rematerialisation(v, want) is not None else 2.0 + tensor_bytes(v.type)
            kinds = {k for i in range(len(op.results)) for _, k in rule.result_spec(i, a).partial}
            if cost < (math.inf if best is None else best[0]) and kinds <= _ACCUMULATED:
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

    def _accumulate_results(self, op: ir.Operation) -> bool:
        """Whether to accumulate the results of an op rather than its partial operands: fewer bytes, or more exact."""
        partial = {v for v in op.operands if self.is_partial(v)}
        results = sum(tensor_bytes(r.type) for r in op.results)
        if op.name == "stablehlo.convert" and len(partial) == 1:
            # Partial sums in bf16 are added in f32 if the program converts them.
            return results > tensor_bytes(next(iter(partial)).type)
        return results < sum(tensor_bytes(v.type) for v in partial)

    def _is_zero(self, value: ir.Value) -> bool:
        return value in self._zero or is_zero(value)

    def _hoist(self, value: ir.Value) -> bool:
        """Compute `value` on the whole batch before the loop, if that is cheap."""
        ops: set[ir.Operation] = set()
        work, written = [value], 0.0
        while work:
            op = defining_op(work.pop())
            if op is None or op in ops:
                continue
            heavy = traits.has(op.name, Trait.CONTRACTION) or op.name == "stablehlo.custom_call"
            if heavy or op.name in CONTROL_FLOW:
                return False
            ops.add(op)
            written += sum(tensor_bytes(r.type) for r in op.results)
            work += op.operands
        block = self.func.regions[0].blocks[0]
        if written > _HOIST * sum(tensor_bytes(block.arguments[i].type) for i in self.data):
            return False
        self.hoisted |= ops
        return True

    # -- loops ---------------------------------------------------------------------------------

    def _loop(self, op: ir.Operation) -> None:
        """A loop inside of a microbatch: the layouts of its carried values, a fixed point over its iterations."""
        cond, body = (r.blocks[0] for r in op.regions)
        carried = [self.specs[v] for v in op.operands]
        zero = [self._is_zero(v) for v in op.operands]
        yields = body.operations[-1].operation.operands
        while True:
            for block in (cond, body):
                for a, spec, z in zip(block.arguments, carried, zero, strict=True):
                    self.specs[a] = spec
                    (self._zero.add if z else self._zero.discard)(a)
                for inner in list(block.operations)[:-1]:
                    self._visit(inner.operation, True)
            new = [self._join(op, i, carried[i], zero[i], v) for i, v in enumerate(yields)]
            keeps = [z and (v == a or self._is_zero(v)) for z, v, a in zip(zero, yields, body.arguments, strict=True)]
            # That a carried value stays zero is assumed until nothing changes, and then checked.
            if new == carried:
                if all(k or not z or not s.is_replicated for z, k, s in zip(zero, keeps, new, strict=True)):
                    break
                zero = [k or not s.is_replicated for k, s in zip(keeps, new, strict=True)]
            carried = new
        if not self.is_replicated(cond.operations[-1].operation.operands[0]):
            raise cannot_split(op, ": its trip count depends on the data, so microbatches may differ")
        self.specs.update(zip(op.results, carried, strict=True))

    def _join(self, op: ir.Operation, i: int, have: ShardSpec, zero: bool, value: ir.Value) -> ShardSpec:
        new = self.specs[value]
        if new == have or (have.is_replicated and any(new.dims) and not new.partial):
            return new
        if have.is_replicated and new.partial and zero:
            return new
        if new.is_replicated and have.partial and self._is_zero(value):
            return have
        if new.is_replicated and not have.partial and self.rematerialisation(value, have) is not None:
            return have
        raise cannot_split(op, f": carried value {i} starts {_state(have)} and becomes {_state(new)}")


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


def _state(spec: ShardSpec) -> str:
    return "partial" if spec.partial else "split" if any(spec.dims) else "replicated"
