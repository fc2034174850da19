"""Warm starts: a program with layouts as a plan of the search, a choice per node of its graph.

A baseline is written into a copy of the program, with redistributions and barriers of its own between the program's
ops.  The others are the program's, in its order, each under some strategy; where that is one of its node's, it is the
node's choice.  What is left (the layouts that values with several readers are kept in, ops under strategies that the
search does not have) is chosen as well as possible around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.walk import walk
from pcg.layout import ShardSpec
from pcg.search.built import Built
from pcg.search.port import Port
from pcg.search.table import Table

_BARRIER = "stablehlo.optimization_barrier"

def choices_of(
    built: Built, func: ir.Operation, placed: ir.Operation
) -> tuple[dict[int, int], frozenset[tuple[int, int]]]:
    """Choices of those nodes of the graph of `func` whose strategy in `placed` is one of theirs.

    And the operands (node, number) that are redistributed right before their op, each by itself: their value is kept as
    it comes.

    Raises:
      ValueError: without what a baseline inserts `placed` is not `func`.
    """
    of = _counterparts(func, placed)
    nodes, found = built.graph.nodes, {}

    def note(node: int, specs: Sequence[ShardSpec | None] | None, ports: Sequence[Port]) -> None:
        if specs is not None and (k := _strategy(nodes[node].table, specs, ports)) is not None:
            found[node] = k

    def kept(node: int, spec: ShardSpec | None) -> None:
        note(node, [spec], nodes[node].table.outs[:1])

    arguments = placed.regions[0].blocks[0].arguments
    for node, spec in zip(built.results, shardings.function_result_specs(placed), strict=True):
        kept(node, spec)
    for node, argument in zip(built.arguments, arguments, strict=True):
        kept(node, shardings.get(argument))
    sources = {(e.dst, e.index): e.src for e in built.graph.edges}
    apart = set()
    for op, node in built.ops:
        for i, operand in enumerate(of[op].operands):
            if (value := _kept_apart(operand)) is not None and (source := sources.get((node, i))) is not None:
                apart.add((node, i))
                if nodes[source].kind == "layout":
                    kept(source, shardings.get(value))
        operands, table = shardings.operand_specs(of[op]), nodes[node].table
        if operands is not None:
            note(node, [*operands, *shardings.result_specs(of[op])], (*table.ins, *table.outs))
    for op, several in (*built.carries, *built.barriers):
        for node, spec in zip(several, shardings.result_specs(of[op]), strict=True):
            kept(node, spec)
    return found, frozenset(apart)


def _kept_apart(operand: ir.Value) -> ir.Value | None:
    """The value of which `operand` is a redistribution for one reader, by itself; None if it is none."""
    for wanted in (CONSTRAINTS, (_BARRIER,)):
        if isinstance(operand, ir.BlockArgument) or operand.owner.operation.name not in wanted:
            return None
        op = operand.owner.operation
        operand = op.operands[0]
    return operand if shardings.APART in op.attributes else None


def _strategy(table: Table, specs: Sequence[ShardSpec | None], ports: Sequence[Port]) -> int | None:
    """The first strategy of `table` under which `ports` have `specs`, None if there is none."""
    fits = np.ones(len(table), dtype=bool)
    for port, spec in zip(ports, specs, strict=True):
        if spec not in port.numbers:
            return None
        fits &= port.ids == port.numbers[spec]
    at = np.flatnonzero(fits)
    return int(at[0]) if len(at) else None


def _counterparts(func: ir.Operation, placed: ir.Operation) -> dict[ir.Operation, ir.Operation]:
    """Of every op of `func` the one that it has become."""
    own, others = ((op for op in walk(root) if not _is_inserted(op)) for root in (func, placed))
    return dict(_pairs(own, others))


def _pairs(
    ops: Iterator[ir.Operation], others: Iterator[ir.Operation]
) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    for op, other in zip(ops, others, strict=True):
        if op.name != other.name:
            raise ValueError(f"expected {op.name}, found {other.name}")
        yield op, other


def _is_inserted(op: ir.Operation) -> bool:
    return op.name in CONSTRAINTS or shardings.APART in op.attributes
