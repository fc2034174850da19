"""Islands that are actors of Ray, on this machine or on others.  Needs ray; imports jax."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from pcg.controller.errors import ResourceError
from pcg.runtime.islands.launcher import variables
from pcg.runtime.islands.ray_actor import IslandActor, versions
from pcg.runtime.islands.remote_backend import RemoteBackend
from pcg.runtime.islands.tcp import Listener, disconnect

#: Where Ray places the processes of an island.
STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
#: What Ray calls devices.
_RESOURCES = {"gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}


class RayBackend(RemoteBackend):
    """Islands that are actors of Ray, started when they join: all processes of one, or none.

    Ray starts actors, gives them devices, and says when they end.  Programs, and all else that is frequent, go to them
    over a connection that each opens to the controller; values go from actor to actor.

    Args:
      address: of a cluster, as `ray.init` takes it: None finds or starts one, "auto" finds one.  A process that is
        connected to one uses that.
      cpus: of each process, for Ray's accounts.
      resources: further resources of each process, as nodes have them.
      strategy: "PACK", "SPREAD", "STRICT_PACK" or "STRICT_SPREAD": on which nodes the processes of an island are.
      patience: seconds that an island may wait until there is room for it.
      host: the address of this machine, where actors reach it; None: what Ray takes it to be.
      environment: variables for all processes.
      dispatch, deadline, hosts, platform: as for `ProcessBackend`.

    Raises:
      ImportError: there is no Ray.
      ValueError: no such strategy.
      ConnectionError: there is no cluster at that address.
    """

    def __init__(
        self, address: str | None = None, *, cpus: float = 1, resources: Mapping[str, float] | None = None,
        strategy: str = "PACK", patience: float = 10.0, host: str | None = None,
        environment: Mapping[str, str] | None = None, dispatch: str = "parallel", deadline: float = 3600.0,
        hosts: int | Mapping[str, int] = 1, platform: str | None = None,
    ) -> None:  # fmt: skip
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy {strategy!r}; allowed: {', '.join(STRATEGIES)}")
        each = {"CPU": cpus, **(resources or {})}
        launcher = RayLauncher(address, each, strategy, patience, host, environment or {})
        super().__init__(launcher, dispatch, deadline, hosts, platform)


class RayLauncher:
    """Starts the processes of an island as actors in one placement group."""

    def __init__(
        self, address: str | None, each: Mapping[str, float], strategy: str, patience: float, host: str | None,
        environment: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._ray = ray = _ray()
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(address=address, include_dashboard=False, logging_level="ERROR")
        self._each, self._strategy, self._patience = each, strategy, patience
        self._environment = environment
        self._listener = Listener(host or ray.util.get_node_ip_address())
        self._actor = ray.remote(IslandActor)
        self._numbers = itertools.count()
        self._islands: dict[str, tuple[Any, list[RayProcess]]] = {}

    def launch(
        self, island: str, parts: Sequence[Sequence[Any]], environment: Mapping[str, str]
    ) -> Sequence[RayProcess]:  # fmt: skip
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        bundles = [self._bundle(part) for part in parts]
        group = self._ray.util.placement_group(bundles, strategy=self._strategy)
        if not group.wait(self._patience):
            self._ray.util.remove_placement_group(group)
            raise ResourceError(f"island {island} {self._missing(bundles)}")
        found = []
        for rank, (part, bundle) in enumerate(zip(parts, bundles, strict=True)):
            counted = dict(bundle)
            actor = self._actor.options(
                num_cpus=counted.pop("CPU", 0), num_gpus=counted.pop("GPU", 0), resources=counted, max_restarts=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, rank),
            ).remote()  # fmt: skip
            name = f"{island}.{rank}.{next(self._numbers)}"
            own = {**variables(part), **environment, **self._environment}
            role = island, rank, len(parts)
            served = actor.serve.remote(self._listener.address, self._listener.key, name, role, own, versions())
            found.append(RayProcess(self._ray, actor, served, name, self._listener))
        self._islands[island] = group, found
        return found

    def _bundle(self, part: Sequence[Any]) -> dict[str, float]:
        """What Ray must have for a process."""
        device = _RESOURCES.get(part[0].platform)
        wanted = {**self._each, **({device: len(part)} if device else {})}
        return {name: count for name, count in wanted.items() if count} or {"CPU": 0.001}

    def _missing(self, bundles: Sequence[Mapping[str, float]]) -> str:
        """Why there is no room for these."""
        nodes = [n["Resources"] for n in self._ray.nodes() if n["Alive"]]
        free = self._ray.available_resources()
        each = bundles[0]
        wanted = ", ".join(f"{name} {count:g}" for name, count in each.items())
        there = ", ".join(
            f"{name} {sum(n.get(name, 0) for n in nodes):g} ({free.get(name, 0):g} free)" for name in each
        )  # fmt: skip
        short = [name for name, count in each.items() if count * len(bundles) > free.get(name, 0)]
        large = [name for name, count in each.items() if all(n.get(name, 0) < count for n in nodes)]
        why = f"no node has enough {' or '.join(large)}" if large else f"too little {' and '.join(short)} is free"
        if not (large or short):
            why = f"what is free is not on nodes as {self._strategy} wants it"
        return (
            f"needs {len(bundles)} process{'es' * (len(bundles) > 1)} with {wanted} each; the cluster of {len(nodes)}"
            f" node{'s' * (len(nodes) != 1)} has {there}: {why} (waited {self._patience:g} s)"
        )

    def release(self, island: str) -> None:
        group, processes = self._islands.pop(island, (None, []))
        if group is not None and self._ray.is_initialized():
            for process in processes:
                process.kill()
            self._ray.util.remove_placement_group(group)

    def close(self) -> None:
        self._listener.close()
        if self._own and self._ray.is_initialized():
            self._ray.shutdown()


class RayProcess:
    """An actor that serves: its process."""

    def __init__(self, ray: Any, actor: Any, served: Any, name: str, listener: Listener) -> None:
        self._ray, self._actor, self._served, self._name, self._listener = ray, actor, served, name, listener
        self._connection: Connection | None = None
        self._ended = threading.Event()
        self._cause = ""
        threading.Thread(target=self._watch, name=f"pcg actor {name}", daemon=True).start()

    def connect(self, seconds: float) -> Connection:
        self._connection = self._listener.connection(self._name, seconds)
        if self._ended.is_set():
            disconnect(self._connection)
        return self._connection

    def kill(self) -> None:
        if self._ray.is_initialized():
            self._ray.kill(self._actor)

    def wait(self, seconds: float) -> str | None:
        return self._cause if self._ended.wait(seconds) else None

    def _watch(self) -> None:
        """Ray says when the actor has ended, also where the machine that it was on no longer says anything."""
        try:
            self._ray.get(self._served)
            self._cause = "its actor has ended"
        except self._ray.exceptions.RayTaskError as error:
            self._cause = f"its actor failed: {error.cause}"
        except Exception as error:  # of Ray: the actor died, the node is gone, or Ray was shut down
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self._cause = f"its actor died: {lines[-1].partition(' Some common causes')[0].strip()}"
        self._ended.set()
        self._listener.fail(self._name, self._cause)
        if self._connection is not None:
            disconnect(self._connection)


def _ray() -> Any:
    try:
        import ray
        import ray.util
    except ImportError as error:
        raise ImportError("backend='ray' needs ray: pip install 'pcg[ray]'") from error
    return ray
