"""The edges of a network as flat arrays, in the order of its rows, for loops over all of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pcg.solve import kernels


@dataclass(frozen=True)
class Edges:
    """Edge e between nodes `ei[e]` < `ej[e]` costs, for their choices k and l,
    `tables[table[e] + maps[column[0, e] + k] * stride[e] + maps[column[1, e] + l]]`.

    `size` has the choices of every node.  `maps` begins with 0, 1, 2, ... for the choices of any node: column 0 is for
    tables with a row or a column per choice.  Edges with one matrix in memory share a table, which has one stride.
    Around node i, in the order of its row, are the edges `near[near_offset[i] : near_offset[i + 1]]`.
    """

    size: np.ndarray
    ei: np.ndarray
    ej: np.ndarray
    table: np.ndarray
    stride: np.ndarray
    column: np.ndarray
    maps: np.ndarray
    tables: np.ndarray
    near_offset: np.ndarray
    near: np.ndarray

    @classmethod
    def by_choice(
        cls, size: np.ndarray, ei: np.ndarray, ej: np.ndarray, table: np.ndarray, tables: np.ndarray,
        near_offset: np.ndarray, near: np.ndarray,
    ) -> Edges:  # fmt: skip
        """Those whose tables have a row per choice of the one end and a column per choice of the other."""
        column, maps = np.zeros((2, len(ei)), dtype=np.int64), np.arange(size.max(initial=0))
        return cls(size, ei, ej, table, size[ej], column, maps, tables, near_offset, near)

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
        tables = Joined()
        table = np.array(list(map(tables.add, matrices)), dtype=np.int64)
        size = np.fromiter(map(len, unary), np.int64, n)
        return cls.by_choice(size, ei, ej, table, tables.joined(np.float64), offsets(degree), near)

    def cost(self, x: Sequence[int], beside: float) -> float:
        """What the edges cost for an assignment, added to what it costs `beside`; row by row."""
        return kernels.cost_of_edges(
            np.array(x, dtype=np.int64), self.ei, self.ej, self.table, self.stride, self.column, self.maps, self.tables,
            beside,
        )  # fmt: skip

    def around(self, i: int) -> Iterator[tuple[int, int]]:
        """The neighbours of node i, and the edges to them."""
        a, b = self.near_offset.item(i), self.near_offset.item(i + 1)
        return zip(self.near_node[a:b].tolist(), self.near[a:b].tolist(), strict=True)

    def between(self, e: int, k: int, l: int) -> float:
        """What edge e costs for choices k of its first end and l of its second."""
        row, at = (self.maps.item(self.column.item(side, e) + x) for side, x in enumerate((k, l)))
        return self.tables.item(self.table.item(e) + row * self.stride.item(e) + at)

    def icm(self, own: np.ndarray, x: Sequence[int], noise: float, free: np.ndarray) -> list[int]:
        """`Network.icm`, of the nodes that are `free`; `own` is `Network.own`."""
        best = np.array(x, dtype=np.int64)
        n, room = len(self.size), np.empty(int(self.size.max(initial=1)))
        kernels.icm(
            self.size, self.first, own, self.ei, self.table, self.stride, self.column, self.maps, self.tables,
            self.near_offset, self.near_node, self.near, noise, best, room, free, np.empty(n, np.bool_),
            np.empty(n, np.bool_),
        )  # fmt: skip
        return best.tolist()  # type: ignore[no-any-return]

    @cached_property
    def first(self) -> np.ndarray:
        """Where the choices of each node start when they lie one behind the other."""
        return offsets(self.size)[:-1]

    @cached_property
    def near_node(self) -> np.ndarray:
        """The other end of each edge in `near`."""
        node = np.repeat(np.arange(len(self.size)), np.diff(self.near_offset))
        return self.ei[self.near] + self.ej[self.near] - node

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """Those of every node."""
        near = self.near_node.tolist()
        return [near[a:b] for a, b in itertools.pairwise(self.near_offset.tolist())]

    def limited(self, limit: float, most: float) -> Edges:
        """With `most` where costs are `limit` or more."""
        return replace(self, tables=np.where(self.tables < limit, self.tables, most))

    def among(self, nodes: np.ndarray) -> Edges:
        """Those between `nodes`, in ascending order, numbered as they are there."""
        place = np.full(len(self.size), -1)
        place[nodes] = np.arange(len(nodes))
        inside = (place[self.ei] >= 0) & (place[self.ej] >= 0)
        number = np.cumsum(inside) - 1
        around = inside[self.near]
        node = np.repeat(np.arange(len(self.size)), np.diff(self.near_offset))[around]
        return replace(
            self, size=self.size[nodes], ei=place[self.ei[inside]], ej=place[self.ej[inside]],
            table=self.table[inside], stride=self.stride[inside], column=np.ascontiguousarray(self.column[:, inside]),
            near_offset=offsets(np.bincount(place[node], minlength=len(nodes))), near=number[self.near[around]],
        )  # fmt: skip

    def conditioned(self, own: np.ndarray, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        """`own`, per choice of a node, of the nodes `free`, with what edges to others cost for their choices in `x`.

        They are added in the order of the nodes' rows.
        """
        size = self.size[free]
        place = np.full(len(self.size), -1)
        place[free] = offsets(size)[:-1]
        near = rows_of(self.near_offset[free], np.diff(self.near_offset)[free])
        outside = place[self.near_node[near]] < 0
        node, other = np.repeat(free, np.diff(self.near_offset)[free])[outside], self.near_node[near][outside]
        e, second = self.near[near][outside], (node > other).astype(np.int64)
        fixed = self.maps[self.column[1 - second, e] + x[other]]
        stride, one = self.stride[e], np.ones(len(e), dtype=np.int64)
        # The cost of choice k is at `start + maps[column + k] * step`.
        start = self.table[e] + fixed * np.where(second, stride, one)
        step, column, many = np.where(second, one, stride), self.column[second, e], self.size[node]
        to, which = rows_of(place[node], many), np.repeat(np.arange(len(e)), many)
        found = own[rows_of(self.first[free], size)]
        np.add.at(found, to, self.tables[start[which] + self.maps[rows_of(column, many)] * step[which]])
        return found

    def restrict(self, size: np.ndarray, choices: np.ndarray) -> Edges:
        """With only some choices of every node, `size` of it, which are in `choices` one node's behind the other's."""
        offset = offsets(size)

        def narrow(e: np.ndarray, to: np.ndarray, out: np.ndarray) -> None:
            columns = np.empty(size.max(initial=0), dtype=np.int64)
            kernels.restricted_tables(
                e, size, offset, choices, self.ei, self.ej, self.table, self.stride, self.column, self.maps,
                self.tables, to, out, columns,
            )  # fmt: skip

        # Nodes of which everything is left are the same if they have as many choices.
        kind, known = -1 - size, dict[bytes, int]()
        for i in np.flatnonzero(size != self.size).tolist():
            kind[i] = known.setdefault(choices[offset[i] : offset[i + 1]].tobytes(), len(known))
        return self._rewritten(size, kind, narrow)

    def least_of_groups(self, groups: Sequence[np.ndarray]) -> Edges:
        """Between groups of choices, `groups[i]` having the number of that of each choice of i: the least in each."""
        size = 1 + np.maximum.reduceat(np.concatenate(groups), self.first) if len(groups) else self.size
        members: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}

        def pairs(i: int, column: int) -> tuple[np.ndarray, np.ndarray]:
            """Groups of node i and what an edge's table has for their members, every pair once."""
            key = column, groups[i].tobytes()
            if key not in members:
                places = self.maps[column : column + len(groups[i])]
                many = int(places.max(initial=0)) + 1
                members[key] = np.divmod(np.unique(groups[i] * many + places), many)
            return members[key]

        def least(e: np.ndarray, to: np.ndarray, out: np.ndarray) -> None:
            out[:] = np.inf
            for at, start in zip(e.tolist(), to.tolist(), strict=True):
                i, j = int(self.ei[at]), int(self.ej[at])
                kernels.least_of_groups(
                    *pairs(i, int(self.column[0, at])), *pairs(j, int(self.column[1, at])),
                    self.tables[self.table[at] :], int(self.stride[at]),
                    out[start : start + int(size[i] * size[j])].reshape(size[i], size[j]),
                )  # fmt: skip

        known: dict[bytes, int] = {}
        kind = np.fromiter((known.setdefault(g.tobytes(), len(known)) for g in groups), np.int64, len(groups))
        return self._rewritten(size, kind, least)

    def _rewritten(
        self, size: np.ndarray, kind: np.ndarray, write: Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    ) -> Edges:
        """With other tables: those of edges that share one, and whose ends are of the same `kind`, are the same.

        `write` gets edges, one of each, where their tables start, and all of these.
        """
        first, which = _distinct(self._kinds, kind[self.ei], kind[self.ej])
        entries = size[self.ei[first]] * size[self.ej[first]]
        starts = np.cumsum(entries) - entries
        tables = np.empty(int(entries.sum()))
        write(first, starts, tables)
        return Edges.by_choice(size, self.ei, self.ej, starts[which], tables, self.near_offset, self.near)

    @cached_property
    def _kinds(self) -> np.ndarray:
        """A number per edge: those with one have the same costs, as far as both ends have as many choices."""
        return _distinct(self.table, *self.column)[1]

    def matrices(self) -> Iterator[tuple[int, np.ndarray]]:
        """Of every edge what the matrix of its costs by choice has, and its number; edges that share one yield one."""
        first, which = _distinct(self._kinds, self.size[self.ei], self.size[self.ej])
        made = [self._matrix(e) for e in first.tolist()]
        yield from ((w, made[w]) for w in which.tolist())

    def _matrix(self, e: int) -> np.ndarray:
        """What an edge costs by the choices of its ends; a view if its table has a row and a column for each."""
        rows, columns = int(self.size[self.ei[e]]), int(self.size[self.ej[e]])
        at, stride = int(self.table[e]), int(self.stride[e])
        if not self.column[:, e].any() and stride == columns:
            return self.tables[at : at + rows * columns].reshape(rows, columns)
        i, j = (self.maps[c : c + n] for c, n in zip(self.column[:, e].tolist(), (rows, columns), strict=True))
        return self.tables[at + stride * i[:, None] + j]

    def rows(self) -> list[dict[int, np.ndarray]]:
        """The costs by the nodes' rows, both ways."""
        both = list(self.matrices())
        transposed: dict[int, np.ndarray] = {}
        pair: list[dict[int, np.ndarray]] = [{} for _ in self.size]
        node = np.repeat(np.arange(len(self.size)), np.diff(self.near_offset))
        for i, j, e in zip(node.tolist(), self.near_node.tolist(), self.near.tolist(), strict=True):
            number, m = both[e]
            pair[i][j] = m if i < j else transposed.setdefault(number, m.T)
        return pair


