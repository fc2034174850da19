"""Random numbers for compiled loops: a linear congruential generator of 64 bits (Knuth's MMIX)."""

from __future__ import annotations

from pcg.kernels.native import kernel


@kernel
def next_state(state: int) -> int:
    """The state after this one; any number is one."""
    return state * 6364136223846793005 + 1442695040888963407


@kernel
def drawn(state: int) -> int:
    """A number from 0 to 2**31 - 1: the upper bits of a state, as the lower ones repeat soon."""
    return (state >> 33) & 0x7FFFFFFF
