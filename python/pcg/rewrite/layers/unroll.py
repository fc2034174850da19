"""Loops over layers, one iteration after another in the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.clone import clone_mapped, remap
from pcg.ir.loops import trip_count
from pcg.ir.transformation import Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry, outer_values, walk
from pcg.rewrite.layers.numbers import Number, computed, element_of, is_one_integer, number_of
from pcg.rewrite.layers.stacks import Stack, block_of, is_view, seen_as
from pcg.rewrite.normalize import erase_unused
from pcg.rules import traits
from pcg.rules.custom_call import STAGE_BOUNDARY
from pcg.rules.traits import Trait

#: On a `pcg.stage_boundary` of a shortened loop: the iterations that are left out there.
SKIPPED = "pcg.skipped"


def kept_layers(count: int, shorten: bool) -> tuple[int, ...]:
    """The layers, of `count`, that are there: the first and the last one where others are left out."""
    return (0, count - 1) if shorten and count > 2 else tuple(range(count))


@dataclass
class Unroll(Transformation):
    """Replace counted loops with contractions by their iterations."""

    most: int = option(256, "largest trip count of a loop that is unrolled")
    nested: bool = option(False, "unroll loops inside of the unrolled ones, too")
    shorten: bool = option(
        False, "leave out all iterations but the first and the last one, with a pcg.stage_boundary around each: what a "
        "layer costs can be estimated of that; it does not compute the same"
    )  # fmt: skip

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if func is None:
            return
        with module.context:
            unroller = Unroller(self)
            unroller.run(func)
        if unroller.iterations:
            each = ", ".join(map(str, unroller.iterations))
            self.remark(func, f"{len(unroller.iterations)} loops are unrolled, of {each} iterations")
        self.statistics["loops unrolled"] += len(unroller.iterations)

    def iterations(self, op: ir.Operation, inside: bool) -> int | None:
        """How often the body of an op is emitted; None if it stays."""
        if op.name != "stablehlo.while" or (inside and not self.nested):
            return None
        if not any(traits.has(o.name, Trait.CONTRACTION) for o in walk(op)):
            return None
        count = trip_count(op)
        if count is None:
            self.remark(op, "a loop with contractions stays: its trip count is not a constant")
        elif count > self.most:
            self.remark(op, f"a loop of {count} iterations stays; allowed: {self.most} (most=)")
        return None if count is None or count > self.most else count


class Unroller:
    """Emits iterations, and evaluates what their counters make constant."""

    def __init__(self, options: Unroll) -> None:
        self.options = options
        self.iterations: list[int] = []
        """Of the loops that are unrolled."""
        self._values: dict[ir.Value, ir.Value | Number | Stack] = {}
        """Value of the original program -> what it is now, if that is another one."""
        self._results: set[ir.Value] = set()
        """Results of the loops that are unrolled."""

    def run(self, func: ir.Operation) -> None:
        block = func.regions[0].blocks[0]
        replaced: list[ir.Operation] = []
        for op in [o.operation for o in block.operations]:
            count = self.options.iterations(op, False)
            with ir.InsertionPoint(op), op.location:
                if count is not None:
                    self._unroll(op, count)
                    replaced.append(op)
                    continue
                changed = [v for v in outer_values(op) if v in self._values]
                if (changed or op.name == "stablehlo.slice") and self._evaluate(op):
                    replaced.append(op)
                else:
                    remap(op, {v: self._emitted(v) for v in changed})
        for op in reversed(replaced):
            op.erase()
        if replaced:
            erase_unused(block)

    # -- values --------------------------------------------------------------------------------

    def _now(self, value: ir.Value) -> ir.Value | Number | Stack:
        return self._values.get(value, value)

    def _emitted(self, value: ir.Value) -> ir.Value:
        """What a value is now, as one that ops can read."""
        return self._as_value(self._now(value))

    @staticmethod
    def _as_value(now: ir.Value | Number | Stack) -> ir.Value:
        if isinstance(now, Number):
            return now.emit()
        return now.full() if isinstance(now, Stack) else now

    def _number(self, value: ir.Value) -> int | None:
        now = self._now(value)
        if isinstance(now, Number):
            return now.number
        return None if isinstance(now, Stack) else number_of(now)

    # -- ops -----------------------------------------------------------------------------------

    def _unroll(self, loop: ir.Operation, count: int) -> None:
        body = loop.regions[1].blocks[0]
        *ops, last = [o.operation for o in body.operations]
        carried = [self._now(v) for v in loop.operands]
        kept, flows = kept_layers(count, self.options.shorten), _activation(body)
        for i in range(count):
            if self.options.shorten and i in kept:
                carried = self._marked(flows, carried, count - len(kept) if 0 < i else 0)
            self._values.update(zip(body.arguments, carried, strict=True))
            if i not in kept:
                carried = self._counted(ops, last, carried)
                continue
            for op in ops:
                self._emit(op)
            carried = [self._now(v) for v in last.operands]
        if self.options.shorten:
            carried = self._marked(flows, carried, 0)
        self._values.update(zip(loop.results, carried, strict=True))
        self._results.update(loop.results)
        self.iterations.append(count)

    def _counted(
        self, ops: Sequence[ir.Operation], last: ir.Operation, carried: Sequence[ir.Value | Number | Stack]
    ) -> list[ir.Value | Number | Stack]:
        """What an iteration that is left out carries on: numbers as they are after it, all else as before."""
        numbers: dict[ir.Value, Number] = {}
        for op in ops:
            if len(op.results) == 1 and op.operands and not len(op.regions) and is_one_integer(op.results[0].type):
                known = [numbers[v].number if v in numbers else self._number(v) for v in op.operands]
                found = computed(op, known)
                if found is not None:
                    numbers[op.results[0]] = Number(found, op.results[0].type)
        return [numbers.get(v, old) for v, old in zip(last.operands, carried, strict=True)]

    def _marked(
        self, at: int | None, carried: Sequence[ir.Value | Number | Stack], skipped: int
    ) -> list[ir.Value | Number | Stack]:
        """What is carried, number `at` of it through a `pcg.stage_boundary`; `skipped`: how many iterations are left
        out there."""
        found = list(carried)
        if at is not None:
            value = self._as_value(found[at])
            name = ir.StringAttr.get(STAGE_BOUNDARY)
            own = {"call_target_name": name, SKIPPED: emit.i64(skipped)}
            found[at] = emit.create("stablehlo.custom_call", [value], value.type, **own)
        return found

    def _emit(self, op: ir.Operation) -> None:
        """An op of a body, once more."""
        with op.location:
            count = self.options.iterations(op, True)
            if count is not None:
                self._unroll(op, count)
            elif not self._evaluate(op):
                mapped = {v: self._emitted(v) for v in outer_values(op)}
                clone_mapped(op, mapped)
                self._values.update((r, mapped[r]) for r in op.results)

    def _evaluate(self, op: ir.Operation) -> bool:
        """Find the result of an op without one; whether that was possible."""
        if len(op.results) != 1 or len(op.regions) or shardings.SPECS in op.attributes:
            return False
        name = op.name
        if name == "stablehlo.dynamic_slice":
            found = self._dynamic_slice(op)
        elif name == "stablehlo.slice":
            found = self._slice(op)
        elif name == "stablehlo.dynamic_update_slice":
            found = self._update(op)
        else:
            found = self._computed(op)
        if found is not None:
            self._values[op.results[0]] = found
        return found is not None

    def _computed(self, op: ir.Operation) -> ir.Value | Number | Stack | None:
        type_ = op.results[0].type
        if is_one_integer(type_) and op.operands:
            number = computed(op, [self._number(v) for v in op.operands])
            if number is not None:
                return Number(number, type_)
        now = [self._now(v) for v in op.operands]
        if is_view(op):
            if isinstance(now[0], Stack) and op.name == "stablehlo.reshape":
                return now[0].reshaped(type_)
            return seen_as(now[0], type_) if isinstance(now[0], ir.Value) else None
        if op.name == "stablehlo.pad":
            return self._padded(op, now[0])
        return self._sum(op, now) if op.name == "stablehlo.add" else None

    def _padded(self, op: ir.Operation, now: ir.Value | Number | Stack) -> Stack | None:
        """The gradient of a slice of a stack: rows of zeros beside those of the slice."""
        low, high, inner = (
            list(op.attributes[n]) for n in ("edge_padding_low", "edge_padding_high", "interior_padding")
        )  # fmt: skip
        d = now.dim if isinstance(now, Stack) else 0
        if isinstance(now, Number) or any(inner) or min(low + high, default=0) < 0:
            return None
        if any(low[i] or high[i] for i in range(len(low)) if i != d) or not low[d] + high[d]:
            return None
        if not isinstance(now, Stack):
            if op.operands[0] not in self._results:
                return None
            now = Stack.of(now, d)
        return now.padded(low[d], high[d], self._emitted(op.operands[1]))

    def _sum(self, op: ir.Operation, now: Sequence[ir.Value | Number | Stack]) -> Stack | None:
        """The sum of stacks, one of which has rows of zeros: gradients of several slices of one."""
        stack = next((x for x in now if isinstance(x, Stack)), None)
        if stack is None:
            return None
        a, b = (
            x if isinstance(x, Stack) and x.dim == stack.dim else Stack.of(self._emitted(v), stack.dim)
            for v, x in zip(op.operands, now, strict=True)
        )  # fmt: skip
        return a.plus(b)

    def _starts(self, op: ir.Operation, indices: list[ir.Value], sizes: list[int]) -> list[int] | None:
        """Where a block of these sizes begins in the first operand; None where the program text does not say."""
        starts = [self._number(v) for v in indices]
        if None in starts:
            return None
        shape = op.operands[0].type.shape
        return [min(max(a or 0, 0), n - size) for a, n, size in zip(starts, shape, sizes, strict=True)]

    def _dynamic_slice(self, op: ir.Operation) -> ir.Value | Number | None:
        sizes = list(op.attributes["slice_sizes"])
        starts = self._starts(op, list(op.operands)[1:], sizes)
        return None if starts is None else self._block(op, starts, [a + n for a, n in zip(starts, sizes, strict=True)])

    def _slice(self, op: ir.Operation) -> ir.Value | Number | None:
        if any(n != 1 for n in op.attributes["strides"]):
            return None
        return self._block(op, list(op.attributes["start_indices"]), list(op.attributes["limit_indices"]))

    def _block(self, op: ir.Operation, start: list[int], limit: list[int]) -> ir.Value | Number:
        now = self._now(op.operands[0])
        if isinstance(now, Number):
            return now
        if isinstance(now, Stack):
            d = now.dim
            value = now.read(start[d], limit[d])
            start[d], limit[d] = 0, limit[d] - start[d]
            return block_of(value, start, limit)
        if is_one_integer(op.results[0].type) and (number := element_of(now, start)) is not None:
            return Number(number, op.results[0].type)
        return block_of(now, start, limit)

    def _update(self, op: ir.Operation) -> ir.Value | Stack | None:
        target, row = op.operands[0], op.operands[1]
        shape, sizes = list(target.type.shape), list(row.type.shape)
        part = [d for d, (n, size) in enumerate(zip(shape, sizes, strict=True)) if n != size]
        if not part:
            return self._emitted(row)
        starts = self._starts(op, list(op.operands)[2:], sizes)
        if starts is None or len(part) > 1:
            return None
        d, now = part[0], self._now(target)
        if not isinstance(now, Stack) or now.dim != d:
            now = Stack.of(self._emitted(target), d)
        return now.updated(self._emitted(row), starts[d])


def _activation(body: ir.Block) -> int | None:
    """The number of the largest tensor that an iteration computes of the last one, rather than writes a row of."""
    last = body.operations[-1].operation
    found = [
        (tensor_bytes(v.type), -i) for i, (v, a) in enumerate(zip(last.operands, body.arguments, strict=True))
        if v != a and v.type.rank and isinstance(v.type.element_type, ir.FloatType)
        and not (isinstance(v, ir.OpResult) and v.owner.name == "stablehlo.dynamic_update_slice")
    ]  # fmt: skip
    return -max(found)[1] if found else None
