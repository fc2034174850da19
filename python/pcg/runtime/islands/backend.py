"""What runs programs on islands: this process, processes, or machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pcg.controller.streams import IslandProgram
from pcg.layout import Mesh
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.islands.future import Placed


class Function(Protocol):
    """A compiled node of a program: one computation on all devices of a slice."""

    @property
    def name(self) -> str:
        """As calls in streams name it."""

    @property
    def source(self) -> str:
        """File and line of the user's call, for errors."""

    @property
    def device_program(self) -> DeviceProgram:
        """What every device runs, and the layouts of arguments and results."""

    @property
    def workspace(self) -> int:
        """Bytes per device that it needs besides arguments and results; 0 if that is not known yet."""

    def prepared(self, donates: Sequence[int]) -> Callable[..., Sequence[Any]]:
        """What runs it on the devices of this process; `donates` are numbers of arguments that it may take over."""


class Loaded(Protocol):
    """A program that a backend can run."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def islands(self) -> tuple[str, ...]:
        """Where it runs."""

    @property
    def nbytes(self) -> Mapping[str, int]:
        """By island, bytes per device that a run adds to what is there."""

    @property
    def outputs(self) -> Sequence[tuple[Placed, str, int]]:
        """Of each result: what it is, its island, bytes per device."""

    @property
    def direct(self) -> Callable[[list[Any]], tuple[Sequence[Any], Any]] | None:
        """For a program of one computation, where this process launches it: `launch` without what several need.

        Takes values that are where the program wants them; returns results and the token of the island.
        """

    def launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Put a run into the queues of its islands, without waiting for it.

        Args:
          arguments: what earlier programs of this backend returned as values of results, or arrays on the host; a list
            that nobody else refers to.

        Returns:
          Values of the results, each an object with `is_deleted()`, `is_ready()`, `block_until_ready()` and
          `__array__()`, or a `RunError` in its place; and by island a token for `ready` and `wait`.
        """

    def ready(self, token: Any) -> bool:
        """Whether what a token stands for is done, or has failed."""

    def wait(self, token: Any) -> None:
        """Wait until it is."""


class Backend(Protocol):
    """Islands by name, and programs on them."""

    on_failure: Callable[[str, str], None] | None
    """Called with (island, cause) of an island that is gone unasked, in any thread."""

    def add_island(self, name: str, devices: Sequence[Any]) -> None:
        """An island joins."""

    def remove_island(self, name: str) -> None:
        """An island has left, or is to."""

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]:
        """Devices of an island by their numbers there; stand-ins, with a `platform`, for those of other processes."""

    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any:
        """A mesh of devices of an island, by their numbers there, as jax sees it."""

    def load(
        self, program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> Loaded:  # fmt: skip
        """Prepare a program.

        Args:
          functions: what calls name.
          outputs: what each result is.
          constants: the last arguments, which callers do not give.
        """

    def close(self) -> None:
        """Nothing runs any more; give everything back."""
