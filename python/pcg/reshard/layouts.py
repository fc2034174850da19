"""Layouts on a mesh by number, and what depends on them alone: all tensors on the mesh share it.  No MLIR here."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from pcg.layout import Mesh, ShardSpec
from pcg.reshard import planner
from pcg.reshard.layout_graph import Partial

#: Of a number that is not known yet.
UNKNOWN = -1


class Numbers:
    """Integers by layout number, computed when they are first needed."""

    def __init__(self) -> None:
        self._known = np.full(256, UNKNOWN, np.intp)

    def missing(self, numbers: np.ndarray) -> list[int]:
        """Which of `numbers` have none yet."""
        most = int(numbers.max(initial=0))
        if most >= len(self._known):
            grown = np.full(2 * most, UNKNOWN, np.intp)
            grown[: len(self._known)] = self._known
            self._known = grown
        return sorted(set(numbers[self._known[numbers] == UNKNOWN].tolist()))

    def set(self, number: int, value: int) -> None:
        """Note the value of a layout."""
        self._known[number] = value

    def set_all(self, numbers: Sequence[int], values: np.ndarray) -> None:
        """Note the values of layouts."""
        self._known[numbers] = values

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """The values of layouts, none of which is missing."""
        return self._known[numbers]


class Layouts:
    """Layouts on a mesh, numbered, as they are keys of what is known about them; all tensors on the mesh share them.

    `Layouts.on` is for programs one after another.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.specs: list[ShardSpec] = []
        self._numbers: dict[ShardSpec, int] = {}
        self._partial = Numbers()
        self._partials: dict[Partial, int] = {}
        self._masked: dict[Partial, tuple[Numbers, Numbers]] = {}

    @classmethod
    def on(cls, mesh: Mesh) -> Layouts:
        """Layouts on meshes with these axes, shared by all that ask in this thread."""
        return _layouts_on(mesh.axes, threading.get_ident())

    def number(self, spec: ShardSpec) -> int:
        """The number of a layout.

        Raises:
          ReshardError: it names an axis that the mesh lacks, or one twice.
        """
        found = self._numbers.get(spec)
        if found is None:
            planner.check_spec(spec, self.mesh)
            found = self._numbers[spec] = len(self.specs)
            self.specs.append(spec)
        return found

    def numbers(self, specs: Iterable[ShardSpec]) -> np.ndarray:
        """The numbers of layouts."""
        return np.array([self.number(s) for s in specs], np.intp)

    def by_partial(self, numbers: np.ndarray) -> Iterator[tuple[Partial, np.ndarray]]:
        """Where layouts are that are partial alike."""
        for n in self._partial.missing(numbers):
            self._partial.set(n, self._partials.setdefault(self.specs[n].partial, len(self._partials)))
        partials = list(self._partials)
        for p, where in groups_of(self._partial.of(numbers)):
            yield partials[p], where

    def unmasked(self, numbers: np.ndarray, partial: Partial) -> tuple[np.ndarray, np.ndarray]:
        """What a tensor that is `partial` becomes before it gets masks on the way to each, and how many masks.

        Whatever is not partial over an axis becomes so by a mask, behind the rest.
        """
        before, masks = self._masked.setdefault(partial, (Numbers(), Numbers()))
        masks.missing(numbers)  # so that there is room
        for n in before.missing(numbers):
            spec, found, count = self.specs[n], n, 0
            if spec.partial and spec.partial != partial:
                steps = planner._masks(partial, spec)
                found, count = self.number(planner._unmasked(spec, steps)), len(steps)
            before.set(n, found)
            masks.set(n, count)
        return before.of(numbers), masks.of(numbers)


@lru_cache(maxsize=8)
def _layouts_on(axes: tuple[tuple[str, int], ...], _thread: int) -> Layouts:
    return Layouts(Mesh(axes))


def groups_of(keys: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each of the keys, and where it is."""
    found, first = np.unique(keys, return_index=True)
    for key in found[np.argsort(first)].tolist():
        yield key, np.flatnonzero(keys == key)
