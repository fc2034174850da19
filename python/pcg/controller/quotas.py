"""How much of the islands a client may use, besides devices: bytes of results, and programs that wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pcg.controller.faults import QuotaExceeded
from pcg.layout.brief import brief


@dataclass(frozen=True, slots=True)
class Quota:
    """What a client may have; None: not limited.

    `nbytes`: bytes per device of its results, on each island.  `queued`: programs that wait.

    Raises:
      ValueError: a number that is negative, or none.
    """

    nbytes: int | None = None
    queued: int | None = None

    def __post_init__(self) -> None:
        for what in ("nbytes", "queued"):
            value = getattr(self, what)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ValueError(f"quota {what}={brief(value)}; allowed: a number, 0 or more, or None")

    @property
    def limits(self) -> bool:
        """Whether it limits anything."""
        return self.nbytes is not None or self.queued is not None

    def check(
        self, client: str, program: str, adds: Mapping[str, int], used: Callable[[str], int], waiting: Callable[[], int]
    ) -> None:
        """Whether a client may submit a program.

        Args:
          adds: by island, bytes per device of its results.
          used: bytes per device that the client has on an island.
          waiting: programs of the client that wait.

        Raises:
          QuotaExceeded: it may not.
        """
        if self.queued is not None and (count := waiting()) >= self.queued:
            raise QuotaExceeded(
                f"program {program}: {count} programs of client {brief(client)} wait; allowed: {self.queued}"
            )
        if self.nbytes is None:
            return
        for island, more in adds.items():
            if (have := used(island)) + more > self.nbytes:
                raise QuotaExceeded(
                    f"program {program}: client {brief(client)} has {have} bytes per device on island {brief(island)}"
                    f" and would have {have + more}; allowed: {self.nbytes}"
                )
