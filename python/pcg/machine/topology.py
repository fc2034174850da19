"""How long transfers that happen at the same time take on a cluster.

Every transfer is routed over the links between its two devices.  What shares a link adds up on it, so the time of
a set of simultaneous transfers is the longest latency, plus the bytes on the most loaded link over its bandwidth.
Links are full duplex.  A transfer between two blocks of a level uses that level's links, and those of the levels
below that are gateways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pcg.machine.cluster import Cluster, Group
from pcg.machine.level import Level

#: Hops up to which a transfer round a ring is counted link by link; beyond, by differences.  A choice, of speed only.
_HOPS = 64


class Topology:
    """The network of `cluster`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.starts = np.array(cluster.starts)

    def transfers(self, pairs: Sequence[tuple[int, int, float]]) -> float:
        """Seconds of simultaneous transfers: (from, to, bytes)."""
        if not pairs:
            return 0.0
        src, dst, amount = map(np.array, zip(*pairs, strict=True))
        return sum(self.step(src, dst, amount))

    def step(self, src: np.ndarray, dst: np.ndarray, amount: np.ndarray | float) -> tuple[float, float]:
        """(latency, seconds on the most loaded link) of sending `amount` bytes from each of `src` to its `dst`."""
        src, dst = src.ravel(), dst.ravel()
        amount = np.broadcast_to(np.asarray(amount, dtype=float), src.shape)
        moving = src != dst
        src, dst, amount = src[moving], dst[moving], amount[moving]
        if not len(src):
            return 0.0, 0.0
        if len(self.cluster.groups) == 1:
            return _in_group(self.cluster.groups[0], src, dst, amount, np.zeros(len(src), dtype=bool))
        of_src, of_dst = (np.searchsorted(self.starts, x, side="right") - 1 for x in (src, dst))
        across = of_src != of_dst
        latency = seconds = 0.0
        if across.any():
            network = self.cluster.network
            assert network is not None
            lanes = [g.size for g in self.cluster.groups]
            latency = network.latency
            a, b, n = of_src[across], of_dst[across], amount[across]
            seconds = _switch(network, a, b, n, src[across], dst[across], min(lanes), len(lanes))
        for i, group in enumerate(self.cluster.groups):
            mine = (of_src == i) | (of_dst == i)
            if mine.any():
                start = self.starts[i]
                # What comes from or goes to another group ends or starts outside of this one.
                a = np.where(of_src == i, src - start, -1)[mine]
                b = np.where(of_dst == i, dst - start, -1)[mine]
                more, busy = _in_group(group, a, b, amount[mine], across[mine])
                latency, seconds = max(latency, more), max(seconds, busy)
        return latency, seconds


