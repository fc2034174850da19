"""Networks in which choices come in groups of like ones: first the groups are chosen, then choices in good groups.

On three mesh axes of two a strategy is one of up to hundreds, and most of them are the same but for the names of axes:
the batch over "a" and "b" and channels over "c" is like channels over "b" and the rest over the batch.  With one choice
for each group, which costs what the cheapest of its members does, and so for pairs of groups, a network has a sixteenth
of the costs.  A solution of it costs no more than any of members of its groups, so its bound is a bound on all.  It
misses that one member of a group must be the cheapest in all pairs at once: ResNet-50's bound is 0.1% lower than with
all choices.  A solution is then looked for among the members of groups that good solutions have.

This is coarse-to-fine inference, as of Raphael, "Coarse-to-fine dynamic programming" (PAMI 23, 2001), with two levels
and for networks that are no chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcg.solve.edges import offsets
from pcg.solve.effort import DEFAULT, Effort
from pcg.solve.ilp import Solution, completed, searched, solve
from pcg.solve.network import Network, narrowed, widened
from pcg.solve.stop import NEVER, Stop

#: Groups per node of which members are looked at: at first, and where the gap is larger then than so many times what is
#: good.  Measured on steps of Keras Applications on three axes of two: with 3 gaps of 0 to 1.9%, with 4 of
#: 0 to 2.0% in up to 1.5 times the time (InceptionResNetV2).
_KEPT, _LARGE = (3.0, 6.0), 2.0
#: Gap of the network of groups that is enough where closing it takes long, as a share of what is good: members are
#: further from it.  Chosen: with it and without, nine training steps of Keras have the same plans.
_ENOUGH = 0.25


@dataclass
class Grouped:
    """A network, and per node the number of the group of each choice."""

    network: Network
    groups: Sequence[np.ndarray]
    uniform: Sequence[np.ndarray]
    """Per node which choices are like no other ones, as interchangeable axes do the same in them."""

    @cached_property
    def coarse(self) -> Network:
        """The network of groups: each costs what its cheapest member does, and so does each pair of them."""
        edges = self.network.edges.least_of_groups(self.groups)
        first = offsets(edges.size)
        unary = np.full(int(first[-1]), np.inf)
        group = np.concatenate([np.zeros(0, dtype=np.int64), *self.groups])
        at = np.repeat(first[:-1], self.network.edges.size) + group
        np.minimum.at(unary, at, self.network.own)
        return Network.of_choices(unary, edges, self.network.unit)

    def of(self, x: Sequence[int]) -> list[int]:
        """The groups of the choices of a solution."""
        return [int(group[k]) for group, k in zip(self.groups, x, strict=True)]

    def member(self, x: Sequence[int], fixed: Mapping[int, int]) -> list[int]:
        """A good solution of members of the groups `x`, but for choices that are `fixed`."""
        masks = [group == k for group, k in zip(self.groups, x, strict=True)]
        for i, k in fixed.items():
            masks[i] = np.arange(len(masks[i])) == k
        return self.network.icm(widened(masks, completed(self.network.restrict(masks), {})), fixed)

    def complete(self, fixed: Mapping[int, int]) -> list[int]:
        """A good solution with choices that are `fixed`: of uniform choices if that can be, else of good groups."""
        masks, network = self._uniform
        if all(masks[i][k] for i, k in fixed.items()):
            at = dict(zip(fixed, narrowed([masks[i] for i in fixed], list(fixed.values())), strict=True))
            x = widened(masks, network.icm(completed(network, at), at))
            if self.network.cost(x) < self.network.limit:
                return x
        above = {i: int(self.groups[i][k]) for i, k in fixed.items()}
        return self.member(completed(self.coarse, above), fixed)

    @cached_property
    def _uniform(self) -> tuple[list[np.ndarray], Network]:
        """Per node the uniform choices, all where there is none, and the network of these."""
        masks = [m if m.any() else np.ones(len(m), dtype=bool) for m in self.uniform]
        return masks, self.network.restrict(masks)

    def solve(
        self,
        starts: Callable[[], Iterable[Sequence[int]]] = tuple,
        *,
        effort: Effort = DEFAULT,
        progress: Callable[[str], None] = lambda _: None,
        cutoff: float = np.inf,
        stop: Stop = NEVER,
    ) -> Solution:
        """As `ilp.solve` for the network; `starts` are asked for after the coarse network is simplified."""
        known: list[list[int]] = []

        def above_starts() -> Iterator[list[int]]:
            known.extend(map(list, starts()))
            yield from map(self.of, known)

        above = searched(
            self.coarse, above_starts(), effort=effort, progress=progress, cutoff=cutoff, stop=stop,
            rough=0.0 if effort.closes else _ENOUGH * effort.good,
        )  # fmt: skip
        bound = above.solution.bound
        known.append(self.member(above.solution.x, {}))
        best = min(known, key=self.network.cost)
        found = Solution(best, self.network.cost(best), bound, 0)
        if bound > cutoff or stop():
            return found
        for kept in _KEPT:
            masks = self._members(above.near(kept))
            for solution in known:
                for i, k in enumerate(solution):
                    masks[i][k] = True
            inside = [narrowed(masks, one) for one in known]
            below = solve(
                self.network.restrict(masks), inside, effort=effort, progress=progress, floor=bound, stop=stop
            )
            x = self.network.icm(widened(masks, below.x))
            cost = self.network.cost(x)
            if cost < found.cost:
                found = Solution(x, cost, min(bound, cost), below.variables)
                known.append(x)
            if found.cost - bound <= _LARGE * effort.good * abs(found.cost) or stop():
                return found
        if not effort.closes and found.cost < self.network.limit:
            return found
        last = solve(self.network, known, effort=effort, progress=progress, floor=bound, stop=stop)
        if effort.closes or last.cost < self.network.limit or stop():
            return last
        # Only forbidden solutions so far: that there is another one is worth more than a quick answer.
        return solve(self.network, known, effort=DEFAULT, progress=progress, floor=bound, stop=stop)

    def _members(self, masks: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Per node which choices are in groups that are marked."""
        return [mask[group] for mask, group in zip(masks, self.groups, strict=True)]
