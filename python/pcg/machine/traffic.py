"""What processes send each other in one step, and what each of them needs of its device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pcg.machine import collectives
from pcg.machine.cluster import Cluster
from pcg.machine.errors import ClusterError
from pcg.machine.topology import Topology


@dataclass(frozen=True)
class Messages:
    """Point-to-point transfers at the same time: (from process, to process, bytes); `times` a step."""

    transfers: tuple[tuple[int, int, float], ...]
    times: float = 1.0


@dataclass(frozen=True)
class GroupExchange:
    """A collective of `groups` of processes at the same time, `times` a step.

    `kind` and `size` (bytes) as `pcg.machine.collectives` counts them; a permute may name pairs of its own as Messages.
    """

    kind: str
    groups: tuple[tuple[int, ...], ...]
    size: float
    times: float = 1.0


Exchange = Messages | GroupExchange


@dataclass(frozen=True)
class Need:
    """What a process needs: a device of this `kind` (None: any), with so much `memory` in bytes."""

    kind: str | None = None
    memory: float = 0.0

    def __str__(self) -> str:
        memory = f"{self.memory / 2**30:.3g} GiB of memory" if self.memory else "nothing"
        return memory + (f" on kind {self.kind!r}" if self.kind else "")


@dataclass(frozen=True)
class Traffic:
    """The exchanges of `processes` processes, numbered from 0, one after another; and the needs of each, if any.

    Raises:
      ClusterError: an exchange names a process that there is not, or needs are not one per process.
    """

    processes: int
    exchanges: tuple[Exchange, ...]
    needs: tuple[Need, ...] = ()

    def __post_init__(self) -> None:
        if self.needs and len(self.needs) != self.processes:
            raise ClusterError(f"{len(self.needs)} needs for {self.processes} processes; allowed: one each, or none")
        for x in self.exchanges:
            for p in itertools.chain.from_iterable(members(x)):
                if not 0 <= p < self.processes:
                    raise ClusterError(f"an exchange names process {p}; processes are 0 to {self.processes - 1}")

    @classmethod
    def of_matrix(cls, matrix: Sequence[Sequence[float]] | np.ndarray, needs: Sequence[Need] = ()) -> Traffic:
        """Everybody sends at once: `matrix[i][j]` bytes from process i to process j.

        Raises:
          ClusterError: it is not a square matrix of numbers that are not negative.
        """
        rows = np.asarray(matrix, dtype=float)
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or not np.all(rows >= 0):
            raise ClusterError(f"traffic of shape {rows.shape}; allowed: a square matrix of bytes, none negative")
        transfers = tuple((int(i), int(j), float(rows[i, j])) for i, j in zip(*np.nonzero(rows), strict=True) if i != j)
        return cls(len(rows), (Messages(transfers),) if transfers else (), tuple(needs))

    @cached_property
    def volume(self) -> np.ndarray:
        """Bytes per step between every two processes, both ways; of a collective as if everyone sent to everyone."""
        found = np.zeros((self.processes, self.processes))
        for x in self.exchanges:
            if isinstance(x, Messages):
                for a, b, n in x.transfers:
                    found[a, b] += n * x.times
                continue
            for group in x.groups:
                if len(group) > 1:
                    share = collectives.wire_factor(x.kind, len(group)) * x.size * x.times / (len(group) - 1)
                    found[np.ix_(group, group)] += share
        np.fill_diagonal(found, 0.0)
        return found + found.T

    def need(self, process: int) -> Need:
        """What a process needs."""
        return self.needs[process] if self.needs else Need()


def members(exchange: Exchange) -> list[tuple[int, ...]]:
    """The processes that talk to each other in an exchange, as groups."""
    if isinstance(exchange, Messages):
        return [(a, b) for a, b, _ in exchange.transfers]
    return list(exchange.groups)


class TrafficCost:
    """Seconds of all exchanges, one after another, with the processes on given devices of `cluster`.

    What happens at once shares links (see `pcg.machine.topology`).
    """

    def __init__(self, cluster: Cluster, traffic: Traffic) -> None:
        self.cluster, self.traffic = cluster, traffic
        self.topology = Topology(cluster)
        self._messages = []
        self._together = []
        for x in traffic.exchanges:
            if isinstance(x, Messages):
                ends = np.array([(a, b) for a, b, _ in x.transfers], dtype=int).reshape(-1, 2)
                self._messages.append((ends, np.array([n for _, _, n in x.transfers]), x.times))
            else:
                self._together.append(x)

    def seconds(self, devices: Sequence[int]) -> float:
        """With process p on `devices[p]`; -1: it is nowhere yet, which leaves out what it takes part in.

        Left out, an exchange never takes longer: so of a part of a placement this is a bound for the whole.
        """
        at = np.asarray(devices)
        total = 0.0
        for ends, amount, times in self._messages:
            a, b = at[ends[:, 0]], at[ends[:, 1]]
            there = (a >= 0) & (b >= 0)
            latency, busy = self.topology.step(a[there], b[there], amount[there])
            total += times * (latency + busy)
        for x in self._together:
            groups = [tuple(int(at[p]) for p in g) for g in x.groups if all(at[p] >= 0 for p in g) and len(g) > 1]
            # Fewer groups than there are share links less; lines of any one are a bound for all.
            if len(groups) == len([g for g in x.groups if len(g) > 1]) and groups:
                total += x.times * collectives.seconds(self.cluster, groups, x.kind, x.size)
        return total