@dataclass
class Joined:
    """Arrays one behind the other; those that are one in memory are there once."""

    arrays: list[np.ndarray] = field(default_factory=list)
    _starts: dict[tuple[object, ...], int] = field(default_factory=dict)
    _known: dict[int, int] = field(default_factory=dict)
    """The same by `id`, which takes a tenth of the time."""
    _used: int = 0

    def add(self, a: np.ndarray) -> int:
        """Where an array starts, row by row."""
        at = self._known.get(id(a))
        if at is None:
            at = self._known[id(a)] = self._starts.setdefault(memory(a), self._used)
            if at == self._used:
                self.arrays.append(a)
                self._used += a.size
        return at

    def joined(self, kind: type[np.generic]) -> np.ndarray:
        """All of them."""
        return np.concatenate([np.zeros(0, dtype=kind), *map(np.ravel, self.arrays)]).astype(kind, copy=False)


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Where each of several rows starts when they lie one behind the other, and their end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def split(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Several rows that lie one behind the other, as views."""
    return [values[a:b] for a, b in itertools.pairwise(offsets(lengths).tolist())]


def rows_of(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Where the entries of rows are that start there, one row behind the other."""
    return np.repeat(starts - offsets(lengths)[:-1], lengths) + np.arange(lengths.sum())


def memory(m: np.ndarray) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The same for arrays and views that are one matrix in memory."""
    return m.__array_interface__["data"][0], m.shape, m.strides


def _distinct(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of rows of a table that is given by its columns, and the number of the kind of each."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    for column in columns:
        kinds, of = np.unique(column, return_inverse=True)
        both = number * max(1, len(kinds)) + of.reshape(-1)
        _, first, number = np.unique(both, return_index=True, return_inverse=True)
        number = number.reshape(-1)
    return first, number
