"""How `pcg.compile` makes a pipeline of a training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pcg.pipeline.automatic import OBJECTIVES
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import AUTO, NAMED
from pcg.pipeline.overlap import SYNCHRONOUS, UPDATES


@dataclass(frozen=True)
class PipelineOptions:
    """How `pcg.compile` makes a pipeline of a training step.

    Raises:
      PipelineError: an option is none of what is allowed.
    """

    microbatches: int = 0
    """The batch is divided into so many, which follow each other through the stages; 0: as many as are fastest."""
    axis: str = "stage"
    """Axis of the mesh along which the groups of devices lie; each group has a mesh of the other axes."""
    schedule: str = "auto"
    """As in `pcg-schedule`: "1f1b", "zb-h1", ..., or "auto": the best that is found within the memory limit."""
    chunks: int = 0
    """Stages of each group; 0: two where the schedule needs several, else one."""
    objective: str = ""
    """What "auto" minimises: "makespan", the time of a step, or "span", that of its busiest group; default: span where
    steps follow each other without a barrier."""
    updates: str = SYNCHRONOUS
    """How steps of `Pipelined.steps` follow each other: "synchronous"; "post-validated", the same numbers without
    waiting for norms of all gradients; "2bw", gradients of parameters that are one version old."""
    confirmations: int = 2
    """Post-validation: steps in a row with the same clip and checks, before those of the next step are predicted."""

    def __post_init__(self) -> None:
        count = self.microbatches
        if isinstance(count, bool) or not isinstance(count, int) or count == 1 or count < 0:
            raise PipelineError(f"microbatches {count!r}; allowed: 2 or more, 0 for the best number")
        if self.schedule not in (AUTO, *NAMED):
            raise PipelineError(f"schedule {self.schedule!r}; allowed: {', '.join((AUTO, *NAMED))}")
        if isinstance(self.chunks, bool) or not isinstance(self.chunks, int) or self.chunks < 0:
            raise PipelineError(f"chunks {self.chunks!r}; allowed: 1 or more, 0 for what the schedule needs")
        if not self.objective:
            object.__setattr__(self, "objective", "makespan" if self.updates == SYNCHRONOUS else "span")
        if self.objective not in OBJECTIVES:
            raise PipelineError(f"objective {self.objective!r}; allowed: {', '.join(OBJECTIVES)}")
        if self.updates not in UPDATES:
            raise PipelineError(f"updates {self.updates!r}; allowed: {', '.join(UPDATES)}")
        if isinstance(self.confirmations, bool) or not isinstance(self.confirmations, int) or self.confirmations < 1:
            raise PipelineError(f"confirmations {self.confirmations!r}; allowed: 1 or more")
        if self.chunks > 1 and self.form == "linear":
            raise PipelineError(f"{self.chunks} chunks with {self.schedule}; allowed: 1, or a schedule of several")

    @classmethod
    def of(cls, options: PipelineOptions | Mapping[str, Any] | int | str) -> PipelineOptions:
        """Options as such, as a dict, as a number of microbatches, or "auto".

        Raises:
          PipelineError: an unknown option, or none of these.
        """
        if isinstance(options, cls):
            return options
        if isinstance(options, Mapping):
            known = [f.name for f in fields(cls)]
            if unknown := [k for k in options if k not in known]:
                raise PipelineError(f"pipeline option {unknown[0]!r}; allowed: {', '.join(known)}")
            return cls(**options)
        if options == AUTO:
            return cls()
        if isinstance(options, int):
            return cls(options)
        raise PipelineError(
            f"pipeline {options!r:.60}; allowed: pcg.PipelineOptions, a dict of them, microbatches, or 'auto'"
        )

    @property
    def form(self) -> str:
        """The placement of stages on groups."""
        if self.schedule == AUTO:
            return "linear" if self.chunks < 2 else "v"
        return NAMED[self.schedule][0]
