"""Rank mapping: which device each process of a program is, so that those that talk much are close.

Three methods, each never worse than the one before by the time of the exchanges with contention (`TrafficCost`):

- greedy, as Paddle describes its mapping: the process with the most traffic goes first; then, again and again, the one
  with the most traffic with those that have a device goes to the free device nearest to them.
- local search from there: two processes change places, or one moves to a free device, as long as that helps.
- optimal, for few processes: branch and bound over all placements.  The time of what is placed so far is the bound;
  devices that the network cannot tell apart are tried once.

A process gets a device of the kind, and with the memory, that it needs.  (Ao et al., End-to-end Adaptive Distributed
Training on PaddlePaddle, 2021.)
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.machine.cluster import Cluster
from pcg.machine.errors import ClusterError
from pcg.machine.traffic import Traffic, TrafficCost

#: What `map_ranks` can be asked for.
METHODS = ("naive", "greedy", "local", "optimal", "auto")
#: Processes up to which `auto` searches for the optimum.  A choice: 8! placements, most of them pruned.
_FEW = 8
#: Complete and partial placements that branch and bound evaluates at most.  A choice: some seconds.
_NODES = 20_000
#: Placements that the local search evaluates at most.  A choice: about a second.
_TRIES = 4_000
#: The least relative gain that counts: above the rounding of sums.
_GAIN = 1e-9


@dataclass(frozen=True)
class RankMapping:
    """Device of each process, and the seconds per step that what they exchange takes there.

    `naive` are the seconds in the order in which processes and devices are numbered (or that was given).
    `proved`: no placement is faster.
    """

    devices: tuple[int, ...]
    seconds: float
    naive: float
    method: str
    proved: bool = False


def map_ranks(
    cluster: Cluster, traffic: Traffic, method: str = "auto", start: Sequence[int] | None = None
) -> RankMapping:
    """Place processes on devices of `cluster`.

    Args:
      cluster: only its usable devices are given out, one process each.
      traffic: what processes exchange and need.
      method: `naive`, `greedy`, `local` (greedy, then local search), `optimal`, or `auto`: optimal for up to 8
        processes, else local.
      start: the placement to compare with; default: in the order of numbers.

    Raises:
      ClusterError: more processes than devices, or needs that no placement meets; an unknown method.
    """
    if method not in METHODS:
        raise ClusterError(f"unknown method {method!r} of rank mapping; allowed: {', '.join(METHODS)}")
    domains = _Domains(cluster, traffic)
    cost = domains.cost
    first = domains.in_order() if start is None else domains.checked(start)
    naive = cost.seconds(first)
    if method == "naive":
        return RankMapping(tuple(first), naive, naive, method)
    best, seconds = first, naive
    found = _greedy(domains)
    if (time := cost.seconds(found)) < seconds * (1 - _GAIN):
        best, seconds = found, time
    if method == "greedy":
        return RankMapping(tuple(best), seconds, naive, method)
    best, seconds = _improve(domains, best, seconds)
    proved = False
    if method == "optimal" or (method == "auto" and traffic.processes <= _FEW):
        best, seconds, proved = _optimal(domains, best, seconds)
        method = "optimal" if proved else "local"
    return RankMapping(tuple(best), seconds, naive, "local" if method == "auto" else method, proved)


class _Domains:
    """The devices that each process may have, and which devices are symmetric."""

    def __init__(self, cluster: Cluster, traffic: Traffic) -> None:
        self.cluster, self.traffic = cluster, traffic
        self.cost = TrafficCost(cluster, traffic)
        n, usable = traffic.processes, cluster.devices
        if n > len(usable):
            raise ClusterError(f"{n} processes; cluster {cluster.name!r} has {len(usable)} usable devices")
        self.processes = range(n)
        #: Kind of each usable device, and the kinds that each process can use.
        self.kind = {d: cluster.group_of(d).kind for d in usable}
        kinds = {k.name: k for k in cluster.kinds}
        self.kinds = []
        for p in self.processes:
            need = traffic.need(p)
            if need.kind is not None and need.kind not in kinds:
                raise ClusterError(f"process {p} needs kind {need.kind!r}; there are {', '.join(map(repr, kinds))}")
            fit = {k for k in kinds if need.kind in (None, k) and kinds[k].memory >= need.memory}
            self.kinds.append(frozenset(fit & set(self.kind.values())))
            if not self.kinds[-1]:
                raise ClusterError(f"process {p} needs {need}; no usable device of {cluster.name!r} has that")
        #: The places of the usable devices in a block, by its first device and its size.
        self._usable = functools.cache(lambda at, size: tuple(d - at for d in range(at, at + size) if d in self.kind))
        self.paths = {d: self._path(d) for d in usable}
        self._near: dict[tuple[int, ...], tuple[float, float]] = {}
        if not self.are_assignable(list(self.processes), Counter(self.kind.values())):
            every = Counter(str(traffic.need(p)) for p in self.processes)
            text = "; ".join(f"{c} of {need}" for need, c in every.items())
            have = ", ".join(f"{c} {k}" for k, c in Counter(self.kind.values()).items())
            raise ClusterError(f"the needs of the processes ({text}) cannot all be met: there are {have}")

    def are_assignable(self, processes: Sequence[int], free: Counter[str]) -> bool:
        """Whether `processes` can all be placed on as many `free` devices per kind (Hall's condition)."""
        wants = Counter(self.kinds[p] for p in processes)
        names = list(free)
        for size in range(1, len(names) + 1):
            for some in itertools.combinations(names, size):
                wanted = sum(c for fit, c in wants.items() if fit & set(names) <= set(some))
                if wanted > sum(free[k] for k in some):
                    return False
        return True

    def checked(self, devices: Sequence[int]) -> list[int]:
        """A given placement, if it is one."""
        if len(devices) != len(self.processes) or len(set(devices)) != len(devices):
            raise ClusterError(f"placement {list(devices)}; allowed: {len(self.processes)} different devices")
        for p, d in enumerate(devices):
            if self.kind.get(d) not in self.kinds[p]:
                what = f"kind {self.kind[d]!r}" if d in self.kind else "not usable"
                raise ClusterError(f"process {p} needs {self.traffic.need(p)}; device {d} is {what}")
        return list(devices)

    def in_order(self) -> list[int]:
        """Every process, in turn, on the first free device that it can have."""
        found: list[int] = []
        for p in self.processes:
            found.append(next(d for d in self.kind if d not in found and self.may(p, d, found)))
        return found

    def may(self, process: int, device: int, taken: Sequence[int], rest: Sequence[int] | None = None) -> bool:
        """Whether `process` can go on `device` so that the `rest` (default: those after it) can be placed too."""
        if self.kind[device] not in self.kinds[process]:
            return False
        if len(set(self.kinds)) == 1:
            return True
        free = Counter(self.kind.values())
        free.subtract(self.kind[d] for d in (*taken, device))
        return self.are_assignable(self.processes[process + 1 :] if rest is None else rest, free)

    # -- symmetric devices ---------------------------------------------------------------------

    def _path(self, device: int) -> tuple[tuple[tuple[int, int], int, bool, tuple[int, ...]], ...]:
        """The blocks that a device is in, outermost first: (block, place in the one above, may change places, usable).

        Blocks of a level that is symmetric, and whose usable devices are in the same places, may change places.
        """
        index = self.cluster._group_index(device)
        group, start = self.cluster.groups[index], self.cluster.starts[index]
        at, size = device - start, group.size
        out: list[tuple[tuple[int, int], int, bool, tuple[int, ...]]] = [((start, size), index, False, ())]
        for level in reversed(group.levels):
            below = size // level.size
            block = start + at // below * below
            out.append(((block, below), at % size // below, level.symmetric, self._usable(block, below)))
            size = below
        return tuple(out)

    def representatives(self, devices: Sequence[int], used: set[tuple[int, int]]) -> list[int]:
        """One of each sort of `devices`, while no process is in a block that is not in `used`."""
        seen: dict[tuple[object, ...], int] = {}
        for d in devices:
            key = tuple(
                ("any", pattern) if symmetric and block not in used else place
                for block, place, symmetric, pattern in self.paths[d]
            )
            seen.setdefault(key, d)
        return list(seen.values())

    def blocks(self, device: int) -> set[tuple[int, int]]:
        """The blocks that a process on `device` is in."""
        return {block for block, *_ in self.paths[device]}

    # -- distance ------------------------------------------------------------------------------

    def alone(self, a: int, b: int, amount: float) -> float:
        """Seconds of a lone transfer of `amount` bytes between two devices."""
        key = self._relation(a, b)
        if key not in self._near:
            self._near[key] = self.cost.topology.step(np.array([a]), np.array([b]), 1.0)
        latency, per_byte = self._near[key]
        return latency + amount * per_byte

    def _relation(self, a: int, b: int) -> tuple[int, ...]:
        """What the distance of two devices depends on: the level at which they part, where there are no hops."""
        i, j = (self.cluster._group_index(d) for d in (a, b))
        if i != j:
            return (i, j)
        if any(x.hops for x in self.cluster.groups[i].levels):
            return (a, b, -1)
        same = sum(x[0] == y[0] for x, y in zip(self.paths[a], self.paths[b], strict=True))
        return (i, i, same)


def _greedy(domains: _Domains) -> list[int]:
    """Paddle's: the process with the most traffic next, as near as can be to its partners."""
    volume = domains.traffic.volume
    total = volume.sum(axis=1)
    found = [-1] * len(domains.processes)
    rest = set(domains.processes)
    used: set[tuple[int, int]] = set()
    while rest:
        placed = [q for q in domains.processes if found[q] >= 0]
        process = max(rest, key=lambda p: (volume[p, placed].sum() if placed else 0.0, total[p], -p))
        rest.discard(process)
        taken = [found[q] for q in placed]
        free = [d for d in domains.kind if d not in set(taken) and domains.may(process, d, taken, sorted(rest))]
        partners = [(found[q], volume[process, q]) for q in placed if volume[process, q]]
        # The first goes where most others find domains beside it, those without partners as well.
        def far(d: int, partners: list[tuple[int, float]] = partners, free: list[int] = free) -> tuple[float, ...]:
            total = sum((domains.alone(d, other, amount) for other, amount in partners), 0.0)
            beside = [sum(x in range(b[0], b[0] + b[1]) for x in free) for b, *_ in domains.paths[d][-2:-1]]
            return total, -sum(beside), d

        device = min(domains.representatives(free, used), key=far)
        found[process] = device
        used |= domains.blocks(device)
    return found


def _improve(domains: _Domains, start: Sequence[int], seconds: float) -> tuple[list[int], float]:
    """Exchange two devices, or take a free one, while that lowers the time; then (for ties) what goes how far."""
    best = list(start)
    score = seconds, _spread(domains, best)
    tries = 0
    improved = True
    while improved and tries < _TRIES:
        improved = False
        for trial in _neighbours(domains, best):
            tries += 1
            time = domains.cost.seconds(trial)
            if time <= score[0] * (1 + _GAIN):
                now = time, _spread(domains, trial)
                if time < score[0] * (1 - _GAIN) or now[1] < score[1] * (1 - _GAIN):
                    best, score, improved = trial, (min(time, score[0]), now[1]), True
                    break
            if tries >= _TRIES:
                break
    return best, domains.cost.seconds(best)


def _neighbours(domains: _Domains, devices: list[int]) -> Iterator[list[int]]:
    """Placements that differ in where two processes are, or in where one is; those with the most traffic first."""
    order = sorted(domains.processes, key=lambda p: -domains.traffic.volume[p].sum())
    innermost = {d: domains.paths[d][-2][0] for d in domains.kind}
    plain = [domains.paths[d][-1][2] for d in domains.kind]
    for p, q in itertools.combinations(order, 2):
        a, b = devices[p], devices[q]
        if all(plain) and innermost[a] == innermost[b]:
            continue  # the network cannot tell them apart
        if domains.kind[a] in domains.kinds[q] and domains.kind[b] in domains.kinds[p]:
            trial = list(devices)
            trial[p], trial[q] = b, a
            yield trial
    used = set().union(*(domains.blocks(d) for d in devices))
    free = [d for d in domains.kind if d not in set(devices)]
    for p in order:
        for d in domains.representatives(free, used):
            if domains.kind[d] in domains.kinds[p]:
                trial = list(devices)
                trial[p] = d
                yield trial


def _spread(domains: _Domains, devices: Sequence[int]) -> float:
    """Seconds of all bytes between processes, each as if alone: what breaks ties."""
    volume = domains.traffic.volume
    pairs = zip(*np.nonzero(np.triu(volume)), strict=True)
    return sum((domains.alone(devices[p], devices[q], volume[p, q]) for p, q in pairs), 0.0)


def _optimal(domains: _Domains, start: Sequence[int], seconds: float) -> tuple[list[int], float, bool]:
    """Branch and bound from a known placement: (placement, seconds, whether it is proved to be the best)."""
    best, left = list(start), _NODES
    found = [-1] * len(best)
    # By traffic with those before: then partial placements have a tight bound.
    volume = domains.traffic.volume
    order: list[int] = []
    while rest := set(domains.processes).difference(order):
        order.append(max(rest, key=lambda p: (volume[p, order].sum(), volume[p].sum(), -p)))

    def search(depth: int, taken: list[int]) -> None:
        nonlocal best, seconds, left
        process, rest = order[depth], order[depth + 1 :]
        used = set().union(*(domains.blocks(d) for d in taken))
        free = [d for d in domains.kind if d not in set(taken) and domains.may(process, d, taken, rest)]
        options = []
        for device in domains.representatives(free, used):
            if left <= 0:
                return
            left -= 1
            found[process] = device
            options.append((domains.cost.seconds(found), device))
        for time, device in sorted(options):
            if time >= seconds * (1 - _GAIN) or left <= 0:
                break
            found[process] = device
            if rest:
                search(depth + 1, [*taken, device])
            else:
                best, seconds = list(found), time
        found[process] = -1

    if seconds > domains.cost.seconds(found):
        search(0, [])
    return best, seconds, left > 0
