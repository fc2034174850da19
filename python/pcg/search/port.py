"""The layouts of one operand or result over the strategies of an op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from pcg.layout import Mesh, ShardSpec


@dataclass(frozen=True, eq=False)
class Port:
    """The specs one operand or result takes over the strategies: `specs[ids[k]]` under strategy k."""

    specs: tuple[ShardSpec, ...]
    ids: np.ndarray
    _shards: dict[Mesh, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, specs: Sequence[ShardSpec]) -> Port:
        seen: dict[ShardSpec, int] = {}
        ids = np.array([seen.setdefault(s, len(seen)) for s in specs], dtype=np.int32)
        return cls(tuple(seen), ids)

    def __getitem__(self, k: int) -> ShardSpec:
        return self.specs[self.ids[k]]

    def find(self, spec: ShardSpec) -> int | None:
        """First strategy with `spec`, None if there is none."""
        found = self.numbers.get(spec)
        return None if found is None else int((self.ids == found).argmax())

    @cached_property
    def numbers(self) -> dict[ShardSpec | None, int]:
        """Where each of the specs is among them."""
        return {s: n for n, s in enumerate(self.specs)}

    def shards(self, mesh: Mesh) -> np.ndarray:
        """Into how many shards the tensor is split, per strategy."""
        found = self._shards.get(mesh)
        if found is None:
            known = _counts_on(mesh.axes)
            for s in self.specs:
                if s not in known:
                    known[s] = float(math.prod(s.shards(mesh)))
            found = self._shards[mesh] = np.array([known[s] for s in self.specs])[self.ids]
        return found

    def is_partial(self) -> np.ndarray:
        """Whether the tensor is partial, per strategy."""
        return self._is_partial

    @cached_property
    def waits_for(self) -> str | None:
        """The reduction that some of the specs wait for."""
        return next((k for s in self.specs for _, k in s.partial), None)

    @cached_property
    def _is_partial(self) -> np.ndarray:
        return np.array([bool(s.partial) for s in self.specs])[self.ids]


@lru_cache(maxsize=64)
def _counts_on(_axes: tuple[tuple[str, int], ...]) -> dict[ShardSpec, float]:
    """Into how many shards specs split a tensor: ports of hundreds of ops have the same ones."""
    return {}
