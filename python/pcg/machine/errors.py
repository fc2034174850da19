"""What is wrong with a description of a cluster."""

from __future__ import annotations

import re

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
