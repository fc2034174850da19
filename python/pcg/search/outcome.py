"""What a search found: the chosen plan, those that it was chosen over, and what is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pcg.ir.errors import PcgError

#: The measures of a step in reports, in their words: the costs of a plan added up, as `dist-measure` does; the same,
#: and what is recomputed to save memory; a simulated step of the lowered program, in which streams overlap.
ESTIMATE, RECOMPUTED, SIMULATION = "costs added up", "costs added up, recomputation included", "simulated"


class DoesNotFit(PcgError):
    """No plan fits the memory limit; `needed` is the least bytes per device that a plan was found for."""

    def __init__(self, limit: float, needed: float, details: str = "") -> None:
        super().__init__(
            f"no plan fits in {_bytes(limit)} per device; the smallest one found needs {_bytes(needed)}{details}"
        )
        self.needed = needed


@dataclass(frozen=True)
class Alternative:
    """A plan that was not chosen: estimated seconds per step and peak bytes per device.

    `choice` is the plan by node of the graph, where it is one of the graph that the chosen plan is of.
    """

    name: str
    seconds: float
    peak_bytes: float
    fits: bool = True
    choice: Sequence[int] | None = field(default=None, repr=False, compare=False)


@dataclass
class Outcome:
    """The chosen strategy per node and what the search knows about it.

    `bound` is a proven lower bound on the seconds of any plan for these classes, memory aside.
    """

    choice: list[int]
    seconds: float
    bound: float
    peak_bytes: float
    alternatives: list[Alternative]
    classes: int
    ilp_variables: int
    phases: dict[str, float] = field(default_factory=dict)
    named: str = ""
    """What the chosen plan is called, if it is one of the given ones."""
    by: str = ESTIMATE
    """By what measure the seconds are, those of the alternatives too: `ESTIMATE`, `RECOMPUTED` or `SIMULATION`."""
    ended_by: str = ""
    """What ended the search before its end."""


def _bytes(n: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n:.0f} B"
