"""Exact simplification of a network: dominated choices are dropped, nodes with at most two neighbours eliminated.

Choosing a strategy per op is a partitioned boolean quadratic problem, most of which dissolves so (Scholz & Eckstein,
LCTES'02).  What is left, the core, is for `solve.ilp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.solve.edges import offsets
from pcg.solve.flat_elimination import FlatElimination
from pcg.solve.network import Network


@dataclass
class Reduction:
    """A network after exact simplification: `core` is what is left, over the nodes `kept`."""

    core: Network
    kept: list[int]
    _elimination: FlatElimination

    @property
    def constant(self) -> float:
        """What the eliminated nodes cost whatever the core chooses."""
        return self._elimination.constant

    @property
    def choices(self) -> list[np.ndarray]:
        """Per node of the original network the choices that are left."""
        return self._elimination.choices

    def expand(self, core_solution: Sequence[int]) -> list[int]:
        """The best solution of the original network, given one of the core."""
        return self._elimination.expand(zip(self.kept, core_solution, strict=True))

    def near(self, masks: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Per node of the original network the choices that best solutions have where the core has those marked."""
        return self._elimination.respond(zip(self.kept, masks, strict=True))

    def restricted(self, x: Sequence[int]) -> list[int]:
        """The part of a solution `x` of the original that is left; where its choice was dropped, the cheapest."""
        choices = [self.choices[i] for i in self.kept]
        return nearest(choices, [x[i] for i in self.kept], self.core.unary)

    def project(self, x: Sequence[int]) -> list[int]:
        """A good solution of the core near the solution `x` of the original."""
        return self.core.flat.icm(self.restricted(x), self.core.noise).tolist()  # type: ignore[no-any-return]


def nearest(choices: Sequence[np.ndarray], x: Sequence[int], unary: Sequence[np.ndarray]) -> list[int]:
    """Per node where `x` is among its `choices`, whose costs are `unary`; where the cheapest is, if it is not there."""
    size = np.fromiter(map(len, choices), np.int64, len(choices))
    node = np.repeat(np.arange(len(choices)), size)
    at = np.flatnonzero(np.concatenate([np.zeros(0, dtype=np.int64), *choices]) == np.array(x, dtype=np.int64)[node])
    found = np.full(len(choices), -1)
    found[node[at]] = at - offsets(size)[node[at]]
    return [k if k >= 0 else int(np.argmin(u)) for k, u in zip(found.tolist(), unary, strict=True)]


def reduce(network: Network, keep: Iterable[int] = ()) -> Reduction:
    """Simplify exactly: an optimum of the core expands to an optimum of `network`.

    Nodes in `keep` stay in the core with all their choices, so that what those cost may still change.
    """
    found = FlatElimination(network, keep)
    kept, flat, edges = found.left()
    return Reduction(Network.of_choices(flat.unary, edges, network.unit, flat), kept, found)
