"""The devices of one island that are free, and the best free box: so that what is left stays usable.

Of all places where a box is free, the best takes least from others: the fewest of the places where larger cubes are
free.  Of those, it adds least to the surface of what stays free: most of its neighbours are in use, out of service or
beyond the grid.  All places are judged at once, by sums over boxes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.controller.boxes import Box, Fit
from pcg.controller.island import Island
from pcg.controller.sums import BoxSums

#: Devices that the search for near ones starts from, at most.  A choice: some milliseconds.
_SEEDS = 16


@dataclass(frozen=True)
class Found:
    """A box, and what decides between places, the first difference first: smaller is better.

    `score`: slices that the devices have already; share of the places of larger cubes that are lost; by how much the
    surface of what is free grows.
    """

    box: Box
    score: tuple[float, float, float]


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
        most = [max(f.sizes[d] for f in fits) for d in range(len(self.shape))]
        cubes = self._cubes()
        blocked = BoxSums(self.blocked(shared), self.island.wrapped, np.max([most, *cubes], axis=0).tolist())
        possible = [(f, free) for f in fits if (free := blocked.inside(f.sizes) == 0).any()]
        if not possible:
            return None
        load = BoxSums(self.load, self.island.wrapped, most) if shared and self.load.any() else None
        usable = [u for c in cubes if (u := _Usable.of(blocked, c, most)) is not None]
        best: Found | None = None
        for fit, free in possible:
            score = []
            surface, contact = blocked.around(fit.sizes)
            lost = sum((u.lost(fit.sizes) for u in usable), np.zeros(free.shape))
            for values in (
                np.zeros(free.shape) if load is None else load.inside(fit.sizes),
                lost,
                surface - 2 * contact,
            ):
                score.append(float(values[free].min()))
                free &= values == score[-1]
            if best is None or tuple(score) < best.score:
                start = tuple(map(int, np.unravel_index(int(free.argmax()), free.shape)))
                best = Found(Box(start, fit), (score[0], score[1], score[2]))
        return best

    def _cubes(self) -> list[tuple[int, ...]]:
        """Boxes that should stay possible: sides are half and a quarter of the longest dimension, if it goes so far."""
        edges = (max(self.shape) // part for part in (4, 2))
        return [tuple(min(n, edge) for n in self.shape) for edge in edges if edge > 1]

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
        sums = BoxSums(self.blocked(shared), self.island.wrapped, self.shape)
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


@dataclass(frozen=True)
class _Usable:
    """The places where boxes of sizes `cube` are free: how many, and where, for sums over those that a box overlaps."""

    cube: tuple[int, ...]
    total: int
    places: BoxSums

    @classmethod
    def of(cls, blocked: BoxSums, cube: tuple[int, ...], most: Sequence[int]) -> _Usable | None:
        """None if there is none.  `most`: sizes of the boxes that are judged."""
        free = blocked.inside(cube) == 0
        if not (total := int(np.count_nonzero(free))):
            return None
        # A box that starts at x overlaps those cubes that start from `size - 1` before x on: this is where x is now.
        for d, size in enumerate(cube):
            if blocked.wrapped[d]:
                free = np.roll(free, size - 1, axis=d)
            else:
                before = np.zeros([size - 1 if i == d else n for i, n in enumerate(free.shape)], dtype=bool)
                free = np.concatenate([before, free, before], axis=d)
        longest = [min(m + c - 1, n) for m, c, n in zip(most, cube, free.shape, strict=True)]
        return cls(cube, total, BoxSums(free, blocked.wrapped, longest))

    def lost(self, sizes: Sequence[int]) -> np.ndarray:
        """The share of the places that a box takes, by where it starts; of size 1 where that makes no difference."""
        overlap = [min(s + c - 1, n) for s, c, n in zip(sizes, self.cube, self.places.shape, strict=True)]
        return self.places.inside(overlap) / self.total
