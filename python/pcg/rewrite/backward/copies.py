"""What one part of a program reads of another: which values are kept for it, and which it computes by itself."""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.clone import clone_mapped
from pcg.ir.types import tensor_bytes
from pcg.rewrite.backward.dataflow import BARRIER, Dataflow
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.rules.values import splat

#: Most ops on a path from a value that is computed a second time to what it is computed from.  A choice.
_DEPTH = 8


class Copies:
    """For values of `flow` that are read elsewhere: those of which bytes are kept, and the nodes to be copied.

    Args:
      flow: the nodes that define the values.
      free: values that are there in any case.
      blocks: slices of free values cost their bytes and are copied, never kept: they are elements of stacked values.
    """

    def __init__(self, flow: Dataflow, free: Iterable[ir.Value], blocks: bool = False) -> None:
        self.flow = flow
        self.free = set(free)
        self.blocks = blocks
        self.kept: dict[ir.Value, None] = {}
        """In order of need."""
        self.nodes: set[int] = set()

    def provide(self, value: ir.Value) -> None:
        """Have `value` at hand: it is kept, or computed from others where less has to be kept for that."""
        if value in self.free or value in self.kept:
            return
        node = self.flow.source.get(value)
        if node in self.nodes:
            return
        if node is None or not self.is_copied(value):
            self.kept[value] = None
            return
        self.nodes.add(node)
        for v in self.flow.nodes[node].inputs:
            self.provide(v)

    def is_copied(self, value: ir.Value) -> bool:
        """Whether computing a value that is not at hand needs fewer bytes than keeping it."""
        node = self.flow.source.get(value)
        if node is None or not is_repeatable(self.flow.nodes[node].op):
            return False
        if self._is_block(node):
            return True
        cost, size = self._cost_of_inputs(node, _DEPTH), tensor_bytes(value.type)
        return cost < size or (self.blocks and cost == size and _is_view(self.flow.nodes[node].op))

    def _cost_of_inputs(self, node: int, depth: int) -> float:
        return sum(self._cost(v, depth) for v in self.flow.nodes[node].inputs)

    def _cost(self, value: ir.Value, depth: int) -> float:
        """Bytes that have to be kept for a value, at most: what inputs of one op share is counted for each."""
        if value in self.free or value in self.kept:
            return 0.0
        node = self.flow.source.get(value)
        if node in self.nodes:
            return 0.0
        size = tensor_bytes(value.type)
        if node is None or not depth or not is_repeatable(self.flow.nodes[node].op) or self._is_block(node):
            return size
        return min(size, self._cost_of_inputs(node, depth - 1))

    def _is_block(self, node: int) -> bool:
        """Whether a node reads one block of a value that is there in any case."""
        op = self.flow.nodes[node].op
        return self.blocks and traits.has(op.name, Trait.SLICE) and op.operands[0] in self.free


def clone_nodes(flow: Dataflow, nodes: Iterable[int], values: dict[ir.Value, ir.Value]) -> list[ir.Operation]:
    """Clone nodes at the insertion point, mapping what they read; extend `values`.

    Of a barrier only the operands are cloned whose nodes are among them.
    """
    chosen = sorted(nodes)
    among = set(chosen)
    new: list[ir.Operation] = []
    for i in chosen:
        op = flow.nodes[i].op
        if op.name != BARRIER:
            new.append(clone_mapped(op, values).operation)
        elif flow.nodes[i].results[0] not in values:
            kept = [k for k, r in enumerate(op.results) if flow.source[r] in among]
            operands = [values.get(op.operands[k], op.operands[k]) for k in kept]
            with op.location:
                new.append(emit.create_op(BARRIER, operands, [v.type for v in operands]))
            for name in op.attributes:
                new[-1].attributes[name] = op.attributes[name]
            values.update(zip((op.results[k] for k in kept), new[-1].results, strict=True))
    return new


def is_repeatable(op: ir.Operation) -> bool:
    """Whether an op may be copied: it takes next to no time."""
    return traits.has(op.name, Trait.CHEAP | Trait.SLICE) or op.name == BARRIER


def is_generated(value: ir.Value) -> bool:
    """Whether a value is made from nothing, so that it is never kept."""
    if isinstance(value, ir.BlockArgument):
        return False
    return traits.has(value.owner.operation.name, Trait.GENERATOR) or (
        isinstance(value.type, ir.RankedTensorType) and splat(value) is not None
    )


def _is_view(op: ir.Operation) -> bool:
    return traits.has(op.name, Trait.VIEW) or op.name == BARRIER
