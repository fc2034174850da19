"""From the program that every device runs to a graph of tasks and values.

Ops become kernels as the search assumes that a compiler fuses them (`pcg.search.fusion`), so both count the same
bytes; collectives, loops and conditionals are tasks of their own.  Values that no kernel writes do not exist.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.constants import constant_bytes
from pcg.ir.locations import argument_names
from pcg.ir.locations import place as where
from pcg.ir.loops import assumed_iterations
from pcg.ir.types import element_bytes, tensor_bytes
from pcg.ir.walk import functions
from pcg.machine.profile import Reordering
from pcg.rules import traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.simulate.collectives import CollectiveCosts, element
from pcg.simulate.kernels import Kernel, OpWork, OpWorks
from pcg.simulate.reordering import (
    around_collective,
    matrix_reordering,
    noncanonical,
    packing,
    read_stride,
    reordering,
    reorders,
    transposed_blocks,
)
from pcg.simulate.scope import Scope, aliases_of
from pcg.simulate.task_graph import COMMUNICATION, COMPUTE, Task, TaskGraph

#: Traits of ops that take no time.
_NO_TIME = Trait.GENERATOR | Trait.DEVICE_NUMBER | Trait.TOKEN


class TaskReader:
    """Reads functions of one module as task graphs; `model` says what tasks cost.

    With `cpu`, as XLA's CPU backend compiles them: only products are fused into a reduction, operands of convolutions
    are copied into one order of dimensions, and gradients of pooling keep the indices of the maxima.
    """

    def __init__(
        self, model: CostModel, module: ir.Operation | None = None, cpu: bool = False, works: OpWorks | None = None
    ) -> None:
        self.model = model
        self.cpu = cpu
        self.collective_cost = CollectiveCosts(model)
        self._work = works or OpWorks()
        self._runs = 1
        """How often the block that is read runs per step."""
        self.functions = (
            {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)} if module is not None else {}
        )

    def function(self, func: ir.Operation, donated: Collection[int] = ()) -> TaskGraph:
        """The program of a function; arguments that it says are donated (or `donated`) may be written over."""
        self.fusion = Fusion(func, bare_reductions=self.cpu)
        graph = TaskGraph(constants=constant_bytes(func))
        block = func.regions[0].blocks[0]
        scope = Scope(graph, None)
        for a, name in zip(block.arguments, argument_names(func), strict=True):
            scope.values[a] = graph.value(tensor_bytes(a.type), name)
        graph.arguments = tuple(scope.values[a] for a in block.arguments)
        terminator = self._block(block, scope)
        graph.results = tuple(self._result(scope, v) for v in terminator.operands)
        graph.donated, graph.aliases = aliases_of(func, terminator, donated)
        return graph

    # -- blocks --------------------------------------------------------------------------------

    def _block(self, block: ir.Block, scope: Scope) -> ir.Operation:
        """Add the tasks of a block; returns its terminator."""
        kernels: dict[int, Kernel] = {}
        ops = [op.operation for op in block.operations]
        for op in ops[:-1]:
            name = op.name
            if traits.has(name, _NO_TIME):
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

    def _ordinary(self, op: ir.Operation, kernels: dict[int, Kernel], scope: Scope) -> None:
        """Put `op` into its kernels, and finish the one that it is the last op of."""
        numbers = self.fusion.kernels(op)
        if not numbers:
            return
        name, work = op.name, self._work(op)
        written = [n for n, r in zip(work.writes, op.results, strict=True) if self.fusion.is_written(r)]
        order = Reordering() if name != "stablehlo.transpose" else self._transposed(op, scope)
        for n in numbers:
            kernel = kernels.get(n)
            if kernel is None:
                kernel = kernels[n] = Kernel()
            kernel.add(name, work)
            kernel.bytes += sum(written)
            if order.transposed:
                kernel.order = replace(
                    kernel.order, transposed=kernel.order.transposed + order.transposed,
                    slab=max(kernel.order.slab, order.slab),
                    stride=max(kernel.order.stride, order.stride, key=lambda n: n & -n),
                )  # fmt: skip
            elif order.rows:
                kernel.order = replace(kernel.order, rows=kernel.order.rows + order.rows)
        for i, size in enumerate(work.reads):
            root = self.fusion.source(op, i)
            if not scope.knows(root):
                continue
            number = self._operand(op, i, root, scope)
            for n in numbers:
                kernels[n].reads[number] = None
            for n in self.fusion.inputs(op, i):
                kernels[n].bytes += size
        if self.cpu and name == "stablehlo.select_and_scatter":
            kernels[min(numbers)].reads.update(dict.fromkeys(self._pooling_buffers(op, scope)))
        if written or not work.writes:
            kernel = kernels.pop(min(numbers))
            kernel.bytes += work.again
            self._finish(op, kernel, work, scope)

    def _transposed(self, op: ir.Operation, scope: Scope) -> Reordering:
        """How a transpose reads what is in memory, if it costs anything.

        In a loop it does not if the loop may carry its operand in any order of dimensions in memory; results of
        collectives are in the order of their dimensions.  And a value that the same iteration computed is in a cache,
        where columns are as near as rows.
        """
        loop = scope.graph.inner == "loop"
        if loop:
            root = self.fusion.root(op.operands[0])
            if isinstance(root.owner, ir.Block) or not traits.has(root.owner.operation.name, Trait.COLLECTIVE):
                return Reordering()
        size = tensor_bytes(op.results[0].type)
        if reorders(op) and not loop:
            return Reordering(transposed=size, slab=size / transposed_blocks(op), stride=read_stride(op))
        return Reordering(rows=size if reorders(op, rows=True) else 0.0)

    def _finish(self, op: ir.Operation, kernel: Kernel, work: OpWork, scope: Scope) -> None:
        reads = tuple(kernel.reads)
        writes = scope.results(op)
        update = traits.has(op.name, Trait.UPDATE)
        over: dict[int, tuple[int, ...]] = {}
        if update:
            updated = self.fusion.root(op.operands[0])
            over = {writes[0]: (scope.number(updated),)} if scope.knows(updated) else {}
        elif kernel.in_place or op.name == "stablehlo.select_and_scatter":
            over = {w: reads for w in writes}
        seconds = self.model.kernel(
            kernel.root(op), work.element, kernel.parts, kernel.bytes, kernel.order, kernel.expanded
        )  # fmt: skip
        if self.cpu and op.name == "stablehlo.dot_general":
            seconds += packing(op, self.model)
        scope.graph.tasks.append(
            Task(
                _short(op) + (f" +{kernel.ops - 1}" if kernel.ops > 1 else ""), "compute", seconds, (COMPUTE,), reads,
                writes, over, update, where=where(op.location), flops=kernel.flops, bytes=kernel.bytes,
            )
        )  # fmt: skip

    def _operand(self, op: ir.Operation, operand: int, root: ir.Value, scope: Scope) -> int:
        """The number of an operand; that of a copy, if XLA's CPU backend reorders its dimensions for `op`.

        An operand of a convolution is transposed by itself, one of a contraction in the loop that computes it.
        """
        number = scope.number(root)
        if not self.cpu:
            return number
        bytes_ = tensor_bytes(op.operands[operand].type)
        kind = element(op.operands[operand])
        if op.name == "stablehlo.convolution" and noncanonical(op, operand):
            seconds = float(self.model.seconds("stablehlo.transpose", kind, 0.0, 2 * bytes_, kernels=1.0))
        elif op.name == "stablehlo.dot_general" and operand < 2 and (order := matrix_reordering(op, operand)):
            seconds = reordering(self.model, kind, order)
        else:
            return number
        new = scope.graph.value(bytes_)
        task = Task("transpose", "compute", seconds, (COMPUTE,), (number,), (new,), bytes=2 * bytes_)
        scope.graph.tasks.append(task)
        return new

    def _pooling_buffers(self, op: ir.Operation, scope: Scope) -> tuple[int, int]:
        """What a gradient of pooling reads too: the indices of the maxima, found early, and zeros to scatter into."""
        rank = ir.RankedTensorType(op.operands[0].type).rank
        element = ir.RankedTensorType(op.operands[1].type).element_type
        places = scope.graph.value(4.0 * rank * tensor_bytes(op.operands[1].type) / element_bytes(element))
        zeros = scope.graph.value(tensor_bytes(op.results[0].type))
        root = self.fusion.root(op.operands[0])
        reads = (scope.number(root),) if scope.knows(root) else ()
        scope.graph.tasks.append(Task("places", "compute", 0.0, (COMPUTE,), reads, (places,)))
        scope.graph.tasks.append(Task("zeros", "compute", 0.0, (COMPUTE,), (), (zeros,)))
        return places, zeros

    def _collective(self, op: ir.Operation, scope: Scope) -> None:
        cost = self.collective_cost(op)
        seconds = cost.seconds
        if self.cpu:
            seconds += around_collective(op, self.fusion, self.model, lambda: self._excess_read(op.operands[0], scope))
        reads = self._reads(op, scope)
        writes = scope.results(op)
        scope.graph.tasks.append(
            Task(
                cost.kind, "collective", seconds, (COMMUNICATION,), reads, writes,
                grows=cost.kind == "all_gather", where=where(op.location), bytes=cost.bytes,
                detail={
                    "axes": cost.axes, "type": " ".join(_type(r) for r in op.results), "joint": cost.joint,
                    "by": _reduction(op),
                },
            )
        )  # fmt: skip

    def _excess_read(self, value: ir.Value, scope: Scope) -> float:
        """Bytes that the loop reads which computes `value`, less as many as it writes; 0 if no loop computes it."""
        root = self.fusion.root(value)
        if isinstance(root.owner, ir.Block) or not self.fusion.is_loop(root.owner.operation) or not scope.knows(root):
            return 0.0
        writer = scope.graph.writers().get(scope.number(root))
        return 0.0 if writer is None else max(0.0, scope.graph.tasks[writer].bytes - 2 * tensor_bytes(root.type))

    def _message(self, op: ir.Operation, scope: Scope) -> None:
        """One end of a message to or from another process; its seconds, which depend on both, are filled in later."""
        reads = self._reads(op, scope)
        writes = scope.results(op)
        value = op.results[0] if op.results else op.operands[0]
        tag, peer = (int(ir.IntegerAttr(op.attributes[a]).value) for a in ("tag", "peer"))
        name = op.name.removeprefix("dist.")
        scope.graph.tasks.append(
            Task(
                name, "transfer", 0.0, (COMMUNICATION,), reads, writes, where=where(op.location),
                bytes=tensor_bytes(value.type),
                detail={"tag": tag, "peer": peer, "type": _type(value)},
            )
        )  # fmt: skip

    def _barrier(self, op: ir.Operation, scope: Scope) -> None:
        """The results of a barrier are its operands, once all of them are there."""
        reads = self._reads(op, scope)
        over = {}
        writes = []
        for v, r in zip(op.operands, op.results, strict=True):
            root = self.fusion.root(v)
            if scope.knows(root):
                w = scope.new(r)
                writes.append(w)
                over[w] = (scope.number(root),)
        scope.graph.tasks.append(Task("barrier", "barrier", 0.0, (), reads, tuple(writes), over))

    def _call(self, op: ir.Operation, scope: Scope) -> None:
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        block = callee.regions[0].blocks[0]
        caller, self.fusion = self.fusion, Fusion(callee, bare_reductions=self.cpu)
        inner = Scope(scope.graph, None)
        for v, a in zip(op.operands, block.arguments, strict=True):
            root = caller.root(v)
            inner.values[a] = scope.number(root) if scope.knows(root) else scope.graph.value(0.0)
        terminator = self._block(block, inner)
        for v, r in zip(terminator.operands, op.results, strict=True):
            scope.values[r] = self._result(inner, v)
        self.fusion = caller

    # -- control flow --------------------------------------------------------------------------

    def _while(self, op: ir.Operation, scope: Scope) -> None:
        iterations = assumed_iterations(op, self._runs)
        reads = list(self._reads(op, scope))
        body = TaskGraph(inner="loop")
        inner = Scope(body, scope)
        block = op.regions[1].blocks[0]
        for a in block.arguments:
            inner.values[a] = body.value(tensor_bytes(a.type))
        body.arguments = tuple(inner.values[a] for a in block.arguments)
        condition = op.regions[0].blocks[0]
        for a, b in zip(condition.arguments, block.arguments, strict=True):
            inner.values[a] = inner.values[b]
        before, self._runs = self._runs, self._runs * max(1, iterations)
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
        scope.graph.tasks.append(
            Task(
                "while", "loop", 0.0, (COMPUTE,), tuple(reads), tuple(writes), over, True, passed, bodies=(body,),
                iterations=iterations, where=where(op.location),
            )
        )  # fmt: skip

    def _branches(self, op: ir.Operation, scope: Scope) -> None:
        reads = list(self._reads(op, scope))
        bodies = []
        for region in op.regions:
            body = TaskGraph(inner="branch")
            inner = Scope(body, scope)
            terminator = self._block(region.blocks[0], inner)
            body.results = tuple(self._result(inner, v) for v in terminator.operands)
            reads += [n for n in inner.captured if n not in reads]
            bodies.append(body)
        writes = scope.results(op)
        scope.graph.tasks.append(
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
        """The number of a value that its block returns; a constant gets one of its own."""
        root = self.fusion.root(value)
        return scope.number(root) if scope.knows(root) else scope.graph.value(tensor_bytes(value.type))


def _short(op: ir.Operation) -> str:
    return op.name.removeprefix("stablehlo.")


def _type(value: ir.Value) -> str:
    t = value.type
    return f"{t.element_type}[{','.join(map(str, t.shape))}]" if isinstance(t, ir.RankedTensorType) else str(t)


def _reduction(op: ir.Operation) -> str:
    """What a collective combines elements with; empty if it does not."""
    if not op.regions or not op.regions[0].blocks:
        return ""
    return str(op.regions[0].blocks[0].operations[0].operation.name).rpartition(".")[2]