def _in_group(
    group: Group, src: np.ndarray, dst: np.ndarray, amount: np.ndarray, outside: np.ndarray
) -> tuple[float, float]:
    """`Topology.step` for transfers of one group by numbers inside of it; of those `outside` one end is -1."""
    latency = seconds = 0.0
    # The level at which source and destination part.
    at = np.full(len(src), len(group.levels))
    below = 1
    for number, level in enumerate(group.levels):
        below *= level.size
        here = (at == len(group.levels)) & (src // below == dst // below) & ~outside
        at[here] = number
    below = 1
    for number, level in enumerate(group.levels):
        own = at == number
        busy = own | (at > number) if level.gateway else own
        if busy.any():
            a, b, n = src[busy], dst[busy], amount[busy]
            match level.topology:
                case "switch":
                    seconds = max(seconds, _switch(level, a // below, b // below, n, a, b, below, None))
                case "bus":
                    seconds = max(seconds, _bus(level, a // below, b // below, n))
                case "full":
                    pair = (a // below) * level.size + (b // below) % level.size
                    seconds = max(seconds, _most(pair, n) / (level.bandwidth * level.ports))
                case _:
                    seconds = max(seconds, _grid(level, a // below, b // below, n))
        if own.any():
            hops = _hops(level, src[own] // below, dst[own] // below) if level.hops else 1
            latency = max(latency, level.latency * hops)
        below *= level.size
    return latency, seconds


def _most(link: np.ndarray, amount: np.ndarray) -> float:
    """The most that any link carries; -1 is no link."""
    real = link >= 0
    if not real.any():
        return 0.0
    link, amount = link[real], amount[real]
    if link.max() > 16 * len(link):  # few of many links
        link = np.unique(link, return_inverse=True)[1]
    return float(np.bincount(link, weights=amount).max())


def _switch(
    level: Level, a: np.ndarray, b: np.ndarray, amount: np.ndarray, src: np.ndarray, dst: np.ndarray, devices: int,
    blocks: int | None,
) -> float:
    """Blocks `a` send to blocks `b` of `devices` devices each, through their ports; `blocks` if there is one switch."""
    seconds = max(_most(a, amount), _most(b, amount)) / (level.bandwidth * level.ports)
    if level.ports > 1:
        # One device has only its share of the ports.
        lane = level.bandwidth * max(1, level.ports // devices)
        seconds = max(seconds, max(_most(src, amount), _most(dst, amount)) / lane)
    if level.oversubscription > 1:
        size = blocks or level.size
        core = level.bandwidth * level.ports * size / level.oversubscription
        inner = (a >= 0) & (b >= 0) & (a // size == b // size)
        seconds = max(seconds, _most(np.where(inner, a // size, -1), amount) / core)
    return seconds


def _bus(level: Level, a: np.ndarray, b: np.ndarray, amount: np.ndarray) -> float:
    """All that is sent or received in a block goes over its one medium."""
    x, y = (np.where(e >= 0, e // level.size, -1) for e in (a, b))
    both = x == y
    medium = np.concatenate([x, y[~both]])
    return _most(medium, np.concatenate([amount, amount[~both]])) / (level.bandwidth * level.ports)


def _steps(level: Level, a: np.ndarray, b: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Along a dimension of a ring or torus: (hops up, hops down, whether either way is as short)."""
    n, after = level.shape[dim], math.prod(level.shape[dim + 1 :])
    up = (b // after) % n - (a // after) % n
    if not level.wraps(dim):
        return np.maximum(up, 0), np.maximum(-up, 0), np.zeros(len(a), dtype=bool)
    up = up % n
    tie = 2 * up == n
    return np.where(2 * up <= n, up, 0), np.where(2 * up >= n, (n - up) % n, 0), tie


def _hops(level: Level, a: np.ndarray, b: np.ndarray) -> int:
    total = np.zeros(len(a), dtype=int)
    for dim in range(len(level.shape)):
        up, down, _ = _steps(level, a, b, dim)
        total += np.maximum(up, down)
    return int(total.max())


def _longest(line: np.ndarray, first: np.ndarray, count: np.ndarray, n: int, amount: np.ndarray) -> float:
    """The most that a link of rings of `n` carries: `amount` on `count` links from number `first` on of ring `line`."""
    ring = np.unique(line, return_inverse=True)[1]
    change = np.zeros((int(ring.max(initial=0)) + 1, n + 1))
    first = first % n
    end = first + count
    np.add.at(change, (ring, first), amount)
    np.subtract.at(change, (ring, np.minimum(end, n)), amount)
    round_ = end > n
    np.add.at(change, (ring[round_], 0), amount[round_])
    np.subtract.at(change, (ring[round_], end[round_] - n), amount[round_])
    return float(np.cumsum(change[:, :n], axis=1).max())


def _grid(level: Level, a: np.ndarray, b: np.ndarray, amount: np.ndarray) -> float:
    """Dimension-ordered routing on a ring or torus, each dimension the shorter way round; equal ways share."""
    most = 0.0
    at = a.copy()
    for dim, n in enumerate(level.shape):
        after = math.prod(level.shape[dim + 1 :])
        up, down, tie = _steps(level, a, b, dim)
        place = (at // after) % n
        rest = at - place * after
        for hops, sign in ((up, 1), (down, -1)):
            links, loads = [], []
            if hops.max(initial=0) > _HOPS:
                most = max(most, _longest(rest, place if sign > 0 else place - hops + 1, hops, n,
                                          np.where(tie, 0.5, 1.0) * amount))  # fmt: skip
                continue
            for h in range(int(hops.max(initial=0))):
                on = hops > h
                links.append((rest + ((place + sign * h) % n) * after)[on])
                loads.append(np.where(tie, 0.5, 1.0)[on] * amount[on])
            if links:
                most = max(most, _most(np.concatenate(links), np.concatenate(loads)))
        at = rest + ((b // after) % n) * after
    return most / (level.bandwidth * level.ports)
