"""Islands that are processes of this machine.  Imports jax."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from pcg.runtime.islands.launcher import variables
from pcg.runtime.islands.remote_backend import RemoteBackend

#: Where processes of one machine reach each other.
_HERE = "127.0.0.1"


class ProcessBackend(RemoteBackend):
    """Islands that are processes of this machine, started when they join.

    Args:
      dispatch: "parallel", or "sequential": an island is told of a run when those before it in the program have put all
        of it into their queues.
      deadline: seconds that a run, once it is launched, or a fetch may take; the processes of an island that takes
        longer are ended.
      hosts: processes of each island, or by island, among which its devices are divided; several are one group of
        `jax.distributed`.
      platform: of devices that are given as a number; None: of this process's.
    """

    def __init__(
        self, dispatch: str = "parallel", deadline: float = 3600.0, hosts: int | Mapping[str, int] = 1,
        platform: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(ProcessLauncher(), dispatch, deadline, hosts, platform)


class ProcessLauncher:
    """Starts `python -m pcg.runtime.islands.worker`, with one end of a pair of sockets."""

    module = "pcg.runtime.islands.worker"
    """What processes run; benchmarks have workers of their own."""

    def launch(
        self, island: str, parts: Sequence[Sequence[Any]], environment: Mapping[str, str]
    ) -> Sequence[LocalProcess]:  # fmt: skip
        return [LocalProcess(self.module, island, rank, parts, environment) for rank in range(len(parts))]

    def release(self, island: str) -> None:
        pass

    def close(self) -> None:
        pass


class LocalProcess:
    """A process of this machine; it ends when its socket does."""

    def __init__(
        self, module: str, island: str, rank: int, parts: Sequence[Sequence[Any]], environment: Mapping[str, str]
    ) -> None:  # fmt: skip
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", module]
        command += [str(theirs.fileno()), island, str(rank), str(len(parts)), _HERE]
        own = {**os.environ, **variables(parts[rank]), **_visible(parts[rank]), **environment}
        self._process = subprocess.Popen(command, env=own, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self._connection = Connection(ours.detach())

    def connect(self, seconds: float) -> Connection:
        return self._connection

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float) -> str | None:
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return f"its process ended with {'signal ' if code < 0 else 'status '}{abs(code)}"


def _visible(devices: Sequence[Any]) -> dict[str, str]:
    """Variables under which a process of this machine sees these GPUs of it."""
    if devices[0].platform != "gpu":
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else None
    own = [getattr(d, "local_hardware_id", None) or d.id for d in devices]
    return {"CUDA_VISIBLE_DEVICES": ",".join(names[i] if names else str(i) for i in own)}
