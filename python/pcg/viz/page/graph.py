"""A placed program as a graph: ops with their layouts, and the redistributions between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.driver.plan_ir import type_text
from pcg.ir import shardings
from pcg.ir.locations import argument_names, place, result_names
from pcg.ir.walk import entry_of, walk
from pcg.layout import Mesh, ShardSpec, refine
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS

OP, ARGUMENT, RESULT = "op", "argument", "result"


@dataclass(frozen=True)
class Node:
    """An op, or an argument or result of the program; `layout` is that of what it computes."""

    kind: str
    name: str
    type: str
    layout: str
    where: str

    @property
    def key(self) -> tuple[str, ...]:
        """What nodes of two programs have in common that are the same op; layouts may differ."""
        return (self.kind, self.name, self.type, self.where) if self.kind == OP else (self.kind, self.name)


@dataclass(frozen=True)
class Redistribution:
    """Operators that change a layout, one after another, and the layout they lead to."""

    number: int
    """Of all in a program; several ops may read one."""
    steps: tuple[str, ...]
    layout: str


@dataclass(frozen=True)
class Edge:
    """A value from the node that computes it to one that reads it, by their numbers."""

    source: int
    target: int
    redistribution: Redistribution | None = None


@dataclass
class Graph:
    """Nodes in program order, what each reads operand by operand, and all edges."""

    nodes: list[Node] = field(default_factory=list)
    operands: list[list[Edge]] = field(default_factory=list)

    @property
    def edges(self) -> list[Edge]:
        """Each once, though an op may read a value twice."""
        return list(dict.fromkeys(e for edges in self.operands for e in edges))

    def readers(self) -> list[list[int]]:
        """Of each node those that read it."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for e in self.edges:
            found[e.source].append(e.target)
        return found


def graph_of(module: ir.Module | ir.Operation, mesh: Mesh) -> Graph:
    """The graph of the entry function of a placed module.

    Raises:
      PcgError: there is no entry function.
    """
    return _Reader(entry_of(module), mesh).graph


class _Reader:
    """Reads a function into `graph`."""

    def __init__(self, func: ir.Operation, mesh: Mesh) -> None:
        self.graph, self._mesh = Graph(), mesh
        self._source: dict[ir.Value, tuple[int, Redistribution | None]] = {}
        """Which node computes a value, and what changes its layout on the way."""
        self._redistributions = 0
        block = func.regions[0].blocks[0]
        for name, value in zip(argument_names(func), block.arguments, strict=True):
            self._source[value] = self._add(ARGUMENT, name, [value.type], [shardings.get(value)], "", []), None
        self._block(block)
        returned = block.operations[len(block.operations) - 1].operation
        specs = shardings.function_result_specs(func)
        for name, value, spec in zip(result_names(func), returned.operands, specs, strict=True):
            self._add(RESULT, name, [value.type], [spec], "", [value])

    def _block(self, block: ir.Block) -> None:
        for view in block.operations:
            op = view.operation
            if op.name in REDISTRIBUTION_OPS and op.operands[0] in self._source:
                self._redistribute(op)
            elif len(op.results):
                read = [*op.operands, *self._inside(op)]
                name = op.name.removeprefix("stablehlo.")
                types = [r.type for r in op.results]
                node = self._add(OP, name, types, shardings.result_specs(op), place(op.location), read)
                self._source.update((r, (node, None)) for r in op.results)

    def _inside(self, op: ir.Operation) -> list[ir.Value]:
        """What the placed regions of an op, as those of a loop, compute for it; their ops are nodes, too."""
        found: list[ir.Value] = []
        for region in op.regions:
            if not any(shardings.SPECS in inner.attributes for block in region.blocks for inner in _ops(block)):
                continue
            for block in region.blocks:
                for argument, value in zip(block.arguments, op.operands, strict=False):
                    if value in self._source:
                        self._source[argument] = self._source[value]
                self._block(block)
                found += block.operations[len(block.operations) - 1].operation.operands
        return found

    def _redistribute(self, op: ir.Operation) -> None:
        """Add a step to what changes the layout of the operand, if only this op reads it, else begin anew."""
        node, before = self._source[op.operands[0]]
        if before is not None and len(list(op.operands[0].uses)) == 1:
            number, steps = before.number, before.steps
        else:
            number, steps = self._redistributions, before.steps if before is not None else ()
            self._redistributions += 1
        found = Redistribution(number, (*steps, _step(op, self._mesh)), self._layout(shardings.result_specs(op)))
        self._source[op.results[0]] = node, found

    def _add(
        self, kind: str, name: str, types: Sequence[ir.Type], specs: Sequence[ShardSpec | None], where: str,
        read: Iterable[ir.Value],
    ) -> int:  # fmt: skip
        found = [self._source[v] for v in read if v in self._source]
        target = len(self.graph.nodes)
        self.graph.nodes.append(Node(kind, name, ", ".join(map(type_text, types)), self._layout(specs), where))
        self.graph.operands.append([Edge(source, target, changed) for source, changed in found])
        return target

    def _layout(self, specs: Sequence[ShardSpec | None]) -> str:
        known = [str(refine.to_origin(s, self._mesh)) for s in specs if s is not None]
        return ", ".join(known)


def _ops(block: ir.Block) -> Iterable[ir.Operation]:
    """The ops in a block, nested ones included."""
    return (inner for view in block.operations for inner in walk(view.operation))


def _step(op: ir.Operation, mesh: Mesh) -> str:
    """`reduce sum over a+b`, `partition dim 0 over a`."""
    parts = [op.name.partition(".")[2]]
    if "dim" in op.attributes:
        parts.append(f"dim {ir.IntegerAttr(op.attributes['dim']).value}")
    if "kind" in op.attributes:
        parts.append(str(ir.StringAttr(op.attributes["kind"]).value))
    if "axes" in op.attributes:
        axes = [str(ir.StringAttr(a).value) for a in ir.ArrayAttr(op.attributes["axes"])]
        parts.append(f"over {'+'.join(refine.origin_names(axes, mesh))}")
    return " ".join(parts)
