"""The reduced problem as flat arrays: a network, and what its choices take of memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.solve.edges import Edges, offsets
from pcg.solve.memory_kernels import penalise, usage_changes
from pcg.solve.pairwise import Pairwise
from pcg.solve.reduce_problem import Reduced


@dataclass
class Model(Pairwise):
    """A network with memory: per node, while it is live, bytes by its choice; per step a capacity."""

    item_offset: np.ndarray
    """Items of node i: item_offset[i] .. item_offset[i + 1]."""
    item_start: np.ndarray
    item_end: np.ndarray
    item_usage: np.ndarray
    """Where an item's usages start in `usage`."""
    usage: np.ndarray
    capacity: np.ndarray

    def load(self, x: np.ndarray) -> np.ndarray:
        """Bytes at each step."""
        change = np.zeros(len(self.capacity) + 1, dtype=np.int64)
        usage_changes(x, self.item_offset, self.item_start, self.item_end, self.item_usage, self.usage, change)
        return np.cumsum(change)[:-1]

    def fits(self, x: np.ndarray) -> bool:
        """Whether memory stays within the capacity."""
        return bool((self.load(x) <= self.capacity).all())

    def penalised(self, multipliers: np.ndarray) -> np.ndarray:
        """The unary costs with `multipliers[t]` paid per byte and step."""
        out, upto = self.unary.copy(), np.concatenate([[0.0], np.cumsum(multipliers)])
        penalise(
            out, self.offset, self.size, self.item_offset, self.item_start, self.item_end, self.item_usage, self.usage,
            upto,
        )  # fmt: skip
        return out


def flatten(r: Reduced) -> Model:
    """The model of `r`."""
    items = [(s, e, u) for own in r.timeline.items for s, e, u in own]
    return Model(
        **vars(Pairwise.of(r.unary, Edges.of(r.unary, r.pair))),
        item_offset=offsets(np.array([len(own) for own in r.timeline.items], dtype=np.int64)),
        item_start=np.array([s for s, _, _ in items], dtype=np.int64),
        item_end=np.array([e for _, e, _ in items], dtype=np.int64),
        item_usage=offsets(np.array([len(u) for _, _, u in items], dtype=np.int64))[:-1],
        usage=np.concatenate([np.zeros(0, dtype=np.int64), *(u for _, _, u in items)]),
        capacity=r.timeline.capacity.astype(np.int64),
    )
