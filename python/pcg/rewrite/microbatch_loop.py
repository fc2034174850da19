"""A program in microbatches (`pcg.pipeline`, `pcg.batch`) as a loop over them."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.ir.walk import defining_op, in_block, outer_values
from pcg.lower.neutral import neutral, scalar
from pcg.rewrite.microbatches import by_microbatch, starts_at, take
from pcg.rules import traits
from pcg.rules.regions import REDUCERS
from pcg.rules.traits import Trait


def has_microbatches(func: ir.Operation) -> bool:
    """Whether a function runs in microbatches."""
    return any(op.operation.name == "pcg.pipeline" for op in func.regions[0].blocks[0].operations)


def of_microbatches(func: ir.Operation) -> set[ir.Operation]:
    """The ops of a function that run once per microbatch: `pcg.pipeline` and what is computed from it."""
    found: set[ir.Operation] = set()
    values: set[ir.Value] = set()
    for view in func.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "pcg.pipeline" or (op.name != "pcg.batch" and any(v in values for v in outer_values(op))):
            found.add(op)
            values.update(op.results)
    return found


def number(attribute: ir.Attribute) -> int:
    return int(ir.IntegerAttr(attribute).value)


class MicrobatchLoop:
    """Makes the loop; `run` rewrites `func` in place."""

    def __init__(self, func: ir.Operation) -> None:
        self.func = func
        self.ops = [op.operation for op in func.regions[0].blocks[0].operations]
        self.inside = of_microbatches(func)
        self.batches = [op for op in self.ops if op.name == "pcg.batch"]
        pipelines = [op for op in self.ops if op.name == "pcg.pipeline"]
        self.count = number(pipelines[0].attributes["microbatches"])
        self._sink()
        self._arguments: dict[ir.Value, ir.Value] = {}
        """Values from outside, those that are sliced reshaped -> arguments of the body."""
        self._seen: dict[tuple[ir.Value, int, int], ir.Value] = {}
        self._sliced: dict[tuple[ir.Value, int, int], ir.Value] = {}

    def _sink(self) -> None:
        """Take into the loop what only the loop reads, and that is cheaper to compute than to keep."""
        for op in reversed(self.ops):
            if op in self.inside or not op.results or op.name == "pcg.batch":
                continue
            readers = [in_block(use.owner.operation, self.func) for r in op.results for use in r.uses]
            constant = op.name == "stablehlo.constant" and ir.DenseElementsAttr(op.attributes["value"]).is_splat
            cheap = constant or op.name == "stablehlo.iota" or traits.has(op.name, Trait.PROPAGATES_GENERATOR)
            if cheap and readers and all(r in self.inside for r in readers):
                self.inside.add(op)

    def run(self) -> None:
        last = self.ops[-1]
        with self.func.context, self.func.location:
            i32 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
            with ir.InsertionPoint(last):
                initial = [_constant(0), *map(self._initial, self.batches)]
            holder = ir.Operation.create("builtin.module", regions=1, loc=self.func.location, ip=False)
            body = self.body = holder.regions[0].blocks.append(i32, *(v.type for v in initial[1:]))
            self.counter = body.arguments[0]
            values: dict[ir.Value, ir.Value] = {}
            with ir.InsertionPoint(body):
                for op in self.ops:
                    if op in self.inside:
                        self._emit(op, values)
                carried = list(body.arguments)[1 : len(initial)]
                out = [self._collect(op, values, v) for op, v in zip(self.batches, carried, strict=True)]
                following = emit.binary("add", self.counter, _constant(1))
                rest = list(body.arguments)[len(initial) :]
                ir.Operation.create("stablehlo.return", operands=[following, *out, *rest])
            with ir.InsertionPoint(last):
                initial += list(self._arguments)
                loop = emit.create_op("stablehlo.while", initial, [v.type for v in initial], 2)
            cond = loop.regions[0].blocks.append(*[v.type for v in initial])
            with ir.InsertionPoint(cond):
                flag = emit.compare(cond.arguments[0], _constant(self.count), "LT")
                ir.Operation.create("stablehlo.return", operands=[flag])
            body.append_to(loop.regions[1])
            self._replace(loop, last)

    def _replace(self, loop: ir.Operation, last: ir.Operation) -> None:
        after, gone = self._after(), [op for op in self.ops if op in self.inside or op in self.batches]
        for op, r in zip(self.batches, list(loop.results)[1:], strict=False):
            with ir.InsertionPoint(last), op.location:
                v = r if r.type == op.results[0].type else emit.reshape(r, op.results[0].type.shape)
            op.results[0].replace_all_uses_with(v)
        for op in after:
            op.move_before(last)
        for op in reversed(gone):
            op.erase()

    def _after(self) -> list[ir.Operation]:
        """The ops that run after the loop: those behind the first `pcg.batch` that the loop does not need."""
        need: set[ir.Operation] = {op for v in self._arguments if (op := defining_op(v)) is not None}
        for op in reversed(self.ops):
            if op in need:
                need.update(d for v in outer_values(op) if (d := defining_op(v)) is not None)
        wrong = next((op for op in self.batches if op in need), None)
        if wrong is not None:
            raise PcgError("'pcg.batch' op: a microbatch reads what all of them make", wrong)
        start = self.ops.index(self.batches[0])
        return [o for o in self.ops[start:-1] if o not in need and o not in self.inside and o not in self.batches]

    def _initial(self, op: ir.Operation) -> ir.Value:
        """What a sum, or a stack of microbatches, is before the first one."""
        type_ = op.results[0].type
        kind = "sum"
        if "kind" in op.attributes:
            kind = ir.StringAttr(op.attributes["kind"]).value
        else:
            d, block = (number(op.attributes[n]) for n in ("dim", "block"))
            type_ = emit.tensor(by_microbatch(type_, d, self.count, block), type_.element_type)
        with op.location:
            start = neutral(type_.element_type, kind)
            return emit.broadcast(start, type_) if type_.rank else start

    def _collect(self, op: ir.Operation, values: dict[ir.Value, ir.Value], before: ir.Value) -> ir.Value:
        """`before` and the result of this microbatch."""
        part = values[op.operands[0]]
        with op.location:
            if "kind" in op.attributes:
                return emit.create(REDUCERS[ir.StringAttr(op.attributes["kind"]).value], [before, part], part.type)
            d = number(op.attributes["dim"])
            shaped = emit.reshape(part, emit.resized(before, d + 1, 1).shape)
            starts = starts_at(self.counter, before.type.rank, d)
            return emit.create("stablehlo.dynamic_update_slice", [before, shaped, *starts], before.type)

    def _emit(self, op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
        """The op in the body."""
        if op.name == "pcg.pipeline":
            source = defining_op(op.operands[0])
            if source is not None and source.name == "stablehlo.iota" and op.operands[0].type.shape == [self.count]:
                self._number(op, values)
            else:
                values[op.results[0]] = self._microbatch(op)
            return
        if op.results[0] in values:
            return
        for v in outer_values(op):
            if v not in values:
                values[v] = self._argument(v, v)
        clone_mapped(op, values)

    def _number(self, op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
        """The number of the microbatch: the counter of the loop."""
        for use in op.results[0].uses:
            reader = use.owner.operation
            if reader.name == "stablehlo.reshape" and not reader.results[0].type.rank:
                values[reader.results[0]] = self.counter
        if any(use.owner.operation.results[0] not in values for use in op.results[0].uses):
            values[op.results[0]] = emit.reshape(self.counter, [1])

    def _microbatch(self, op: ir.Operation) -> ir.Value:
        value, d, block = op.operands[0], number(op.attributes["dim"]), number(op.attributes["block"])
        if (value, d, block) not in self._sliced:
            if (value, d, block) not in self._seen:
                with ir.InsertionPoint(self.ops[-1]), op.location:
                    seen = emit.reshape(value, by_microbatch(value.type, d, self.count, block))
                self._seen[value, d, block] = self._argument(seen, value)
            argument = self._seen[value, d, block]
            with op.location:
                self._sliced[value, d, block] = take(argument, value.type, d, self.counter)
        return self._sliced[value, d, block]

    def _argument(self, outer: ir.Value, value: ir.Value) -> ir.Value:
        if outer not in self._arguments:
            self._arguments[outer] = self.body.add_argument(outer.type, value.location)
        return self._arguments[outer]


def _constant(n: int) -> ir.Value:
    return scalar(n, ir.IntegerType.get_signless(32))
