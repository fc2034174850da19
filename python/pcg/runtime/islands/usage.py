"""What is under way on an island at one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IslandUse:
    """An island: programs in flight and waiting; bytes per device of results, and how many there may be."""

    in_flight: int
    waiting: int
    nbytes: int
    limit: int | None
    busy: bool
    """Whether something runs there."""
