"""What programs know of a slice; `pcg.compile` takes one in place of a mesh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax

from pcg.controller.slices import Slice
from pcg.layout import Mesh


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

    @abstractmethod
    def function(self, function: Callable[..., Any], **options: Any) -> Any:
        """`function`, on this slice."""
