"""`pcg.connect`: clients of a cluster that other processes use, too.

```python
cluster = pcg.connect()                             # `pcg-cluster start` has started it
client = cluster.client("me", weight=2)
slice = client.request({"data": 2})                 # from here on as with a `pcg.Controller`
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    import jax  # noqa: F401
except ImportError as error:  # pragma: no cover (the test environment has jax)
    raise ImportError("pcg.connect needs jax: pip install 'pcg[jax]' (pcg-opt works without)") from error

from pcg.api.client import Client, ClientSlice
from pcg.api.lowering import FunctionOnSlice
from pcg.api.names import Named
from pcg.controller.errors import ResourceError
from pcg.controller.slices import Slice
from pcg.layout.brief import brief
from pcg.runtime.cluster import state
from pcg.runtime.cluster.connection import Connection
from pcg.runtime.cluster.messages import (
    Join,
    LookUp,
    Publish,
    Published,
    RemoveIsland,
    RestartIsland,
    Status,
    Unpublish,
)
from pcg.runtime.cluster.remote import ClusterBackend, ClusterDispatcher, ClusterResources, future_of
from pcg.runtime.cluster.results import ClusterRun, ClusterValue, aval_of
from pcg.runtime.islands.dispatcher import DEADLINE
from pcg.runtime.islands.future import Placed, ShardedFuture

#: Seconds that a cluster may take to say how it is.
_SOON = 30.0


def connect(address: str | None = None) -> ConnectedCluster:
    """A connection to a cluster that `pcg-cluster start` has started.

    Programs are traced, planned and lowered in this process, for devices that it need not have; the cluster gets a
    program once, and a small message for each run.  Results stay there until they are read.

    Args:
      address: `host:port`; None: the only cluster of this user on this machine.  The key of one of another machine is
        in the variable PCG_CLUSTER_KEY.

    Raises:
      ClusterUnavailable: there is none, it is not reached, has another key or version, or has ended: says which.
      ValueError: an address that is none.
    """
    return ConnectedCluster(*state.find(address))


class ConnectedCluster:
    """A cluster, as a client's process has it; what it shares is a `pcg.Controller`'s.

    Whatever is called after the cluster has ended raises `ClusterUnavailable`, with its address and why.
    """

    def __init__(self, address: str, key: bytes) -> None:
        self.address = address
        self.resources = ClusterResources()
        self._connection = Connection(address, key, self.resources.update)
        self.resources.connect(self._connection)
        self.backend = ClusterBackend(self._connection, self.resources)
        self.dispatcher = ClusterDispatcher(self._connection)
        self.functions: dict[str, FunctionOnSlice] = {}
        self.clients: dict[str, ConnectedClient] = {}
        self.names = _RemoteNames(self)

    def client(
        self, name: str = "", *, weight: float = 1.0, deadline: float = DEADLINE, devices: int | None = None,
        nbytes: int | None = None, queued: int | None = None,
    ) -> ConnectedClient:  # fmt: skip
        """A client; see `pcg.Controller.client`.

        What it has is given back when it is closed, and when this process ends, however it does.
        """
        name = self._connection.query(Join(name, weight, devices, nbytes, queued))
        self.clients[name] = ConnectedClient(self, name, deadline)
        return self.clients[name]

    @property
    def islands(self) -> dict[str, int]:
        """Number of devices of each island that is there now."""
        return {name: len(devices) for name, devices in self.resources.islands.items()}

    def status(self) -> dict[str, Any]:
        """Islands and clients, as `pcg-cluster status --json` prints them."""
        found = self._connection.query(Status(), _SOON)
        assert isinstance(found, dict)
        return found

    def remove_island(self, name: str, cause: str = "it was removed") -> None:
        """See `pcg.Controller.remove_island`."""
        self._connection.query(RemoveIsland(name, cause))

    def restart_island(self, name: str) -> None:
        """See `pcg.Controller.restart_island`."""
        self._connection.query(RestartIsland(name))

    def wait_for_restarts(self) -> bool:
        """Nothing to wait for: the cluster says that a slice is lost only when no island of it is started anew."""
        return True

    def close(self) -> None:
        """Give back all that this connection's clients have; the cluster stays up."""
        for client in list(self.clients.values()):
            client.close()
        self._connection.close()

    def __enter__(self) -> ConnectedCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        islands = ", ".join(f"{name}: {size}" for name, size in self.islands.items())
        return f"<cluster {self.address} {islands}; clients here {', '.join(self.clients) or 'none'}>"


class ConnectedClient(Client):
    """One user of a cluster; see `pcg.api.controller.Client`."""

    controller: ConnectedCluster

    def _stand_for(self, found: Slice) -> ClientSlice:
        slice = super()._stand_for(found)
        self.controller.resources.numbers[slice.name] = found.number
        return slice


class _RemoteNames:
    """`pcg.api.names.Names` of a cluster."""

    def __init__(self, cluster: ConnectedCluster) -> None:
        self._cluster = cluster
        self._foreign: dict[str, ClientSlice] = {}
        """Slices of other connections' clients, by name."""
        self._placed: dict[Any, Placed] = {}

    def publish(self, client: str, name: str, values: Sequence[ShardedFuture], tree: bytes) -> None:
        keys = []
        for future in values:
            value = future._found()
            if not isinstance(value, ClusterValue) or value.connection is not self._cluster._connection:
                raise ResourceError(f"{future!r} is not in cluster {self._cluster.address}; allowed: its own results")
            keys.append(value.key)
        self._query(Publish(client, name, tuple(keys), tree))

    def remove(self, client: str, name: str) -> None:
        self._query(Unpublish(client, name))

    def look_up(self, name: str, seconds: float) -> Named:
        found: Published = self._query(LookUp(name, float(seconds)), seconds)
        cluster = self._cluster
        slices = {n: self._slice(n, s) for n, s in found.slices.items()}
        futures = []
        for key, output in zip(found.keys, found.outputs, strict=True):
            slice = slices[output.slice]
            kind = output.shape, output.dtype, slice, output.spec, slice.version
            placed = self._placed.get(kind)
            if placed is None:
                placed = self._placed[kind] = Placed(aval_of(output), slice, output.spec)
            value = ClusterValue(cluster._connection, key, brief(name))
            futures.append(future_of(ClusterRun(f"that computed {brief(name)}"), placed, value))
        return Named("", futures, found.tree)

    def forget(self, client: str) -> None:
        """The cluster does so itself."""

    def _slice(self, name: str, found: Slice) -> ClientSlice:
        """The slice of a value that was looked up: one of this connection's, or one that stands for another's."""
        cluster = self._cluster
        own = cluster.resources.known(found)
        for client in cluster.clients.values():
            for slice in client._slices.values():
                if slice.virtual is own:
                    return slice
        known = self._foreign.get(name)
        if known is not None and known.virtual is own:
            slice = known
        else:
            anyone = next(iter(cluster.clients.values()), None)
            if anyone is None:
                raise ResourceError(f"no client of {cluster!r} is left to use {brief(name)}")
            slice = self._foreign[name] = ClientSlice(anyone, name, own)
            cluster.resources.numbers[slice.name] = own.number
        return slice

    def _query(self, message: Any, more: float = 0.0) -> Any:
        return self._cluster._connection.query(message, _SOON + more)
