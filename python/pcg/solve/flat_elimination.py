"""Exact simplification of a network as one compiled loop over flat arrays, and the way back from what is left.

It does what `Elimination` does node by node, in the order that `pcg.solve.reduce` states; the arrays are those of
`pcg.solve.elimination_kernels`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from pcg.solve import elimination_kernels as kernels
from pcg.solve import expansion_kernels
from pcg.solve.edges import Edges, offsets, rows_of
from pcg.solve.elimination import CEILING
from pcg.solve.network import Network
from pcg.solve.pairwise import Pairwise

#: Entries of room for costs of a node at first, and by how much arrays grow at least.  Chosen: few are larger.
_ROOM, _GROWTH = 1 << 14, 1.5
#: How many times as much room as costs and maps need there is from the start, and for costs up to so many entries more
#: times: a U-Net's grow to thirty times as many, and copying them is a fifth of the work.  Chosen, not tuned.
_TIMES, _MANY_TIMES, _MANY = 4, 64, 1 << 26


class FlatElimination:
    """A network of which dominated choices and nodes with at most two neighbours are taken out, but for nodes in
    `keep`, which stay with all their choices.

    Choice p of node i is choice `choices[i][p]` of the original's.
    """

    def __init__(self, network: Network, keep: Iterable[int] = ()) -> None:
        read = network.edges
        n, width = len(network.unary), read.size
        self._offset = offsets(width)
        self._size = width.copy()
        self._unary = network.own.copy()
        self._choice = np.arange(int(self._offset[-1])) - np.repeat(self._offset[:-1], width)
        edges = self._read_edges(read, width)
        self._gone = np.zeros(n, dtype=np.bool_)
        self._order = np.empty(n, dtype=np.int64)
        self._count = self._simplify(network, keep, edges)

    def _read_edges(self, edges: Edges, width: np.ndarray) -> int:
        """How many edges there are."""
        n, first, used = len(width), len(edges.ei), len(edges.tables)
        most = first + n  # eliminating a node adds an edge at most
        self._degree = np.diff(edges.near_offset)
        self._near_offset = edges.near_offset[:-1].copy()
        self._near = edges.near.copy()
        self._end, self._column = np.zeros((2, most), dtype=np.int64), np.zeros((2, most), dtype=np.int64)
        self._end[0, :first], self._end[1, :first] = edges.ei, edges.ej
        self._column[:, :first] = edges.column
        self._table, self._stride = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        self._table[:first], self._stride[:first] = edges.table, edges.stride
        # Room for tables and maps that elimination adds; what is not used of it takes no memory.
        self._tables, self._used = np.empty(max(_TIMES * used, min(_MANY_TIMES * used, _MANY)) + _ROOM), used
        self._tables[:used] = edges.tables
        self._mapped = len(edges.maps)
        self._maps = np.empty(self._mapped + _TIMES * int(width.sum()) + _ROOM, dtype=np.int64)
        self._maps[: self._mapped] = edges.maps
        return first

    def _simplify(self, network: Network, keep: Iterable[int], edges: int) -> int:
        """How many nodes were eliminated."""
        n, widest = len(self._size), int(self._size.max(initial=0))
        free = np.ones(n, dtype=np.bool_)
        free[list(keep)] = False
        state = np.zeros(9, dtype=np.int64)
        state[kernels.EDGES], state[kernels.TABLES] = edges, self._used
        state[kernels.MAPS] = self._mapped
        constant, room = np.zeros(1), np.empty(_ROOM)
        neighbours = int(self._degree.max(initial=0))
        changed, fresh = np.ones(n, dtype=np.bool_), np.zeros(len(self._table), dtype=np.bool_)
        queue, ends = np.empty(3 * n, dtype=np.int64), np.empty(neighbours + 1, dtype=np.int64)
        cheapest, alive = np.empty(neighbours * widest, dtype=np.int64), np.empty(widest, dtype=np.bool_)
        usage, columns = np.zeros((0, 0), dtype=np.int64), np.empty(widest, dtype=np.int64)
        while True:
            why = kernels.simplify(
                state, network.limit, network.noise, CEILING * network.forbidden, free, self._gone, changed,
                self._offset, self._size, self._unary, self._choice, self._near_offset, self._degree, self._near,
                self._end, self._table, self._stride, self._column, fresh, self._maps, self._tables, constant, queue,
                self._order, room, ends, cheapest, alive, usage, columns,
            )  # fmt: skip
            more = int(state[kernels.NEEDED])
            if why == kernels.DONE:
                break
            if why == kernels.MORE_ROOM:
                room = np.empty(max(len(room) + more, int(_GROWTH * len(room))))
            elif why == kernels.MORE_TABLES:
                self._tables = _larger(self._tables, more)
            else:
                self._maps = _larger(self._maps, more)
        self.constant = float(constant[0])
        """What the nodes that are out cost whatever the others choose."""
        return int(state[kernels.OUT])

    @cached_property
    def choices(self) -> list[np.ndarray]:
        """Per node the choices that are left."""
        return [self._choice[o : o + k] for o, k in zip(self._offset.tolist(), self._size.tolist(), strict=False)]

    @property
    def _around(self) -> tuple[np.ndarray, ...]:
        """What costs and edges are, as kernels take it."""
        return (
            self._offset, self._size, self._unary, self._choice, self._near_offset, self._degree, self._near,
            self._end, self._table, self._stride, self._column, self._maps, self._tables,
        )  # fmt: skip

    def expand(self, solution: Iterable[tuple[int, int]]) -> list[int]:
        """The original network's solution, given (node, choice) for all nodes that are left."""
        x = np.zeros(len(self._size), dtype=np.int64)
        for i, k in solution:
            x[i] = self._choice[self._offset[i] + k]
        expansion_kernels.expand(self._count, self._order, x, *self._around)
        return x.tolist()  # type: ignore[no-any-return]

    def respond(self, masks: Iterable[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        """Given (node, mask of its choices) for all nodes that are left, the same for every node of the original.

        Of nodes that are out it is what is best for some of the marked choices of others.
        """
        marks = np.zeros(int(self._offset[-1]), dtype=np.bool_)
        for i, mask in masks:
            marks[self._offset[i] + self.choices[i]] = mask
        x = np.zeros(len(self._size), dtype=np.int64)
        expansion_kernels.respond(self._count, self._order, marks, x, *self._around)
        return [marks[a:b] for a, b in itertools.pairwise(self._offset.tolist())]

    def left(self) -> tuple[list[int], Pairwise, Edges]:
        """The nodes that are left, what they cost, and the edges between them by position among them."""
        kept = np.flatnonzero(~self._gone)
        size, degree = self._size[kept], self._degree[kept]
        position = np.empty(len(self._size), dtype=np.int64)
        position[kept] = np.arange(len(kept))
        edge = self._near[rows_of(self._near_offset[kept], degree)]
        node = np.repeat(np.arange(len(kept)), degree)
        other = position[self._end[0, edge] + self._end[1, edge] - kept[node]]
        edges = edge[node < other]
        ei, ej = node[node < other], other[node < other]
        table, tables = self._collected(edges, size[ei] * size[ej])
        flat = Pairwise.joined(size, self._unary[rows_of(self._offset[kept], size)], ei, ej, table, tables)
        number = np.empty(len(self._table), dtype=np.int64)
        number[edges] = np.arange(len(edges))
        return kept.tolist(), flat, Edges.by_choice(size, ei, ej, table, tables, offsets(degree), number[edge])

    def _collected(self, edges: np.ndarray, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the costs of each of some edges are, and all of them, equal ones once."""
        out, at = np.empty(int(entries.sum())), np.empty(len(edges), dtype=np.int64)
        slots = np.full(2 ** int(2 * len(edges)).bit_length(), -1, dtype=np.int64)
        used = kernels.collect(
            edges, at, out, out.view(np.int64), slots, self._offset, self._size, self._choice, self._end, self._table,
            self._stride, self._column, self._maps, self._tables, np.empty(self._size.max(initial=0), dtype=np.int64),
        )  # fmt: skip
        return at, out[:used]


def _larger(values: np.ndarray, more: int) -> np.ndarray:
    """The same, with at least `more` entries behind."""
    out = np.empty(max(len(values) + more, int(_GROWTH * len(values))), dtype=values.dtype)
    out[: len(values)] = values
    return out
