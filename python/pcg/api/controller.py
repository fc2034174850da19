"""`pcg.Controller`: one process that drives islands of devices for many clients.

```python
controller = pcg.Controller(2)                      # two islands, each a half of jax.devices()
client = controller.client("me")
left, right = client.request({"model": 2}), client.request({"data": 2})

encode = left.function(lambda w, x: jax.nn.relu(x @ w))
loss = right.function(lambda w, h: jnp.mean((h @ w) ** 2))

@client.program
def step(w, v, x):
    value, (dw, dv) = jax.value_and_grad(lambda w, v: loss(v, encode(w, x)), (0, 1))(w, v)
    return value, w - 0.1 * dw, v - 0.1 * dv

value, w, v = step(w, v, x)                         # futures: nothing has waited
print(float(value))
```
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

try:
    import jax
except ImportError as error:  # pragma: no cover (the test environment has jax)
    raise ImportError("pcg.Controller needs jax: pip install 'pcg[jax]' (pcg-opt works without)") from error

from pcg.api.client import Client
from pcg.api.lowering import FunctionOnSlice
from pcg.api.names import Names
from pcg.api.nodes import CompiledNode
from pcg.controller.errors import ResourceError
from pcg.controller.island import Island, islands_of
from pcg.controller.quotas import Quota
from pcg.controller.resources import ResourceManager
from pcg.controller.restarts import Restarts
from pcg.controller.scheduler import IN_FLIGHT
from pcg.machine import Cluster
from pcg.runtime.islands.backend import Backend
from pcg.runtime.islands.dispatcher import DEADLINE, Dispatcher
from pcg.runtime.islands.embedded import EmbeddedBackend
from pcg.runtime.islands.planned import with_plan
from pcg.runtime.islands.process_backend import ProcessBackend
from pcg.runtime.islands.ray_backend import RayBackend
from pcg.runtime.islands.remote_backend import RemoteBackend
from pcg.viz.runs import Runs, collected

#: What runs programs, by name.
BACKENDS: Mapping[str, Callable[[], Any]] = {
    "embedded": EmbeddedBackend, "processes": ProcessBackend, "ray": RayBackend,
}  # fmt: skip


class Controller:
    """Islands of devices, and all that is shared by the clients that use them.

    Args:
      islands: a number of islands, into which `devices` are divided evenly (default 1); devices by name of the island,
        or how many where other processes have them; or a `pcg.Cluster`, whose groups are the islands, on the first of
        `devices`.
      devices: default `jax.devices()`, and for a cluster whose devices other processes have those that it needs.
      policy: "stride": clients get time in proportion to their weights; "fifo": programs run as they come.
      in_flight: programs in the queues of an island's devices at most.
      memory: bytes per device for programs and their results; a program waits until it fits.  None: what the cluster
        says, or not limited.
      spill: whether results that no program is about to use are copied to host memory when a program that is next needs
        their room, and brought back when they are used; as a number, bytes of host memory at most.
      backend: what runs programs: "embedded", this process; "processes", one process of this machine per island, which
        has its devices (this one needs none); "ray", one actor of Ray per island; or a `Backend` of its own,
        `ProcessBackend(dispatch="sequential")`, `RayBackend("auto", cpus=4)`.
      restarts: how often the processes of each island are started anew by themselves when they have ended.

    Raises:
      ValueError: no such backend, `spill` with one whose values are in other processes, `restarts` with this one.
      ResourceError: no island, fewer devices than there are in the cluster, or no room for the processes of an island.
      ImportError: backend="ray", and Ray is not installed.
    """

    def __init__(
        self, islands: int | Mapping[str, Sequence[Any] | int] | Cluster = 1, *, devices: Sequence[Any] | None = None,
        policy: str = "stride", in_flight: int = IN_FLIGHT, memory: int | None = None, spill: bool | int = False,
        backend: str | Backend = "embedded", restarts: int = 0,
    ) -> None:  # fmt: skip
        self._memory = memory
        if isinstance(backend, str) and backend not in BACKENDS:
            raise ValueError(f"backend {backend!r}; allowed: {', '.join(BACKENDS)}, or one of your own")
        self.backend: Backend = BACKENDS[backend]() if isinstance(backend, str) else backend
        if spill < 0:
            raise ValueError(f"spill={spill!r}; allowed: True, False, or bytes of host memory")
        if spill and not isinstance(self.backend, EmbeddedBackend):
            raise ValueError(f"spill={spill!r} with backend {backend!r}; allowed: with backend 'embedded'")
        if restarts < 0 or restarts and not isinstance(self.backend, RemoteBackend):
            allowed = "0, and above with backend 'processes' or 'ray'"
            raise ValueError(f"restarts={restarts!r} with backend {backend!r}; allowed: {allowed}")
        self._joining: dict[str, threading.Lock] = {}
        """By island, what its last joining holds."""
        self._restarts = Restarts(restarts, self._restarted)
        self.backend.on_failure = self._failed
        self._numbered = 0
        """Devices that other processes have, so far."""
        found = self._divided(islands, devices, memory)
        self.resources = ResourceManager([island for island, _ in found])
        limits = {island.name: memory if memory is not None else island.memory for island, _ in found}
        self.dispatcher = Dispatcher(limits, policy, in_flight, sys.maxsize if spill is True else spill)
        self._islands: dict[str, tuple[Island, Sequence[Any]]] = {island.name: (island, own) for island, own in found}
        """Islands, with their devices, to start them again."""
        try:
            for island, own in found:
                self.backend.add_island(island.name, own)
        except BaseException:
            self.backend.close()
            raise
        self.clients: dict[str, Client] = {}
        self.names = Names()
        """Values that clients have published."""
        self.failures: dict[str, str] = {}
        """Islands that have left or failed, and why."""
        self.functions: dict[str, FunctionOnSlice] = {}
        """Functions on slices by the marks that they have in traces; programs may call those of other clients."""
        self._names = itertools.count()

    def client(
        self, name: str = "", *, weight: float = 1.0, deadline: float = DEADLINE, devices: int | None = None,
        nbytes: int | None = None, queued: int | None = None,
    ) -> Client:  # fmt: skip
        """A client, whose programs and buffers are its own.

        Args:
          weight: its share of time where clients compete, relative to those of others.
          deadline: seconds from the call of a program until it must have been launched.
          devices: how many its slices may have, None: not limited.
          nbytes: bytes per device that its results may have on an island; above that, programs are refused.
          queued: how many of its programs may wait; further ones are refused.

        Raises:
          ValueError: a name that is in use, a weight that is not positive, or a quota below 0.
        """
        quota = Quota(nbytes, queued)
        name = name or next(n for i in self._names if (n := f"client{i}") not in self.clients)
        if name in self.clients:
            raise ValueError(f"client {name!r} is there already; clients: {', '.join(self.clients)}")
        self.dispatcher.scheduler.set_weight(name, weight)
        self.resources.set_quota(name, devices=devices)
        self.dispatcher.set_quota(name, quota)
        self.clients[name] = Client(self, name, deadline)
        return self.clients[name]

    def _divided(
        self, islands: int | Mapping[str, Sequence[Any] | int] | Cluster, devices: Sequence[Any] | None,
        memory: int | None,
    ) -> list[tuple[Island, Sequence[Any]]]:  # fmt: skip
        """Islands with the devices of each."""
        if isinstance(islands, Mapping):
            return _islands({name: self._present(own) for name, own in islands.items()}, [], memory)
        if isinstance(islands, Cluster) and devices is None and isinstance(self.backend, RemoteBackend):
            devices = self._present(sum(island.size for island in islands_of(islands)))
        return _islands(islands, list(jax.devices() if devices is None else devices), memory)

    def _present(self, devices: Sequence[Any] | int) -> Sequence[Any]:
        """Devices, or as many stand-ins for those of other processes."""
        if not isinstance(devices, int):
            return devices
        if not isinstance(self.backend, RemoteBackend) or devices < 1:
            raise ResourceError(
                f"an island of {devices} devices; allowed: a list of devices, and with backend='processes' or 'ray' a"
                " number above 0"
            )
        first = self._numbered
        self._numbered += devices
        return self.backend.stand_ins(devices, first)

    def add_island(self, name: str, devices: Sequence[Any] | int, shape: Sequence[int] | None = None) -> None:
        """Devices join, as an island; slices that had no place get one there.

        Raises:
          ResourceError: there is no room for its processes.
        """
        devices = self._present(devices)
        island = Island(name, tuple(shape or (len(devices),)), (), _kind(devices[0]), self._memory)
        self._join(island, devices)

    def remove_island(self, name: str, cause: str = "it was removed") -> None:
        """An island leaves, or has failed: what is on it is lost, its slices are placed on others.

        Programs that use those slices are lowered again when they are called next.
        """
        known = [i.name for i in self.resources.islands]
        if name not in known:
            raise ResourceError(f"island {name!r}; allowed: {', '.join(known)}")
        self.resources.remove(name)
        self.failures[name] = cause
        self.dispatcher.lose(name, cause)
        self.backend.remove_island(name)

    def restart_island(self, name: str) -> None:
        """Start an island anew, with the devices that it had: one that has failed, was removed, or is still there.

        Slices that had no place get one there; values that were on it are lost.

        Raises:
          ResourceError: there never was one of this name.
        """
        if name not in self._islands:
            raise ResourceError(f"island {name!r}; allowed: {', '.join(self._islands)}")
        island, devices = self._islands[name]
        if any(i.name == name for i in self.resources.islands):
            self.remove_island(name, "it is started anew")
        self._join(island, devices)

    def _join(self, island: Island, devices: Sequence[Any]) -> None:
        with self._joining.setdefault(island.name, threading.Lock()):
            self._islands[island.name] = island, devices
            self.failures.pop(island.name, None)
            self.backend.add_island(island.name, devices)
            self.dispatcher.add_island(island.name, self._memory if self._memory is not None else island.memory)
            self.resources.add(island)

    def _failed(self, name: str, cause: str) -> None:
        """The backend has noticed that an island is gone."""
        if (joining := self._joining.get(name)) is not None:
            with joining:
                pass  # its processes may end before it is known everywhere
        with contextlib.suppress(ResourceError), self._restarts.of(name):  # somebody has removed it at the same time
            self.remove_island(name, cause)

    def _restarted(self, name: str) -> None:
        """Its processes have ended; nobody has done something about it meanwhile."""
        if name not in self.failures:
            return
        try:
            self.restart_island(name)
        except (ResourceError, OSError) as error:
            self.failures[name] = f"{self.failures.get(name, 'it failed')}; it could not be started anew: {error}"

    def wait_for_restarts(self, seconds: float | None = None) -> bool:
        """Wait until islands that are being started anew by themselves are there, or cannot be; whether that is so.

        Args:
          seconds: how long at most; None: as long as it takes.
        """
        return self._restarts.wait(seconds)

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Note which programs run where and when, and when they would by pcg's estimates.

        ```python
        with controller.record() as recording:
            ...
        recording.runs.write("runs.html")          # or "runs.json", for ui.perfetto.dev
        ```
        """
        recording, store = Recording(), self.dispatcher.store
        spilled, restored = store.spilled, store.restored
        with self.dispatcher.recorded() as found:
            yield recording
        recording.spilled, recording.restored = store.spilled - spilled, store.restored - restored
        runs = with_plan(found.runs, found.programs, self._node)
        recording.runs = collected(runs, [i.name for i in self.resources.islands])

    def _node(self, client: str, name: str) -> CompiledNode | None:
        """What a program of a client calls."""
        found = self.clients.get(client)
        return None if found is None else found.lowering.nodes.named(name)

    def close(self) -> None:
        """Wait for what runs, free everything."""
        self._restarts.close()
        for client in list(self.clients.values()):
            client.close()
        self.dispatcher.close()
        self.backend.close()

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        islands = ", ".join(f"{i.name}: {i.size}" for i in self.resources.islands)
        return f"<pcg.Controller {islands}; clients {', '.join(self.clients) or 'none'}>"


