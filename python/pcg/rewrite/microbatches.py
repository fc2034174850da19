"""A training step as a loop over microbatches that adds up what it reduces over the batch.

Microbatch t has the examples t, t + k, t + 2k, ...: the batch [n] is reshaped to [n/k, k] and split along k, so that a
batch that is split over devices is not resharded.  Inside the loop every op runs in its local form on a mesh whose
only axis is time; where that form asks which device it is on, the answer is the number of the microbatch.
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
from pcg.lower.neutral import neutral, scalar
from pcg.rewrite.temporal import TemporalLayouts, cannot_split
from pcg.rules import rule_for, traits
from pcg.rules.factor import Assignment
from pcg.rules.regions import REDUCERS
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
    """Rewrites the function that `layouts` describes."""

    layouts: TemporalLayouts
    accumulated: list[ir.Value] = field(default_factory=list)
    """What is added up over the loop, in the original program."""
    _values: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _outer: dict[tuple[ir.Value, int | None], ir.Value] = field(default_factory=dict)
    """(value from outside, dimension that is split or None) -> argument of the body."""
    _slices: dict[tuple[ir.Value, int], ir.Value] = field(default_factory=dict)
    counter: ir.Value = field(init=False)
    body: ir.Block = field(init=False)

    def run(self) -> ir.Operation:
        """Rewrite the function in place; returns the loop."""
        layouts, func = self.layouts, self.layouts.func
        block = func.regions[0].blocks[0]
        ops = [op.operation for op in block.operations]
        in_loop = {op for op in ops[:-1] for r in op.results if layouts.is_split(r) or layouts.is_partial(r)}
        inside = [op for op in ops if op in in_loop]
        after = [op for op in ops if op not in in_loop]
        used = {v for op in after for v in outer_values(op)}
        sums = [r for op in inside for r in op.results if r in used and layouts.is_partial(r)]
        parts = [r for op in inside for r in op.results if r in used and layouts.is_split(r)]
        for op in after[:-1]:
            for v in outer_values(op):
                if layouts.is_split(v) and op.results and op.results[0] in layouts.deferred:
                    layouts.refuse(op)
        self.accumulated = sums
        with func.context, func.location:
            loop = self._loop(inside, sums, parts, ops)
            results = list(loop.results)[1:]
            for v, r in zip(sums, results, strict=False):
                v.replace_all_uses_with(r)
            with ir.InsertionPoint(ops[-1]):
                for v, r in zip(parts, results[len(sums) :], strict=False):
                    v.replace_all_uses_with(_reshape(r, v.type))
            self._order(ops, inside, loop)
        # What was generated for the whole batch, and now is for each microbatch, is not needed any more.
        for op in reversed(list(walk(func))):
            if traits.has(op.name, Trait.CHEAP) and not any(len(list(r.uses)) for r in op.results):
                op.erase()
        return loop

    # -- around the loop -----------------------------------------------------------------------

    def _loop(
        self, inside: list[ir.Operation], sums: list[ir.Value], parts: list[ir.Value], ops: list[ir.Operation]
    ) -> ir.Operation:
        layouts, k = self.layouts, self.layouts.parts
        i32 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
        types = [i32, *(v.type for v in sums), *(self._reshaped(v) for v in parts)]
        holder = ir.Operation.create("builtin.module", regions=1, loc=layouts.func.location, ip=False)
        self.body = body = holder.regions[0].blocks.append(*types)
        self.counter = body.arguments[0]
        needed = self._needed(inside, [*sums, *parts])
        with ir.InsertionPoint(body):
            for op in needed:
                self._emit(op)
            carried = list(body.arguments)[1:]
            out = []
            for v, acc in zip(sums, carried, strict=False):
                with v.owner.location:
                    out.append(emit.create(REDUCERS[layouts.specs[v].partial[0][1]], [acc, self._values[v]], v.type))
            for v, stack in zip(parts, carried[len(sums) : len(sums) + len(parts)], strict=True):
                out.append(self._update(v, stack))
            following = emit.binary("add", self.counter, _constant(1))
            rest = list(body.arguments)[1 + len(out) :]
            ir.Operation.create("stablehlo.return", operands=[following, *out, *rest])
        with ir.InsertionPoint(ops[-1]):
            initial = [_constant(0)]
            kinds = [*(layouts.specs[v].partial[0][1] for v in sums), *["sum"] * len(parts)]
            for v, type_, kind in zip((*sums, *parts), types[1:], kinds, strict=True):
                with v.owner.location:
                    start = neutral(type_.element_type, kind)
                initial.append(emit.broadcast(start, type_) if type_.rank else start)
            for v, d in self._outer:
                initial.append(v if d is None else _reshape(v, self._reshaped(v, d)))
            loop = emit.create_op("stablehlo.while", initial, [v.type for v in initial], 2)
        cond = loop.regions[0].blocks.append(*[v.type for v in initial])
        with ir.InsertionPoint(cond):
            flag = emit.compare(cond.arguments[0], _constant(k), "LT")
            ir.Operation.create("stablehlo.return", operands=[flag])
        body.append_to(loop.regions[1])
        return loop

    def _needed(self, inside: list[ir.Operation], outputs: list[ir.Value]) -> list[ir.Operation]:
        """The ops of the loop that its outputs need, in order."""
        need = {v.owner.operation for v in outputs}
        for op in reversed(inside):
            if op in need:
                need.update(v.owner.operation for v in outer_values(op) if not isinstance(v, ir.BlockArgument))
        return [op for op in inside if op in need]

    def _order(self, ops: list[ir.Operation], inside: list[ir.Operation], loop: ir.Operation) -> None:
        """Put what the loop needs before it and everything else after it; remove what it replaces.

        The hash of an op changes with its operands, so the sets of ops are built here.
        """
        block = self.layouts.func.regions[0].blocks[0]
        now = [op.operation for op in block.operations]
        before: set[ir.Operation] = set()
        for op in reversed(now):
            if op == loop or op in before:
                before.update(v.owner.operation for v in outer_values(op) if not isinstance(v, ir.BlockArgument))
        # Originals that also run on the whole batch stay; no other op reads what the loop computes now.
        dead = [op for op in inside if op not in before]
        gone = set(dead)
        for op in now[:-1]:
            if op in before:
                op.move_before(now[-1])
        loop.move_before(now[-1])
        after = [op for op in now[:-1] if op not in before and op not in gone and op != loop]
        # Reshapes of stacked results were inserted last, but are read by ops after the loop.
        reshapes = [op for op in after if op.operands and any(v.owner == loop for v in op.operands) and op not in ops]
        for op in [*reshapes, *(op for op in after if op not in reshapes)]:
            op.move_before(now[-1])
        for op in reversed(dead):
            op.erase()

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
        if value in self._values:  # replicated, but computed in the loop
            seen = _reshape(self._values[value], self._reshaped(value, _dim(want)))
            return self._slice(seen, value.type, _dim(want))
        d = _dim(want) if any(want.dims) else None
        argument = self._outer.get((value, d))
        if argument is None:
            kind = value.type if d is None else self._reshaped(value, d)
            argument = self._outer[value, d] = self.body.add_argument(kind, value.location)
        if d is None:
            return argument
        if (value, d) not in self._slices:
            with ir.InsertionPoint.at_block_begin(self.body):  # where inner loops see it too
                self._slices[value, d] = self._slice(argument, value.type, d)
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

    # -- small ops -----------------------------------------------------------------------------

    def _reshaped(self, value: ir.Value, d: int | None = None) -> ir.RankedTensorType:
        """The type of `value` with the split dimension as [examples of a microbatch, microbatches, rest]."""
        kind, layouts = value.type, self.layouts
        d = layouts.dim(value) if d is None else d
        n, k = kind.shape[d], layouts.parts
        inner = n // layouts.batch if n % layouts.batch == 0 else 1
        return ir.RankedTensorType.get(
            [*kind.shape[:d], n // (k * inner), k, inner, *kind.shape[d + 1 :]], kind.element_type
        )

    def _starts(self, rank: int, d: int) -> list[ir.Value]:
        """Where the current microbatch begins in a value that was reshaped as `_reshaped` says."""
        zero = _constant(0)
        return [self.counter if i == d + 1 else zero for i in range(rank)]

    def _slice(self, seen: ir.Value, full: ir.RankedTensorType, d: int) -> ir.Value:
        """The current microbatch of a value of type `full` that was reshaped as `_reshaped` says."""
        dims, local = list(seen.type.shape), list(full.shape)
        dims[d + 1] = 1
        local[d] //= self.layouts.parts
        return emit.reshape(emit.dynamic_slice(seen, self._starts(len(dims), d), dims), local)

    def _update(self, value: ir.Value, stack: ir.Value) -> ir.Value:
        """`stack` with the current microbatch of `value` written into it."""
        d = self.layouts.dim(value)
        part = _reshape(self._values[value], emit.resized(stack, d + 1, 1))
        starts = self._starts(stack.type.rank, d)
        return emit.create("stablehlo.dynamic_update_slice", [stack, part, *starts], stack.type)


def _like(op: ir.Operation, operands: list[ir.Value]) -> ir.Operation:
    """An op as `op`, without what is in its regions, whose results have the types of its operands."""
    attributes = {n: op.attributes[n] for n in op.attributes}
    types = [v.type for v in operands]
    return ir.Operation.create(op.name, types, operands, attributes, regions=len(op.regions))


def _reshape(value: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    return value if value.type == kind else emit.reshape(value, kind.shape)


def _constant(n: int) -> ir.Value:
    return scalar(n, ir.IntegerType.get_signless(32))


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
