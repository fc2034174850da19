"""What programs know of a slice; `pcg.compile` takes one in place of a mesh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax

from pcg.controller.slices import Slice
from pcg.controller.streams import IslandProgram
from pcg.layout import Mesh, ShardSpec
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.node import CompiledNode
from pcg.runtime.islands.short_path import Front, ShortPath


class Lowers(Protocol):
    """What programs are lowered for: see `pcg.runtime.islands.backend.Backend`."""

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]: ...
    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any: ...
    def load(
        self, program: IslandProgram, functions: Mapping[str, CompiledNode], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> Any: ...  # fmt: skip


class Submits(Protocol):
    """What runs them: see `pcg.runtime.islands.dispatcher.Dispatcher`."""

    @property
    def limited(self) -> bool: ...
    def submit(
        self, client: str, loaded: Any, arguments: list[Any], seconds: float, into: Sequence[ShardedFuture] = ()
    ) -> list[ShardedFuture]: ...  # fmt: skip
    def quick(
        self, front: Front, loaded: Any, arguments: Sequence[ShardedFuture], slice: Slice, version: int, tree: Any
    ) -> ShortPath | None: ...  # fmt: skip
    def forget(self, client: str) -> None: ...


class Programs(Protocol):
    """What runs the programs of one client."""

    client: str
    backend: Lowers
    dispatcher: Submits
    deadline: float
    """Seconds from a call until it must have been launched."""
    limited: bool
    """Whether the memory of devices is limited."""

    def place(self, aval: Any, slice: Any, spec: ShardSpec) -> Placed:
        """What a value of a shape and dtype, in a layout on a slice, is; the same object every time."""


class OnSlice(ABC):
    """Virtual devices of a controller."""

    name: str
    """An identifier, different for every slice."""

    @property
    @abstractmethod
    def mesh(self) -> Mesh:
        """The mesh of virtual devices."""

    @property
    @abstractmethod
    def virtual(self) -> Slice:
        """The slice as the resource manager knows it."""

    @property
    @abstractmethod
    def island(self) -> str:
        """Where it is now.

        Raises:
          ResourceError: it has no devices; says why.
        """

    @property
    @abstractmethod
    def device_numbers(self) -> tuple[int, ...]:
        """The devices that it has now, by their numbers in the island, in the order of the mesh."""

    @property
    @abstractmethod
    def version(self) -> int:
        """Changes when it is placed elsewhere."""

    @property
    @abstractmethod
    def devices(self) -> list[Any]:
        """The devices themselves, or stand-ins where another process has them."""

    @property
    @abstractmethod
    def jax_mesh(self) -> jax.sharding.Mesh:
        """The mesh of the devices that it is on now."""

    @property
    @abstractmethod
    def programs(self) -> Programs:
        """What runs the programs of the client whose slice it is."""

    @abstractmethod
    def function(self, function: Callable[..., Any], **options: Any) -> Any:
        """`function`, on this slice."""
