"""Levels of a network: what joins like blocks into a larger one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine.errors import ClusterError, positive

#: Topology -> what it is.
TOPOLOGIES = {
    "switch": "every block has a port to a switch",
    "bus": "all share one medium",
    "full": "a link between every two blocks",
    "ring": "a link to either neighbour",
    "torus": "a link to either neighbour in each of two or more dimensions",
}
#: How much more the ports of a switch may carry than its core.
MOST_OVERSUBSCRIPTION = 1e6


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
            text = f"{where}: unknown topology {brief(self.topology)}; allowed: {', '.join(TOPOLOGIES)}"
            raise ClusterError(text, "topology")
        if not self.shape or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in self.shape):
            raise ClusterError(f"{where}: size is {brief(list(self.shape))}; allowed: positive integers", "size")
        if self.size > MOST_DEVICES:
            text = f"{where}: size is {brief(list(self.shape))}; allowed: up to {MOST_DEVICES} blocks in all"
            raise ClusterError(text, "size")
        if (len(self.shape) > 1) != (self.topology == "torus"):
            allowed = "two or more numbers" if self.topology == "torus" else "one number"
            shown = f"size is {brief(list(self.shape))} of a {self.topology!r}"
            raise ClusterError(f"{where}: {shown}; allowed: {allowed}", "size")
        positive(f"{where}: bandwidth", self.bandwidth, "bandwidth")
        if not 0 <= self.latency < 10:
            raise ClusterError(f"{where}: latency is {brief(self.latency)} s; allowed: 0 up to 10 s", "latency")
        if isinstance(self.ports, bool) or not isinstance(self.ports, int) or not 1 <= self.ports <= MOST_DEVICES:
            text = f"{where}: ports is {brief(self.ports)}; allowed: 1 or more, up to {MOST_DEVICES}"
            raise ClusterError(text, "ports")
        most = MOST_OVERSUBSCRIPTION if self.topology == "switch" else 1.0
        if not 1 <= self.oversubscription <= most:
            raise ClusterError(
                f"{where}: oversubscription is {brief(self.oversubscription)} for topology {self.topology!r}; allowed:"
                f" 1 or more, up to {MOST_OVERSUBSCRIPTION:g}, and 1 but for a switch",
                "oversubscription",
            )
        if self.gateway and self.topology not in ("switch", "bus"):
            raise ClusterError(f"{where}: gateway is for topology switch or bus; this is {self.topology!r}", "gateway")
        if self.wrap != () and not self.hops:
            raise ClusterError(f"{where}: wrap is for topology ring or torus; this is {self.topology!r}", "wrap")
        if isinstance(self.wrap, tuple) and self.wrap and len(self.wrap) != len(self.shape):
            raise ClusterError(f"{where}: wrap has {len(self.wrap)} entries; allowed: {len(self.shape)}", "wrap")
        if not isinstance(self.wrap, tuple) and self.wrap < 2:
            text = f"{where}: wrap is {brief(self.wrap)}; allowed: a flag per dimension, or a number above 1"
            raise ClusterError(text, "wrap")

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
