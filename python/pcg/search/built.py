"""The graph of a function, and how to find one in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.walk import walk
from pcg.rules.factor import FactorRule
from pcg.search.graph import Edge, Graph, Source
from pcg.search.memory import Lifetimes
from pcg.search.quotient import Quotient


@dataclass(frozen=True)
class Exchange:
    """An op whose local form sends something: `seconds` of that per strategy of its node, and `rest`, of all else.

    `unmasked` is `rest` without the masks of its operands, where these are in it.
    """

    op: ir.Operation
    rule: FactorRule
    node: int
    seconds: np.ndarray
    rest: np.ndarray
    unmasked: np.ndarray | None = None

    @property
    def in_all(self) -> np.ndarray:
        """Seconds of the op per strategy."""
        return self.rest + self.seconds


@dataclass
class Built:
    """The graph of a function and how to find one in the other.

    Lists pair what is in the IR with its node; `values` says where each value comes from, and
    `live_ranges` is what the memory model needs.
    """

    graph: Graph
    ops: list[tuple[ir.Operation, int]] = field(default_factory=list)
    free: list[ir.Operation] = field(default_factory=list)
    layout_nodes: list[tuple[ir.Value, int]] = field(default_factory=list)
    carries: list[tuple[ir.Operation, list[int]]] = field(default_factory=list)
    barriers: list[tuple[ir.Operation, list[int]]] = field(default_factory=list)
    loop_ends: dict[int, int] = field(default_factory=dict)
    """Of nodes of what a loop carries the first node behind the loop."""
    arguments: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    state: dict[int, int] = field(default_factory=dict)
    """Result number -> argument number whose layout it keeps."""
    constraints: list[tuple[ir.Operation, int]] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    """Nodes of those arguments that are data, not state or weights."""
    live_ranges: list[tuple[int, int, float, int, int]] = field(default_factory=list)
    """Values for the memory model: node, slot, global bytes, first and last position in program order."""
    alone: list[tuple[int, int, float, int, int]] = field(default_factory=list)
    """As `live_ranges`, if all values had memory of their own."""
    resharded: list[tuple[int, int, float, int, int, int, int]] = field(default_factory=list)
    """Operands that may be gathered, for the memory model: as `Lifetimes.operands`."""
    written_over: list[tuple[int, int, float, int, int, int]] = field(default_factory=list)
    """Values that are written over others, as `Lifetimes.over`."""
    constants: float = 0.0
    """Bytes of constants that every device holds."""
    endless: list[ir.Operation] = field(default_factory=list)
    """Loops whose bodies would run more than `MOST_RUNS` times per step, as which they are counted."""
    values: dict[ir.Value, Source] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    generated: set[int] = field(default_factory=set)
    """Nodes of ops that compute a value from constants alone."""
    masked: list[Edge] = field(default_factory=list)
    """Where a value generated on each device is read, as edges without a source: a reader of partial sums masks it."""
    unmasked: dict[int, np.ndarray] = field(default_factory=dict)
    """Seconds of nodes without the masks of their operands, where these are in them."""
    exchanges: list[Exchange] = field(default_factory=list)

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """When values are alive."""
        return Lifetimes(self.live_ranges, self.constants, self.resharded, self.written_over)

    @cached_property
    def cautious(self) -> Lifetimes:
        """When values are alive if all have memory of their own.

        Where hardly any plan fits, those that are found with this count need less once they are lowered: all that may
        have to be sent, and then is in memory, is in small shards.  Measured: GPT-3 13B on 48 V100 takes 74 s a step,
        91 s with the other count; Mixtral on 192 V100 168 s, 231 s.
        """
        return Lifetimes(self.alone, self.constants)

    def quotient(self, model: CostModel, known: Sequence[int] = (), *, cautious: bool = False) -> Quotient:
        """The decisions by class, with the costs of `model`; `known`: the class of each node where that is known.

        Memory is counted by `lifetimes` or, if `cautious`, by that.
        """
        lifetimes = self.cautious if cautious else self.lifetimes
        return Quotient(self.graph, model, lifetimes, self.arguments, self.data, known)

    def rule_reason(self, node: int) -> str:
        """Why the op of `node` can only run replicated; empty if it can be split."""
        return self.reasons.get(node, "")


def unmasked_of(exchanges: Sequence[Exchange]) -> dict[int, np.ndarray]:
    """Seconds per strategy without the masks of operands, of the nodes where these are counted."""
    return {x.node: x.unmasked + x.seconds for x in exchanges if x.unmasked is not None}


def graph_of_copy(built: Built, old: ir.Operation, new: ir.Operation) -> Built:
    """`built`, the graph of the program `old`, as the graph of its copy `new`."""
    ops: dict[ir.Operation, ir.Operation] = {}
    values: dict[ir.Value, ir.Value] = {}
    for a, b in zip(walk(old), walk(new), strict=True):
        ops[a] = b
        values.update(zip(a.results, b.results, strict=True))
        for r, s in zip(a.regions, b.regions, strict=True):
            for x, y in zip(r.blocks, s.blocks, strict=True):
                values.update(zip(x.arguments, y.arguments, strict=True))
    return replace(
        built, ops=[(ops[o], n) for o, n in built.ops], free=[ops[o] for o in built.free],
        layout_nodes=[(values[v], n) for v, n in built.layout_nodes], carries=[(ops[o], n) for o, n in built.carries],
        barriers=[(ops[o], n) for o, n in built.barriers], constraints=[(ops[o], n) for o, n in built.constraints],
        endless=[ops[o] for o in built.endless], exchanges=[replace(x, op=ops[x.op]) for x in built.exchanges],
        values={},
    )  # fmt: skip
