"""How processes of islands are started, wherever that is, and what a controller has of one.  Needs no jax."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, Protocol

#: The variable for the number of threads with which XLA runs what is in the queues of CPU devices.
_THREADS = "PJRT_NPROC"


class LaunchError(Exception):
    """A process did not start; says why."""


class Launched(Protocol):
    """One process of an island, from its start on."""

    def connect(self, seconds: float) -> Connection:
        """What to talk to it with, as soon as it is there.

        Raises:
          LaunchError: it does not start.
        """

    def kill(self) -> None:
        """End it at once."""

    def wait(self, seconds: float) -> str | None:
        """Wait until it has ended: how it did, or None after so many seconds."""


class Launcher(Protocol):
    """Starts processes."""

    def launch(self, island: str, parts: Sequence[Sequence[Any]], environment: Mapping[str, str]) -> Sequence[Launched]:
        """Start the processes of an island, all or none.

        Args:
          parts: of each process, its devices.
          environment: variables that it has besides those that give it its devices.

        Raises:
          ResourceError: there is no room for all of them; says what is missing.
        """

    def release(self, island: str) -> None:
        """The processes of an island have ended; others may have what they had."""

    def close(self) -> None:
        """Nothing is launched any more."""


def variables(devices: Sequence[Any]) -> dict[str, str]:
    """Variables under which jax in a new process has so many devices of this platform.

    A CPU device that has begun its part of a collective keeps one of XLA's threads until the others have begun theirs.
    By default there are as many threads as cores, or as devices if these are more; when all are kept so, nothing goes
    on, and XLA ends the process.  So there are as many as both together, unless the user says how many.
    """
    platform = devices[0].platform
    found = {"JAX_PLATFORMS": "cuda" if platform == "gpu" else platform}
    if platform == "cpu":
        flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", os.environ.get("XLA_FLAGS", ""))
        found["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={len(devices)}".strip()
        found[_THREADS] = os.environ.get(_THREADS) or str(len(devices) + (os.cpu_count() or 1))
    return found


def parts(devices: Sequence[Any], processes: int, island: str) -> list[Sequence[Any]]:
    """The devices of each of the processes of an island: as many for one as for another, in order.

    Raises:
      ValueError: they cannot be divided so.
    """
    if processes < 1 or len(devices) % processes:
        raise ValueError(
            f"island {island}: {processes} processes for {len(devices)} devices; allowed: a divisor of their number"
        )
    each = len(devices) // processes
    return [devices[i * each : (i + 1) * each] for i in range(processes)]
