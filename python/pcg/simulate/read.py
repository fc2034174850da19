"""From the program that every device runs to tasks and values.

Ops become kernels as the search assumes that a compiler fuses them (`pcg.search.fusion`), so both count the same
bytes; collectives, loops and conditionals are tasks of their own.  Values that no kernel writes do not exist.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.constants import constant_bytes
from pcg.ir.locations import argument_names
from pcg.ir.locations import place as where
from pcg.ir.loops import counted_trips
from pcg.ir.types import element_bytes, tensor_bytes
from pcg.ir.walk import functions
from pcg.machine.profile import Reordering
from pcg.rules import rule_for, traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.simulate.collectives import Pricer, element
from pcg.simulate.program import COMMUNICATION, COMPUTE, Program, Task
from pcg.simulate.reordering import (
    around,
    gathered_up,
    matrices,
    noncanonical,
    packing,
    reordering,
    reorders,
    stride_of,
)
from pcg.simulate.scope import Scope, aliases_of

#: What takes no time.
_NOTHING = Trait.GENERATOR | Trait.DEVICE_NUMBER | Trait.TOKEN



@dataclass
class _Kernel:
    """A fusion while its ops come in."""

    reads: dict[int, None] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    """Operations by the op that does them."""
    order: Reordering = Reordering()
    in_place: bool = True
    ops: int = 0


class Reader:
    """Reads functions of one module; `model` prices what they do.

    With `cpu`, as XLA's CPU backend has them: nothing but a product is fused into a reduction, operands of convolutions
    are copied into one order of dimensions, and gradients of pooling keep the places of the maxima.
    """

    def __init__(self, model: CostModel, module: ir.Operation | None = None, cpu: bool = False) -> None:
        self.model = model
        self.cpu = cpu
        self.price = Pricer(model)
        self._known: dict[tuple[Any, ...], float] = {}
        self._runs = 1
        """How often the block that is read runs per step."""
        self.functions = (
            {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)} if module is not None else {}
        )

    def function(self, func: ir.Operation, donated: Collection[int] = ()) -> Program:
        """The program of a function; arguments that it says are donated (or `donated`) may be written over."""
        self.fusion = Fusion(func, bare_reductions=self.cpu)
        program = Program(constants=constant_bytes(func))
        block = func.regions[0].blocks[0]
        scope = Scope(program, None)
        for a, name in zip(block.arguments, argument_names(func), strict=True):
            scope.values[a] = program.value(tensor_bytes(a.type), name)
        program.arguments = tuple(scope.values[a] for a in block.arguments)
        terminator = self._block(block, scope)
        program.results = tuple(self._result(scope, v) for v in terminator.operands)
        program.donated, program.aliases = aliases_of(func, terminator, donated)
        return program

    # -- blocks --------------------------------------------------------------------------------

    def _block(self, block: ir.Block, scope: Scope) -> ir.Operation:
        """Add the tasks of a block; returns its terminator."""
        kernels: dict[int, _Kernel] = {}
        ops = [op.operation for op in block.operations]
        for op in ops[:-1]:
            name = op.name
            if traits.has(name, _NOTHING):
                continue
            if traits.has(name, Trait.COLLECTIVE):
                self._collective(op, scope)
            elif name == "stablehlo.while":
                self._while(op, scope)
            elif name in BRANCHES:
                self._branches(op, scope)
            elif name == "stablehlo.optimization_barrier":
                self._barrier(op, scope)
            elif name == "func.call":
                self._call(op, scope)
            elif name in ("dist.send", "dist.recv"):
                self._message(op, scope)
            else:
                self._ordinary(op, kernels, scope)
        return ops[-1]

    def _ordinary(self, op: ir.Operation, kernels: dict[int, _Kernel], scope: Scope) -> None:
        """Put `op` into its kernels, and finish the one that it is the last op of."""
        numbers = self.fusion.kernels(op)
        if not numbers:
            return
        model, name = self.model, op.name
        flops = self._flops(op)
        written = [self.fusion.writes(op, i) for i in range(len(op.results))]
        touched = sum(
            tensor_bytes(r.type) for i, r in enumerate(op.results) if written[i] and model.touches(name, "result", i)
        )
        window = len(op.operands) > 0 and not model.touches(name, "operand", 0)
        for n in numbers:
            kernel = kernels.setdefault(n, _Kernel())
            kernel.flops += flops
            kernel.parts[name] = kernel.parts.get(name, 0.0) + flops
            if name == "stablehlo.transpose" and not self._follows(op, scope):
                # What an iteration of a loop has just made is in a cache, where columns are as near as rows.
                bytes_, order = tensor_bytes(op.results[0].type), kernel.order
                if reorders(op) and scope.program.inner != "loop":
                    kernel.order = replace(
                        order, turned=order.turned + bytes_, slab=max(order.slab, bytes_ / matrices(op)),
                        stride=max(order.stride, stride_of(op), key=lambda n: n & -n),
                    )  # fmt: skip
                elif reorders(op, rows=True):
                    kernel.order = replace(order, rows=order.rows + bytes_)
            kernel.bytes += touched
            kernel.ops += 1
            kernel.in_place &= not traits.has(name, Trait.NONLOCAL)
        for i, v in enumerate(op.operands):
            root = self.fusion.source(op, i)
            if not scope.knows(root):
                continue
            number = self._reordered(op, i, root, scope)
            for n in numbers:
                kernels[n].reads[number] = None
            for n in self.fusion.inputs(op, i):
                if model.touches(name, "operand", i):
                    kernels[n].bytes += tensor_bytes(v.type)
                elif i == 0 and window:
                    kernels[n].bytes += tensor_bytes(op.results[0].type) if model.touches(name, "result", 0) else 0.0
        if self.cpu and name == "stablehlo.select_and_scatter":
            kernels[min(numbers)].reads.update(dict.fromkeys(self._places(op, scope)))
        if any(written) or not op.results:
            again = self.fusion.reads_again(op)
            kernel = kernels.pop(min(numbers))
            kernel.bytes += 0.0 if again is None else tensor_bytes(op.operands[again].type)
            self._finish(op, kernel, scope)

    def _follows(self, op: ir.Operation, scope: Scope) -> bool:
        """Whether a transpose costs nothing because what a loop carries lies in the order in which its body makes it.

        What collectives make lies in the order of its dimensions.
        """
        if scope.program.inner != "loop":
            return False
        root = self.fusion.root(op.operands[0])
        return isinstance(root.owner, ir.Block) or not traits.has(root.owner.operation.name, Trait.COLLECTIVE)

    def _flops(self, op: ir.Operation) -> float:
        """Operations of `op`: those of its factor rule; alike for all of one name and types but contractions."""
        if traits.has(op.name, Trait.WORK_IN_ATTRIBUTES):
            return rule_for(op).flops
        key = op.name, *(v.type for v in op.operands), *(r.type for r in op.results)
        if key not in self._known:
            self._known[key] = rule_for(op).flops
        return self._known[key]

    def _finish(self, op: ir.Operation, kernel: _Kernel, scope: Scope) -> None:
        reads = tuple(kernel.reads)
        writes = tuple(scope.new(r) for r in op.results)
        contracts = traits.has(op.name, Trait.CONTRACTION)
        kind = element(op.operands[0] if contracts else op.results[0] if op.results else None)
        update = traits.has(op.name, Trait.UPDATE)
        over: dict[int, tuple[int, ...]] = {}
        if update:
            updated = self.fusion.root(op.operands[0])
            over = {writes[0]: (scope.number(updated),)} if scope.knows(updated) else {}
        elif kernel.in_place or op.name == "stablehlo.select_and_scatter":
            over = {w: reads for w in writes}
        seconds = self.model.kernel(_root(op, kernel), kind, kernel.parts, kernel.bytes, kernel.order)
        if self.cpu and op.name == "stablehlo.dot_general":
            seconds += packing(op, self.model)
        scope.program.tasks.append(
            Task(
                _short(op) + (f" +{kernel.ops - 1}" if kernel.ops > 1 else ""), "compute", seconds, (COMPUTE,), reads,
                writes, over, update, where=where(op.location), flops=kernel.flops, bytes=kernel.bytes,
            )
        )  # fmt: skip

    def _reordered(self, op: ir.Operation, operand: int, root: ir.Value, scope: Scope) -> int:
        """The number of an operand; that of a copy, if XLA's CPU backend reorders its dimensions for `op`.

        An operand of a convolution is transposed by itself, one of a contraction in the loop that makes it.
        """
        number = scope.number(root)
        if not self.cpu:
            return number
        bytes_ = tensor_bytes(op.operands[operand].type)
        kind = element(op.operands[operand])
        if op.name == "stablehlo.convolution" and noncanonical(op, operand):
            seconds = float(self.model.seconds("stablehlo.transpose", kind, 0.0, 2 * bytes_, kernels=1.0))
        elif op.name == "stablehlo.dot_general" and operand < 2 and (order := gathered_up(op, operand)) is not None:
            seconds = reordering(self.model, kind, order)
        else:
            return number
        new = scope.program.value(bytes_)
        task = Task("transpose", "compute", seconds, (COMPUTE,), (number,), (new,), bytes=2 * bytes_)
        scope.program.tasks.append(task)
        return new

    def _places(self, op: ir.Operation, scope: Scope) -> tuple[int, int]:
        """What a gradient of pooling becomes: where each maximum is, found early, and zeros to scatter into."""
        rank = ir.RankedTensorType(op.operands[0].type).rank
        element = ir.RankedTensorType(op.operands[1].type).element_type
        places = scope.program.value(4.0 * rank * tensor_bytes(op.operands[1].type) / element_bytes(element))
        zeros = scope.program.value(tensor_bytes(op.results[0].type))
        root = self.fusion.root(op.operands[0])
        reads = (scope.number(root),) if scope.knows(root) else ()
        scope.program.tasks.append(Task("places", "compute", 0.0, (COMPUTE,), reads, (places,)))
        scope.program.tasks.append(Task("zeros", "compute", 0.0, (COMPUTE,), (), (zeros,)))
        return places, zeros

    def _collective(self, op: ir.Operation, scope: Scope) -> None:
        sent = self.price(op)
        seconds = sent.seconds
        if self.cpu:
            seconds += around(op, self.fusion, self.model, lambda: self._read_beside(op.operands[0], scope))
        reads = self._reads(op, scope)
        writes = tuple(scope.new(r) for r in op.results)
        scope.program.tasks.append(
            Task(
                sent.kind, "collective", seconds, (COMMUNICATION,), reads, writes,
                grows=sent.kind == "all_gather", where=where(op.location), bytes=sent.bytes,
                detail={
                    "axes": sent.axes, "type": " ".join(_type(r) for r in op.results), "joint": sent.joint,
                    "by": _reduction(op),
                },
            )
        )  # fmt: skip

    def _read_beside(self, value: ir.Value, scope: Scope) -> float:
        """Bytes that the loop reads which makes `value`, but for as many as it writes; 0 if no loop makes it."""
        root = self.fusion.root(value)
        if isinstance(root.owner, ir.Block) or not self.fusion.is_loop(root.owner.operation) or not scope.knows(root):
            return 0.0
        made = scope.program.maker(scope.number(root))
        return 0.0 if made is None else max(0.0, made.bytes - 2 * tensor_bytes(root.type))

    def _message(self, op: ir.Operation, scope: Scope) -> None:
        """One end of a message to or from another process; how long it takes depends on both."""
        reads = self._reads(op, scope)
        writes = tuple(scope.new(r) for r in op.results)
        value = op.results[0] if op.results else op.operands[0]
        tag, peer = (int(ir.IntegerAttr(op.attributes[a]).value) for a in ("tag", "peer"))
        name = op.name.removeprefix("dist.")
        scope.program.tasks.append(
            Task(
                name, "transfer", 0.0, (COMMUNICATION,), reads, writes, where=where(op.location),
                bytes=tensor_bytes(value.type),
                detail={"tag": tag, "peer": peer, "type": _type(value)},
            )
        )  # fmt: skip

    def _barrier(self, op: ir.Operation, scope: Scope) -> None:
        """What comes out of a barrier is what went in, once all of it is there."""
        reads = self._reads(op, scope)
        over = {}
        writes = []
        for v, r in zip(op.operands, op.results, strict=True):
            root = self.fusion.root(v)
            if scope.knows(root):
                w = scope.new(r)
                writes.append(w)
                over[w] = (scope.number(root),)
        scope.program.tasks.append(Task("barrier", "barrier", 0.0, (), reads, tuple(writes), over))

    def _call(self, op: ir.Operation, scope: Scope) -> None:
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        block = callee.regions[0].blocks[0]
        caller, self.fusion = self.fusion, Fusion(callee, bare_reductions=self.cpu)
        inner = Scope(scope.program, None)
        for v, a in zip(op.operands, block.arguments, strict=True):
            root = caller.root(v)
            inner.values[a] = scope.number(root) if scope.knows(root) else scope.program.value(0.0)
        terminator = self._block(block, inner)
        for v, r in zip(terminator.operands, op.results, strict=True):
            scope.values[r] = self._result(inner, v)
        self.fusion = caller

    # -- control flow --------------------------------------------------------------------------

    def _while(self, op: ir.Operation, scope: Scope) -> None:
        trips = counted_trips(op, self._runs)
        reads = list(self._reads(op, scope))
        body = Program(inner="loop")
        inner = Scope(body, scope)
        block = op.regions[1].blocks[0]
        for a in block.arguments:
            inner.values[a] = body.value(tensor_bytes(a.type))
        body.arguments = tuple(inner.values[a] for a in block.arguments)
        condition = op.regions[0].blocks[0]
        for a, b in zip(condition.arguments, block.arguments, strict=True):
            inner.values[a] = inner.values[b]
        before, self._runs = self._runs, self._runs * max(1, trips)
        self._block(condition, inner)
        terminator = self._block(block, inner)
        self._runs = before
        body.results = tuple(self._result(inner, v) for v in terminator.operands)
        reads += [n for n in inner.captured if n not in reads]
        over, writes, passed = {}, [], {}
        for v, r, a, y in zip(op.operands, op.results, block.arguments, terminator.operands, strict=True):
            w = scope.new(r)
            writes.append(w)
            root = self.fusion.root(v)
            if scope.knows(root):
                over[w] = (scope.number(root),)
                if y == a:
                    passed[w] = scope.number(root)
        scope.program.tasks.append(
            Task(
                "while", "loop", 0.0, (COMPUTE,), tuple(reads), tuple(writes), over, True, passed, bodies=(body,),
                trips=trips, where=where(op.location),
            )
        )  # fmt: skip

    def _branches(self, op: ir.Operation, scope: Scope) -> None:
        reads = list(self._reads(op, scope))
        bodies = []
        for region in op.regions:
            body = Program(inner="branch")
            inner = Scope(body, scope)
            terminator = self._block(region.blocks[0], inner)
            body.results = tuple(self._result(inner, v) for v in terminator.operands)
            reads += [n for n in inner.captured if n not in reads]
            bodies.append(body)
        writes = tuple(scope.new(r) for r in op.results)
        scope.program.tasks.append(
            Task(
                op.name.removeprefix("stablehlo."), "branch", 0.0, (COMPUTE,), tuple(reads), writes,
                bodies=tuple(bodies), where=where(op.location),
            )
        )  # fmt: skip

    # -- values --------------------------------------------------------------------------------

    def _reads(self, op: ir.Operation, scope: Scope) -> tuple[int, ...]:
        roots = (self.fusion.root(v) for v in op.operands)
        return tuple(dict.fromkeys(scope.number(r) for r in roots if scope.knows(r)))

    def _result(self, scope: Scope, value: ir.Value) -> int:
        """The number of a value that leaves its block; a constant is written for it."""
        root = self.fusion.root(value)
        return scope.number(root) if scope.knows(root) else scope.program.value(tensor_bytes(value.type))


def _short(op: ir.Operation) -> str:
    return op.name.removeprefix("stablehlo.")


def _root(op: ir.Operation, kernel: _Kernel) -> str:
    """The op that a kernel runs at the pace of: a transpose only if it is one and nothing else is fused with it."""
    if op.name == "stablehlo.transpose" and (not kernel.order.turned or kernel.ops > 1):
        return "stablehlo.copy"
    return op.name


def _type(value: ir.Value) -> str:
    t = value.type
    return f"{t.element_type}[{','.join(map(str, t.shape))}]" if isinstance(t, ir.RankedTensorType) else str(t)


def _reduction(op: ir.Operation) -> str:
    """What a collective combines elements with; empty if it does not."""
    if not op.regions or not op.regions[0].blocks:
        return ""
    return str(op.regions[0].blocks[0].operations[0].operation.name).rpartition(".")[2]
