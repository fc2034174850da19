"""Which island, and which devices of it, a slice gets."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from pcg.controller.boxes import Box, fits
from pcg.controller.grid import Grid
from pcg.controller.island import Island
from pcg.controller.slices import Wanted
from pcg.layout.brief import brief

#: Islands that an error describes.  A choice: an error is read.
_SHOWN = 4


@dataclass(frozen=True)
class Place:
    """Devices of an island in the order of a slice's mesh; `box` is None if they are scattered."""

    grid: Grid
    devices: np.ndarray
    box: Box | None


def place(grids: Iterable[Grid], wanted: Wanted, shared: bool) -> Place | None:
    """The best place for a slice: a box on any island, else, if that is allowed, scattered devices; None if none is.

    Of the islands where it may be, those with the least memory go first, then those with the fewest free devices:
    others need what the rest has.  Shared slices go where devices have the fewest slices.
    """

    def order(grid: Grid) -> tuple[float, float, str]:
        memory = grid.island.memory
        rest = float(grid.load.mean()) if shared else float(grid.free())
        return math.inf if memory is None else memory, rest, grid.island.name

    size = wanted.mesh.size
    usable = [g for g in grids if not _mismatch(g.island, wanted) and g.free(shared) >= size]
    usable.sort(key=order)
    for grid in usable:
        for group in fits(grid.island, wanted.axes, wanted.topology):
            if (found := grid.best(group, shared)) is not None:
                return Place(grid, found.box.devices(grid.shape), found.box)
    if wanted.topology == "any":
        for grid in usable:
            if (devices := grid.nearest(size, shared)) is not None:
                return Place(grid, devices, None)
    return None


def refusal(grids: Collection[Grid], wanted: Wanted, shared: bool) -> str:
    """Why there is no place for a slice: what each island has, and what it has free."""
    said = []
    for grid in [*grids][:_SHOWN]:
        island = grid.island
        if not (text := _mismatch(island, wanted)):
            free, in_service = grid.free(shared), island.size - int(np.count_nonzero(grid.out))
            largest = "x".join(map(str, grid.largest(shared)))
            text = f"is {island} with {free} of {in_service} devices free, largest free box {largest}"
        said.append(f"island {brief(island.name)} {text}")
    if len(grids) > _SHOWN:
        said.append(f"and {len(grids) - _SHOWN} islands more")
    return f"{wanted}: " + ("; ".join(said) or "there is no island")


def _mismatch(island: Island, wanted: Wanted) -> str:
    """Why a slice can never be on an island; empty if it can."""
    if wanted.island is not None and island.name != wanted.island:
        return f"is not island {brief(wanted.island)}"
    if wanted.kind is not None and island.kind != wanted.kind:
        return f"has devices of kind {brief(island.kind)}, not {brief(wanted.kind)}"
    if wanted.memory is not None and island.memory is not None and island.memory < wanted.memory:
        return f"has {island.memory} bytes of memory per device, not {wanted.memory:g}"
    return ""
