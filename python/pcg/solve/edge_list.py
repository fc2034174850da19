"""Edges one by one, whose costs depend only on what some of the choices of their ends have in common.

Of hundreds of strategies of an op a few dozen layouts of its result come, and a redistribution costs what it does for
these.  So an edge has a table by layout, and per choice of each end the layout that it has: a tenth of the memory of a
matrix by choice, and less.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.solve.edges import Edges, Joined, offsets


@dataclass
class EdgeList:
    """Edges between nodes with `size[i]` choices; choices k of i and l of j cost `table[rows[k], columns[l]]`.

    Arrays stay as they are; edges may share them.
    """

    size: Sequence[int]
    _edges: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    _transposed: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Transposed tables by the `id` of a table, which is kept."""

    def connect(self, i: int, j: int, table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        """Add an edge between two nodes; the costs of several between them are added up."""
        if i > j:
            if id(table) not in self._transposed:
                self._transposed[id(table)] = table, np.ascontiguousarray(table.T)
            i, j, table, rows, columns = j, i, self._transposed[id(table)][1], columns, rows
        before = self._edges.get((i, j))
        if before is not None:
            table = _by_choice(*before) + _by_choice(table, rows, columns)
            rows, columns = np.arange(self.size[i]), np.arange(self.size[j])
        self._edges[i, j] = table, rows, columns

    def most(self) -> float:
        """The largest costs of all edges that are numbers, added up."""
        known: dict[int, float] = {}
        for table, _, _ in self._edges.values():
            if id(table) not in known:
                known[id(table)] = float(table.max(initial=0.0, where=np.isfinite(table)))
        return sum(known[id(table)] for table, _, _ in self._edges.values())

    def edges(self, forbidden: float) -> Edges:
        """All of them, with `forbidden` where costs are infinite."""
        n, count = len(self.size), len(self._edges)
        size = np.array(self.size, dtype=np.int64)
        tables, maps = Joined(), Joined()
        maps.add(np.arange(size.max(initial=0)))
        ends = np.fromiter(itertools.chain.from_iterable(self._edges), np.int64, 2 * count).reshape(-1, 2)
        table, stride = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        column = np.empty((2, count), dtype=np.int64)
        for e, (costs, rows, columns) in enumerate(self._edges.values()):
            table[e], stride[e] = tables.add(costs), costs.shape[1]
            column[0, e], column[1, e] = maps.add(rows), maps.add(columns)
        order = np.argsort(ends[:, 0], kind="stable")
        number = np.empty(count, dtype=np.int64)
        number[order] = np.arange(count)
        near = number.repeat(2)[np.argsort(ends.reshape(-1), kind="stable")]
        every = tables.joined(np.float64)
        return Edges(
            size, ends[order, 0], ends[order, 1], table[order], stride[order], column.take(order, axis=1),
            maps.joined(np.int64), np.where(np.isfinite(every), every, forbidden),
            offsets(np.bincount(ends.reshape(-1), minlength=n)), near,
        )  # fmt: skip


def _by_choice(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The costs by the choices of both ends."""
    return table[:, columns][rows]
