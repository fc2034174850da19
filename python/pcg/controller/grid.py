"""The devices of one island that are free, and the best free box: so that what is left stays usable.

Of all places where a box is free, the best adds least to the surface of what stays free: most of its neighbours are
in use, out of service or beyond the grid.  All places are judged at once, by differences of a summed-area table (Crow,
SIGGRAPH 1984) in as many dimensions as the island has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.controller.boxes import Box, Fit
from pcg.controller.island import Island

#: Devices that the search for near ones starts from, at most.  A choice: some milliseconds.
_SEEDS = 16


@dataclass(frozen=True)
class Found:
    """A box, and what decides between places: smaller is better."""

    box: Box
    score: int


class Grid:
    """What the devices of `island` are used for: `load` slices each, `exclusive` ones are not shared."""

    def __init__(self, island: Island) -> None:
        self.island, self.shape = island, island.shape
        self.load = np.zeros(island.shape, dtype=np.int64)
        self.exclusive = np.zeros(island.shape, dtype=bool)
        self.out = np.zeros(island.shape, dtype=bool)
        self.out.flat[sorted(island.out_of_service)] = True

    # -- what is in use --------------------------------------------------------------------------

    def blocked(self, shared: bool = False) -> np.ndarray:
        """The devices that a slice, or one that may lie on those of other shared slices, cannot have."""
        return self.out | (self.exclusive if shared else self.load > 0)

    def free(self, shared: bool = False) -> int:
        """How many devices it can have."""
        return self.island.size - int(np.count_nonzero(self.blocked(shared)))

    def occupy(self, devices: Sequence[int] | np.ndarray, shared: bool = False) -> None:
        """Use devices for one more slice."""
        self.load.reshape(-1)[devices] += 1
        self.exclusive.reshape(-1)[devices] = not shared

    def vacate(self, devices: Sequence[int] | np.ndarray) -> None:
        """Use them for one slice less."""
        self.load.reshape(-1)[devices] -= 1
        self.exclusive.reshape(-1)[devices] = False

    def serve(self, devices: Iterable[int], serves: bool) -> None:
        """Put devices into service, or out of it."""
        self.out.reshape(-1)[[*devices]] = not serves

    # -- what can be used ------------------------------------------------------------------------

    def best(self, fits: Sequence[Fit], shared: bool = False) -> Found | None:
        """The best place for one of `fits`; None if none is free.  Shared ones go where the fewest slices are."""
        if not fits:
            return None
        most = tuple(max(f.sizes[d] for f in fits) for d in range(len(self.shape)))
        blocked = _Sums(self.blocked(shared), self.island.wrapped, most)
        load = _Sums(self.load, self.island.wrapped, most) if shared and self.load.any() else None
        best: Found | None = None
        for fit in fits:
            free = blocked.inside(fit.sizes) == 0
            if not free.any():
                continue
            surface, contact = blocked.around(fit.sizes)
            score = surface - 2 * contact
            if load is not None:
                score += load.inside(fit.sizes) * (4 * surface + 1)
            score[~free] = np.iinfo(np.int64).max
            at = int(score.argmin())
            if best is None or score.flat[at] < best.score:
                start = tuple(map(int, np.unravel_index(at, score.shape)))
                best = Found(Box(start, fit), int(score.flat[at]))
        return best

    def nearest(self, count: int, shared: bool = False) -> np.ndarray | None:
        """`count` devices near one another, in a box or not, in the order of their numbers; None if there are fewer.

        Those of the same blocks of outer levels are nearer than all others; inside a level hops count.
        """
        usable = np.flatnonzero(~self.blocked(shared).reshape(-1))
        if len(usable) < count:
            return None
        load = self.load.reshape(-1)[usable]
        if shared and load.any():
            usable = usable[load <= np.partition(load, count - 1)[count - 1]]
        places = np.stack(np.unravel_index(usable, self.shape), axis=1)
        seeds = places[:: -(-len(usable) // _SEEDS)]
        distance = np.zeros((len(seeds), len(usable)), dtype=np.int64)
        weight = 1
        for level in reversed(range(self.island.levels[-1] + 1)):
            dims = [d for d, own in enumerate(self.island.levels) if own == level]
            for d in dims:
                apart = np.abs(seeds[:, d, None] - places[None, :, d])
                distance += weight * (np.minimum(apart, self.shape[d] - apart) if self.island.wrapped[d] else apart)
            weight *= 1 + sum(self.shape[d] - 1 for d in dims)
        chosen = np.argpartition(distance, count - 1, axis=1)[:, :count]
        best = int(np.take_along_axis(distance, chosen, axis=1).sum(axis=1).argmin())
        return np.sort(usable[chosen[best]])

    def largest(self, shared: bool = False) -> tuple[int, ...]:
        """Sizes of the largest box that is free; all 0 if no device is."""
        *others, last = sorted(range(len(self.shape)), key=lambda d: self.shape[d])
        sums = _Sums(self.blocked(shared), self.island.wrapped, self.shape)
        best, volume = (0,) * len(self.shape), 0
        for n in range(1, max(self.shape) + 1):  # cubes first: what is no larger need not be looked for
            sizes = tuple(min(n, m) for m in self.shape)
            if not sums.free(sizes):
                break
            best, volume = sizes, math.prod(sizes)
        # Up to which length along the last dimension boxes with these other sides may be free: no longer than thinner
        # ones.
        bounds: dict[tuple[int, ...], int] = {}
        for side in itertools.product(*(range(1, self.shape[d] + 1) for d in others)):
            thinner = ((*side[:i], n - 1, *side[i + 1 :]) for i, n in enumerate(side) if n > 1)
            bound, area = min((bounds[t] for t in thinner), default=self.shape[last]), math.prod(side)
            while (length := volume // area + 1) <= bound:
                by_dim = dict(zip((*others, last), (*side, length), strict=True))
                sizes = tuple(by_dim[d] for d in range(len(self.shape)))
                if not sums.free(sizes):
                    bound = length - 1
                    break
                best, volume = sizes, area * length
            bounds[side] = bound
        return best


class _Sums:
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
