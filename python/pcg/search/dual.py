"""Lower bounds by dual ascent, and the choices they rule out.

Block-coordinate ascent on the dual of the local polytope with the handshake update of MPLP++
(Tourani, Shekhovtsov, Rother, Savchynskyy, ECCV'18): costs move between an edge and its two ends so
that the sum of all minima, a lower bound, grows.  A choice whose reparametrised cost lifts the bound
over the cost of a known solution is in no better solution (reduced-cost fixing), so what remains
for the ILP is small.

Edges that share no variable are updated together, as one stack of matrices of like size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcg.search.network import Network

#: Noise that breaks ties, all together as a share of a known solution's cost.  Chosen: below the thousandth to which
#: quick searches go.
_NOISE = 2e-4
#: Relative gap at which ascent ends: what the noise makes of it.
NEAR = 2 * _NOISE
#: Entries of edges from which compiled loops pay: loading them takes a third of a second (decision 18).
_MUCH = 1 << 16


@dataclass
class Bounded:
    """A bound, the best solution met on the way, and per variable and choice how far it lifts the bound at least."""

    bound: float
    x: list[int]
    cost: float
    level: float
    rise: list[np.ndarray]
    noise: float
    """Costs that differ by no more are the same."""
    unit: float
    """That of the network."""
    _moved: tuple[np.ndarray, list[_Stack]] | None = None

    def open(self, cost: float) -> list[np.ndarray]:
        """Per variable, which choices may be in a solution that is no costlier than `cost`."""
        slack = (cost - self.level) * (1 + 1e-9) + self.noise
        return [r <= slack for r in self.rise]

    def network(self) -> Network:
        """The network with its costs where ascent moved them: every solution costs the same, but for the noise.

        Ascent on it, or on it with choices forbidden, goes on from here.
        """
        assert self._moved is not None
        padded, stacks = self._moved
        sizes = list(map(len, self.rise))
        out = Network()
        for i, n in enumerate(sizes):
            out.add(padded[i, :n])
        for s in stacks:
            for i, j, m in zip(s.i.tolist(), s.j.tolist(), s.m, strict=True):
                out.connect(i, j, m[: sizes[i], : sizes[j]].copy())
        out.unit = self.unit
        return out


@dataclass
class _Stack:
    """Disjoint edges of like size: `m[e]` between variables `i[e]` and `j[e]`, padded with infinity."""

    i: np.ndarray
    j: np.ndarray
    m: np.ndarray

    def handshake(self, unary: np.ndarray, sizes: np.ndarray | None = None) -> None:
        """Move all cost of each edge and its ends to the edge, half of it back to `i`, the rest to `j`, then to `i`.

        With the `sizes` of all variables by compiled loops.
        """
        if sizes is not None:
            from pcg.kernels.networks import handshake

            handshake(self.m, self.i, self.j, unary, sizes)
            return
        rows, cols = self.m.shape[1:]
        m = self.m
        m += unary[self.i, :rows][:, :, None]
        m += unary[self.j, :cols][:, None, :]
        a = 0.5 * m.min(axis=2)
        m -= _or_zero(a)[:, :, None]
        b = m.min(axis=1)
        m -= _or_zero(b)[:, None, :]
        c = m.min(axis=2)
        m -= _or_zero(c)[:, :, None]
        unary[self.i, :rows] = a + c
        unary[self.j, :cols] = b

    def floor(self) -> float:
        """Sum of the minima of the edges."""
        return float(self.m.min(axis=(1, 2)).sum())


def ascend(
    network: Network, x: list[int], *, sweeps: int = 1500, patience: float = 1e-5, cutoff: float = np.inf,
    gap: float = NEAR,
) -> Bounded:  # fmt: skip
    """Raise the bound until 20 sweeps close less than `patience` of the gap, or it passes `cutoff`.

    `x` is a known solution; it also ends once the best one met is within `gap` (relative) of the bound.
    """
    network.settle()
    unary = _padded(network)
    # Ties leave the dual solution with many choices of equal cost, which round badly together: a little noise
    # breaks them.  It only ever adds, so subtracting all of it keeps the bound one.
    noise = np.random.default_rng(0).random(unary.shape) * (_NOISE * network.cost(x) / len(unary))
    unary += noise
    added = float(noise.max(axis=1).sum())
    stacks = _stacks(network)
    sizes = np.array(list(map(len, network.unary))) if sum(s.m.size for s in stacks) > _MUCH else None
    best, cost = list(x), network.cost(x)
    bound = checked = -np.inf

    def level() -> float:
        return float(unary.min(axis=1).sum()) + sum(s.floor() for s in stacks) - added

    def improve() -> None:
        nonlocal best, cost
        guess = network.descend(_round(network, unary, stacks))
        if (c := network.cost(guess)) < cost:
            best, cost = guess, c

    for sweep in range(sweeps):
        for s in stacks if sweep % 2 == 0 else reversed(stacks):
            s.handshake(unary, sizes)
        if sweep % 20 == 19:
            bound = max(bound, level())
            if bound > cutoff:
                break
            improve()
            if cost - bound <= gap * cost or bound - checked <= patience * (cost - bound):
                break
            checked = bound
    else:
        improve()
    # What each choice adds to the bound at least: its own cost and the cheapest entry on every edge.
    current = level()
    rise = unary - unary.min(axis=1)[:, None]
    for s in stacks:
        low = s.m.min(axis=(1, 2))
        rows, cols = s.m.shape[1:]
        np.add.at(rise, (s.i[:, None], np.arange(rows)[None, :]), s.m.min(axis=2) - low[:, None])
        np.add.at(rise, (s.j[:, None], np.arange(cols)[None, :]), s.m.min(axis=1) - low[:, None])
    return Bounded(
        max(bound, current), best, cost, current, [rise[i, : len(u)] for i, u in enumerate(network.unary)],
        network.noise, network.unit, (unary, stacks),
    )


def _padded(network: Network) -> np.ndarray:
    width = max(map(len, network.unary))
    unary = np.full((len(network.unary), width), np.inf)
    for i, u in enumerate(network.unary):
        unary[i, : len(u)] = u
    return unary


def _stacks(network: Network) -> list[_Stack]:
    """All edges, in stacks whose edges share no variable."""
    found: dict[tuple[int, int, int], list[tuple[int, int, np.ndarray]]] = {}
    taken: dict[tuple[int, int, int], set[int]] = {}
    for i, row in enumerate(network.pair):
        for j, m in sorted(row.items()):
            if i >= j:
                continue
            size = (_bucket(m.shape[0]), _bucket(m.shape[1]))
            colour = 0
            while {i, j} & taken.setdefault((*size, colour), set()):
                colour += 1
            taken[(*size, colour)] |= {i, j}
            found.setdefault((*size, colour), []).append((i, j, m))
    stacks = []
    for edges in found.values():
        rows = max(m.shape[0] for _, _, m in edges)
        cols = max(m.shape[1] for _, _, m in edges)
        stack = np.full((len(edges), rows, cols), np.inf)
        for e, (_, _, m) in enumerate(edges):
            stack[e, : m.shape[0], : m.shape[1]] = m
        stacks.append(_Stack(np.array([i for i, _, _ in edges]), np.array([j for _, j, _ in edges]), stack))
    return stacks


def _or_zero(least: np.ndarray) -> np.ndarray:
    """What is taken from costs: nothing from those that are all infinite."""
    return np.where(np.isfinite(least), least, 0.0)


def _bucket(n: int) -> int:
    return (n - 1).bit_length()


def _round(network: Network, unary: np.ndarray, stacks: list[_Stack]) -> list[int]:
    """Choices by reparametrised cost, in order, given those already made.

    The costs left on an edge say what a choice of one end costs beyond the bound given the other's.
    """
    left: list[list[tuple[int, np.ndarray]]] = [[] for _ in network.unary]
    for s in stacks:
        for i, j, m in zip(s.i, s.j, s.m, strict=True):
            if i < j:
                left[j].append((int(i), m))
            else:
                left[i].append((int(j), m.T))
    x: list[int] = []
    for i, u in enumerate(network.unary):
        c = unary[i, : len(u)].copy()
        for j, m in left[i]:
            c += m[x[j], : len(u)]
        x.append(int(np.argmin(c)))
    return x
