"""What a plan runs on: device kinds, links, clusters, and where a mesh lies on one.  No MLIR here."""

from pcg.machine.cluster import Cluster
from pcg.machine.description import Description, Group
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind
from pcg.machine.level import Level
from pcg.machine.machine import Link, Machine

__all__ = ["Cluster", "ClusterError", "Description", "DeviceKind", "Group", "Level", "Link", "Machine"]
