"""What is wrong with a description of a cluster or a profile, and the bounds of their figures."""

from __future__ import annotations

import re

from pcg.layout.brief import brief

#: Rates, bytes, sizes and times that are above 0.  The bounds are far beyond any machine; within them no product or
#: quotient in a cost overflows.
LEAST, MOST = 1e-30, 1e30
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONG = re.compile(r"\S{300,}")


class ClusterError(ValueError):
    """A cluster, or a reference to part of one, is malformed; the text says where, what, and what is allowed.

    `key` is where in a file that is, as `groups[0].levels[1].size`, if it is known.
    """

    def __init__(self, text: str, key: str = "") -> None:
        # A key of a file may have line breaks, or no end; an error is one line.
        text = _CONTROL.sub(lambda m: repr(m[0])[1:-1], text)
        super().__init__(_LONG.sub(lambda m: f"{m[0][:40]}... ({len(m[0])} characters)", text))
        self.key = key


def positive(what: str, value: float, key: str = "") -> None:
    """Raise ClusterError unless `value` is a number above 0, within bounds."""
    if isinstance(value, bool) or not LEAST <= value <= MOST:
        raise ClusterError(f"{what} is {brief(value)}; allowed: a number above 0 ({LEAST:g} to {MOST:g})", key)
