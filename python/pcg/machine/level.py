"""Levels of a network: what joins like blocks into a larger one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pcg.machine.errors import ClusterError
from pcg.machine.kind import positive

#: Topology -> what it is.
TOPOLOGIES = {
    "switch": "every block has a port to a switch",
    "bus": "all share one medium",
    "full": "a link between every two blocks",
    "ring": "a link to either neighbour",
    "torus": "a link to either neighbour in each of two or more dimensions",
}


@dataclass(frozen=True)
class Level:
    """`size` like blocks joined by one kind of link.

    `bandwidth` (bytes/s) is that of one link in one direction: of a port to the switch, of the bus, of the link
    between two blocks or two neighbours; `latency` (s) is from one block to another, per hop where there are hops.
    `joins`: what the blocks are called, in the plural (gpus, sockets, nodes).
    `shape`: the blocks per dimension, one number but for a torus; device numbers run along the last one first.
    `ports`: links side by side: NICs of a node, lanes of a pair.  One device uses its share of them, at least one.
    `gateway`: what leaves this block to a block above goes through these links as well (a PCIe switch, a leaf switch);
    else it has ways of its own, as a NIC beside NVLink.  Only of a switch or a bus.
    `oversubscription`: how much more the ports of a switch carry than its core.
    `wrap`: whether each dimension of a ring or torus is closed, or a number: those that are a multiple of it are;
    by default those longer than two.
    """

    name: str
    joins: str
    shape: tuple[int, ...]
    topology: str
    bandwidth: float
    latency: float
    ports: int = 1
    gateway: bool = False
    oversubscription: float = 1.0
    wrap: tuple[bool, ...] | int = ()
    source: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        where = f"level {self.name!r}"
        if self.topology not in TOPOLOGIES:
            raise ClusterError(f"{where}: unknown topology {self.topology!r}; allowed: {', '.join(TOPOLOGIES)}")
        if not self.shape or min(self.shape) < 1:
            raise ClusterError(f"{where}: size is {list(self.shape)}; allowed: positive integers")
        if (len(self.shape) > 1) != (self.topology == "torus"):
            allowed = "two or more numbers" if self.topology == "torus" else "one number"
            raise ClusterError(f"{where}: size is {list(self.shape)} of a {self.topology!r}; allowed: {allowed}")
        positive(f"{where}: bandwidth", self.bandwidth)
        if not 0 <= self.latency < 10:
            raise ClusterError(f"{where}: latency is {self.latency} s; allowed: 0 up to 10 s")
        if self.ports < 1:
            raise ClusterError(f"{where}: ports is {self.ports}; allowed: 1 or more")
        if self.oversubscription < 1 or (self.oversubscription > 1 and self.topology != "switch"):
            raise ClusterError(
                f"{where}: oversubscription is {self.oversubscription:g} for topology {self.topology!r}; allowed: 1 or"
                " more, and 1 but for a switch"
            )
        if self.gateway and self.topology not in ("switch", "bus"):
            raise ClusterError(f"{where}: gateway is for topology switch or bus; this is {self.topology!r}")
        if self.wrap != () and not self.hops:
            raise ClusterError(f"{where}: wrap is for topology ring or torus; this is {self.topology!r}")
        if isinstance(self.wrap, tuple) and self.wrap and len(self.wrap) != len(self.shape):
            raise ClusterError(f"{where}: wrap has {len(self.wrap)} entries; allowed: {len(self.shape)}")
        if not isinstance(self.wrap, tuple) and self.wrap < 2:
            raise ClusterError(f"{where}: wrap is {self.wrap}; allowed: a flag per dimension, or a number above 1")

    @property
    def size(self) -> int:
        """Number of blocks joined."""
        return math.prod(self.shape)

    @property
    def hops(self) -> bool:
        """Whether blocks are reached through others."""
        return self.topology in ("ring", "torus")

    def wraps(self, dim: int) -> bool:
        """Whether dimension `dim` is closed to a ring."""
        if isinstance(self.wrap, tuple):
            return self.wrap[dim] if self.wrap else self.shape[dim] > 2
        return self.shape[dim] % self.wrap == 0

    @property
    def symmetric(self) -> bool:
        """Whether all blocks are alike to one another, however they are numbered."""
        return not self.hops or self.size <= 3
