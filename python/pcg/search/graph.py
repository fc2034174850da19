"""The graph that the search works on: nodes with strategy tables, edges that may need a reshard.

A *layout node* stands for a value that several ops read: the spec it is kept in once produced.  An
all-reduce between an op and its layout node is paid once, a gather between a layout node and a reader per reader;
so "gather the weight once" and "gather it for every use" are two choices of one layout node.  Function
arguments, loop-carried values and branch results are layout nodes too; an argument that several ops read
has a layout node besides the layout that it comes in.  No MLIR here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pcg.cost import Timing
from pcg.search.table import Table


@dataclass(slots=True)
class Node:
    """A decision.  `seconds[k]` is the time of strategy k, executed `times` times per step.

    `kind` is op, layout, argument, carry, result or sink; nodes with different `label` never decide together.
    """

    kind: str
    name: str
    table: Table
    seconds: np.ndarray
    times: float = 1.0
    label: str = ""


@dataclass(slots=True)
class Source:
    """Where a value of the program comes from: result `slot` of node `node`.

    Or from nowhere (`free`): it is computed in whatever spec is wanted.
    """

    node: int
    slot: int = 0
    free: bool = False


@dataclass(slots=True)
class Edge:
    """Result `slot` of `src` is operand `index` of `dst`: a tensor of global `shape`, `itemsize` bytes an element."""

    src: int
    slot: int
    dst: int
    index: int
    shape: tuple[int, ...]
    itemsize: float
    times: float
    timing: Timing = Timing.CRITICAL


@dataclass
class Graph:
    """Nodes in program order and the edges between them."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def with_seconds(self, seconds: Mapping[int, np.ndarray]) -> Graph:
        """The same graph with other times for some nodes."""
        nodes = list(self.nodes)
        for n, s in seconds.items():
            nodes[n] = replace(nodes[n], seconds=s)
        return Graph(nodes, self.edges)

    def classes(self, rounds: int = 16) -> list[int]:
        """A class per node: nodes that are equivalent up to `rounds` edges away decide together.

        Colour refinement (Weisfeiler & Leman 1968) with a bound: repeated layers get the same
        colours wherever they are further than `rounds` from what tells them apart.  Scalars carry
        no colour: what every layer shares does not tell layers apart.
        """
        initial = self._initial()
        ends = np.array([(e.src, e.dst, e.slot, e.index) for e in self.edges if len(e.shape)], np.uint64).reshape(-1, 4)
        src, dst = ends[:, 0].astype(np.intp), ends[:, 1].astype(np.intp)
        # None of them is 0, which stands for no neighbour.
        into, out = (_mix(ends[:, a] * odd + ends[:, b] + odd) for a, b, odd in ((3, 2, _FIRST), (2, 3, _SECOND)))
        colour = np.array(initial, np.uint64)
        count = len(set(initial))
        for _ in range(rounds):
            # Neighbours as a multiset: the sum of their hashes.
            seen = np.zeros((2, len(colour)), np.uint64)
            np.add.at(seen[0], dst, _mix(into ^ _mix(colour[src])))
            np.add.at(seen[1], src, _mix(out ^ _mix(colour[dst])))
            colour = _mix(_mix(_mix(colour) + seen[0]) + seen[1])
            before, count = count, len(np.unique(colour))
            if count in (before, len(colour)):
                break
        by_appearance: dict[int, int] = {}
        return [by_appearance.setdefault(c, len(by_appearance)) for c in colour.tolist()]

    def _initial(self) -> list[int]:
        seen: dict[tuple, int] = {}
        return [
            seen.setdefault((n.kind, n.name, n.table.index, n.times, n.label), len(seen)) for n in self.nodes
        ]


#: Odd constants of well-mixed bits (the golden ratio's, and those of the finaliser below).
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def _mix(x: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words that spreads every bit (finaliser of splitmix64, Steele et al. 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
