"""Programs in: JAX functions and StableHLO modules, as text with the names of what goes in and out."""

from pcg.driver.program import Leaf, Program, ProgramError

__all__ = ["Leaf", "Program", "ProgramError"]
