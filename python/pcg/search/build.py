"""From the IR to the graph of the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.constants import constant_bytes
from pcg.ir.loops import assumed_iterations, trip_count
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.reshard import MASK_SECONDS
from pcg.rules import rule_for, traits
from pcg.rules.factor import FactorRule
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait
from pcg.search.built import Built, Exchange, unmasked_of
from pcg.search.choices import Annotated, Choices, uses
from pcg.search.fusion import Fusion
from pcg.search.graph import Edge, Graph, Node, Source
from pcg.search.lifespans import Key, Lifespans, of_operand
from pcg.search.op_cost import OpCost
from pcg.search.port import Port
from pcg.search.read_schedule import ONCE
from pcg.search.roles import data_of, donated_of
from pcg.search.table import Table, Tables
from pcg.search.timing import time_edges
from pcg.solve.network import FORBIDDEN

#: Share of the time to read an argument once that is added to a layout of it.  Chosen: far below any real difference
#: between two plans, and far above rounding, so it decides between equal ones alone (decision 5).
_TIE = 1e-3


@dataclass
class Builder:
    """Builds the graph of one function; `choices` says what its nodes may be."""

    model: CostModel
    tables: Tables
    progress: Callable[[str], None] = lambda _: None
    choices: Choices = field(default_factory=Annotated)
    spans: Lifespans = field(default_factory=Lifespans)
    _generated: dict[ir.Value, bool] = field(default_factory=dict)
    _nonlocal: set[ir.Operation] = field(default_factory=set)
    _arguments: dict[int, int] = field(default_factory=dict)
    """Arguments by the nodes through which several ops read them."""
    _exchanging: list[tuple[ir.Operation, FactorRule, int]] = field(default_factory=list)
    func: ir.Operation = field(init=False)
    built: Built = field(init=False)
    graph: Graph = field(init=False)
    costs: OpCost = field(init=False)

    def build(self, func: ir.Operation, state: dict[int, int]) -> Built:
        """The graph of `func`; `state` maps results to the arguments whose layout they keep."""
        graph = Graph()
        self.func = func
        self.costs = OpCost(self.model, Fusion(func))
        self.built = built = Built(graph, state=state, constants=constant_bytes(func))
        self.graph = graph
        block = func.regions[0].blocks[0]
        for i, arg in enumerate(block.arguments):
            shape, itemsize, _ = self.costs.describe(arg)
            open_dims = shardings.signature_open_dims(func, "arg_attrs", i)
            table = self.choices.of_value(arg, shape, shardings.get(arg), self, open_dims)
            node = self._node("argument", "argument", table, label=str(itemsize))
            built.arguments.append(node)
            built.values[arg] = Source(node)
            self._define(node, 0, arg)
            self.graph.nodes[node].seconds = self._keep_cost(table, shape, itemsize)
            if uses(arg) > 1:
                layout = self._layout_node(arg, table.outs[0], 1.0)
                self._arguments[layout] = node
                self.spans.back((layout, 0), frozenset({(node, 0)}))
        built.data = [built.arguments[i] for i in data_of(func, state)]
        fixed_results = shardings.function_result_specs(func)
        returned = self._block(block, 1.0)
        for i, value in enumerate(returned):
            shape, itemsize, _ = self.costs.describe(value)
            if i in state and fixed_results[i] is None:
                node = built.arguments[state[i]]
            else:
                open_dims = shardings.signature_open_dims(func, "res_attrs", i)
                table = self.choices.of_value(i, shape, fixed_results[i], self, open_dims)
                node = self._node("result", "result", table)
            built.results.append(node)
            self._connect(value, node, 0, 1.0)
        time_edges(graph, built.arguments, built.loop_ends)
        built.exchanges = [self._exchange(op, rule, n) for op, rule, n in self._exchanging]
        for x in built.exchanges:
            graph.nodes[x.node].seconds = x.in_all
        built.unmasked.update(unmasked_of(built.exchanges))
        kept_in = {j: self.values[returned[i]] for i, j in state.items()}
        donated = {built.arguments[j]: (s.node, s.slot) if (s := kept_in.get(j)) else None for j in donated_of(func)}
        layouts = {node: layout for layout, node in self._arguments.items()}
        built.live_ranges = self.spans.ranges(built.arguments, donated, layouts)
        built.alone = self.spans.alone(built.arguments, donated, layouts)
        built.resharded, built.written_over = self.spans.resharded(), self.spans.written_over
        return built

    def elsewhere(self, built: Built, model: CostModel) -> Built:
        """What `build` would make of the same function with the costs of `model`.

        Its mesh has the same axes, on devices of the same kind; where it lies and what overlaps may differ.
        """
        self.model = model
        self.costs = OpCost(model, self.costs.fusion)
        exchanges = [replace(x, seconds=self._exchange_seconds(x.op, x.rule, x.node)) for x in built.exchanges]
        return replace(
            built, graph=built.graph.with_seconds({x.node: x.in_all for x in exchanges}),
            unmasked={**built.unmasked, **unmasked_of(exchanges)}, exchanges=exchanges,
        )  # fmt: skip

    def _exchange(self, op: ir.Operation, rule: FactorRule, node: int) -> Exchange:
        rest, unmasked = self.graph.nodes[node].seconds, self.built.unmasked.get(node)
        return Exchange(op, rule, node, self._exchange_seconds(op, rule, node), rest, unmasked)

    def _exchange_seconds(self, op: ir.Operation, rule: FactorRule, node: int) -> np.ndarray:
        """Seconds of what the local form of an op sends, per strategy."""
        n = self.graph.nodes[node]
        return n.times * self.costs.exchanges(op, rule, n.table)

    @property
    def values(self) -> dict[ir.Value, Source]:
        """Where each value of the program comes from, as far as it is known."""
        return self.built.values

    # -- nodes and edges -----------------------------------------------------------------------

    def _node(self, kind: str, name: str, table: Table, times: float = 1.0, label: str = "") -> int:
        return self.graph.add(Node(kind, name, table, np.zeros(len(table)), times, label))

    def _keep_cost(self, table: Table, shape: tuple[int, ...], itemsize: float) -> np.ndarray:
        """A breath of preference for argument layouts that take less memory: breaks ties, decides nothing else."""
        share = 1.0 / table.outs[0].shards(self.tables.mesh)
        return _TIE * share * math.prod(shape) * itemsize / self.model.machine.device.memory_bandwidth

    def _define(self, node: int, slot: int, value: ir.Value) -> None:
        shape, itemsize, _ = self.costs.describe(value)
        self.spans.define((node, slot), math.prod(shape) * itemsize)

    def _connect(self, value: ir.Value, dst: int, index: int, times: float) -> None:
        """Make `value` operand `index` of node `dst`."""
        source = self.built.values[value]
        if source.free:
            partial = self.graph.nodes[dst].table.ins[index].is_partial()
            if partial.any():  # computed without partial sums, then masked
                shape, itemsize, _ = self.costs.describe(value)
                self.built.unmasked.setdefault(dst, self.graph.nodes[dst].seconds)
                self.built.masked.append(Edge(-1, 0, dst, index, shape, itemsize, times))
                self.graph.nodes[dst].seconds = self.graph.nodes[dst].seconds + MASK_SECONDS * partial
            return
        shape, itemsize, _ = self.costs.describe(value)
        self.graph.edges.append(Edge(source.node, source.slot, dst, index, shape, itemsize, times))
        self.spans.read((source.node, source.slot))
        if self.graph.nodes[dst].kind == "op":
            kept = (self._arguments.get(source.node, source.node), source.slot)
            self.spans.reshard((dst, index), math.prod(shape) * itemsize, kept)

    # -- programs ------------------------------------------------------------------------------

    def _block(self, block: ir.Block, times: float) -> list[ir.Value]:
        """Add all ops of `block`; return the operands of its terminator."""
        ops = [op.operation for op in block.operations]
        for op in ops[:-1]:
            self.spans.clock += 1
            if op.name == "stablehlo.while":
                self._while(op, times)
            elif op.name in BRANCHES:
                self._branches(op, times)
            elif op.name == "stablehlo.optimization_barrier":
                self._barrier(op, times)
            elif op.name in CONSTRAINTS:
                self._constraint(op, times)
            elif self.choices.is_free(op, self):
                self.built.free.append(op)
                self.built.values[op.results[0]] = Source(-1, free=True)
            else:
                self._op(op, times)
        self.spans.clock += 1
        return list(ops[-1].operands)

    def is_generated(self, value: ir.Value) -> bool:
        """Whether a value is computed from constants alone, by ops that any device can do for any part of it."""
        if isinstance(value, ir.BlockArgument):
            return False
        if value not in self._generated:
            op = value.owner.operation
            alone = traits.has(op.name, Trait.GENERATOR) or op.name in CONSTRAINTS
            alone = alone or (traits.has(op.name, Trait.PROPAGATES_GENERATOR) and uses(value) < 2)
            self._generated[value] = len(op.results) == 1 and alone and all(map(self.is_generated, op.operands))
        return self._generated[value]

    def _op(self, op: ir.Operation, times: float) -> None:
        built = self.built
        rule = rule_for(op)
        table = self.choices.of_op(op, rule, self)
        node = self._node("op", op.name, table, times)
        built.ops.append((op, node))
        if len(op.results) == 1 and self.is_generated(op.results[0]):
            built.generated.add(node)
        if rule.reason:
            built.reasons[node] = rule.reason
        operands = list(op.operands)
        if node in built.generated and not self.choices.counts_generated:
            seconds = np.zeros(len(table))
        else:
            seconds = times * self.costs.compute(op, rule, table)
        if rule.exchanges:
            self._exchanging.append((op, rule, node))
        if (bad := self.choices.ruled_out(op, table)) is not None:
            seconds = np.where(bad, FORBIDDEN, seconds)
        self.graph.nodes[node].seconds = seconds
        for i, value in enumerate(operands):
            self._connect(value, node, i, times)
        for slot, result in enumerate(op.results):
            self._produce(result, node, slot, times)

    def _produce(self, result: ir.OpResult, node: int, slot: int, times: float) -> None:
        """Register a result; give it a layout node when several ops read it."""
        built = self.built
        built.values[result] = Source(node, slot)
        key = node, slot
        if uses(result) > 1:
            key = self._layout_node(result, self.graph.nodes[node].table.outs[slot], times), 0
        op = result.owner.operation
        if self._is_nonlocal(op):
            self._nonlocal.add(op)
        backing = self._backed_by(op)
        shape, itemsize, _ = self.costs.describe(result)
        if backing is None:
            over = len(op.results) == 1 and op not in self._nonlocal
            self.spans.define((node, slot), math.prod(shape) * itemsize, self._sources(op.operands if over else ()))
            if key != (node, slot):  # in one memory if both have one layout
                self.spans.define(key, math.prod(shape) * itemsize, frozenset({(node, slot)}))
            return
        # Gathered are values in memory; what is computed on the way is not, and there may be thousands of steps.
        backing |= {of_operand((node, i)) for i, v in enumerate(op.operands) if len(self._sources([v])) == 1}
        size = None if self.model.in_place(op.name) else math.prod(shape) * itemsize
        self.spans.back((node, slot), backing, size)
        if key != (node, slot):
            self.spans.reshard(key, math.prod(shape) * itemsize, (node, slot))
            self.spans.back(key, backing | {of_operand(key)}, size)

    def _backed_by(self, op: ir.Operation) -> frozenset[Key] | None:
        """What must be alive for the result of `op` to be read; None where results have memory of their own.

        As in the schedule of a placed program (`pcg.search.read_schedule`).
        """
        if traits.has(op.name, Trait.GENERATOR):
            return frozenset()
        if self.model.in_place(op.name):  # a constant is written for it
            return self._sources(op.operands[:1]) or None
        if len(op.results) != 1 or not len(op.operands) or traits.has(op.name, ONCE) or self.costs.fusion.writes(op, 0):
            return None
        return self._sources(op.operands)

    def _is_nonlocal(self, op: ir.Operation) -> bool:
        """Whether the kernel that ends with `op` needs elements of what it reads for those elsewhere in its result."""
        fusion = self.costs.fusion
        fused = (v.owner.operation for v in op.operands if not isinstance(v, ir.BlockArgument))
        return (traits.has(op.name, Trait.NONLOCAL) and bool(fusion.kernels(op))) or any(
            o in self._nonlocal and not fusion.writes(o, 0) for o in fused
        )

    def _sources(self, values: Iterable[ir.Value]) -> frozenset[Key]:
        """What must be alive for values to be read."""
        found = [self.built.values[v] for v in values]
        return frozenset().union(*(self.spans.backs((s.node, s.slot)) for s in found if not s.free))

    def _layout_node(self, value: ir.Value, port: Port, times: float) -> int:
        """The layout in which a value that several ops read is kept: they share what it takes to get there."""
        shape, _, _ = self.costs.describe(value)
        node = self._node("layout", "layout", self.tables.of_port(shape, port), times)
        self._connect(value, node, 0, times)
        self.built.values[value] = Source(node)
        self.built.layout_nodes.append((value, node))
        return node

    def _constraint(self, op: ir.Operation, times: float) -> None:
        spec = shardings.from_attr(op.attributes["spec"])
        shape, _, _ = self.costs.describe(op.results[0])
        table = self.choices.of_value(op.results[0], shape, spec, self, shardings.open_dims(op.attributes))
        node = self._node("layout", op.name, table, times)
        self.built.constraints.append((op, node))
        self._connect(op.operands[0], node, 0, times)
        self.built.values[op.results[0]] = Source(node)
        self._define(node, 0, op.results[0])

    def _barrier(self, op: ir.Operation, times: float) -> None:
        """Operands of a barrier have nothing to do with each other: each keeps a spec of its own."""
        nodes = []
        fixed = shardings.result_specs(op)
        for value, result, spec in zip(op.operands, op.results, fixed, strict=True):
            shape, _, _ = self.costs.describe(value)
            node = self._node("layout", op.name, self.choices.of_value(result, shape, spec, self), times)
            self._connect(value, node, 0, times)
            self.built.values[result] = Source(node)
            self._define(node, 0, result)
            nodes.append(node)
        self.built.barriers.append((op, nodes))

    def _sink(self, value: ir.Value, times: float) -> None:
        """A value that every device needs in full: replicated."""
        shape, _, _ = self.costs.describe(value)
        node = self._node("sink", "sink", self.tables.fixed(ShardSpec.replicated(len(shape))), times)
        self._connect(value, node, 0, times)

    def _while(self, op: ir.Operation, times: float) -> None:
        built = self.built
        inner = times * max(1, assumed_iterations(op, times))
        if times * (trip_count(op) or 0) > inner:
            built.endless.append(op)
        carries = []
        fixed = shardings.result_specs(op)
        body = op.regions[1].blocks[0]
        yields = body.operations[-1].operation.operands
        aliased = [built.values[v] for v, y, a in zip(op.operands, yields, body.arguments, strict=True) if y == a]
        start = self.spans.clock + 1
        for i, value in enumerate(op.operands):
            shape, itemsize, _ = self.costs.describe(value)
            spec = fixed[i]
            kind = "sum" if spec is None and adds(value) else None
            table = self.choices.of_value(op.results[i], shape, spec, self, (), kind)
            node = self._node("carry", "carry", table, inner)
            self._connect(value, node, 0, times)
            carries.append(node)
            # The loop's buffer takes over its initial value's.
            self.spans.define((node, 0), math.prod(shape) * itemsize, at=self.spans.clock + 1)
            for region in op.regions:
                built.values[region.blocks[0].arguments[i]] = Source(node)
            built.values[op.results[i]] = Source(node)
        built.carries.append((op, carries))
        (predicate,) = self._block(op.regions[0].blocks[0], inner)
        self._sink(predicate, inner)
        for node, value in zip(carries, self._block(op.regions[1].blocks[0], inner), strict=True):
            self._connect(value, node, 0, inner)
        built.loop_ends.update(dict.fromkeys(carries, len(self.graph.nodes)))
        for n in carries:
            self.spans.read((n, 0))
        for source in aliased:
            if not source.free:
                self.spans.hand_on((source.node, source.slot), start)

    def _branches(self, op: ir.Operation, times: float) -> None:
        built = self.built
        self._sink(op.operands[0], times)
        nodes = []
        fixed = shardings.result_specs(op)
        for i, result in enumerate(op.results):
            shape, _, _ = self.costs.describe(result)
            spec = fixed[i]
            nodes.append(self._node("carry", "branch", self.choices.of_value(result, shape, spec, self), times))
            self._define(nodes[-1], 0, result)
        for region in op.regions:
            for node, value in zip(nodes, self._block(region.blocks[0], times), strict=True):
                self._connect(value, node, 0, times)
        for node, result in zip(nodes, op.results, strict=True):
            built.values[result] = Source(node)
        built.carries.append((op, nodes))


def adds(value: ir.Value) -> bool:
    """Whether a value may be kept as partial sums: not for booleans, whose addition is a disjunction."""
    element = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else None
    return element is not None and not (isinstance(element, ir.IntegerType) and element.width == 1)
