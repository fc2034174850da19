"""The reduced problem as flat arrays, for compiled loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.solve.kernels import add_prices, energy_of, usage_of
from pcg.solve.reduce import Reduced


@dataclass
class Model:
    """Strategy k of node i costs `unary[offset[i] + k]`; edge e between i = `ei[e]` and j = `ej[e]` costs
    `tables[table[e] + k * size[j] + l]` for strategies k and l."""

    size: np.ndarray
    offset: np.ndarray
    unary: np.ndarray
    ei: np.ndarray
    ej: np.ndarray
    table: np.ndarray
    tables: np.ndarray
    near: list[list[tuple[int, int]]]
    """Per node (neighbour, edge)."""
    near_offset: np.ndarray
    near_node: np.ndarray
    near_edge: np.ndarray
    item_offset: np.ndarray
    """Items of node i: item_offset[i] .. item_offset[i + 1]."""
    item_start: np.ndarray
    item_end: np.ndarray
    item_usage: np.ndarray
    """Where an item's usages start in `usage`."""
    usage: np.ndarray
    capacity: np.ndarray

    @property
    def n(self) -> int:
        return len(self.size)

    def energy(self, x: np.ndarray) -> float:
        """Cost of the assignment, without the reduction's constant."""
        return float(energy_of(x, self.size, self.offset, self.unary, self.ei, self.ej, self.table, self.tables))

    def load(self, x: np.ndarray) -> np.ndarray:
        """Bytes at each step."""
        return usage_of(
            x, self.item_offset, self.item_start, self.item_end, self.item_usage, self.usage, len(self.capacity)
        )

    def fits(self, x: np.ndarray) -> bool:
        """Whether memory stays within the capacity."""
        return bool((self.load(x) <= self.capacity).all())

    def priced(self, price: np.ndarray) -> np.ndarray:
        """The unary costs with `price[t]` paid per byte and step."""
        return add_prices(
            self.unary, self.offset, self.size, self.item_offset, self.item_start, self.item_end, self.item_usage,
            self.usage, price,
        )  # fmt: skip


def flatten(r: Reduced) -> Model:
    """The model of `r`."""
    size = np.array([len(u) for u in r.unary], dtype=np.int64)
    ei: list[int] = []
    ej: list[int] = []
    table: list[int] = []
    parts: list[np.ndarray] = []
    near: list[list[tuple[int, int]]] = [[] for _ in size]
    total = 0
    for i, row in enumerate(r.pair):
        for j, t in row.items():
            if i < j:
                near[i].append((j, len(ei)))
                near[j].append((i, len(ei)))
                ei.append(i)
                ej.append(j)
                table.append(total)
                parts.append(np.ascontiguousarray(t).ravel())
                total += t.size
    items = [(s, e, u) for own in r.timeline.items for s, e, u in own]
    lengths = np.array([len(u) for _, _, u in items], dtype=np.int64)
    return Model(
        size,
        _offsets(size)[:-1],
        np.concatenate([np.zeros(0), *r.unary]),
        np.array(ei, dtype=np.int64),
        np.array(ej, dtype=np.int64),
        np.array(table, dtype=np.int64),
        np.concatenate([np.zeros(0), *parts]),
        near,
        _offsets(np.array([len(a) for a in near], dtype=np.int64)),
        np.array([j for a in near for j, _ in a], dtype=np.int64),
        np.array([e for a in near for _, e in a], dtype=np.int64),
        _offsets(np.array([len(own) for own in r.timeline.items], dtype=np.int64)),
        np.array([s for s, _, _ in items], dtype=np.int64),
        np.array([e for _, e, _ in items], dtype=np.int64),
        _offsets(lengths)[:-1],
        np.concatenate([np.zeros(0, dtype=np.int64), *(u for _, _, u in items)]),
        r.timeline.capacity.astype(np.int64),
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
