"""Islands: devices that one fast network joins in a regular grid, the units that slices are placed on.

Source: Pathways (Barham et al., MLSys 2022), section 4.1; the devices of an island reach one another without the
network between data centres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcg.controller.errors import ResourceError
from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine import Cluster


@dataclass(frozen=True)
class Island:
    """A grid of devices of one kind.

    Devices are numbered along the last dimension first.
    `wrapped`: whether each dimension is closed to a ring; by default none is.
    `kind`: the name of the device kind.
    `memory`: bytes of a device; None if it is not known, and then any amount fits.
    `levels`: the level of the network that each dimension belongs to, 0 the outermost; the dimensions of a torus share
    one.  By default all are one.  A slice that needs no certain topology lies in few blocks of outer levels.
    `out_of_service`: numbers of devices that are there but cannot be used.
    `first`: number of the first device in the cluster that the island is from.

    Raises:
      ResourceError: no dimension, a size that is no positive integer, too many devices, entries per dimension that are
        not as many as there are dimensions, memory that is not above 0, or a device that there is not.
    """

    name: str
    shape: tuple[int, ...]
    wrapped: tuple[bool, ...] = ()
    kind: str = ""
    memory: int | None = None
    levels: tuple[int, ...] = ()
    out_of_service: frozenset[int] = frozenset()
    first: int = 0

    def __post_init__(self) -> None:
        where = f"island {brief(self.name)}"
        if not self.shape or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in self.shape):
            raise ResourceError(f"{where}: shape is {brief(self.shape)}; allowed: one or more positive integers")
        if self.size > MOST_DEVICES:
            raise ResourceError(f"{where}: {self} has {self.size} devices; allowed: up to {MOST_DEVICES}")
        for what, default in (("wrapped", False), ("levels", 0)):
            entries = getattr(self, what) or (default,) * len(self.shape)
            if len(entries) != len(self.shape):
                raise ResourceError(f"{where}: {what} has {len(entries)} entries; allowed: {len(self.shape)}, as shape")
            object.__setattr__(self, what, tuple(entries))
        if list(self.levels) != sorted(self.levels):
            raise ResourceError(f"{where}: levels are {brief(self.levels)}; allowed: the outermost first")
        if self.memory is not None and not self.memory > 0:
            raise ResourceError(f"{where}: memory is {brief(self.memory)} bytes; allowed: above 0, or None")
        self.check(self.out_of_service)

    @property
    def size(self) -> int:
        """Number of devices, usable or not."""
        return math.prod(self.shape)

    def check(self, devices: Sequence[int] | frozenset[int]) -> None:
        """Raise ResourceError unless the island has all these devices."""
        for d in devices:
            if isinstance(d, bool) or not isinstance(d, int | np.integer) or not 0 <= d < self.size:
                raise ResourceError(
                    f"island {brief(self.name)}: device {brief(d)} does not exist; devices are 0 to {self.size - 1}"
                )

    def __str__(self) -> str:
        return "x".join(map(str, self.shape))


def islands_of(cluster: Cluster) -> tuple[Island, ...]:
    """An island per group of a cluster.

    A torus keeps its grid, and what of it is wrapped; any other level is a dimension, the outermost first.  Failed and
    spare devices are out of service.
    """
    unusable = sorted(cluster.failed | cluster.spare)
    found = []
    for group, start in zip(cluster.groups, cluster.starts, strict=True):
        outermost = [*reversed(group.levels)]
        memory = cluster.kind(group.kind).memory
        found.append(
            Island(
                group.name,
                tuple(n for level in outermost for n in level.shape),
                tuple(level.hops and level.wraps(d) for level in outermost for d in range(len(level.shape))),
                group.kind,
                max(1, int(memory)),
                tuple(i for i, level in enumerate(outermost) for _ in level.shape),
                frozenset(d - start for d in unusable if start <= d < start + group.size),
                start,
            )
        )
    return tuple(found)
