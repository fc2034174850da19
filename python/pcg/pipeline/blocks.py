"""Building blocks: one order of F and B that repeats for every microbatch, and many of them to choose from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pcg.kernels.native import Floats
from pcg.pipeline.offset_kernels import PLACES, lay_out
from pcg.pipeline.problem import Pipeline

#: How many times its own time after the task before it a task of a building block begins, on another device.
_APART = (1.0, 2.0, 3.0)
_APART_LINEAR = (1.0, 1.5, 2.0, 3.0, 4.0)
#: On the first devices and on those after them, of F of the first chunk and of B of the others: first far apart, then
#: close, which needs memory between those of the two.
_CHANGING = tuple(itertools.combinations((4.0, 3.0, 2.0, 1.0), 2))
#: On which share of the devices.
_CHANGES = (0.25, 0.5, 0.75)
_STRETCH = (1.0, 1.3, 1.6)
#: Of keyed schedules: backfill, fill, squeeze, whether room is reserved for later chunks.
_FILLING = (
    (0, 1.0, 1.0, False), (1, 1.0, 0.0, True), (0, 1.0, 1.0, True), (1, 0.5, 0.0, True), (1, 1.0, 0.0, False),
    (0, 0.0, 0.0, False),
)  # fmt: skip
#: How many of the pauses between F and B are tried that collide least.
_PAUSES = 3

Spread = tuple[float, float, float, float]


@dataclass(frozen=True)
class Shape:
    """How far apart the F and B of a microbatch are."""

    equal: bool
    """Made as if all F, B and W took the same time."""
    apart: Spread
    """When F of the first chunk and of others, and B of others and of the first one, begin: how many times its own
    time after the task before, on another device."""
    then: Spread
    """The same from the device on that is this share of them behind the first:"""
    change: float
    stretch: float
    """How far apart microbatches are: times the work of a device; where memory is short it is idle in between."""
    skipped: int = 0
    """How many of the pauses between F and B that collide least are left out; negative: there are no pauses."""


@dataclass(frozen=True)
class Block:
    """A building block, and how schedules are made of it."""

    shape: Shape
    grouped: int
    """Microbatches go through a chunk one by one (0), or as many as devices, close to each other (1) or not (2)."""
    backfill: int
    fill: float
    squeeze: float
    reserved: bool


def shapes(p: Pipeline) -> Iterator[Shape]:
    """Those whose F and B go from device to device at once, or so much later that more memory is used."""
    several = p.stages > p.devices
    apart = _APART if several else _APART_LINEAR
    other = apart if several else (1.0,)
    for equal, stretch in itertools.product((True, False), _STRETCH):
        for spread in itertools.product(apart, other, other, apart):
            yield Shape(equal, spread, spread, 1.0, stretch)
            if several and equal:
                yield Shape(equal, spread, spread, 1.0, stretch, -1)
        if not several:
            continue
        for far in apart:
            for skipped in range(1, _PAUSES):
                yield Shape(equal, (far, 1.0, far, 1.0), (far, 1.0, far, 1.0), 1.0, stretch, skipped)
        for (far, close), change, skipped in itertools.product(_CHANGING, _CHANGES, range(_PAUSES)):
            yield Shape(equal, (far, 1.0, far, 1.0), (close, 1.0, close, 1.0), change, stretch, skipped)


def blocks(p: Pipeline, shape: Shape, ranking: bool = False) -> Iterator[Block]:
    """All of a shape, or those that tell best which shapes are good ones."""
    grouped = range(3) if p.stages > p.devices and p.device[p.devices] == 0 else range(1)  # interleaved
    fillings = (_FILLING[0 if shape.equal else 1],) if ranking else _FILLING
    for group, filling in itertools.product(grouped, fillings):
        yield Block(shape, group, *filling)


def published(p: Pipeline) -> Iterator[Block]:
    """Those of V-Min and V-Half (Qi et al., 2024), which a smaller pipeline does not always tell to be good."""
    if p.stages > p.devices:
        for far in (1.0, 2.0):
            spread = (far, 1.0, far, 1.0)
            yield next(blocks(p, Shape(True, spread, spread, 1.0, 1.0), ranking=True))


def equal_times(p: Pipeline) -> Pipeline:
    stages = p.stages
    return replace(p, forward=(1.0,) * stages, backward=(1.0,) * stages, weight=(1.0,) * stages, transfer=0.0)


def period(p: Pipeline, shape: Shape) -> float:
    return max(p.work) / p.microbatches * shape.stretch


def offsets(p: Pipeline, shape: Shape) -> Floats:
    """When F and B of one microbatch begin, by kind and stage, with the pauses between chunks with which those of all
    microbatches collide least."""
    a, key, apart = p.arrays, np.empty(2 * p.stages), np.array(shape.apart + shape.then)
    lay_out(
        a.device, a.own, a.first, a.duration, p.transfer, apart, int(shape.change * p.devices), period(p, shape),
        shape.skipped, key, np.empty(PLACES),
    )  # fmt: skip
    return key


def smaller(p: Pipeline, tasks: float) -> Pipeline:
    """A pipeline of at most so many tasks, but of at least two devices, that is like another one: fewer microbatches,
    and if these are too many still, fewer devices, at equal distances of that one's, with as much less memory beyond
    that of one microbatch."""
    devices = p.devices
    while devices > 2 and 3 * p.stages * devices // p.devices * min(p.microbatches, 3 * devices // 2) > tasks:
        devices -= 1
    chosen = [d * p.devices // devices for d in range(devices)]
    of = {d: n for n, d in enumerate(chosen)}
    stages = [s for s, d in enumerate(p.device) if d in of]
    forward, backward, weight, activation, residual = (
        tuple(values[s] for s in stages) for values in (p.forward, p.backward, p.weight, p.activation, p.residual)
    )
    microbatches = min(p.microbatches, 3 * devices // 2)
    small = Pipeline(
        tuple(of[p.device[s]] for s in stages), microbatches, forward, backward, weight,
        p.transfer, activation, residual,
    )  # fmt: skip
    limits = zip(small.least_memory, (p.limit[d] for d in chosen), strict=True)
    return small.with_limit([least + (limit - least) * devices / p.devices for least, limit in limits])
