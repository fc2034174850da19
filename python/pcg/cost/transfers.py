"""Seconds of what devices send each other that are not a mesh: processes, and stages on meshes of their own.

`CostModel.link` prices what is sent along the axes of one mesh; here the devices are named one by one.  The prices are
the same: those of the network of the cluster, or alpha-beta on a machine without one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from pcg.cost.model import CostModel
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, collectives
from pcg.machine.topology import Topology


def collective(machine: Machine, groups: Sequence[Sequence[int]], kind: str, held: float) -> float:
    """Seconds of a collective of `held` bytes (as `pcg.machine.collectives` counts them) in all `groups` at once.

    Args:
      groups: devices of the cluster; on a machine without one, any numbers.
    """
    if machine.cluster is not None:
        devices = [d for g in groups for d in g]
        return _overhead(machine.cluster, devices) + collectives.seconds(machine.cluster, groups, kind, held)
    n = max(map(len, groups), default=1)
    return CostModel(machine, Mesh.of({"group": n})).link(("group",), wire_bytes(kind, n, held), kind)


def wire_bytes(kind: str, n: int, held: float) -> float:
    """Bytes that a device of a group of `n` sends in a collective of `held` bytes, as for `collective`."""
    return collectives.sent(kind, n) * held if n > 1 else 0.0


def messages(machine: Machine, sent: Sequence[tuple[int, int, float]]) -> float:
    """Seconds of messages (from, to, bytes) between devices, all at the same time."""
    if not sent:
        return 0.0
    if machine.cluster is not None:
        ends = [d for a, b, _ in sent for d in (a, b)]
        return _overhead(machine.cluster, ends) + _topology(machine.cluster).transfers(sent)
    through: defaultdict[tuple[str, int], float] = defaultdict(float)
    for a, b, n in sent:
        through["from", a] += n
        through["to", b] += n
    return CostModel(machine, Mesh.of({"group": 2})).link(("group",), max(through.values()), "permute")


def _overhead(cluster: Cluster, devices: Iterable[int]) -> float:
    """Seconds until the slowest of the devices has started to send."""
    return max(cluster.kind_of(d).collective_overhead for d in devices)


@lru_cache(maxsize=16)
def _topology(cluster: Cluster) -> Topology:
    return Topology(cluster)
