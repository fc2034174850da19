"""A network of nodes and edges as flat arrays, for loops over all of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcg.solve import kernels
from pcg.solve.edges import Edges, offsets, split
from pcg.solve.equal import Equal


@dataclass
class Pairwise:
    """Choice k of node i costs `unary[offset[i] + k]`; edge e between i = `ei[e]` and j = `ej[e]` (i < j) costs
    `tables[table[e] + k * size[j] + l]` for choices k and l; edges with the same costs have one table."""

    size: np.ndarray
    offset: np.ndarray
    unary: np.ndarray
    ei: np.ndarray
    ej: np.ndarray
    table: np.ndarray
    tables: np.ndarray
    near_offset: np.ndarray
    near_node: np.ndarray
    near_edge: np.ndarray

    @classmethod
    def of(cls, unary: Sequence[np.ndarray], edges: Edges) -> Pairwise:
        """`unary[i]` per choice of node i; tables of edges that are equal become one."""
        same, tables, used = Equal(), [], 0
        starts: dict[int, int] = {}
        known: dict[int, int] = {}
        where = []
        for number, matrix in edges.matrices():
            start = known.get(number)
            if start is None:
                m = same.one(matrix)
                if id(m) not in starts:
                    starts[id(m)] = used
                    tables.append(m)
                    used += m.size
                start = known[number] = starts[id(m)]
            where.append(start)
        own = np.concatenate([np.zeros(0), *unary])
        table = np.array(where, dtype=np.int64)
        flat = np.concatenate([np.zeros(0), *map(np.ravel, tables)])
        return cls.joined(edges.size, own, edges.ei, edges.ej, table, flat)

    @classmethod
    def joined(
        cls, size: np.ndarray, unary: np.ndarray, ei: np.ndarray, ej: np.ndarray, table: np.ndarray, tables: np.ndarray
    ) -> Pairwise:
        """Of its nodes and edges; around a node are its edges as they are numbered."""
        edge = np.arange(len(ei))
        node, other, edges = np.concatenate([ei, ej]), np.concatenate([ej, ei]), np.concatenate([edge, edge])
        order = np.lexsort((edges, node))
        around = offsets(np.bincount(node, minlength=len(size)))
        return cls(size, offsets(size)[:-1], unary, ei, ej, table, tables, around, other[order], edges[order])

    @cached_property
    def near(self) -> list[list[tuple[int, int]]]:
        """Per node (neighbour, edge)."""
        every = list(zip(self.near_node.tolist(), self.near_edge.tolist(), strict=True))
        return [every[a:b] for a, b in itertools.pairwise(self.near_offset.tolist())]

    @property
    def n(self) -> int:
        return len(self.size)

    @property
    def entries(self) -> int:
        """How many costs its edges have, those that share a table counted for each."""
        return int((self.size[self.ei] * self.size[self.ej]).sum())

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """One value per choice, as views per node."""
        return split(values, self.size)

    def edge(self, e: int) -> np.ndarray:
        """The costs of an edge, by the choices of its first end and of its second."""
        rows, cols = self.size[self.ei[e]], self.size[self.ej[e]]
        return self.tables[self.table[e] : self.table[e] + rows * cols].reshape(rows, cols)

    def energy(self, x: np.ndarray) -> float:
        """Cost of an assignment."""
        own = self.unary[self.offset + x].sum()
        return float(own + self.tables[self.table + x[self.ei] * self.size[self.ej] + x[self.ej]].sum())

    def icm(self, x: Sequence[int], noise: float) -> np.ndarray:
        """`Network.icm`, of all nodes."""
        best = np.array(x, dtype=np.int64)
        free, *flags = np.ones(self.n, dtype=np.bool_), np.empty(self.n, np.bool_), np.empty(self.n, np.bool_)
        column, maps = np.zeros((2, len(self.ei)), np.int64), np.arange(self.size.max(initial=0))
        kernels.icm(
            self.size, self.offset, self.unary, self.ei, self.table, self.size[self.ej], column, maps, self.tables,
            self.near_offset, self.near_node, self.near_edge, noise, best, *self.rooms(1), free, *flags,
        )  # fmt: skip
        return best

    def greedy(self) -> np.ndarray:
        """A solution: nodes with most neighbours first, each as is best beside what is chosen and for the best of what
        is not."""
        order = np.lexsort((np.arange(self.n), -np.diff(self.near_offset)))
        x = np.full(self.n, -1, dtype=np.int64)
        kernels.greedy(
            order, self.size, self.offset, self.unary, self.ei, self.table, self.tables, self.near_offset,
            self.near_node, self.near_edge, x, *self.rooms(2),
        )  # fmt: skip
        return x

    def rooms(self, count: int) -> list[np.ndarray]:
        """Work space for the choices of a node, so many times."""
        largest = int(self.size.max(initial=1))
        return [np.empty(largest) for _ in range(count)]