class Recording:
    """What `Controller.record` has noted."""

    runs = Runs((), ())
    """Complete when the block is left."""
    spilled = restored = 0
    """Bytes that were copied to host memory, because programs needed room on devices, and back."""


def _islands(
    islands: int | Mapping[str, Sequence[Any]] | Cluster, devices: list[Any], memory: int | None
) -> list[tuple[Island, Sequence[Any]]]:
    """Islands with the jax devices of each."""
    if isinstance(islands, Cluster):
        found: list[tuple[Island, Sequence[Any]]] = []
        start = 0
        for island in islands_of(islands):
            size = island.size
            found.append((island, devices[start : start + size]))
            start += size
        if start > len(devices):
            raise ResourceError(f"cluster {islands.name!r} has {start} devices; there are {len(devices)}")
        return found
    if isinstance(islands, int):
        if isinstance(islands, bool) or not 1 <= islands <= len(devices) or len(devices) % islands:
            raise ResourceError(f"{islands} islands of {len(devices)} devices; allowed: a divisor of their number")
        each = len(devices) // islands
        islands = {f"island{i}": devices[i * each : (i + 1) * each] for i in range(islands)}
    if not islands:
        raise ResourceError("no island; allowed: one or more")
    return [(Island(n, (len(own),), (False,), _kind(own[0]), memory), list(own)) for n, own in islands.items()]


def _kind(device: Any) -> str:
    return str(getattr(device, "device_kind", device.platform))
