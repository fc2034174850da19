"""The edges of a network as flat arrays, in the order of its rows, for loops over all of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pcg.solve import kernels


@dataclass(frozen=True)
class Edges:
    """Edge e between nodes `ei[e]` < `ej[e]` costs `tables[table[e] + k * size[ej[e]] + l]` for their choices k and l.

    `size` has the choices of every node.  Edges with one matrix in memory share a table, which has one shape.  Around
    node i, in the order of its row, are the edges `near[near_offset[i] : near_offset[i + 1]]`.
    """

    size: np.ndarray
    ei: np.ndarray
    ej: np.ndarray
    table: np.ndarray
    tables: np.ndarray
    near_offset: np.ndarray
    near: np.ndarray

    @classmethod
    def of(cls, unary: Sequence[np.ndarray], pair: Sequence[dict[int, np.ndarray]]) -> Edges:
        """`unary[i]` per choice of node i, `pair[i][j]` per choice of i and of j, given both ways."""
        n = len(unary)
        degree = np.fromiter(map(len, pair), np.int64, n)
        node = np.repeat(np.arange(n), degree)
        other = np.fromiter(itertools.chain.from_iterable(pair), np.int64, len(node))
        forward = node < other
        ei, ej = node[forward], other[forward]
        rows = itertools.chain.from_iterable(row.values() for row in pair)
        matrices = list(itertools.compress(rows, forward.tolist()))
        order = np.argsort(ei * n + ej)
        ends = np.minimum(node, other) * n + np.maximum(node, other)
        near = order[np.searchsorted((ei * n + ej)[order], ends)]
        starts: dict[tuple[object, ...], int] = {}
        seen: dict[int, int] = {}  # the same by `id`, which takes a tenth of the time
        parts: list[np.ndarray] = []
        where: list[int] = []
        used = 0
        for m in matrices:
            at = seen.get(id(m))
            if at is None:
                at = seen[id(m)] = starts.setdefault(memory(m), used)
                if at == used:
                    parts.append(m.ravel())
                    used += m.size
            where.append(at)
        size = np.fromiter(map(len, unary), np.int64, n)
        table = np.array(where, dtype=np.int64)
        return cls(size, ei, ej, table, np.concatenate([np.zeros(0), *parts]), offsets(degree), near)

    def cost(self, x: Sequence[int], beside: float) -> float:
        """What the edges cost for an assignment, added to what it costs `beside`; row by row."""
        return kernels.cost_of_edges(
            np.array(x, dtype=np.int64), self.size, self.ei, self.ej, self.table, self.tables, beside
        )

    def icm(self, unary: Sequence[np.ndarray], x: Sequence[int], noise: float, free: np.ndarray) -> list[int]:
        """`Network.icm`, of the nodes that are `free`."""
        best = np.array(x, dtype=np.int64)
        n, room = len(self.size), np.empty(int(self.size.max(initial=1)))
        kernels.icm(
            self.size, offsets(self.size)[:-1], np.concatenate([np.zeros(0), *unary]), self.ei, self.table,
            self.tables, self.near_offset, self.near_node, self.near, noise, best, room, free, np.empty(n, np.bool_),
            np.empty(n, np.bool_),
        )  # fmt: skip
        return best.tolist()  # type: ignore[no-any-return]

    @cached_property
    def near_node(self) -> np.ndarray:
        """The other end of each edge in `near`."""
        node = np.repeat(np.arange(len(self.size)), np.diff(self.near_offset))
        return self.ei[self.near] + self.ej[self.near] - node

    def restrict(self, kept: Sequence[np.ndarray]) -> Edges:
        """With only the choices `kept` of every node."""
        size = np.fromiter(map(len, kept), np.int64, len(kept))
        offset = offsets(size)

        def narrow(e: np.ndarray, to: np.ndarray, out: np.ndarray) -> None:
            i, j = self.ei[e], self.ej[e]
            choices = np.concatenate([np.zeros(0, dtype=np.int64), *kept])
            kernels.restricted_tables(
                self.table[e], self.size[j], offset[i], size[i], offset[j], size[j], choices, self.tables, to, out
            )

        return self._rewritten(size, kept, narrow)

    def least_of_groups(self, groups: Sequence[np.ndarray]) -> Edges:
        """Between groups of choices, `groups[i]` having the number of that of each choice of i: the least in each."""
        size = np.array([int(g.max()) + 1 for g in groups], dtype=np.int64)

        def least(e: np.ndarray, to: np.ndarray, out: np.ndarray) -> None:
            out[:] = np.inf
            for i, j, at, start in zip(
                self.ei[e].tolist(), self.ej[e].tolist(), self.table[e].tolist(), to.tolist(), strict=True
            ):
                rows, columns = int(self.size[i]), int(self.size[j])
                costs = self.tables[at : at + rows * columns].reshape(rows, columns)
                shape = int(size[i]), int(size[j])
                kernels.least_of_groups(
                    costs, groups[i], groups[j], out[start : start + shape[0] * shape[1]].reshape(shape)
                )

        return self._rewritten(size, groups, least)

    def _rewritten(
        self, size: np.ndarray, by: Sequence[np.ndarray], write: Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    ) -> Edges:
        """With other tables: those of edges that share one, and whose ends have equal arrays in `by`, are the same.

        `write` gets edges, one of each, where their tables start, and all of these.
        """
        known: dict[bytes, int] = {}
        kind = np.fromiter((known.setdefault(a.tobytes(), len(known)) for a in by), np.int64, len(by))
        count = max(1, len(known))
        key = (self.table * count + kind[self.ei]) * count + kind[self.ej]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        entries = size[self.ei[first]] * size[self.ej[first]]
        starts = np.cumsum(entries) - entries
        tables = np.empty(int(entries.sum()))
        write(first, starts, tables)
        return replace(self, size=size, table=starts[which.reshape(-1)].astype(np.int64), tables=tables)

    def rows(self) -> list[dict[int, np.ndarray]]:
        """The costs by the nodes' rows, both ways."""
        sizes = self.size.tolist()
        degree = np.diff(self.near_offset)
        node = np.repeat(np.arange(len(sizes)), degree)
        views: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]] = {}
        pair: list[dict[int, np.ndarray]] = [{} for _ in sizes]
        for i, j, at in zip(node.tolist(), self.near_node.tolist(), self.table[self.near].tolist(), strict=True):
            rows, columns = (sizes[i], sizes[j]) if i < j else (sizes[j], sizes[i])
            both = views.get((at, rows, columns))
            if both is None:
                m = self.tables[at : at + rows * columns].reshape(rows, columns)
                both = views[at, rows, columns] = m, m.T
            pair[i][j] = both[i > j]
        return pair


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Where each of several rows starts when they lie one behind the other, and their end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def memory(m: np.ndarray) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The same for arrays and views that are one matrix in memory."""
    return m.__array_interface__["data"][0], m.shape, m.strides
