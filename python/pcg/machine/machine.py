"""A machine as one mesh sees it: what a device can do, and what moves bytes between the devices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pcg.layout import Mesh
from pcg.layout.hashing import hashed_once
from pcg.machine.cluster import Cluster
from pcg.machine.kind import DeviceKind, generic, slowest


@dataclass(frozen=True)
class Link:
    """Alpha-beta model of one mesh axis: `bandwidth` in bytes/s per device and direction, `latency` in s per hop."""

    bandwidth: float
    latency: float


@hashed_once
@dataclass(frozen=True)
class Machine:
    """A device kind, and either a cluster or a link per mesh axis; axes that are not listed use `link`.

    With `cluster` the time of a collective comes from its network and from where the mesh lies on it: position `p`
    of the mesh is device `device_ids[p]` of the cluster, the `p`-th usable one where the mesh names none.  A mesh
    of several kinds of devices runs at the pace of the slowest, which is then `device` (see `Machine.of`).

    The default has no cluster: an A100-80GB's published arithmetic and memory rates (156 TFLOP/s TF32,
    312 TFLOP/s BF16, 2.0 TB/s), and per mesh axis 100 GB/s and 2 us a hop, between what collectives
    reach over NVLink and what they reach over several NICs.  Only the ratios matter to which plan wins.
    """

    device: DeviceKind
    link: Link = Link(bandwidth=100e9, latency=2e-6)
    axis_links: tuple[tuple[str, Link], ...] = ()
    cluster: Cluster | None = None

    @classmethod
    def default(cls) -> Machine:
        return cls(generic())

    @classmethod
    def of_platform(cls, platform: str, devices: int) -> Machine:
        """What so many devices of a jax platform are taken for where no cluster says more.

        "cpu": devices of the preset `cpu`, each with its share of the bus, as all move bytes at once; else the default.
        """
        if platform != "cpu":
            return cls.default()
        host = cls.of(Cluster.preset("cpu"))
        return cls(host.device, replace(host.link, bandwidth=host.link.bandwidth / devices))

    @classmethod
    def of(cls, cluster: Cluster, mesh: Mesh | None = None) -> Machine:
        """What costs are estimated with: this network, and the slowest of the kinds under `mesh` (default: of all).

        Raises:
          ClusterError: the mesh does not fit, see `Cluster.device_of`.
        """
        devices = cluster.devices if mesh is None else cluster.device_of(mesh)
        index = np.unique(np.searchsorted(cluster.starts, np.array(devices), side="right"))
        used = {cluster.groups[i - 1].kind for i in index.tolist()}
        kind = slowest([k for k in cluster.kinds if k.name in used])
        outer = cluster.group_of(devices[0]).levels[-1]
        return cls(kind, Link(outer.bandwidth, outer.latency), cluster=cluster)

    def with_axis(self, axis: str, link: Link) -> Machine:
        """This machine with another link for `axis`."""
        return replace(self, axis_links=tuple(p for p in self.axis_links if p[0] != axis) + ((axis, link),))

    def link_of(self, axis: str) -> Link:
        """The link of an axis; a part of a refined axis (`x.0`) has that of the axis unless it has its own."""
        links = dict(self.axis_links)
        return links.get(axis) or links.get(axis.partition(".")[0], self.link)
