"""Taking nodes out of a network one by one, and the way back from a solution of the rest.

- *Variable elimination* (bucket elimination; for at most two neighbours the reductions RI and RII of Scholz & Eckstein,
  "Register allocation for irregular architectures", LCTES'02): what the best choice of a node costs, by the choices of
  its neighbours, becomes a cost of theirs.  A node with costs [0, 1] and edges [[0, 5], [5, 0]] to both of its
  neighbours adds [[0, 5], [5, 1]] between them.
- *Following*: where a node's choice is a function of that of one neighbour, its costs become costs of that neighbour.

Who takes nodes out decides which, and in which order: exact simplification of the contest's problems
(`reduce_problem`), and the contraction of Unity's graph, which lets nodes follow where that is not exact.  The search's
own simplification (`reduce`) is one compiled loop, `FlatElimination`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.solve.equal import Equal
from pcg.solve.products import min_plus

#: Entries up to which the choice of an eliminated node is tabulated over those of its neighbours.  Chosen: above, the
#: table takes longer than looking for the best choice once, when a solution is known.
_TABULATED = 1 << 12
#: Multiples of what is forbidden up to which tables grow: sums of sums of it would overflow.
CEILING = 4e3


@dataclass(frozen=True, slots=True)
class _Follows:
    """The choice of `node` is `choice[k...]` for the choices k of `others`."""

    node: int
    others: tuple[int, ...]
    choice: np.ndarray

    def best(self, x: Sequence[int]) -> int:
        return int(self.choice[tuple([x[j] for j in self.others])])


@dataclass(frozen=True, slots=True)
class _BestResponse:
    """`node` takes what is cheapest given its neighbours: each with the choices it had, and their costs."""

    node: int
    choices: np.ndarray
    unary: np.ndarray
    neighbours: list[tuple[int, np.ndarray, np.ndarray]]

    def best(self, x: Sequence[int]) -> int:
        c = self.unary.copy()
        for j, theirs, m in self.neighbours:
            c += m[:, np.searchsorted(theirs, x[j])]
        return int(self.choices[np.argmin(c)])


class Elimination:
    """A copy of a network that is taken apart: choice k of node i is choice `choices[i][k]` of the original's."""

    def __init__(
        self, unary: Sequence[np.ndarray], pair: Sequence[dict[int, np.ndarray]], forbidden: float
    ) -> None:
        """`forbidden` is what a forbidden choice costs."""
        self.unary = list(unary)
        self.pair = [dict(row) for row in pair]
        self.forbidden = forbidden
        self.choices = [np.arange(len(u)) for u in unary]
        self.sizes = [len(u) for u in unary]
        self.alive = [True] * len(self.unary)
        self.constant = 0.0
        """What the nodes that are out cost whatever the others choose."""
        self._trail: list[_Follows | _BestResponse] = []
        self._equal = Equal()

    def connect(self, i: int, j: int, m: np.ndarray) -> None:
        """Add costs between two nodes."""
        if j in self.pair[i]:
            m = self.pair[i][j] + m
        self.pair[i][j] = m = self._equal.one(m)
        self.pair[j][i] = m.T

    def disconnect(self, i: int, j: int) -> None:
        del self.pair[i][j]
        del self.pair[j][i]

    def restrict(self, i: int, keep: np.ndarray) -> None:
        """Leave node `i` the choices that the mask marks."""
        at = np.flatnonzero(keep)
        self.unary[i] = self.unary[i][at]
        self.choices[i] = self.choices[i][at]
        for j, m in self.pair[i].items():
            self.pair[i][j] = m = self._equal.one(m.take(at, axis=0))
            self.pair[j][i] = m.T

    def eliminate(self, i: int) -> tuple[int, ...]:
        """Take out a node with at most two neighbours; return them."""
        neighbours = tuple(sorted(self.pair[i]))
        own, tables = self.unary[i], [self.pair[i][j] for j in neighbours]
        sizes = [self.sizes[j] for j in neighbours]
        if len(own) * math.prod(sizes) <= _TABULATED:
            total = own
            for axis, m in enumerate(tables):
                total = total[..., None] + (m[:, None] if axis else m)
            best = total.min(axis=0)
            choice = self.choices[i][total.argmin(axis=0)]
            if choice.size < math.prod(sizes):  # neighbours have lost some of theirs
                left, choice = choice, np.zeros(sizes, dtype=np.int64)
                first, *second = [self.choices[j] for j in neighbours]
                choice[(first[:, None], *second) if second else first] = left
            self._trail.append(_Follows(i, neighbours, choice))
        else:
            # Neighbours may lose choices later: keep which ones they had.
            around = [(j, self.choices[j], m) for j, m in zip(neighbours, tables, strict=True)]
            self._trail.append(_BestResponse(i, self.choices[i], own, around))
            if len(tables) == 2:
                best = min_plus((own[:, None] + tables[0]).T, tables[1])
            else:
                best = own.min() if not tables else (own[:, None] + tables[0]).min(axis=0)
        self._take_out(i)
        if not neighbours:
            self.constant += float(best)
        elif len(neighbours) == 1:
            self.unary[neighbours[0]] = self.unary[neighbours[0]] + best
        else:
            j, k = neighbours
            self.connect(j, k, np.minimum(best, CEILING * self.forbidden))
        return neighbours

    def follow(self, i: int, j: int, response: np.ndarray) -> tuple[int, ...]:
        """Take out node `i`, which takes `response[k]` where its neighbour `j` takes k; return all its neighbours."""
        choice = np.zeros(self.sizes[j], dtype=np.int64)
        choice[self.choices[j]] = self.choices[i][response]
        self._trail.append(_Follows(i, (j,), choice))
        self.unary[j] = self.unary[j] + self.unary[i][response] + self.pair[j][i][np.arange(len(response)), response]
        neighbours = tuple(sorted(self.pair[i]))
        moved = [(k, self.pair[i][k][response]) for k in neighbours if k != j]
        self._take_out(i)
        for k, m in moved:
            if m.any():
                self.connect(j, k, m)
        return neighbours

    def expand(self, solution: Iterable[tuple[int, int]]) -> list[int]:
        """The original network's solution, given (node, choice) for all nodes that are left."""
        x = [0] * len(self.unary)
        for i, k in solution:
            x[i] = int(self.choices[i][k])
        for out in reversed(self._trail):
            x[out.node] = out.best(x)
        return x

    def left(self) -> tuple[list[int], list[np.ndarray], list[dict[int, np.ndarray]]]:
        """The nodes that are left, their costs, and those between them by position among them."""
        kept = [i for i, alive in enumerate(self.alive) if alive]
        index = {i: p for p, i in enumerate(kept)}
        return kept, [self.unary[i] for i in kept], [{index[j]: m for j, m in self.pair[i].items()} for i in kept]

    def _take_out(self, i: int) -> None:
        for j in self.pair[i]:
            del self.pair[j][i]
        self.pair[i] = {}
        self.alive[i] = False
