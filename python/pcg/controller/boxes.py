"""Boxes of a grid, and which of them a mesh or a number of devices may lie in."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.controller.island import Island

#: What may be wanted of the network between the devices of a slice.
TOPOLOGIES = {
    "any": "a box whose dimensions are the axes where one is free, else another box, else any devices near one another",
    "box": "every axis along a dimension of its own, next to one another",
    "torus": "as box, and every axis of more than one device is a whole ring, a wrapped dimension",
}


@dataclass(frozen=True)
class Fit:
    """A box's sizes per dimension of a grid, and the order in which devices follow the dimensions, major to minor."""

    sizes: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """`fit` at a place: what starts near the end of a wrapped dimension goes on at its beginning."""

    start: tuple[int, ...]
    fit: Fit

    def devices(self, shape: Sequence[int]) -> np.ndarray:
        """The numbers of its devices in a grid of this shape, in the order of `fit`."""
        at = np.zeros((1,) * len(shape), dtype=np.int64)
        for d, n in enumerate(shape):
            along = (self.start[d] + np.arange(self.fit.sizes[d])) % n * math.prod(shape[d + 1 :])
            at = at + along.reshape([-1 if i == d else 1 for i in range(len(shape))])
        return at.transpose(self.fit.order).ravel()


@functools.lru_cache(4096)
def fits(island: Island, axes: tuple[int, ...] | int, topology: str) -> tuple[tuple[Fit, ...], ...]:
    """The boxes of an island that a mesh of these sizes, or so many devices, may lie in.

    Of a tuple all are as good as one another by themselves; earlier tuples are better.  Those in few blocks of the
    outer levels go first.  Next, for a mesh, come the boxes whose dimensions are its axes, in all rotations, then
    (`any`) those that devices fill in row-major order, in which more axes end where a dimension ends; for a number, and
    among the last, those of less surface.
    """
    found: dict[tuple[int, ...], list[Fit]] = {}
    taken = set()
    if isinstance(axes, tuple):
        for fit in _rotations(axes, island.shape):
            if topology != "torus" or _is_torus(fit.sizes, island):
                taken.add(fit.sizes)
                found.setdefault((*_blocks(fit.sizes, island), 0, 0, 0), []).append(fit)
    if not isinstance(axes, tuple) or topology == "any":
        sizes = axes if isinstance(axes, tuple) else (axes,)
        count = math.prod(sizes)
        for box in _factorisations(count, island.shape):
            if box not in taken and (topology != "torus" or _is_torus(box, island)):
                fit, misaligned = _row_major(sizes, box)
                surface = sum(count // n for n in box)
                found.setdefault((*_blocks(box, island), 1, misaligned, surface), []).append(fit)
    return tuple(tuple(found[key]) for key in sorted(found))


def _rotations(axes: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[Fit]:
    """The boxes of which every dimension is an axis, each once; axes of size 1 need no dimension."""
    wanted = axes if len(axes) <= len(shape) else tuple(n for n in axes if n > 1)
    if len(wanted) > len(shape):
        return
    wanted += (1,) * (len(shape) - len(wanted))
    seen = set()
    for order in itertools.permutations(range(len(shape))):
        sizes = tuple(wanted[order.index(d)] for d in range(len(shape)))
        if sizes not in seen and all(n <= most for n, most in zip(sizes, shape, strict=True)):
            seen.add(sizes)
            yield Fit(sizes, order)


def _factorisations(count: int, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All boxes of `count` devices that a grid of this shape has room for."""
    if not shape:
        if count == 1:
            yield ()
        return
    for n in range(1, min(count, shape[0]) + 1):
        if count % n == 0:
            yield from ((n, *rest) for rest in _factorisations(count // n, shape[1:]))


def _row_major(axes: tuple[int, ...], box: tuple[int, ...]) -> tuple[Fit, int]:
    """The order of dimensions in which most axes end where a dimension ends, and how many axes do not."""
    if len(axes) == 1:
        return Fit(box, tuple(range(len(box)))), 0
    ends = {*itertools.accumulate(axes, operator.mul)}
    best: tuple[int, tuple[int, ...]] | None = None
    for order in itertools.permutations(range(len(box))):
        misaligned = len(ends.difference(itertools.accumulate((box[d] for d in order), operator.mul), (1,)))
        if best is None or misaligned < best[0]:
            best = misaligned, order
    assert best is not None
    return Fit(box, best[1]), best[0]


def _blocks(sizes: tuple[int, ...], island: Island) -> list[int]:
    """How many blocks of each level a box lies in, the innermost left out."""
    out = [1] * (island.levels[-1] + 1)
    for n, level in zip(sizes, island.levels, strict=True):
        out[level] *= n
    return out[:-1]


def _is_torus(sizes: tuple[int, ...], island: Island) -> bool:
    return all(
        n == 1 or (n == most and wrapped) for n, most, wrapped in zip(sizes, island.shape, island.wrapped, strict=True)
    )
