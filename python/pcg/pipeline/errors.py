"""What is wrong with a pipeline that cannot be scheduled."""

from __future__ import annotations


class PipelineError(ValueError):
    """A pipeline, an order of its tasks, or a limit that no schedule stays in."""


class MemoryLimitError(PipelineError):
    """What a pipeline, or a schedule of it, needs is more than its devices have."""
