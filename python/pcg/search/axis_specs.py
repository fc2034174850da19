"""Shard specs by what each mesh axis does, so that many are made at once."""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from pcg.layout import ShardSpec
from pcg.layout.spec import REDUCTIONS
from pcg.rules.distinct import distinct


class AxisSpecs:
    """Specs of tensors of one rank on a mesh with some axes, from a number per axis: it is `IDLE`, splits a dimension
    (`split`), or the tensor is partial over it (`partial`).  Axes that split one dimension do so in mesh order."""

    IDLE = 0

    def __init__(self, rank: int, names: tuple[str, ...], _thread: int) -> None:
        self._rank, self._names = rank, names
        self._known: dict[tuple[int, ...], ShardSpec] = {}

    @classmethod
    def on(cls, rank: int, names: tuple[str, ...]) -> AxisSpecs:
        """Those of all that ask in this thread: equal specs are one object."""
        return _shared(rank, names, threading.get_ident())

    def split(self, dim: int) -> int:
        """The number of an axis that splits `dim`."""
        return 1 + dim

    def partial(self, kind: str) -> int:
        """The number of an axis over which the tensor is partial by `kind`."""
        return 1 + self._rank + REDUCTIONS.index(kind)

    def of(self, does: np.ndarray) -> tuple[tuple[ShardSpec, ...], np.ndarray]:
        """The different specs of rows of numbers, in order, and which of them each row is."""
        first, kinds = distinct(does, 1 + self._rank + len(REDUCTIONS))
        return tuple([self._spec(tuple(row)) for row in does[first].tolist()]), kinds.astype(np.int32)

    def _spec(self, does: tuple[int, ...]) -> ShardSpec:
        found = self._known.get(does)
        if found is None:
            dims: list[list[str]] = [[] for _ in range(self._rank)]
            partial = []
            for name, what in zip(self._names, does, strict=True):
                if what > self._rank:
                    partial.append((name, REDUCTIONS[what - self._rank - 1]))
                elif what:
                    dims[what - 1].append(name)
            found = self._known[does] = ShardSpec.of(dims, partial)
        return found


_shared = lru_cache(maxsize=256)(AxisSpecs)
