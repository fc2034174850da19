"""The graph that the search works on: nodes with strategy tables, edges that may need a reshard.

A *hub* stands for a value that several ops read: the spec it is kept in once produced.  An
all-reduce between an op and its hub is paid once, a gather between a hub and a reader per reader;
so "gather the weight once" and "gather it for every use" are two choices of one hub.  Function
arguments, loop-carried values and branch results are hubs too; an argument that several ops read
has a hub besides the layout that it comes in.  No MLIR here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from pcg.search.table import Table


@dataclass(slots=True)
class Node:
    """A decision.  `seconds[k]` is the time of strategy k, executed `times` times per step.

    `kind` is op, hub, argument, carry, result or sink; nodes with different `label` never decide together.
    """

    kind: str
    name: str
    table: Table
    seconds: np.ndarray
    times: float = 1.0
    label: str = ""


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
    late: bool = False
    """Whether nothing waits for it but the end of the step, so that a compiler sends it together with others."""


@dataclass
class Graph:
    """Nodes in program order and the edges between them."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def classes(self, rounds: int = 16) -> list[int]:
        """A class per node: nodes that look alike up to `rounds` edges away decide together.

        Colour refinement (Weisfeiler & Leman 1968) with a bound: repeated layers get the same
        colours wherever they are further than `rounds` from what tells them apart.  Scalars carry
        no colour: what every layer shares does not tell layers apart.
        """
        colour = self._initial()
        wide = [e for e in self.edges if len(e.shape)]
        into: dict[int, list[Edge]] = defaultdict(list)
        out: dict[int, list[Edge]] = defaultdict(list)
        for e in wide:
            into[e.dst].append(e)
            out[e.src].append(e)
        count = len(set(colour))
        for _ in range(rounds):
            seen: dict[tuple, int] = {}
            new = []
            for i in range(len(self.nodes)):
                a = tuple(sorted((e.index, e.slot, colour[e.src]) for e in into[i]))
                b = tuple(sorted((e.slot, e.index, colour[e.dst]) for e in out[i]))
                new.append(seen.setdefault((colour[i], a, b), len(seen)))
            colour = new
            if len(seen) == count:
                break
            count = len(seen)
        return colour

    def _initial(self) -> list[int]:
        seen: dict[tuple, int] = {}
        return [
            seen.setdefault((n.kind, n.name, n.table.index, n.times, n.label), len(seen)) for n in self.nodes
        ]
