"""What runs programs on islands: this process, processes, or machines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pcg.controller.streams import IslandProgram
from pcg.driver.program import ProgramError
from pcg.layout import Mesh
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram
from pcg.runtime.islands.computation import Node
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
    def code(self) -> DeviceProgram:
        """What every device runs, and the layouts of arguments and results."""

    @property
    def seconds(self) -> float:
        """What it takes, by estimate."""

    @property
    def workspace(self) -> int:
        """Bytes per device that it needs besides arguments and results; 0 if that is not known yet."""

    def executable(self, donates: Sequence[int] = ()) -> DeviceExecutable:
        """It on the devices of this process; `donates` are numbers of arguments that it may take over."""


class Unfinished(ABC):
    """A run of which a part can be put into queues only when something is known that its first part computes."""

    @abstractmethod
    def start(self, go_on: Callable[[], None]) -> None:
        """Wait, in threads, for what is missing; they call `go_on` whenever `advance` may have something to do."""

    @abstractmethod
    def advance(self) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        """Put what is possible into the queues; at the end what `Loaded.launch` returns, else None.

        Called by whoever launches, one at a time.
        """


def refuse_host_calls(functions: Iterable[Function], why: str) -> None:
    """Raise ProgramError if one calls Python functions on the host, which only this process has; says why not."""
    for f in functions:
        if f.code.program.callbacks or f.code.program.ordered:
            where = f" ({f.source})" if f.source else ""
            raise ProgramError(f"{f.name}{where} calls Python functions on the host{why}")


class Loaded(Protocol):
    """A program that a backend can run."""

    @property
    def program(self) -> IslandProgram:
        """Its streams."""

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
    def donated(self) -> Collection[int]:
        """Numbers of the arguments that a run takes over."""

    @property
    def exchanges(self) -> bool:
        """Whether runs may be `Unfinished`."""

    @property
    def direct(self) -> Node | None:
        """The node, for a program of one that this process launches: it reads the arguments and writes the results.

        Its token is (a result, `Node.island`).
        """

    def launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]] | Unfinished:
        """Put a run into the queues of its islands, without waiting for it.

        Args:
          arguments: what earlier programs of this backend returned as values of results, or arrays on the host; a list
            that nobody else refers to.

        Returns:
          Values of the results, each an object with `is_deleted()`, `is_ready()`, `block_until_ready()` and
          `__array__()`, or a `RunError` in its place; and by island a token for `ready` and `wait`.  Or a run of which
          only a part is in the queues.
        """

    def ready(self, token: Any) -> bool:
        """Whether what a token stands for is done, or has failed."""

    def wait(self, token: Any) -> None:
        """Wait until it is."""


class Backend(Protocol):
    """Islands by name, and programs on them."""

    on_failure: Callable[[str, str], None] | None
    """Called with (island, cause) of an island that is gone unasked, in any thread."""

    @property
    def exchanged(self) -> Counter[str]:
        """What exchanges have moved so far: "parcels", "rows", and "bytes" of parcels."""

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
