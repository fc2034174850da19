"""The network of a program's alternatives without what is cheapest whatever else is chosen.

Programs that are compared differ in what is taken of alternatives, and in nothing else that is fixed.  So of the
network of all of them (`pcg.search.joint`) every op that has at most two neighbours, and chooses nothing, is eliminated
once: what it costs at best is the same function of its neighbours in each of the programs.  Of DLRM's 508 variables on
a 2x4 mesh 252 are left, of 12,953 choices 7,662.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from pcg.search.joint import Joint
from pcg.solve.reduce import reduce


class JointCore:
    """What is left of the network of a `Joint` where all that chooses between alternatives stays.

    Its variables are *positions*.  `network` has what was eliminated in its costs.
    """

    def __init__(self, joint: Joint) -> None:
        self._joint = joint
        self._reduction = reduction = reduce(joint.network(), keep=joint.choosing)
        self.network = reduction.core.raised(reduction.constant)
        self._kept = reduction.kept
        self._position = {c: k for k, c in enumerate(reduction.kept)}
        self.optional = self._among(joint.optional)
        """Where a program can do without what is there."""
        # Those that choose have all their choices.
        self._left = [reduction.choices[c] for c in reduction.kept]
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """Masks of a class and of its position, by the address of the first, which `Joint` has once each."""

    def position(self, node: int) -> int:
        """Where the choice of an alternative is."""
        return self._position[self._joint.quotient.class_of[node]]

    def states(self, node: int) -> frozenset[int]:
        """What may be taken of alternatives."""
        return self._joint.states(node)

    def taken(self, x: Sequence[int]) -> dict[int, int]:
        """Of each choice between alternatives which operand a solution takes, or `UNUSED`."""
        return self._joint.taken(self._reduction.expand(x))

    def open(self, states: Mapping[int, Collection[int]]) -> list[np.ndarray]:
        """`Joint.open`, by position."""
        return self._masks(self._joint.open(states))

    def chosen(self, operands: Mapping[int, int]) -> tuple[list[np.ndarray], frozenset[int]]:
        """`Joint.chosen`, by position."""
        open_, used = self._joint.chosen(operands)
        return self._masks(open_), self._among(used)

    def _among(self, classes: Collection[int]) -> frozenset[int]:
        return frozenset(self._position[c] for c in classes if c in self._position)

    def _masks(self, open_: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Of masks by class those by position.

        What a program can do without may have lost what was to stay open, to a choice that costs as much at most: then
        costs decide.
        """
        known, found = self._known, []
        for k, c in enumerate(self._kept):
            mask = open_[c]
            if id(mask) not in known:
                left = mask[self._left[k]]
                known[id(mask)] = mask, left if left.any() else np.ones_like(left)
            found.append(known[id(mask)][1])
        return found
