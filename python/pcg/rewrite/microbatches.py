"""A training step in microbatches: what it computes of the batch, of one microbatch at a time.

Microbatch t has the examples t, t + k, t + 2k, ...: the batch [n] is reshaped to [n/k, k] and split along k, so that a
batch that is split over devices is not resharded.  Every op that reads a part of the batch gets its local form on a
mesh whose only axis is time; where that form needs to know which device it is on, it is the number of the microbatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.walk import outer_values, walk
from pcg.layout import ShardSpec
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import MeshContext, local_form_of
from pcg.lower.neutral import scalar
from pcg.rewrite.temporal import TemporalLayouts, cannot_split
from pcg.rules import rule_for, traits
from pcg.rules.factor import Assignment
from pcg.rules.registry import shape
from pcg.rules.traits import Trait


@dataclass
class TimeContext(MeshContext):
    """The context of a local form in the loop: positions are microbatches, which are not contiguous."""

    counter: ir.Value = field(kw_only=True)

    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        if list(numbers) != list(range(self.mesh.size)):
            raise cannot_split(self.op, " depends on where in the batch an example is")
        return self.counter if element is None else emit.convert(self.counter, element)

    def shard_start(self, factor: int, element: ir.Type | None = None) -> ir.Value:
        raise cannot_split(self.op, " depends on where in the batch an example is")

    shard_length = shard_start


@dataclass
class Microbatches:
    """Rewrites the function that `layouts` describes.

    What is computed from a result of `pcg.pipeline` is of one microbatch, and runs once for each; `pcg.batch` makes a
    value of the step of it.
    """

    layouts: TemporalLayouts
    accumulated: list[ir.Value] = field(default_factory=list)
    """What is added up over the microbatches, in the original program."""
    _values: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _slices: dict[tuple[ir.Value, int], ir.Value] = field(default_factory=dict)
    """(value of the step, dimension that is split) -> its microbatch."""
    counter: ir.Value = field(init=False)
    """The number of the microbatch."""
    _first: ir.Operation = field(init=False)
    """The first op of the rewritten part: slices are inserted before it, where regions see them too."""

    def run(self) -> None:
        """Rewrite the function in place."""
        layouts, func = self.layouts, self.layouts.func
        block = func.regions[0].blocks[0]
        ops = [op.operation for op in block.operations]
        in_loop = {op for op in ops[:-1] for r in op.results if layouts.is_split(r) or layouts.is_partial(r)}
        inside = [op for op in ops if op in in_loop]
        after = [op for op in ops[:-1] if op not in in_loop]
        last = ops[-1]
        used = {v for op in (*after, last) for v in outer_values(op)}
        sums = [r for op in inside for r in op.results if r in used and layouts.is_partial(r)]
        parts = [r for op in inside for r in op.results if r in used and layouts.is_split(r)]
        for op in after:
            for v in outer_values(op):
                if layouts.is_split(v) and op.results and op.results[0] in layouts.deferred:
                    layouts.refuse(op)
        self.accumulated = sums
        with func.context, func.location, ir.InsertionPoint(last):
            self._count()
            for op in _needed(inside, [*sums, *parts]):
                self._emit(op)
            for v in sums:
                kind = layouts.specs[v].partial[0][1]
                self._batch(v, self._values[v], v.type, kind=ir.StringAttr.get(kind))
            for v in parts:
                d = layouts.dim(v)
                self._batch(v, self._values[v], v.type, dim=emit.i64(d), block=emit.i64(self._block(v.type, d)))
            self._order(after, last)
        # What the microbatches replace.  Originals that also run on the whole batch stay.
        for op in reversed(inside):
            if not any(len(list(r.uses)) for r in op.results):
                op.erase()
        # What was generated for the whole batch, and now is for each microbatch, is not needed any more.
        for op in reversed(list(walk(func))):
            cheap = traits.has(op.name, Trait.CHEAP) or op.name == "pcg.pipeline"
            if cheap and not any(len(list(r.uses)) for r in op.results):
                op.erase()

    def _count(self) -> None:
        """Number the microbatches."""
        numbers = emit.iota(emit.tensor([self.layouts.parts], ir.IntegerType.get_signless(32)), 0)
        self._first = numbers.owner.operation
        one = self._pipeline(numbers, 0, 1)
        self.counter = emit.reshape(one, [])

    def _pipeline(self, value: ir.Value, d: int, block: int) -> ir.Value:
        """A microbatch of a value of the step: blocks of `block` indices of dimension `d` go to them in turn."""
        k = self.layouts.parts
        return emit.create(
            "pcg.pipeline", [value], emit.resized(value, d, value.type.shape[d] // k),
            dim=emit.i64(d), block=emit.i64(block), microbatches=emit.i64(k),
        )  # fmt: skip

    def _batch(self, value: ir.Value, part: ir.Value, type_: ir.Type, **attributes: ir.Attribute) -> None:
        """What `value` is after all microbatches, for its readers."""
        with value.owner.location:
            new = emit.create("pcg.batch", [part], type_, microbatches=emit.i64(self.layouts.parts), **attributes)
        value.replace_all_uses_with(new)

    def _block(self, kind: ir.RankedTensorType, d: int) -> int:
        """How many consecutive indices of a dimension belong to one example."""
        n = kind.shape[d]
        return n // self.layouts.batch if n % self.layouts.batch == 0 else 1

    def _order(self, after: list[ir.Operation], last: ir.Operation) -> None:
        """Put what no microbatch needs after them."""
        block = self.layouts.func.regions[0].blocks[0]
        ops = [op.operation for op in block.operations]
        need = {op for op in ops[ops.index(self._first) :] if op.name != "pcg.batch" and op != last}
        for op in reversed(ops):
            if op in need:
                need.update(v.owner.operation for v in outer_values(op) if not isinstance(v, ir.BlockArgument))
        for op in [op for op in after if op not in need]:
            op.move_before(last)

    # -- inside --------------------------------------------------------------------------------

    def _emit(self, op: ir.Operation) -> None:
        """The ops of one microbatch for `op`."""
        layouts = self.layouts
        with op.location:
            if all(map(layouts.is_replicated, (*op.results, *outer_values(op)))):
                # Loops too: the rounds of a generator of random bits are the same in every microbatch.
                results: Sequence[ir.Value] = self._replicated(op)
            elif op.name == "stablehlo.while":
                results = self._inner_loop(op)
            elif op.name in CONSTRAINTS or op.name == "stablehlo.optimization_barrier":
                values = [self._local(v, layouts.specs[v]) for v in op.operands]
                results = list(_like(op, values).results)
            else:
                results = self._form(op, layouts.chosen[op])
        self._values.update(zip(op.results, results, strict=True))

    def _form(self, op: ir.Operation, a: Assignment) -> Sequence[ir.Value]:
        """The local form of an op by a strategy."""
        layouts, rule = self.layouts, rule_for(op)
        operands = [self._local(v, rule.operand_spec(i, a)) for i, v in enumerate(op.operands)]
        types = [_local_type(r.type, rule.result_spec(i, a), layouts.parts) for i, r in enumerate(op.results)]
        collectives = CollectiveBuilder(layouts.mesh)
        context = TimeContext(op, operands, types, rule, a, collectives, counter=self.counter)
        results = list(local_form_of(op)(context))
        if collectives.channels:
            raise cannot_split(op, ": parts of the batch depend on each other")
        return results

    def _replicated(self, op: ir.Operation) -> Sequence[ir.Value]:
        """An op that is the same for every microbatch."""
        for v in outer_values(op):
            if v not in self._values:
                self._values[v] = self._local(v, ShardSpec.replicated(len(shape(v))))
        return list(clone_mapped(op, self._values).results)

    def _local(self, value: ir.Value, want: ShardSpec) -> ir.Value:
        """`value` of the current microbatch in layout `want`."""
        layouts = self.layouts
        have = layouts.specs[value]
        if have == want and value in self._values:
            return self._values[value]
        if want.partial and have.is_replicated:
            want = have  # zeros are a term of any sum
            if value in self._values:
                return self._values[value]
        a = layouts.rematerialisation(value, want)
        if a is not None or (layouts.is_generated(value) and want.is_replicated):
            op = value.owner.operation
            if a is not None and not want.is_replicated:
                return self._form(op, a)[0]
            operands = [self._local(v, ShardSpec.replicated(len(shape(v)))) for v in op.operands]
            return clone_mapped(op, dict(zip(op.operands, operands, strict=True))).results[0]
        if value in self._values:  # replicated, but computed in the body of a loop
            return self._slice(self._values[value], _dim(want))
        if not any(want.dims):
            return value
        d = _dim(want)
        if (value, d) not in self._slices:
            with ir.InsertionPoint(self._first):
                self._slices[value, d] = self._pipeline(value, d, self._block(value.type, d))
        return self._slices[value, d]

    def _inner_loop(self, op: ir.Operation) -> Sequence[ir.Value]:
        layouts = self.layouts
        specs = [layouts.specs[r] for r in op.results]
        operands = [self._local(v, s) for v, s in zip(op.operands, specs, strict=True)]
        new = _like(op, operands)
        for old, region in zip(op.regions, new.regions, strict=True):
            block = old.blocks[0]
            fresh = region.blocks.append(*[v.type for v in operands])
            self._values.update(zip(block.arguments, fresh.arguments, strict=True))
            with ir.InsertionPoint(fresh):
                *inner, last = [o.operation for o in block.operations]
                for o in inner:
                    self._emit(o)
                wanted = specs if region == new.regions[1] else [ShardSpec.replicated(0)]
                values = [self._local(v, s) for v, s in zip(last.operands, wanted, strict=True)]
                ir.Operation.create("stablehlo.return", operands=values, loc=last.location)
        return list(new.results)

    def _slice(self, value: ir.Value, d: int) -> ir.Value:
        """The current microbatch of a value that the body of a loop computes for all of them."""
        seen = emit.reshape(value, by_microbatch(value.type, d, self.layouts.parts, self._block(value.type, d)))
        return take(seen, value.type, d, self.counter)


def by_microbatch(kind: ir.RankedTensorType, d: int, parts: int, block: int) -> list[int]:
    """The shape in which dimension `d` is [blocks of a microbatch, microbatches, block]."""
    dims = list(kind.shape)
    return [*dims[:d], dims[d] // (parts * block), parts, block, *dims[d + 1 :]]


def starts_at(counter: ir.Value, rank: int, d: int) -> list[ir.Value]:
    """Where microbatch `counter` begins in a value of the shape `by_microbatch`."""
    zero = scalar(0, ir.IntegerType.get_signless(32))
    return [counter if i == d + 1 else zero for i in range(rank)]


def take(seen: ir.Value, full: ir.RankedTensorType, d: int, counter: ir.Value) -> ir.Value:
    """Microbatch `counter` of a value of type `full` that has been reshaped to `by_microbatch`."""
    dims, local = list(seen.type.shape), list(full.shape)
    local[d] //= dims[d + 1]
    dims[d + 1] = 1
    return emit.reshape(emit.dynamic_slice(seen, starts_at(counter, len(dims), d), dims), local)


def _needed(inside: list[ir.Operation], outputs: list[ir.Value]) -> list[ir.Operation]:
    """The ops among `inside` that `outputs` need, in order."""
    need = {v.owner.operation for v in outputs}
    for op in reversed(inside):
        if op in need:
            need.update(v.owner.operation for v in outer_values(op) if not isinstance(v, ir.BlockArgument))
    return [op for op in inside if op in need]


def _like(op: ir.Operation, operands: list[ir.Value]) -> ir.Operation:
    """An op as `op`, without what is in its regions, whose results have the types of its operands."""
    attributes = {n: op.attributes[n] for n in op.attributes}
    types = [v.type for v in operands]
    return ir.Operation.create(op.name, types, operands, attributes, regions=len(op.regions))


def _dim(spec: ShardSpec) -> int:
    return next(d for d, axes in enumerate(spec.dims) if axes)


def _local_type(kind: ir.Type, spec: ShardSpec, parts: int) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType) or not any(spec.dims):
        return kind
    dims = list(kind.shape)
    dims[_dim(spec)] //= parts
    return ir.RankedTensorType.get(dims, kind.element_type)


def is_placed(func: ir.Operation) -> bool:
    """Whether ops of a function have layouts already."""
    return any(shardings.SPECS in op.attributes and op.name not in CONSTRAINTS for op in walk(func))
