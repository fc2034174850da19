"""From the IR to the structure of the graph of the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.constants import constant_bytes
from pcg.ir.loops import RUNS, assumed_iterations, result_runs, runs_of, trip_count
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.stages import PHASE, STAGE
from pcg.rules import rule_for, traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait
from pcg.search.choices import Choices, uses
from pcg.search.fusion import Fusion
from pcg.search.graph import Edge, Source
from pcg.search.lifespans import Key, Lifespans, Untracked, of_operand
from pcg.search.read_work import WorkReader
from pcg.search.roles import data_of, donated_of
from pcg.search.structure import Decision, Structure
from pcg.search.timing import EdgeTimings


@dataclass
class StructureReader:
    """Reads the structure of one function; `choices` says which of its values any device can make."""

    func: ir.Operation
    choices: Choices
    reader: WorkReader
    spans: Lifespans
    found: Structure = field(default_factory=Structure)
    _generated: dict[ir.Value, bool] = field(default_factory=dict)
    _nonlocal: set[ir.Value] = field(default_factory=set)
    """What stays in kernels, and is computed from elements elsewhere in what these read."""
    _arguments: dict[int, int] = field(default_factory=dict)
    """Arguments by the nodes through which several ops read them."""

    @classmethod
    def read(
        cls, func: ir.Operation, state: dict[int, int], choices: Choices, *, memory: bool = True
    ) -> Structure:
        """The structure of `func`; `state` maps results to the arguments whose layout they keep.

        Without `memory` it says nothing of when values are alive.
        """
        return cls(func, choices, WorkReader(Fusion(func)), Lifespans() if memory else Untracked())._read(state)

    def _read(self, state: dict[int, int]) -> Structure:
        found, func = self.found, self.func
        found.state, found.constants = state, constant_bytes(func)
        block = func.regions[0].blocks[0]
        for arg in block.arguments:
            node = self._value("argument", "argument", arg)
            found.arguments.append(node)
            found.values[arg] = Source(node)
            self._define(node, 0, arg)
            if uses(arg) > 1:
                layout = self._layout_node(arg, (node, 0), _redistributions(arg))
                self._arguments[layout] = node
                self.spans.back((layout, 0), frozenset({(node, 0)}))
        found.data = [found.arguments[i] for i in data_of(func, state)]
        fixed_results = shardings.function_result_specs(func)
        returned = self._block(block, 1.0)
        for i, (value, times) in enumerate(zip(returned, map(float, result_runs(func)), strict=True)):
            if i in state and fixed_results[i] is None:
                node = found.arguments[state[i]]
            else:
                shape, itemsize, _ = self.reader.describe(value)
                node = self._node(Decision("result", "result", times, i, shape, itemsize))
            found.results.append(node)
            self._connect(value, node, 0, times)
        kept_in = {j: found.values[returned[i]] for i, j in state.items()}
        donated = {found.arguments[j]: (s.node, s.slot) if (s := kept_in.get(j)) else None for j in donated_of(func)}
        layouts = {node: layout for layout, node in self._arguments.items()}
        found.live_ranges = self.spans.ranges(found.arguments, donated, layouts)
        found.alone = self.spans.alone(found.arguments, donated, layouts)
        found.resharded, found.written_over = self.spans.resharded(), self.spans.written_over
        found.timings = EdgeTimings.of(found.decisions, found.reads, found.arguments, found.loop_ends)
        return found

    # -- nodes and edges -----------------------------------------------------------------------

    def _node(self, decision: Decision) -> int:
        self.found.decisions.append(decision)
        return len(self.found.decisions) - 1

    def _value(
        self, kind: str, name: str, value: ir.Value, times: float = 1.0, source: tuple[int, int] = (-1, 0)
    ) -> int:
        """Add a node for a value."""
        shape, itemsize, _ = self.reader.describe(value)
        return self._node(Decision(kind, name, times, value, shape, itemsize, source))

    def _define(self, node: int, slot: int, value: ir.Value) -> None:
        shape, itemsize, _ = self.reader.describe(value)
        self.spans.define((node, slot), math.prod(shape) * itemsize)

    def _connect(self, value: ir.Value, dst: int, index: int, times: float) -> None:
        """Make `value` operand `index` of node `dst`."""
        source = self.found.values[value]
        shape, itemsize, _ = self.reader.describe(value)
        if source.free:
            self.found.free_reads.append(Edge(-1, 0, dst, index, shape, itemsize, times))
            return
        self.found.reads.append(Edge(source.node, source.slot, dst, index, shape, itemsize, times))
        self.spans.read((source.node, source.slot))
        if self.found.decisions[dst].kind == "op":
            kept = (self._arguments.get(source.node, source.node), source.slot)
            self.spans.reshard((dst, index), math.prod(shape) * itemsize, kept)

    # -- programs ------------------------------------------------------------------------------

    def _block(self, block: ir.Block, times: float) -> list[ir.Value]:
        """Add all ops of `block`; return the operands of its terminator."""
        ops = [op.operation for op in block.operations]
        for op in ops[:-1]:
            self.spans.clock += 1
            own = times * runs_of(op)
            if op.name == "stablehlo.while":
                self._while(op, own)
            elif op.name in BRANCHES:
                self._branches(op, own)
            elif op.name == "stablehlo.optimization_barrier":
                self._barrier(op, own)
            elif op.name in CONSTRAINTS:
                self._constraint(op, own)
            elif self.choices.is_free(op, self.found.values):
                self.found.free.append(op)
                self.found.values[op.results[0]] = Source(-1, free=True)
            else:
                self._op(op, own)
        self.spans.clock += 1
        return list(ops[-1].operands)

    def is_generated(self, value: ir.Value) -> bool:
        """Whether a value is computed from constants alone, by ops that any device can do for any part of it."""
        if isinstance(value, ir.BlockArgument):
            return False
        if value not in self._generated:
            op = value.owner.operation
            name = op.name
            alone = traits.has(name, Trait.PROPAGATES_GENERATOR) and uses(value) < 2
            alone = alone or traits.has(name, Trait.GENERATOR) or name in CONSTRAINTS
            self._generated[value] = alone and len(op.results) == 1 and all(map(self.is_generated, op.operands))
        return self._generated[value]

    def _op(self, op: ir.Operation, times: float) -> None:
        found, fusion, results = self.found, self.reader.fusion, list(op.results)
        node = self._node(Decision("op", op.name, times, op))
        kernels = fusion.kernels(op)
        found.ops.append((op, node))
        found.works[node] = self.reader.work(op, rule_for(op))
        written = not results or any(map(fusion.is_written, results))
        found.kernels[node] = tuple(sorted(kernels)), written
        if len(results) == 1 and self.is_generated(results[0]):
            found.generated.add(node)
        operands = list(op.operands)
        for i, value in enumerate(operands):
            self._connect(value, node, i, times)
        for slot, result in enumerate(results):
            self._produce(op, operands, result, node, slot, times, bool(kernels))

    def _produce(
        self, op: ir.Operation, operands: Sequence[ir.Value], result: ir.OpResult, node: int, slot: int, times: float,
        in_kernel: bool,
    ) -> None:  # fmt: skip
        """Register a result; give it a layout node when several ops read it."""
        self.found.values[result] = Source(node, slot)
        key = node, slot
        if uses(result) > 1:
            key = self._layout_node(result, key, times), 0
        if not isinstance(self.spans, Untracked):
            self._keep(op, operands, result, (node, slot), key, in_kernel)

    def _keep(
        self, op: ir.Operation, operands: Sequence[ir.Value], result: ir.OpResult, of: Key, key: Key, in_kernel: bool
    ) -> None:
        """Say where result `of` is in memory, and `key`, the layout in which it is kept."""
        node, _ = of
        sources = [self._sources(v) for v in operands]
        # Whether the kernel that ends with it needs elements of what it reads for those elsewhere in the result.
        elsewhere = in_kernel and traits.has(op.name, Trait.NONLOCAL)
        elsewhere = elsewhere or not self._nonlocal.isdisjoint(operands)
        if elsewhere and not self.reader.fusion.is_written(op.results[0]):
            self._nonlocal.add(result)
        shape, itemsize, _ = self.reader.describe(result)
        size = math.prod(shape) * itemsize
        backing = self._backing(op, sources)
        if backing is None:
            over = len(op.results) == 1 and not elsewhere
            self.spans.define(of, size, frozenset().union(*sources) if over else frozenset())
            if key != of:  # in one memory if both have one layout
                self.spans.define(key, size, frozenset({of}))
            return
        # Gathered are values in memory; what is computed on the way is not, and there may be thousands of steps.
        backing |= {of_operand((node, i)) for i, keys in enumerate(sources) if len(keys) == 1}
        own = None if CostModel.in_place(op.name) else size
        self.spans.back(of, backing, own)
        if key != of:
            self.spans.reshard(key, size, of)
            self.spans.back(key, backing | {of_operand(key)}, own)

    def _backing(self, op: ir.Operation, sources: Sequence[frozenset[Key]]) -> frozenset[Key] | None:
        """What must be alive for the result of `op` to be read; None where results have memory of their own."""
        values = self.reader.fusion.backing(op)
        if values is None:
            return None
        found = frozenset[Key]().union(*sources[: len(values)])
        # A constant is written for what is updated in place.
        return found if found or not CostModel.in_place(op.name) else None

    def _sources(self, value: ir.Value) -> frozenset[Key]:
        """What must be alive for a value to be read."""
        s = self.found.values[value]
        return frozenset() if s.free else self.spans.backs((s.node, s.slot))

    def _layout_node(self, value: ir.Value, source: Key, times: float) -> int:
        """The layout in which a value that several ops read is kept: they share what it takes to get there."""
        node = self._value("layout", "layout", value, times, source)
        self._connect(value, node, 0, times)
        self.found.values[value] = Source(node)
        self.found.layout_nodes.append((value, node))
        return node

    def _constraint(self, op: ir.Operation, times: float) -> None:
        node = self._value("layout", op.name, op.results[0], times)
        self.found.constraints.append((op, node))
        self._connect(op.operands[0], node, 0, times)
        self.found.values[op.results[0]] = Source(node)
        self._define(node, 0, op.results[0])

    def _barrier(self, op: ir.Operation, times: float) -> None:
        """Operands of a barrier have nothing to do with each other: each keeps a spec of its own."""
        nodes = []
        for value, result in zip(op.operands, op.results, strict=True):
            node = self._value("layout", op.name, result, times)
            self._connect(value, node, 0, times)
            self.found.values[result] = Source(node)
            self._define(node, 0, result)
            nodes.append(node)
        self.found.barriers.append((op, nodes))

    def _sink(self, value: ir.Value, times: float) -> None:
        """A value that every device needs in full: replicated."""
        node = self._value("sink", "sink", value, times)
        self._connect(value, node, 0, times)

    def _while(self, op: ir.Operation, times: float) -> None:
        found = self.found
        inner = times * max(1, assumed_iterations(op, times))
        if times * (trip_count(op) or 0) > inner:
            found.endless.append(op)
        carries = []
        body = op.regions[1].blocks[0]
        yields = body.operations[-1].operation.operands
        aliased = [found.values[v] for v, y, a in zip(op.operands, yields, body.arguments, strict=True) if y == a]
        start = self.spans.clock + 1
        for i, value in enumerate(op.operands):
            shape, itemsize, _ = self.reader.describe(value)
            node = self._value("carry", "carry", op.results[i], inner)
            self._connect(value, node, 0, times)
            carries.append(node)
            # The loop's buffer takes over its initial value's.
            self.spans.define((node, 0), math.prod(shape) * itemsize, at=self.spans.clock + 1)
            for region in op.regions:
                found.values[region.blocks[0].arguments[i]] = Source(node)
            found.values[op.results[i]] = Source(node)
        found.carries.append((op, carries))
        (predicate,) = self._block(op.regions[0].blocks[0], inner)
        self._sink(predicate, inner)
        for node, value in zip(carries, self._block(op.regions[1].blocks[0], inner), strict=True):
            self._connect(value, node, 0, inner)
        found.loop_ends.update(dict.fromkeys(carries, len(found.decisions)))
        for n in carries:
            self.spans.read((n, 0))
        for source in aliased:
            if not source.free:
                self.spans.hand_on((source.node, source.slot), start)

    def _branches(self, op: ir.Operation, times: float) -> None:
        self._sink(op.operands[0], times)
        nodes = []
        for result in op.results:
            nodes.append(self._value("carry", "branch", result, times))
            self._define(nodes[-1], 0, result)
        for region in op.regions:
            for node, value in zip(nodes, self._block(region.blocks[0], times), strict=True):
                self._connect(value, node, 0, times)
        for node, result in zip(nodes, op.results, strict=True):
            self.found.values[result] = Source(node)
        self.found.carries.append((op, nodes))


def _redistributions(argument: ir.Value) -> float:
    """How often an argument gets another layout per step: once, but in each microbatch by each program of a pipeline
    that reads it."""
    readers = [use.owner.operation for use in argument.uses]
    programs = {
        (str(op.attributes[PHASE]), str(op.attributes[STAGE])): runs_of(op) for op in readers if RUNS in op.attributes
    }  # fmt: skip
    return float(max(1, sum(programs.values())))
