"""Bounds of the figures in clusters and profiles, and the errors that name them.

The bounds are far beyond any machine; within them no product or quotient in a cost overflows.
"""

from __future__ import annotations

from pcg.layout.brief import brief
from pcg.machine.errors import ClusterError

#: Rates, bytes, sizes and times that are above 0.
LEAST, MOST = 1e-30, 1e30


def positive(what: str, value: float, key: str = "") -> None:
    """Raise ClusterError unless `value` is a number above 0, within bounds."""
    if isinstance(value, bool) or not LEAST <= value <= MOST:
        raise ClusterError(f"{what} is {brief(value)}; allowed: a number above 0 ({LEAST:g} to {MOST:g})", key)
