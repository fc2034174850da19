"""Which op of a block reads which: the graph that the split of the backward part works on."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.walk import outer_values, walk
from pcg.rules import traits
from pcg.rules.custom_call import has_side_effect
from pcg.rules.registry import shape
from pcg.rules.traits import Trait

BARRIER = "stablehlo.optimization_barrier"
SCATTER = "stablehlo.scatter"


@dataclass(frozen=True)
class Node:
    """An op of the block; of an optimization barrier one operand and its result, as it hands each on by itself."""

    op: ir.Operation
    inputs: tuple[ir.Value, ...]
    """What it reads, its regions included."""
    results: tuple[ir.Value, ...]


class Dataflow:
    """The nodes of a block in program order, its terminator left out, and who reads whose results."""

    def __init__(self, block: ir.Block) -> None:
        ops = [op.operation for op in block.operations]
        self.block = block
        self.end = ops.pop()
        self.nodes: list[Node] = []
        self.first: list[int] = []
        """For each node the first one of its op.  Ops are no keys: their hash changes with their operands."""
        for op in ops:
            start = len(self.nodes)
            if op.name == BARRIER and len(op.operands) > 1:
                self.nodes += [Node(op, (v,), (r,)) for v, r in zip(op.operands, op.results, strict=True)]
            else:
                self.nodes.append(Node(op, tuple(outer_values(op)), tuple(op.results)))
            self.first += [start] * (len(self.nodes) - start)
        self.source: dict[ir.Value, int] = {r: i for i, node in enumerate(self.nodes) for r in node.results}
        self.reads = [sorted({self.source[v] for v in node.inputs if v in self.source}) for node in self.nodes]
        self.readers: list[list[int]] = [[] for _ in self.nodes]
        for i, sources in enumerate(self.reads):
            for j in sources:
                self.readers[j].append(i)
        self.returned = list(self.end.operands)

    def ops(self, nodes: Collection[int]) -> list[ir.Operation]:
        """The ops of nodes in program order, each once."""
        return [self.nodes[i].op for i in sorted({self.first[i] for i in nodes})]

    def users(self, value: ir.Value) -> list[int]:
        """The nodes that read a result of a node."""
        return [i for i in self.readers[self.source[value]] if value in self.nodes[i].inputs]

    def slice(self, values: Iterable[ir.Value], within: Collection[int] | None = None) -> set[int]:
        """The backward slice: nodes (of `within`, if that is given) that compute `values`."""
        work = [self.source[v] for v in values if v in self.source]
        found: set[int] = set()
        while work:
            i = work.pop()
            if i not in found and (within is None or i in within):
                found.add(i)
                work += self.reads[i]
        return found

    def arguments(self, values: Iterable[ir.Value]) -> set[ir.Value]:
        """The values from outside, arguments of the block included, that `values` are computed from."""
        values = list(values)
        read = {v for i in self.slice(values) for v in self.nodes[i].inputs}
        return {v for v in (*values, *read) if v not in self.source}

    def constants(self) -> set[int]:
        """The nodes that depend on no value from outside."""
        found: set[int] = set()
        for i, node in enumerate(self.nodes):
            if all(v in self.source for v in node.inputs) and found.issuperset(self.reads[i]):
                found.add(i)
        return found

    def downstream(self, nodes: Iterable[int]) -> set[int]:
        """The nodes that depend on results of `nodes`, these left out unless they do so."""
        work, found = [j for i in nodes for j in self.readers[i]], set()
        while work:
            i = work.pop()
            if i not in found:
                found.add(i)
                work += self.readers[i]
        return found

    def reaching(self, nodes: Collection[int]) -> set[int]:
        """The nodes that others of `nodes` depend on."""
        found: set[int] = set()
        for i in reversed(range(len(self.nodes))):
            if any(j in nodes or j in found for j in self.readers[i]):
                found.add(i)
        return found


def elements(value: ir.Value) -> int:
    """How many elements a tensor has; 1 for what is no tensor."""
    return math.prod(shape(value))


def contracts(op: ir.Operation) -> bool:
    """Whether an op, or one in its regions, sums over a batch as gradients of weights do.

    That is a contraction, or a scatter to indices that the program does not know: the gradient of an embedding.
    """
    return any(
        traits.has(inner.name, Trait.CONTRACTION) or (inner.name == SCATTER and _indices_are_data(inner))
        for inner in walk(op)
    )


def _indices_are_data(scatter: ir.Operation) -> bool:
    """Whether the indices of a scatter depend on an argument of a block; those of `w[3]` are constants."""
    inputs = len(scatter.results)
    work, seen = [scatter.operands[inputs]], set()
    while work:
        value = work.pop()
        if isinstance(value, ir.BlockArgument):
            return True
        if value not in seen:
            seen.add(value)
            work += outer_values(value.owner.operation)
    return False


def has_effect(op: ir.Operation) -> bool:
    """Whether an op does something besides computing its results."""
    return any(
        traits.has(inner.name, Trait.HOST_IO | Trait.TOKEN) or has_side_effect(inner)
        for inner in walk(op)
    )
