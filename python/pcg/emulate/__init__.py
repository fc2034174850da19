"""The oracle: a per-device program as one single-device program that any interpreter can run."""

from pcg.emulate.lockstep import LockStep
from pcg.emulate.program import emulate_in_place, global_types, lowered_layouts

__all__ = ["LockStep", "emulate_in_place", "global_types", "lowered_layouts"]
