"""Seconds of communication between devices that are not one mesh: processes, and stages on meshes of their own.

As `CostModel.link`, with the devices named one by one instead of by axes: by the network of the cluster, or
alpha-beta on a machine without one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from pcg.cost.model import CostModel
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, collectives
from pcg.machine.topology import Topology


def collective_seconds(machine: Machine, groups: Sequence[Sequence[int]], kind: str, size: float) -> float:
    """Seconds of a collective of `size` bytes (as `pcg.machine.collectives` counts them) in all `groups` at once.

    Args:
      groups: devices of the cluster; on a machine without one, any numbers.
    """
    if machine.cluster is not None:
        devices = [d for g in groups for d in g]
        return _overhead(machine.cluster, devices) + collectives.seconds(machine.cluster, groups, kind, size)
    n = max(map(len, groups), default=1)
    return CostModel(machine, Mesh.of({"group": n})).link(("group",), wire_bytes(kind, n, size), kind)


def wire_bytes(kind: str, n: int, size: float) -> float:
    """Bytes that a device of a group of `n` sends in a collective of `size` bytes, as `collective_seconds`."""
    return collectives.wire_factor(kind, n) * size if n > 1 else 0.0


def messages_seconds(machine: Machine, messages: Sequence[tuple[int, int, float]]) -> float:
    """Seconds of messages (from, to, bytes) between devices, all at the same time."""
    if not messages:
        return 0.0
    if machine.cluster is not None:
        ends = [d for a, b, _ in messages for d in (a, b)]
        return _overhead(machine.cluster, ends) + _topology(machine.cluster).transfers(messages)
    through: defaultdict[tuple[str, int], float] = defaultdict(float)
    for a, b, n in messages:
        through["from", a] += n
        through["to", b] += n
    return CostModel(machine, Mesh.of({"group": 2})).link(("group",), max(through.values()), "permute")


def copy_seconds(machine: Machine, first: Sequence[int], second: Sequence[int], size: float) -> float:
    """Seconds until each device of a group has sent `size` bytes to one of another group, all at the same time.

    Where the other group has fewer devices, each of these gets what several send; where it has more, each gets a part.
    """
    n = max(len(first), len(second))
    ends = [(first[i * len(first) // n], second[i * len(second) // n]) for i in range(n)]
    return messages_seconds(machine, [(a, b, size * len(first) / n) for a, b in ends])


def _overhead(cluster: Cluster, devices: Iterable[int]) -> float:
    """Seconds until the slowest of the devices has started to send."""
    return max(cluster.kind_of(d).collective_overhead for d in devices)


@lru_cache(maxsize=16)
def _topology(cluster: Cluster) -> Topology:
    return Topology(cluster)
