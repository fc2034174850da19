"""What the controller refuses."""

from __future__ import annotations


class ResourceError(ValueError):
    """Devices that cannot be had, or that there are not: the text names the thing, the value and what is allowed."""


class PlacementChanged(ResourceError):
    """A program was lowered for a placement that its slices no longer have; lowering it again may succeed."""
