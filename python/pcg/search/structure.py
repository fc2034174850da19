"""The graph of a function before its nodes have strategies: what does not depend on the mesh."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.search.graph import Edge, Source
from pcg.search.timing import EdgeTimings
from pcg.search.work import Work


@dataclass(slots=True)
class Decision:
    """A node without strategies: as `pcg.search.graph.Node`."""

    kind: str
    name: str
    times: float
    of: ir.Operation | ir.Value | int
    """The op that is decided, the value, or the number of the function's result."""
    shape: tuple[int, ...] = ()
    itemsize: float = 0.0
    """Bytes per element of a value."""
    source: tuple[int, int] = (-1, 0)
    """Of the layout in which a result is kept, the node and number of that result."""


@dataclass
class Structure:
    """Nodes and edges, and how to find what is in the IR in them.

    Lists pair what is in the IR with its node; `values` says where each value comes from, and
    `live_ranges` is what the memory model needs.
    """

    decisions: list[Decision] = field(default_factory=list)
    """Nodes in program order."""
    reads: list[Edge] = field(default_factory=list)
    """Edges, none of which is timed."""
    timings: EdgeTimings | None = None
    """When they run, but for how long contractions take."""
    free_reads: list[Edge] = field(default_factory=list)
    """Where values are read that are computed in whatever layout is wanted, as edges without a source."""
    ops: list[tuple[ir.Operation, int]] = field(default_factory=list)
    works: dict[int, Work] = field(default_factory=dict)
    """What ops do, by node."""
    kernels: dict[int, tuple[tuple[int, ...], bool]] = field(default_factory=dict)
    """Of nodes of ops the kernels that they are computed in, and whether one of their results is written to memory."""
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
    generated: set[int] = field(default_factory=set)
    """Nodes of ops that compute a value from constants alone."""

    def of_copy(self, old: ir.Operation, new: ir.Operation) -> Self:
        """This, of a function in `old`, as that of the function in its copy `new`; `values` are left out."""
        ops: dict[ir.Operation, ir.Operation] = {}
        values: dict[ir.Value, ir.Value] = {}
        for a, b in zip(walk(old), walk(new), strict=True):
            ops[a] = b
            values.update(zip(a.results, b.results, strict=True))
            for r, s in zip(a.regions, b.regions, strict=True):
                for x, y in zip(r.blocks, s.blocks, strict=True):
                    values.update(zip(x.arguments, y.arguments, strict=True))

        def same(of: ir.Operation | ir.Value | int) -> ir.Operation | ir.Value | int:
            return of if isinstance(of, int) else values[of] if isinstance(of, ir.Value) else ops[of]

        decisions = [
            Decision(d.kind, d.name, d.times, same(d.of), d.shape, d.itemsize, d.source) for d in self.decisions
        ]
        return replace(
            self, decisions=decisions, ops=[(ops[o], n) for o, n in self.ops], free=[ops[o] for o in self.free],
            layout_nodes=[(values[v], n) for v, n in self.layout_nodes],
            carries=[(ops[o], n) for o, n in self.carries], barriers=[(ops[o], n) for o, n in self.barriers],
            constraints=[(ops[o], n) for o, n in self.constraints], endless=[ops[o] for o in self.endless], values={},
        )  # fmt: skip
