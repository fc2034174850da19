"""Processes of one island become one group of `jax.distributed`.  Imports jax."""

from __future__ import annotations

import socket

import jax

from pcg.runtime.islands.protocol import Channel, Group, Hello

#: Seconds until all processes of an island must have met.
_TOGETHER = 60


def join(channel: Channel, rank: int, processes: int, host: str) -> None:
    """Become one of the processes of a group: afterwards `jax.devices()` are those of all.

    The controller chooses the meeting point, at one of the addresses that the processes offer.

    Raises:
      EOFError, OSError: the controller is gone.
    """
    with socket.create_server((host, 0)) as free:
        port = free.getsockname()[1]
    channel.send(Hello(f"{host}:{port}"))
    group = channel.receive()
    assert isinstance(group, Group), group
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(group.address, processes, rank, initialization_timeout=_TOGETHER)
