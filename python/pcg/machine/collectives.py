"""The time of collectives on a cluster: every algorithm that there is, of which the cheapest applies.

A collective of all groups of a mesh at once is a sequence of steps of simultaneous transfers, which
`pcg.machine.topology` estimates; groups that share a link thus share its bandwidth.  Each algorithm is a line:
seconds to start, and seconds per byte.  Their lower envelope is the cost.

Sizes: `all_reduce`, `reduce_scatter` and `all_to_all` are counted by the bytes a device holds before, `all_gather`
by what it holds after.  Algorithms, for a group of n:

- ring: n-1 steps to the next in order of place, half of the bytes either way round; with several devices per block
  one ring leaves the block from each of them.
- direct: everyone sends to everyone, n-1 messages one after another.
- halving: recursive halving and doubling, by the prime factors of n.
- hierarchical: one of these per level of the network, reduce-scatter on the way out, all-gather on the way in.
- torus: as hierarchical by dimensions, the data in parts that take the dimensions in different orders at once.
- tree: recursive doubling of whole vectors: the least latency (all_reduce only).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pcg.machine.cluster import Cluster
from pcg.machine.topology import Topology

#: Pairs of devices up to which a direct all-to-all is considered; beyond, only by levels.  A choice: its arrays are
#: then some tens of MiB.
_PAIRS = 1 << 20
#: Simultaneous transfers up to which each is routed, and rounds that stand for the rest of a larger exchange.  Choices,
#: for the same reason.
_MOST_PAIRS, _ROUNDS = 1 << 20, 16


@dataclass(frozen=True)
class CostLine:
    """Seconds of a collective by one algorithm: `start + per_byte * bytes`."""

    start: float
    per_byte: float
    algorithm: str

    def seconds(self, size: float) -> float:
        """Seconds for `size` bytes."""
        return self.start + self.per_byte * size

    def __add__(self, other: CostLine) -> CostLine:
        return CostLine(self.start + other.start, self.per_byte + other.per_byte, self.algorithm)


def envelope(lines: Iterable[CostLine]) -> tuple[CostLine, ...]:
    """Those lines that are the lowest somewhere, by rising start."""
    out: list[CostLine] = []
    for line in sorted(lines, key=lambda x: (x.start, x.per_byte, x.algorithm)):
        if out and line.per_byte >= out[-1].per_byte:
            continue
        while len(out) > 1:
            a, b = out[-2], out[-1]
            # Where b beats a, and where the new line beats b: b is never lowest if the second comes first.
            if (line.start - b.start) * (a.per_byte - b.per_byte) <= (b.start - a.start) * (b.per_byte - line.per_byte):
                out.pop()
            else:
                break
        out.append(line)
    return tuple(out)


class GroupCollectives:
    """Collectives of disjoint groups of devices of one size, all at the same time; devices are numbers."""

    def __init__(self, topology: Topology, groups: Sequence[Sequence[int]]) -> None:
        self.topology = topology
        self.in_order = np.array([list(g) for g in groups])
        self.members = np.sort(self.in_order, axis=1)
        self.n = self.members.shape[1]
        self.radices = self._radices()

    def cost_lines(self, kind: str) -> tuple[CostLine, ...]:
        """The cost of a collective: `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` or `permute`.

        A permute is one to the next in the order in which the group was given; see also `Topology.transfers`.
        """
        if self.n == 1:
            return (CostLine(0.0, 0.0, "nothing"),)
        match kind:
            case "all_reduce":
                return self.all_reduce()
            case "reduce_scatter" | "all_gather":  # the same transfers, the other way round
                return self.reduce_scatter
            case "all_to_all":
                return self.all_to_all()
            case "permute":
                step = self.topology.step(self.in_order, np.roll(self.in_order, -1, axis=1), 1.0)
                return (CostLine(*step, "direct"),)
        allowed = "all_reduce, all_gather, reduce_scatter, all_to_all, permute"
        raise ValueError(f"unknown collective {kind!r}; allowed: {allowed}")

    # -- the collectives -----------------------------------------------------------------------

    @cached_property
    def reduce_scatter(self) -> tuple[CostLine, ...]:
        """Per byte that a device holds before."""
        lines = [*self._by_phases(self._primes(), "halving", rings=False), *self._by_phases((self.n,), "ring")]
        if len(self.radices) > 1:
            lines += self._by_phases(self.radices, "hierarchical")
            lines.append(self._rings())
            lines.append(self._in_parts())
        return envelope(lines)

    def all_reduce(self) -> tuple[CostLine, ...]:
        """Per byte of the operand."""
        lines = [x + x for x in self.reduce_scatter]  # gathered as it was scattered
        lines.append(self._tree(self._primes(), 1.0, "tree"))
        if len(self.radices) > 1:
            # Reduce-scatter inside, trees across, all-gather inside.
            size, inner = 1.0, CostLine(0.0, 0.0, "hierarchical")
            for k in range(len(self.radices) - 1, 0, -1):
                inner += min(self._phase(self.radices, k, size), key=lambda x: x.per_byte)
                size /= self.radices[k]
            lines.append(inner + inner + self._tree(self.radices, size, "hierarchical", last=1))
        return envelope(lines)

    def all_to_all(self) -> tuple[CostLine, ...]:
        """Per byte of the operand."""
        lines = []
        for radices, name in ((self.radices, "hierarchical"), (self._primes(), "halving")):
            if len(radices) > 1:
                total = CostLine(0.0, 0.0, name)
                for k in range(len(radices)):
                    total += self._exchange(radices, k, 1.0)
                lines.append(total)
        if not lines or self.members.size * self.n <= _PAIRS:
            total = self._exchange((self.n,), 0, 1.0)
            lines.append(CostLine(total.start, total.per_byte, "direct"))
        return envelope(lines)

    # -- phases --------------------------------------------------------------------------------

    def _by_phases(self, radices: Sequence[int], name: str, rings: bool = True) -> list[CostLine]:
        """Reduce-scatters in the order of `radices` from the last (innermost) on, every choice of algorithm in each."""
        total = [CostLine(0.0, 0.0, name)]
        size = 1.0
        for k in range(len(radices) - 1, -1, -1):
            total = list(envelope(a + b for a, b in itertools.product(total, self._phase(radices, k, size, rings))))
            size /= radices[k]
        return total

    def _phase(self, radices: Sequence[int], k: int, size: float, rings: bool = True) -> list[CostLine]:
        """Reduce-scatter of `size` bytes along one of the radices: by a ring or directly."""
        if radices[k] == 1:
            return [CostLine(0.0, 0.0, "nothing")]
        out = [self._exchange(radices, k, size)]
        if rings and radices[k] > 2:
            out.append(self._ring(self._along(radices, k), size))
        return out

    def _exchange(self, radices: Sequence[int], k: int, size: float) -> CostLine:
        """Everyone sends a share of `size` bytes to each other one along a radix; messages start one after another."""
        x = self._along(radices, k)
        p = x.shape[-1]
        latency, load = self._to_all(x, size / p)
        return CostLine((p - 1) * latency, load, "direct")

    def _to_all(self, x: np.ndarray, amount: float) -> tuple[float, float]:
        """(latency, seconds on the most loaded link) of `amount` bytes from everyone to all others in its row of `x`.

        Beyond `_MOST_PAIRS`, extrapolated from some of the rounds in which everyone sends to the one so many places on.
        """
        p = x.shape[-1]
        if x.size * p <= _MOST_PAIRS:
            return self.topology.step(np.repeat(x, p, axis=-1), np.tile(x, p), amount)
        count = max(1, min(p - 1, _MOST_PAIRS // x.size, _ROUNDS))
        shifts = sorted({1 + i * (p - 2) // max(1, count - 1) for i in range(count)})
        found = [self.topology.step(x, np.roll(x, -shift, axis=-1), amount) for shift in shifts]
        return max(a for a, _ in found), (p - 1) / len(shifts) * sum(b for _, b in found)

    def _ring(self, x: np.ndarray, size: float) -> CostLine:
        """A reduce-scatter round the last dimension of `x`, half of the bytes either way."""
        p = x.shape[-1]
        src = np.concatenate([x.ravel(), x.ravel()])
        dst = np.concatenate([np.roll(x, -1, axis=-1).ravel(), np.roll(x, 1, axis=-1).ravel()])
        latency, load = self.topology.step(src, dst, 0.5)
        return CostLine((p - 1) * latency, (p - 1) / p * size * load, "ring")

    def _rings(self) -> CostLine:
        """Rings through all members, one per device of an innermost block: each leaves the blocks from another one."""
        inner = self.radices[-1]
        blocks = self.members.reshape(len(self.members), -1, inner)
        src, dst = [], []
        for r in range(0, inner, max(1, inner * self.members.size // _MOST_PAIRS)):  # all of them, where that goes
            x = np.roll(blocks, r, axis=2).reshape(len(blocks), -1)
            src += [x, x]
            dst += [np.roll(x, -1, axis=1), np.roll(x, 1, axis=1)]
        latency, load = self.topology.step(np.concatenate(src), np.concatenate(dst), 1.0 / len(src))
        return CostLine((self.n - 1) * latency, (self.n - 1) / self.n * load, "ring")

    def _in_parts(self) -> CostLine:
        """The data in as many parts as there are radices, all at once; part `j` takes them in the order j, j+1, ..."""
        dims = len(self.radices)
        total = CostLine(0.0, 0.0, "torus")
        sizes = [1.0 / dims] * dims
        for phase in range(dims):
            src, dst, amount = [], [], []
            steps = 0
            for j in range(dims):
                k = (dims - 1 - j - phase) % dims
                x = self._along(self.radices, k)
                p = x.shape[-1]
                steps = max(steps, p - 1)
                for direction in (-1, 1):
                    src.append(x.ravel())
                    dst.append(np.roll(x, direction, axis=-1).ravel())
                    amount.append(np.full(x.size, (p - 1) / p * sizes[j] / 2))
                sizes[j] /= p
            latency, load = self.topology.step(np.concatenate(src), np.concatenate(dst), np.concatenate(amount))
            total += CostLine(steps * latency, load, "torus")
        return total

    def _tree(self, radices: Sequence[int], size: float, name: str, last: int | None = None) -> CostLine:
        """All-reduce of whole vectors of `size` bytes along the radices before `last`, one after the other."""
        total = CostLine(0.0, 0.0, name)
        for k in range(len(radices[:last])):
            x = self._along(radices, k)
            p = x.shape[-1]
            latency, load = self._to_all(x, size)
            total += CostLine((p - 1) * latency, load, name)
        return total

    # -- the shape of a group --------------------------------------------------------------------

    def _along(self, radices: Sequence[int], k: int) -> np.ndarray:
        """Members as rows that differ only in digit `k`."""
        x = self.members.reshape(len(self.members), *radices)
        return np.moveaxis(x, k + 1, -1)

    def _radices(self) -> tuple[int, ...]:
        """How the members spread over the levels, outermost first; one number if groups differ in that."""
        shapes = {blocks_per_level([self.topology.cluster.coordinates(int(d)) for d in g]) for g in self.members}
        shape = shapes.pop() if len(shapes) == 1 else (self.n,)
        return tuple(s for s in shape if s > 1) or (1,)

    def _primes(self) -> tuple[int, ...]:
        return tuple(p for r in self.radices for p in primes(r)) or (1,)


def blocks_per_level(coordinates: Sequence[tuple[int, ...]], depth: int = 0) -> tuple[int, ...]:
    """The numbers of blocks per level of devices that agree in the first `depth` coordinates, outermost first.

    Levels below the first at which blocks differ count as one.
    """
    if len(coordinates) == 1:
        return ()
    blocks: dict[int, list[tuple[int, ...]]] = {}
    for c in coordinates:
        blocks.setdefault(c[depth], []).append(c)
    if len({len(b) for b in blocks.values()}) > 1:
        return (len(coordinates),)
    inner = {blocks_per_level(b, depth + 1) for b in blocks.values()}
    size = len(coordinates) // len(blocks)
    return len(blocks), *(inner.pop() if len(inner) == 1 else (size,))


def primes(n: int) -> list[int]:
    """The prime factors of `n`, smallest first."""
    out, p = [], 2
    while n > 1:
        while n % p == 0:
            out.append(p)
            n //= p
        p += 1
    return out


@lru_cache(maxsize=256)
def _collectives(cluster: Cluster, groups: tuple[tuple[int, ...], ...]) -> GroupCollectives:
    return GroupCollectives(Topology(cluster), groups)


def cost_lines(cluster: Cluster, groups: tuple[tuple[int, ...], ...], kind: str) -> tuple[CostLine, ...]:
    """The cost of a collective of `groups` of devices, all at the same time; see `GroupCollectives.cost_lines`."""
    if kind != "permute":  # the others do not depend on an order, in which device mappings differ most
        groups = tuple(sorted(tuple(sorted(g)) for g in groups))
    return _cost_lines(cluster, groups, kind)


@lru_cache(maxsize=4096)
def _cost_lines(cluster: Cluster, groups: tuple[tuple[int, ...], ...], kind: str) -> tuple[CostLine, ...]:
    return _collectives(cluster, groups).cost_lines(kind)


def exchange_line(cluster: Cluster, pairs: Iterable[tuple[int, int]]) -> CostLine:
    """The cost, per byte that each sends, of point-to-point transfers (from, to) at the same time: a permute."""
    ends = np.array(list(pairs)).reshape(-1, 2)
    return CostLine(*Topology(cluster).step(ends[:, 0], ends[:, 1], 1.0), "direct")


def seconds(cluster: Cluster, groups: Sequence[Sequence[int]], kind: str, size: float) -> float:
    """Seconds of a collective of `size` bytes (as `GroupCollectives` counts them) of all `groups` at once."""
    return min(x.seconds(size) for x in cost_lines(cluster, tuple(map(tuple, groups)), kind))


def wire_factor(kind: str, n: int) -> float:
    """Bytes that a device of a group of `n` sends per byte of a collective's size."""
    return {"all_reduce": 2 * (n - 1) / n, "permute": 1.0}.get(kind, (n - 1) / n) if n > 1 else math.inf
