"""The cost model: seconds of compute and communication on a machine.

Compute is a roofline: the larger of FLOPs over peak and bytes over memory bandwidth.  On a machine with a
cluster the cost of a collective is that of the fastest algorithm on its network, with all groups at once
(`pcg.machine.collectives`).  On one without it is alpha-beta: hops times latency, plus wire bytes per device
over the bandwidth of the slowest axis it crosses.  Everything is per device and per execution.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np

from pcg.layout import Mesh
from pcg.layout.hashing import hashed_once
from pcg.machine import Cluster, Machine, collectives
from pcg.machine.profile import Profile, Reordering
from pcg.rules import traits
from pcg.rules.traits import Trait

#: Lines by axes and kind of a collective; see `CostModel`.
_Lines = dict[tuple[tuple[str, ...], str], tuple[tuple[float, float], ...]]
#: A number, or one per strategy of an op.
Amount = TypeVar("Amount", float, np.ndarray)

_IN_ORDER = Reordering()
_WINDOWED = Trait.READS_WINDOW | Trait.UPDATE
#: Bytes up to which XLA combines independent all-reduces into one: the default of the GPU backend's flag
#: `xla_gpu_all_reduce_combine_threshold_bytes`.
COMBINED = 30 * 2**20
#: The least share of the fixed cost of an all-reduce that one among others has.  A choice: small, but not 0, so that
#: of two plans with many small gradients the one with fewer of them wins.
_LEAST_SHARE = 1 / 32


class Timing(enum.IntEnum):
    """When a collective runs, which says what it can overlap with and whether a compiler combines it with others."""

    CRITICAL = enum.auto()
    """All contractions of the step that are not done wait for it."""
    BRANCH = enum.auto()
    """Something waits for it, and contractions of other branches do not, as those of gradients in a backward pass."""
    DEFERRED = enum.auto()
    """Only the update of state waits for it, as for the gradients of weights: the backward pass runs beside it."""
    LOOPED = enum.auto()
    """As deferred, inside of a loop: it is combined with none."""
    FINAL = enum.auto()
    """It is of a new value of state, as a gather of updated weights: at the end of the step, beside little compute."""

    @property
    def combined(self) -> bool:
        """Whether nothing waits for it until others are there, so that a compiler may combine them."""
        return self is Timing.DEFERRED or self is Timing.FINAL


@dataclass(frozen=True)
class Overlap:
    """Shares of the time of collectives that overlap compute, 0 to 1, by their timing."""

    gradient: float = 0.0
    """Of deferred and looped ones."""
    final: float = 0.0
    branch: float = 0.0
    other: float = 0.0
    """Of critical ones."""


#: All times are added up.
NO_OVERLAP = Overlap()


@lru_cache(maxsize=256)
def _lines_of(cluster: Cluster | None, mesh: Mesh) -> _Lines:
    """What is known of the collectives on a mesh: models that differ in overlap, and of one program after another."""
    return {}


@hashed_once
@dataclass(frozen=True)
class CostModel:
    """Costs of work on `machine` for programs on `mesh`.

    Raises:
      ClusterError: the machine has a cluster on which the mesh does not fit.
    """

    machine: Machine
    mesh: Mesh
    overlap: Overlap = NO_OVERLAP
    _lines: _Lines = field(default_factory=dict, init=False, repr=False, compare=False)
    """Collectives on the cluster: (seconds, seconds per wire byte) by each algorithm that may be the cheapest."""
    _links: dict[tuple[tuple[str, ...], str], tuple[float, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Collectives without a cluster: the seconds that each takes besides its bytes, and bytes per second."""
    _measured: Profile | None = field(default=None, init=False, repr=False, compare=False)
    """The profile of the devices, if it was taken on as many as the mesh lies among: then its collectives apply."""

    def __post_init__(self) -> None:
        if self.machine.cluster is not None:
            # A mesh of several kinds of devices runs at the pace of the slowest of them.
            object.__setattr__(self, "machine", Machine.of(self.machine.cluster, self.mesh))
            object.__setattr__(self, "_lines", _lines_of(self.machine.cluster, self.mesh))
        profile = self.machine.device.profile
        if profile is not None and self._block() <= profile.devices:
            object.__setattr__(self, "_measured", profile)

    def _block(self) -> int:
        """Number of devices in the smallest part of the network that the mesh lies in."""
        cluster = self.machine.cluster
        if cluster is None:
            return self.mesh.size
        at = {cluster.coordinates(d) for d in cluster.device_of(self.mesh)}
        if len({c[0] for c in at}) > 1:
            return cluster.size
        levels = cluster.groups[next(iter(at))[0]].levels
        size, inner = 1, 0
        for level in levels:
            size, inner = size * level.size, inner + len(level.shape)
            if len({c[: len(c) - inner] for c in at}) == 1:
                break
        return size

    @staticmethod
    def touches(op_name: str, kind: str, index: int) -> bool:
        """Whether operand or result (`kind`) number `index` is read or written in full."""
        if not traits.has(op_name, _WINDOWED):
            return True
        return index in traits.reads(op_name) if kind == "operand" else traits.has(op_name, Trait.READS_WINDOW)

    @staticmethod
    def in_place(op_name: str) -> bool:
        """Whether the result takes over the memory of the first operand."""
        return traits.has(op_name, Trait.IN_PLACE)

    def peak(self, op_name: str, element: str) -> float:
        """FLOP/s that `op_name` can reach: matrix units serve only contractions."""
        d = self.machine.device
        return d.peak(element) if traits.has(op_name, Trait.CONTRACTION) else min(d.default_flops, d.peak(element))

    def seconds(
        self, op_name: str, element: str, flops: Amount, touched: Amount, kernels: float = 0.0,
        expanded: float | np.ndarray = 0.0,
    ) -> Amount:  # fmt: skip
        """Seconds of computing one local op: the only cost of compute, for the search and the simulator.

        Args:
          op_name: `stablehlo.dot_general`, ...: says which rate applies.
          element: MLIR name of the element type, `f32`.
          flops: operations, one number or one per strategy.
          touched: bytes that reach memory after fusion, likewise.  0: all of it stays inside of other kernels.
          kernels: how many kernels the op starts; each adds the kind's overhead.  The search leaves it 0, because the
            number of kernels is the same for all strategies; a simulator of steps passes 1 per fusion.
          expanded: bytes of the patches that a convolution reads: what a profile measured is by how much is done with
            each of them.
        """
        device = self.machine.device
        if device.profile is not None:
            found = device.profile.seconds(op_name, element, flops, touched, expanded)
            if found is not None:
                return found + kernels * device.profile.kernel
        roofline = np.maximum(flops / self.peak(op_name, element), touched / device.memory_bandwidth)
        return roofline + kernels * device.kernel_overhead

    def kernel(
        self, op_name: str, element: str, parts: Mapping[str, float], touched: float, order: Reordering = _IN_ORDER,
        expanded: float = 0.0,
    ) -> float:  # fmt: skip
        """Seconds of one kernel that is a fusion of ops, its overhead included.

        Args:
          op_name: the op that it ends with.
          element: MLIR name of its element type.
          parts: FLOPs by name of the ops in it.
          touched: bytes that it reads and writes.
          order: what of it is not read in the order of memory; without a profile that takes no longer.
          expanded: bytes of patches, as in `seconds`.
        """
        profile = self.machine.device.profile
        if profile is not None:
            found = profile.fused(op_name, element, parts, touched, order, expanded)
            if found is not None:
                return found + profile.kernel
        return float(self.seconds(op_name, element, sum(parts.values()), touched, 1.0, expanded))

    def copy(self, size: float) -> float:
        """Seconds of copying so many bytes within one device: they are read and written."""
        return float(self.seconds("stablehlo.copy", "f32", 0.0, 2.0 * size))

    def dispatch(self, arrays: int, fresh: Iterable[float] = ()) -> float:
        """Seconds of starting a program, beside its kernels; 0 where that was not measured.

        Args:
          arrays: its arguments and results.
          fresh: bytes per device of what it allocates, one number for each allocation (see `Simulation.allocations`).
        """
        profile = self.machine.device.profile
        if profile is None:
            return 0.0
        new = sum(map(profile.fresh, fresh)) if profile.fresh is not None else 0.0
        return profile.dispatch + profile.argument * arrays / 2 + new

    def wait(self, group: int, work: float) -> float:
        """Seconds that devices which share processors wait for each other at a collective.

        Args:
          group: how many devices it synchronises.
          work: seconds of computing since they were last synchronised.
        """
        return self._measured.wait(group, work) if self._measured is not None else 0.0

    def link(self, axes: Sequence[str], wire_bytes: float, kind: str) -> float:
        """Seconds of one critical collective over `axes` that sends `wire_bytes` per device.

        `kind` is the step's name (all_reduce, all_gather, reduce_scatter, all_to_all, permute, slice).
        """
        return self._link(axes, wire_bytes, kind) * (1.0 - self.overlap.other)

    def _link(self, axes: Sequence[str], wire_bytes: float, kind: str) -> float:
        """As `link`, overlapped or not."""
        if kind == "slice" or not axes:
            return 0.0
        if self._measured is not None:
            found = self._measured.link(kind, self.mesh.axes_size(axes), wire_bytes)
            if found is not None:
                return found
        key = tuple(axes), kind
        if self.machine.cluster is not None:
            lines = self._lines.get(key) or self._lines_on_cluster(*key)
            return self.machine.device.collective_overhead + min(a + b * wire_bytes for a, b in lines)
        start, bandwidth = self._links.get(key) or self._slowest(*key)
        return start + wire_bytes / bandwidth

    def _slowest(self, axes: tuple[str, ...], kind: str) -> tuple[float, float]:
        """`_links` of a collective over `axes`."""
        links = [self.machine.link_of(a) for a in axes]
        hops = math.ceil(math.log2(max(2, self.mesh.axes_size(axes))))
        if kind == "all_reduce":
            hops *= 2
        elif kind == "permute":
            hops = 1
        start = self.machine.device.collective_overhead + hops * max(x.latency for x in links)
        found = self._links[axes, kind] = start, min(x.bandwidth for x in links)
        return found

    def _lines_on_cluster(self, axes: tuple[str, ...], kind: str) -> tuple[tuple[float, float], ...]:
        """`_lines` of a collective over `axes`."""
        cluster = self.machine.cluster
        assert cluster is not None
        devices = cluster.device_of(self.mesh)
        groups = tuple(tuple(devices[p] for p in g) for g in self.mesh.groups(axes))
        found = collectives.cost_lines(cluster, groups, kind)
        if kind == "permute" and len(axes) > 1:
            # To the next along the axes, or from their order to the reverse one: whichever takes longer.
            there = {g[0]: g for g in self.mesh.groups(tuple(reversed(axes)))}
            ends = [pair for g in self.mesh.groups(axes) for pair in zip(g, there[g[0]], strict=True)]
            reversal = collectives.exchange_line(cluster, [(devices[a], devices[b]) for a, b in ends])
            found = max(found, (reversal,), key=lambda one: one[0].per_byte)
        share = collectives.wire_factor(kind, len(groups[0]))
        lines = tuple((x.start, x.per_byte / share) for x in found)
        self._lines[axes, kind] = lines
        return lines

    def link_at(self, timing: Timing) -> Callable[[Sequence[str], float, str], float]:
        """As `link`, for collectives of a timing, as if nothing overlapped them (`exposed`: the share that counts)."""
        return self._combined if timing.combined else self._link

    def exposed(self, timing: Timing) -> float:
        """Share of the time of collectives that does not overlap compute, by their timing."""
        o = self.overlap
        share = {Timing.CRITICAL: o.other, Timing.BRANCH: o.branch, Timing.FINAL: o.final}.get(timing, o.gradient)
        return 1.0 - share

    def _combined(self, axes: Sequence[str], wire_bytes: float, kind: str) -> float:
        """As `_link`, for one of many collectives that nothing waits for until others are there.

        XLA combines all-reduces (up to 30 MiB on GPUs), which then share launch and latency in proportion to bytes.
        Reduce-scatters and all-gathers are combined only along one dimension and only by some of its backends, so
        they have the full cost here.
        """
        seconds = self._link(axes, wire_bytes, kind)
        if kind == "all_reduce":
            fixed = self._link(axes, 0.0, kind)
            seconds -= fixed * (1.0 - max(_LEAST_SHARE, min(1.0, wire_bytes / COMBINED)))
        return seconds


def slowest_copy(models: Iterable[CostModel]) -> Callable[[float], float]:
    """Seconds of copying so many bytes on the slowest of several devices."""
    each = list(models)
    return lambda size: max((m.copy(size) for m in each), default=0.0)
