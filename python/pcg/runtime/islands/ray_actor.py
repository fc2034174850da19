"""The actor that is a process of an island.  Imports jax only when it serves: its devices are chosen before that."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import metadata

from pcg.runtime.islands.tcp import dial

#: Packages that must be the same everywhere: programs go from one process to another as their data.
_SAME = ("pcg", "jax", "jaxlib")


def versions() -> dict[str, str]:
    """Of the packages that must be the same everywhere."""
    return {name: metadata.version(name) for name in _SAME}


class IslandActor:
    """A process that Ray has started."""

    def serve(
        self, address: tuple[str, int], key: bytes, name: str, role: tuple[str, int, int],
        environment: Mapping[str, str], wanted: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Be the process of an island until the controller says so, or is gone.

        Args:
          address, key, name: where the controller listens, and what it expects.
          role: the island, the rank of this process, and how many there are.
          environment: variables that give jax its devices.
          wanted: versions of packages.

        Raises:
          RuntimeError: this node has others, or jax has its devices already.
        """
        import ray

        host = ray.util.get_node_ip_address()
        if (found := versions()) != wanted:
            raise RuntimeError(f"node {host} has {_listed(found)}; the controller has {_listed(wanted)}")
        if "jax" in sys.modules:
            raise RuntimeError(f"node {host}: jax was imported before the island's devices were chosen")
        os.environ.update(environment)
        connection = dial(address, key, name)
        from pcg.runtime.islands.worker import serve

        island, rank, processes = role
        serve(connection, island, rank, processes, host)


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())
