"""From the structure of a function to its graph on a mesh: what its nodes may be, and what that takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.reshard import MASK_SECONDS
from pcg.search.built import Built, Exchange, unmasked_of
from pcg.search.choices import Annotated, Choices
from pcg.search.graph import Edge, Graph, Node, Source
from pcg.search.read_structure import StructureReader
from pcg.search.roles import PARTIAL
from pcg.search.structure import Decision, Structure
from pcg.search.table import Table, Tables
from pcg.search.work import WorkCosts
from pcg.solve.network import FORBIDDEN

#: Share of the time to read an argument once that is added to a layout of it.  Chosen: far below any real difference
#: between two plans, and far above rounding, so it decides between equal ones alone (decision 5).
_TIE = 1e-3


@dataclass
class Builder:
    """Builds the graph of one function; `choices` says what its nodes may be."""

    model: CostModel
    tables: Tables
    choices: Choices = field(default_factory=Annotated)
    func: ir.Operation = field(init=False)
    built: Built = field(init=False)
    _annotations: dict[ir.Operation, list[ShardSpec | None]] = field(default_factory=dict)
    """Annotated layouts of the results of loops, branches and barriers, and of the function."""

    def build(self, func: ir.Operation, state: dict[int, int], known: Structure | None = None) -> Built:
        """The graph of `func`; `state` maps results to the arguments whose layout they keep.

        `known` is the structure of `func`, where that is known.
        """
        structure = known or StructureReader.read(func, state, self.choices)
        self.func = func
        self.built = built = Built(**vars(structure))
        self.costs = WorkCosts(self.model)
        for n, decision in enumerate(structure.decisions):
            table = self._table(decision)
            label = str(decision.itemsize) if decision.kind == "argument" else ""
            seconds = self._seconds(n, decision, table)
            self.graph.add(Node(decision.kind, decision.name, table, seconds, decision.times, label))
        self._mask()
        self.graph.edges = [Edge(e.src, e.slot, e.dst, e.index, e.shape, e.itemsize, e.times) for e in structure.reads]
        assert structure.timings is not None
        seconds = [self.graph.nodes[n].seconds.min() for n in structure.timings.contractions.tolist()]
        timings = structure.timings(np.array(seconds), len(self.graph.nodes))
        for edge, timing in zip(self.graph.edges, timings, strict=True):
            edge.timing = timing
        built.exchanges = [self._exchange(n) for _, n in built.ops if built.works[n].rule.exchanges]
        for x in built.exchanges:
            self.graph.nodes[x.node].seconds = x.in_all
        built.unmasked.update(unmasked_of(built.exchanges))
        return built

    def elsewhere(self, built: Built, model: CostModel) -> Built:
        """What `build` would make of the same function with the costs of `model`.

        Its mesh has the same axes, on devices of the same kind; where it lies and what overlaps may differ.
        """
        self.model = model
        self.costs = WorkCosts(model)
        exchanges = [replace(x, seconds=self._exchange_seconds(x.node)) for x in built.exchanges]
        return replace(
            built, graph=built.graph.with_seconds({x.node: x.in_all for x in exchanges}),
            unmasked={**built.unmasked, **unmasked_of(exchanges)}, exchanges=exchanges,
        )  # fmt: skip

    @property
    def graph(self) -> Graph:
        """What is built so far."""
        return self.built.graph

    @property
    def values(self) -> dict[ir.Value, Source]:
        """Where each value of the program comes from."""
        return self.built.values

    # -- what nodes may be ---------------------------------------------------------------------

    def _table(self, d: Decision) -> Table:
        if isinstance(d.of, ir.Operation):
            return self.choices.of_op(d.of, self.built.works[len(self.graph.nodes)].rule, self)
        if d.kind == "sink":
            return self.tables.fixed(ShardSpec.replicated(len(d.shape)))
        if d.source[0] >= 0:
            node, slot = d.source
            return self.tables.of_port(d.shape, self.graph.nodes[node].table.outs[slot])
        fixed, open_dims, partial = self._annotated(d)
        return self.choices.of_value(d.of, d.shape, fixed, self, open_dims, partial)

    def _annotated(self, d: Decision) -> tuple[ShardSpec | None, tuple[int, ...], str | None]:
        """The annotated layout of a value, its open dimensions, and by what it may wait for a reduction."""
        if isinstance(d.of, int):
            open_dims = shardings.signature_open_dims(self.func, "res_attrs", d.of)
            return self._specs(self.func, shardings.function_result_specs)[d.of], open_dims, None
        if d.kind == "argument":
            number = ir.BlockArgument(d.of).arg_number
            return shardings.get(d.of), shardings.signature_open_dims(self.func, "arg_attrs", number), None
        op = d.of.owner.operation
        if op.name in CONSTRAINTS:
            return shardings.from_attr(op.attributes["spec"]), shardings.open_dims(op.attributes), None
        fixed = self._specs(op, shardings.result_specs)[ir.OpResult(d.of).result_number]
        if PARTIAL in op.attributes:
            return fixed, (), ir.StringAttr(op.attributes[PARTIAL]).value
        return fixed, (), "sum" if op.name == "stablehlo.while" and fixed is None and adds(d.of) else None

    def _specs(
        self, op: ir.Operation, read: Callable[[ir.Operation], list[ShardSpec | None]]
    ) -> list[ShardSpec | None]:
        found = self._annotations.get(op)
        if found is None:
            found = self._annotations[op] = read(op)
        return found

    # -- what that takes -----------------------------------------------------------------------

    def _seconds(self, node: int, d: Decision, table: Table) -> np.ndarray:
        """Seconds per strategy, without masks and what the op itself sends."""
        if d.kind == "argument":
            return self._keep_cost(table, d)
        if not isinstance(d.of, ir.Operation):
            return np.zeros(len(table))
        if node in self.built.generated and not self.choices.counts_generated:
            seconds = np.zeros(len(table))
        else:
            seconds = d.times * self.costs.compute(self.built.works[node], table)
        bad = self.choices.ruled_out(d.of, table)
        return seconds if bad is None else np.where(bad, FORBIDDEN, seconds)

    def _keep_cost(self, table: Table, d: Decision) -> np.ndarray:
        """A breath of preference for argument layouts that take less memory: breaks ties, decides nothing else."""
        share = 1.0 / table.outs[0].shards(self.tables.mesh)
        return _TIE * share * math.prod(d.shape) * d.itemsize / self.model.machine.device.memory_bandwidth

    def _mask(self) -> None:
        """Where a generated value is read as partial sums, it is computed without them, then masked."""
        for e in self.built.free_reads:
            node = self.graph.nodes[e.dst]
            partial = node.table.ins[e.index].is_partial()
            if partial.any():
                self.built.unmasked.setdefault(e.dst, node.seconds)
                self.built.masked.append(e)
                node.seconds = node.seconds + MASK_SECONDS * partial

    def _exchange(self, node: int) -> Exchange:
        rest, unmasked = self.graph.nodes[node].seconds, self.built.unmasked.get(node)
        return Exchange(node, self._exchange_seconds(node), rest, unmasked)

    def _exchange_seconds(self, node: int) -> np.ndarray:
        """Seconds of what the local form of an op sends, per strategy."""
        n = self.graph.nodes[node]
        return n.times * self.costs.exchanges(self.built.works[node], n.table)


def adds(value: ir.Value) -> bool:
    """Whether a value may be kept as partial sums: not for booleans, whose addition is a disjunction."""
    element = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else None
    return element is not None and not (isinstance(element, ir.IntegerType) and element.width == 1)
