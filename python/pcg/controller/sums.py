"""Sums over all boxes of a grid at once: differences of a summed-area table (Crow, SIGGRAPH 1984), of any rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


class BoxSums:
    """Sums over all boxes of a grid, of sizes up to `most`; beyond its end all is 1, or it goes on at the start."""

    def __init__(self, values: np.ndarray, wrapped: Sequence[bool], most: Sequence[int]) -> None:
        self.shape, self.wrapped = values.shape, wrapped
        table = values.astype(np.int64)
        for d, n in enumerate(values.shape):
            if wrapped[d]:
                table = table.take(np.arange(-1, n + most[d]) % n, axis=d)
            else:
                ends = np.ones([1 if i == d else m for i, m in enumerate(table.shape)], dtype=np.int64)
                table = np.concatenate([ends, table, ends], axis=d)
        self.table = np.zeros([n + 1 for n in table.shape], dtype=np.int64)
        inner = self.table[(slice(1, None),) * table.ndim]
        inner[...] = table
        for d in range(table.ndim):
            np.cumsum(inner, axis=d, out=inner)

    def starts(self, d: int, size: int) -> int:
        """How many places along dimension `d` a box has."""
        n = self.shape[d]
        return n if self.wrapped[d] and size < n else n - size + 1

    def _along(self, table: np.ndarray, d: int, size: int, offset: int, count: int) -> np.ndarray:
        """Sums of `size` elements along `d`, from `count` places on, the first of which is `offset`."""
        at: list[slice] = [slice(None)] * table.ndim
        at[d] = slice(offset + 1, offset + 1 + count)
        upper = list(at)
        upper[d] = slice(offset + 1 + size, offset + 1 + size + count)
        return table[tuple(upper)] - table[tuple(at)]

    def inside(self, sizes: Sequence[int]) -> np.ndarray:
        """Of boxes of these sizes, by where they start."""
        table = self.table
        for d, size in enumerate(sizes):
            table = self._along(table, d, size, 0, self.starts(d, size))
        return table

    def free(self, sizes: Sequence[int]) -> bool:
        """Whether one of them has sum 0."""
        return not self.inside(sizes).all()

    def around(self, sizes: Sequence[int]) -> tuple[int, np.ndarray]:
        """How many neighbours such boxes have, and the sum over them, by where they start.

        A box that is a whole ring has none along it.
        """
        surface, contact = 0, np.zeros([self.starts(d, n) for d, n in enumerate(sizes)], dtype=np.int64)
        for d, size in enumerate(sizes):
            if self.wrapped[d] and size == self.shape[d]:
                continue
            table = self.table
            for other, n in enumerate(sizes):
                if other != d:
                    table = self._along(table, other, n, 0, self.starts(other, n))
            count = self.starts(d, size)
            contact += self._along(table, d, 1, -1, count) + self._along(table, d, 1, size, count)
            surface += 2 * (math.prod(sizes) // size)
        return surface, contact
