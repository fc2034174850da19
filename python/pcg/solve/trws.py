"""Lower bounds by sequential tree-reweighted message passing, and the choices that they rule out.

TRW-S (Kolmogorov, "Convergent tree-reweighted message passing for energy minimization", PAMI 28, 2006) is block
coordinate ascent on the dual of the local polytope.  The network is covered by chains that rise in the order of its
nodes, and costs are divided among the chains such that the sum of the chains' minima, a lower bound, grows.  A node
looks at what all chains through it cost by its choice, gives each of them the same share, and tells the next nodes by
messages: over an edge with costs [[0, 3], [3, 0]] a node whose choices cost 0 and 2 says "0 or 2 more"; one whose
choices cost 0 and 9 says "0 or 3 more", as leaving the edge's agreement costs 3.  One sweep goes up and down the order.

Beside the textbook: the rounding (each node in turn takes what is cheapest given those already decided, messages
standing for the others) is done in the upward pass; and what the chains through a node cost beyond their minima says
how far each choice lifts the bound.  A choice that lifts it over the cost of a known solution is in no better one
(reduced-cost fixing), so what remains for branch and bound is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.solve import kernels
from pcg.solve.edges import offsets
from pcg.solve.network import Network
from pcg.solve.pairwise import Pairwise
from pcg.solve.stop import NEVER, Stop

#: Relative gap at which ascent ends.  Chosen: a hundredth of the gap to which networks are solved.
NEAR = 1e-5
#: Sweeps between two looks at the bound and the solution, and looks over which progress is judged.  Chosen: a look
#: costs about as much as one sweep; over fewer looks ascent ended before costs had gone all through a network, and the
#: search for a mesh (BERT medium, eight nodes of eight H100) took one 2.5% slower.
_SWEEPS, _LOOKS = 5, 4


class TreeReweighted:
    """Messages over the edges of a network; they persist, so that ascent goes on under changed unary costs.

    `to_i[e]` says, per choice of the edge's first end, what the edge and all behind it cost on the chains through it.
    """

    def __init__(self, network: Pairwise) -> None:
        self.network = network
        of_i, of_j = (offsets(network.size[ends]) for ends in (network.ei, network.ej))
        self._at = of_i, of_j
        self.to_i, self.to_j = np.zeros(int(of_i[-1])), np.zeros(int(of_j[-1]))
        self.rise = np.zeros(len(network.unary))
        """How far each choice lifts the bound `level` at least."""
        self.level = -np.inf

    def run(self, unary: np.ndarray, sweeps: int) -> tuple[float, np.ndarray]:
        """A lower bound under these unary costs, and a rounding."""
        n = self.network
        x, bounds = np.zeros(n.n, dtype=np.int64), np.empty(2)
        kernels.trws(
            sweeps, n.size, n.offset, unary, n.ei, n.ej, n.table, n.tables, n.near_offset, n.near_node, n.near_edge,
            *self._at, self.to_i, self.to_j, self.rise, x, bounds, *n.rooms(3),
        )  # fmt: skip
        bound, self.level = bounds.tolist()
        return bound, x


@dataclass
class Bounded:
    """A bound, the best solution met on the way, and per node and choice how far it lifts the bound at least."""

    bound: float
    x: list[int]
    cost: float
    level: float
    rise: list[np.ndarray]
    noise: float
    """Costs that differ by no more are the same."""
    unit: float
    """That of the network."""
    stalled: bool = False
    """Whether more sweeps would close little of the gap."""
    _messages: TreeReweighted | None = None

    def open(self, cost: float) -> list[np.ndarray]:
        """Per node, which choices may be in a solution that is no costlier than `cost`."""
        slack = (cost - self.level) * (1 + 1e-9) + self.noise
        return [r <= slack for r in self.rise]

    def network(self) -> Network:
        """The network with its costs where the messages moved them (a reparametrisation): solutions cost the same.

        Ascent on it, or on it with choices forbidden, goes on from here.
        """
        assert self._messages is not None
        flat = self._messages.network
        out = Network()
        for u in flat.split(flat.unary):
            out.add(u)
        at_i = at_j = 0
        for e, (i, j) in enumerate(zip(flat.ei.tolist(), flat.ej.tolist(), strict=True)):
            m = flat.edge(e)
            a, b = self._messages.to_i[at_i : at_i + m.shape[0]], self._messages.to_j[at_j : at_j + m.shape[1]]
            at_i, at_j = at_i + m.shape[0], at_j + m.shape[1]
            out.unary[i] += a
            out.unary[j] += b
            out.connect(i, j, m - a[:, None] - b[None, :])
        out.unit = self.unit
        return out


def ascend(
    network: Network, x: list[int], *, sweeps: int = 400, patience: float = 1e-5, cutoff: float = np.inf,
    gap: float = NEAR, since: Bounded | None = None, stop: Stop = NEVER,
) -> Bounded:  # fmt: skip
    """Raise the bound until 20 sweeps close less than `patience` of the gap, or it passes `cutoff`.

    `x` is a known solution; it also ends once the best one met is within `gap` (relative) of the bound.  `since`: what
    an ascent of the same network has reached, to go on from.  `stop`: asked every few sweeps whether to end.
    """
    if since is None or since._messages is None:
        flat = network.flat
        messages = TreeReweighted(flat)
        bound = -np.inf
    else:
        messages, bound = since._messages, since.bound
        flat = messages.network
    best, cost = list(x), flat.energy(np.array(x, dtype=np.int64))
    stalled = False
    looks = [-np.inf] * _LOOKS
    for _ in range(0, sweeps, _SWEEPS):
        found, rounded = messages.run(flat.unary, _SWEEPS)
        bound = max(bound, found)
        if bound > cutoff:
            break
        guess = flat.icm(rounded, network.noise)
        if (c := flat.energy(guess)) < cost:
            best, cost = guess.tolist(), c
        stalled = bound - looks[-_LOOKS] <= patience * (cost - bound)
        if stalled or cost - bound <= gap * cost or stop():
            break
        looks.append(bound)
    rise = [r.copy() for r in flat.split(messages.rise)]
    return Bounded(bound, best, cost, messages.level, rise, network.noise, network.unit, stalled, messages)
